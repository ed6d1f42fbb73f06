//! A headless Chromium, driven with the WebDriver protocol (W3C) over plain HTTP to chromedriver.
//!
//! ```no_run
//! # use navis_testkit as testkit;
//! let mut browser = testkit::browser::Browser::start();
//! browser.open("http://localhost:8080/");
//! browser.find("input[name=q]").type_text("rope");
//! browser.find("button").click();
//! assert!(browser.wait_for("h1").text().contains("rope"));
//! assert_eq!(browser.errors(), Vec::<String>::new());
//! ```

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::wait::{PATIENCE, until};
use crate::wire::Connection;

/// The key under which WebDriver hands out references to elements.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A browser with an empty profile and one window; ended when dropped.
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
    _profile: TempDir,
}

/// An element of the current page.
pub struct Element<'a> {
    browser: &'a Browser,
    id: String,
}

/// Whether `SKIP=browser` asks to leave the browser out; a test that uses it then returns at once.
pub fn skipped() -> bool {
    std::env::var("SKIP").is_ok_and(|parts| parts.split_whitespace().any(|part| part == "browser"))
}

impl Browser {
    /// A window of 1280 by 900 pixels.
    ///
    /// # Panics
    /// When chromium or chromedriver (Debian packages `chromium`, `chromium-driver`) is missing.
    pub fn start() -> Browser {
        Browser::launch(1280, 900, false)
    }

    /// A telephone: 390 by 844 pixels, touch, mobile layout.
    pub fn phone() -> Browser {
        Browser::launch(390, 844, true)
    }

    fn launch(width: u32, height: u32, mobile: bool) -> Browser {
        let profile = tempfile::Builder::new()
            .prefix("navis-browser-")
            .tempdir()
            .expect("a profile folder");
        let log = profile.path().join("driver.log");
        let output = fs::File::create(&log).expect("a log file");
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(output.try_clone().expect("a second handle"))
            .stderr(output)
            .spawn()
            .unwrap_or_else(|e| {
                panic!(
                    "chromedriver: {e}; apt-get install chromium chromium-driver, or SKIP=browser"
                )
            });
        let port = until(PATIENCE, || {
            let text = fs::read_to_string(&log).unwrap_or_default();
            let (_, after) = text.split_once("started successfully on port ")?;
            after.split('.').next()?.parse::<u16>().ok()
        });
        let Some(port) = port else {
            let _ = driver.kill();
            let _ = driver.wait();
            panic!(
                "chromedriver does not start: {}",
                fs::read_to_string(&log).unwrap_or_default()
            );
        };
        let mut browser = Browser {
            driver,
            port,
            session: String::new(),
            _profile: profile,
        };
        let data = browser._profile.path().join("data");
        let mut options = json!({
            "args": [
                "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage",
                "--disable-background-networking", "--disable-component-update", "--disable-sync", "--lang=en",
                "--hide-scrollbars", format!("--window-size={width},{height}"), format!("--user-data-dir={}", data.display()),
            ],
        });
        if mobile {
            options["mobileEmulation"] = json!({"deviceMetrics": {"width": width, "height": height, "pixelRatio": 2.0, "touch": true, "mobile": true}});
        }
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"},
        }}});
        let answer = browser
            .ask("POST", "/session", Some(&wanted))
            .unwrap_or_else(|e| panic!("no browser session: {e}"));
        browser.session = answer["sessionId"]
            .as_str()
            .expect("a session has an id")
            .to_owned();
        browser
    }

    /// Loads a page and waits for it.
    #[track_caller]
    pub fn open(&self, url: &str) {
        self.tell("POST", "/url", &json!({ "url": url }));
    }

    #[track_caller]
    pub fn url(&self) -> String {
        self.text_of("/url")
    }

    #[track_caller]
    pub fn title(&self) -> String {
        self.text_of("/title")
    }

    /// The page as the browser has it now.
    #[track_caller]
    pub fn source(&self) -> String {
        self.text_of("/source")
    }

    /// The first element that a CSS selector finds.
    #[track_caller]
    pub fn find(&self, css: &str) -> Element<'_> {
        self.try_find(css)
            .unwrap_or_else(|| panic!("no `{css}` on {}", self.url()))
    }

    pub fn try_find(&self, css: &str) -> Option<Element<'_>> {
        self.find_all(css).into_iter().next()
    }

    #[track_caller]
    pub fn find_all(&self, css: &str) -> Vec<Element<'_>> {
        let found = self.tell(
            "POST",
            "/elements",
            &json!({"using": "css selector", "value": css}),
        );
        let found = found.as_array().map(Vec::as_slice).unwrap_or_default();
        let ids = found.iter().filter_map(|element| element[ELEMENT].as_str());
        ids.map(|id| Element {
            browser: self,
            id: id.to_owned(),
        })
        .collect()
    }

    /// Waits until a selector finds something.
    #[track_caller]
    pub fn wait_for(&self, css: &str) -> Element<'_> {
        until(PATIENCE, || self.try_find(css))
            .unwrap_or_else(|| panic!("`{css}` did not come up on {}", self.url()))
    }

    /// Waits until the text of the page contains this.
    #[track_caller]
    pub fn wait_for_text(&self, text: &str) {
        let seen = until(PATIENCE, || {
            self.script("return document.body.innerText")
                .as_str()?
                .contains(text)
                .then_some(())
        });
        assert!(seen.is_some(), "`{text}` did not come up on {}", self.url());
    }

    /// Runs JavaScript (a function's body) in the page.
    #[track_caller]
    pub fn script(&self, body: &str) -> Value {
        self.tell(
            "POST",
            "/execute/sync",
            &json!({"script": body, "args": []}),
        )
    }

    /// Outer size of the window in pixels; below 500 wide use `phone`.
    #[track_caller]
    pub fn resize(&self, width: u32, height: u32) {
        self.tell(
            "POST",
            "/window/rect",
            &json!({"width": width, "height": height}),
        );
    }

    /// Whether the page can be scrolled sideways, which on a phone is a defect.
    #[track_caller]
    pub fn overflows(&self) -> bool {
        self.script(
            "return document.documentElement.scrollWidth > document.documentElement.clientWidth",
        )
        .as_bool()
            == Some(true)
    }

    /// What is visible, as PNG. Folders are made.
    #[track_caller]
    pub fn screenshot(&self, path: impl AsRef<Path>) {
        let text = self.text_of("/screenshot");
        let path = path.as_ref();
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).expect("a folder for the picture");
        }
        fs::write(path, base64(&text)).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }

    /// Everything the console said since the last call, as `LEVEL text`. Failed requests are among it.
    #[track_caller]
    pub fn console(&self) -> Vec<String> {
        let entries = self.tell("POST", "/se/log", &json!({"type": "browser"}));
        let entries = entries.as_array().map(Vec::as_slice).unwrap_or_default();
        let line = |entry: &Value| {
            format!(
                "{} {}",
                entry["level"].as_str().unwrap_or(""),
                entry["message"].as_str().unwrap_or("")
            )
        };
        entries.iter().map(line).collect()
    }

    /// The errors among `console`.
    #[track_caller]
    pub fn errors(&self) -> Vec<String> {
        self.console()
            .into_iter()
            .filter(|line| line.starts_with("SEVERE"))
            .collect()
    }

    #[track_caller]
    fn text_of(&self, path: &str) -> String {
        let answer = self.command("GET", path, None);
        answer.as_str().unwrap_or_default().to_owned()
    }

    #[track_caller]
    fn tell(&self, method: &str, path: &str, body: &Value) -> Value {
        self.command(method, path, Some(body))
    }

    #[track_caller]
    fn command(&self, method: &str, path: &str, body: Option<&Value>) -> Value {
        match self.ask(method, &format!("/session/{}{path}", self.session), body) {
            Ok(value) => value,
            Err(e) => panic!("browser: {method} {path}: {e}"),
        }
    }

    /// One command of the protocol; the error is the driver's message.
    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, String> {
        let mut connection =
            Connection::open(("127.0.0.1", self.port)).map_err(|e| format!("chromedriver: {e}"))?;
        // Starting a browser on a busy machine takes its time.
        connection
            .stream()
            .set_read_timeout(Some(Duration::from_secs(60)))
            .map_err(|e| e.to_string())?;
        let body = body.map(Value::to_string).unwrap_or_default();
        let headers = [
            ("Content-Type", "application/json; charset=utf-8"),
            ("Connection", "close"),
        ];
        let response = connection.request(method, path, &headers, body.as_bytes());
        let mut answer: Value = serde_json::from_slice(&response.body)
            .map_err(|e| format!("{e}: {}", response.text()))?;
        let value = answer["value"].take();
        if response.status == 200 {
            Ok(value)
        } else {
            Err(value["message"].as_str().unwrap_or("?").to_owned())
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() && !std::thread::panicking() {
            let _ = self.ask("DELETE", &format!("/session/{}", self.session), None);
        }
        // TERM lets chromedriver end the browser too; KILL would leave it behind.
        let _ = Command::new("kill")
            .arg(self.driver.id().to_string())
            .status();
        if until(Duration::from_secs(5), || {
            self.driver.try_wait().ok().flatten()
        })
        .is_none()
        {
            let _ = self.driver.kill();
            let _ = self.driver.wait();
        }
    }
}

impl Element<'_> {
    #[track_caller]
    pub fn click(&self) {
        self.tell("/click", &json!({}));
    }

    /// Types into the element, behind what is there. In a file input: the path of a file to upload.
    #[track_caller]
    pub fn type_text(&self, text: &str) {
        self.tell("/value", &json!({ "text": text }));
    }

    #[track_caller]
    pub fn clear(&self) {
        self.tell("/clear", &json!({}));
    }

    /// The text a reader sees.
    #[track_caller]
    pub fn text(&self) -> String {
        self.browser.text_of(&format!("/element/{}/text", self.id))
    }

    #[track_caller]
    pub fn attribute(&self, name: &str) -> Option<String> {
        let answer = self.browser.command(
            "GET",
            &format!("/element/{}/attribute/{name}", self.id),
            None,
        );
        answer.as_str().map(str::to_owned)
    }

    /// A property as JavaScript has it, e.g. `value` of an input.
    #[track_caller]
    pub fn property(&self, name: &str) -> Value {
        self.browser.command(
            "GET",
            &format!("/element/{}/property/{name}", self.id),
            None,
        )
    }

    #[track_caller]
    fn tell(&self, path: &str, body: &Value) {
        self.browser
            .tell("POST", &format!("/element/{}{path}", self.id), body);
    }
}

/// Standard base64 (RFC 4648); anything else is skipped.
fn base64(text: &str) -> Vec<u8> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut count) = (Vec::with_capacity(text.len() / 4 * 3), 0u32, 0);
    for digit in text
        .bytes()
        .filter_map(|byte| ALPHABET.iter().position(|other| *other == byte))
    {
        bits = bits << 6 | digit as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    #[test]
    fn base64_of_rfc_4648() {
        assert_eq!(base64("Zm9vYmFy"), b"foobar");
        assert_eq!(base64("Zm9vYg=="), b"foob");
    }

    #[test]
    fn a_page_is_opened_used_and_photographed() {
        if skipped() {
            return;
        }
        const PAGE: &str = "<!doctype html><meta name=viewport content='width=device-width'><title>T</title><input name=q><button \
                            onclick=\"document.querySelector('p').textContent='hello '+document.querySelector('input').value\">go</button><p></p>\
                            <script>console.error('oops')</script>";
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.expect("a connection");
                let _ = stream.read(&mut [0; 4096]);
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                    PAGE.len()
                );
                let _ = stream.write_all([head.as_bytes(), PAGE.as_bytes()].concat().as_slice());
            }
        });
        let browser = Browser::phone();
        browser.open(&format!("http://{address}/"));
        assert_eq!(browser.title(), "T");
        browser.find("input").type_text("näh");
        browser.find("button").click();
        browser.wait_for_text("hello näh");
        assert_eq!(browser.find("p").text(), "hello näh");
        assert_eq!(browser.script("return innerWidth").as_u64(), Some(390));
        assert!(!browser.overflows());
        let errors = browser.errors();
        assert!(
            errors.len() == 1 && errors[0].contains("oops"),
            "{errors:?}"
        );
        let folder = tempfile::tempdir().expect("a folder");
        let picture = folder.path().join("a/page.png");
        browser.screenshot(&picture);
        assert!(
            fs::read(&picture)
                .expect("a picture")
                .starts_with(b"\x89PNG")
        );
    }
}
