//! The demo in headless Chromium and by plain requests: what a visitor does in the first ten minutes.

use testkit::Server;
use testkit::browser::{self, Browser};

fn at(test: &str) -> String {
    format!("[data-test=\"{test}\"]")
}

#[test]
fn every_page_renders_without_errors_on_desktop_and_phone() {
    if browser::skipped() {
        return;
    }
    let server = Server::demo().start();
    for browser in [Browser::start(), Browser::phone()] {
        for path in [
            "/",
            "/ships",
            "/ships/11",
            "/visits",
            "/visits/new",
            "/files",
            "/tides",
            "/status",
            "/tour",
        ] {
            browser.open(&server.url(path));
            assert!(
                browser.find_all(&at("block-error")).is_empty(),
                "{path}: {}",
                browser.source()
            );
            assert!(!browser.find(&at("brand")).text().is_empty(), "{path}");
            assert!(!browser.overflows(), "{path} is wider than the screen");
            assert_eq!(browser.errors(), Vec::<String>::new(), "{path}");
        }
    }
    assert!(!server.log().contains("] Error:"), "{}", server.log());
}

#[test]
fn an_arrival_is_logged_with_the_form() {
    if browser::skipped() {
        return;
    }
    let server = Server::demo().start();
    let browser = Browser::start();
    browser.open(&server.url("/visits/new"));
    browser.find(&at("visit-submit")).click();
    browser.wait_for(&at("form-problem"));
    assert!(
        !browser.find_all("[data-test^=\"problem-\"]").is_empty(),
        "{}",
        browser.source()
    );

    // What was typed is kept, the mistake is named beside its field.
    browser.find(&at("field-origin")).clear();
    browser
        .find(&at("field-origin"))
        .type_text("Bergen <b>&\"'");
    browser.find(&at("field-tonnes")).clear();
    browser.find(&at("field-tonnes")).type_text("many");
    browser.find(&at("visit-submit")).click();
    browser.wait_for(&at("problem-tonnes"));
    assert_eq!(
        browser.find(&at("field-origin")).property("value"),
        "Bergen <b>&\"'"
    );

    // The first free berth and a ship that is at sea.
    browser.script(
        "for (const id of ['ship', 'berth']) { const s = document.querySelector(`[data-test=\"field-${id}\"]`);
         if (s.tagName === 'SELECT') { const o = [...s.options].find(o => o.value && !o.disabled); s.value = o.value; } }",
    );
    browser.find(&at("field-tonnes")).clear();
    browser.find(&at("field-tonnes")).type_text("12");
    browser.find(&at("field-cargo")).type_text("Salt");
    browser.find(&at("visit-submit")).click();
    browser.wait_for(&at("notice"));
    browser.open(&server.url("/visits"));
    assert!(
        browser.source().contains("Bergen &lt;b&gt;&amp;"),
        "{}",
        browser.source()
    );
    // The browser tells of every form that was refused.
    let errors: Vec<String> = browser
        .errors()
        .into_iter()
        .filter(|e| !e.contains("status of 422"))
        .collect();
    assert_eq!(errors, Vec::<String>::new());
}

#[test]
fn a_file_goes_up_and_comes_down_unchanged() {
    let server = Server::demo().start();
    let page = server.get("/files");
    assert_eq!(page.status, 200, "{page:?}");
    let text = page.text();
    let token = value_of(&text, "token");
    let cookie = page
        .all("set-cookie")
        .map(|c| c.split(';').next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("; ");
    // The beginning must fit the suffix; behind it every byte occurs.
    let mut content = b"%PDF-1.7\n".to_vec();
    content.extend((0..70_000u32).map(|i| u8::try_from(i * 7 % 256).unwrap_or(0)));
    let mut body = Vec::new();
    for (name, value) in [
        ("token", token.as_str()),
        ("title", "Bytes of all kinds"),
        ("ship", ""),
    ] {
        body.extend_from_slice(
            format!(
                "--BOUND\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"
            )
            .as_bytes(),
        );
    }
    body.extend_from_slice(
        b"--BOUND\r\nContent-Disposition: form-data; name=\"file\"; filename=\"gr\xc3\xbc\xc3\x9fe.pdf\"\r\n\
          Content-Type: application/pdf\r\n\r\n",
    );
    body.extend_from_slice(&content);
    body.extend_from_slice(b"\r\n--BOUND--\r\n");
    let headers = [
        ("Content-Type", "multipart/form-data; boundary=BOUND"),
        ("Cookie", cookie.as_str()),
    ];
    let answer = server.request("POST", "/files", &headers, &body);
    assert!(matches!(answer.status, 302 | 303), "{answer:?}");
    let list = server.get("/files").text();
    let id = list
        .split("data-test=\"download-")
        .nth(1)
        .and_then(|r| r.split('"').next())
        .expect("a download link");
    let down = server.get(&format!("/files/{id}"));
    assert_eq!(down.status, 200);
    assert_eq!(down.body, content);
    assert!(
        down.header("content-disposition")
            .is_some_and(|d| d.contains("attachment")),
        "{down:?}"
    );
}

#[test]
fn lists_search_and_the_interface_for_programs_answer() {
    let server = Server::demo().start();
    let found = server.get("/ships?q=O%27Malley");
    assert!(
        found.text().contains("O&#39;Malley&#39;s Pride"),
        "{}",
        found.text()
    );
    let json: serde_json::Value =
        serde_json::from_str(&server.get("/api/ships?limit=5&page=2&sort=name").text())
            .expect("JSON");
    assert_eq!(json["ships"].as_array().map(Vec::len), Some(5));
    let greek: serde_json::Value =
        serde_json::from_str(&server.get("/api/ships/11").text()).expect("JSON");
    assert_eq!(greek["name"], "Ελπίδα");
    assert_eq!(
        server
            .post("/api/visits", "application/json", "{\"ship\":")
            .status,
        400
    );
    assert_eq!(server.post("/api/visits", "text/plain", "x").status, 415);
    let invalid = server.post(
        "/api/visits",
        "application/json",
        "{\"ship\":1,\"berth\":\"nowhere\"}",
    );
    assert_eq!(invalid.status, 422, "{invalid:?}");
    let missing = server.get("/nowhere");
    assert_eq!(missing.status, 404);
    assert!(missing.text().contains("problem-404"), "{}", missing.text());
}

#[test]
fn a_computation_comes_from_the_cache_the_second_time() {
    let server = Server::demo().start();
    assert!(server.get("/tides?days=3").text().contains("computed now"));
    assert!(
        server
            .get("/tides?days=3")
            .text()
            .contains("from the cache")
    );
}

#[test]
fn the_status_page_refreshes_itself() {
    if browser::skipped() {
        return;
    }
    let server = Server::demo().start();
    let browser = Browser::start();
    browser.open(&server.url("/status"));
    browser.wait_for(&format!("{}.on", at("live")));
    assert!(!browser.find(&at("uptime")).text().is_empty());
    browser.open(&server.url("/"));
    browser.find(&at("theme-dark")).click();
    browser.wait_for("html[data-theme=\"dark\"]");
}

fn value_of(page: &str, name: &str) -> String {
    let at = page
        .find(&format!("name=\"{name}\""))
        .unwrap_or_else(|| panic!("no field {name} in {page}"));
    let start = page[..at].rfind('<').unwrap_or(0);
    let tag = &page[start..start + page[start..].find('>').expect("the tag ends")];
    tag.split("value=\"")
        .nth(1)
        .and_then(|v| v.split('"').next())
        .expect("a value")
        .to_owned()
}
