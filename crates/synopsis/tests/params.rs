//! Sections as authors write them, read from lines of a configuration.

use navis_synopsis as synopsis;
use std::time::Duration;
use synopsis::{Int, ParamSource, ParamValue, Size, choice, params};

choice! {
    /// How much is cached.
    pub enum Caching { Full = "full", None = "none" }
}

params! {
    /// Listening sockets
    /// and their limits.
    pub struct Socket in "ns/server/*/module/nssock" {
        /// Port to listen on.
        port: Int<0, 65535> = "80",
        /// Largest body.
        max_input: Size = "1MB",
        /// Address; all when not given.
        address: Option<String>,
        /// How long to wait.
        recvwait: Duration = "30s",
        /// Header fields, one per line.
        extra_header as "extra_header": Vec<String>,
        /// Send small packets at once.
        nodelay: bool = "true",
        /// What is cached.
        r#type: Caching = "full",
        /// Share of the load.
        weight: Option<f64>,
        /// Must be told.
        hostname: String,
    }

    struct Empty in "ns/empty" {}
}

struct Lines(&'static [(&'static str, &'static str)]);

impl ParamSource for Lines {
    fn values(&self, key: &str) -> Vec<ParamValue> {
        let lines = self.0.iter().enumerate().filter(|(_, (k, _))| *k == key);
        lines
            .map(|(i, (_, text))| ParamValue {
                text: (*text).to_owned(),
                file: "nsd.tcl".to_owned(),
                line: i as u32 + 1,
            })
            .collect()
    }
    fn section(&self) -> Option<&str> {
        Some("ns/server/s1/module/nssock")
    }
}

#[test]
fn values_replace_defaults() {
    let socket = Socket::read(&Lines(&[
        ("port", "8080"),
        ("port", "8081"),
        ("maxinput", "2 KB"),
        ("extra_header", "A: 1"),
        ("extra_header", "B: 2"),
        ("nodelay", "off"),
        ("type", "none"),
        ("weight", "0.5"),
        ("address", ""),
        ("hostname", "h"),
    ]))
    .expect("a good section");
    assert_eq!(
        (socket.port.get(), socket.max_input, socket.address),
        (8080, Size(2048), None)
    );
    assert_eq!(
        (socket.recvwait, socket.nodelay, socket.r#type),
        (Duration::from_secs(30), false, Caching::None)
    );
    assert_eq!(
        (socket.extra_header, socket.weight),
        (vec!["A: 1".to_owned(), "B: 2".to_owned()], Some(0.5))
    );
    let _ = Empty::defaults();
}

#[test]
fn problems_name_place_section_parameter_and_reason() {
    let problems = Socket::read(&Lines(&[
        ("port", "80800"),
        ("maxinput", "1XB"),
        ("type", "some"),
        ("nodelay", "2"),
    ]))
    .expect_err("a bad section");
    let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "nsd.tcl:1: section ns/server/s1/module/nssock, parameter port: expected integer in range [0,65535] but got 80800",
            "nsd.tcl:2: section ns/server/s1/module/nssock, parameter maxinput: expected memory size such as 512, 8kB, 1.5MB or 2GB but got \"1XB\"",
            "nsd.tcl:4: section ns/server/s1/module/nssock, parameter nodelay: expected boolean value but got \"2\"",
            "nsd.tcl:3: section ns/server/s1/module/nssock, parameter type: bad value \"some\": must be full, or none",
            "configuration: section ns/server/s1/module/nssock, parameter hostname: is missing and has no default",
        ]
    );
}

#[test]
fn the_section_is_data() {
    let spec = Socket::spec();
    assert!(spec.matches("ns/server/s1/module/NSSOCK") && !spec.matches("ns/server/module/nssock"));
    assert_eq!(spec.suggest("recvwiat"), Some("recvwait"));
    assert_eq!(spec.find("MAXINPUT").and_then(|r| r.default), Some("1MB"));
    assert!(synopsis::laws::check_params(&[spec]).is_empty());
    let manual = synopsis::manual::section(spec);
    assert!(
        manual.contains("## ns/server/*/module/nssock\n\nListening sockets and their limits.\n"),
        "{manual}"
    );
    assert!(
        manual.contains("| `port` | integer[0,65535] | `80` | Port to listen on. |"),
        "{manual}"
    );
    assert!(
        manual.contains("| `type` | full\\|none | `full` | What is cached. |"),
        "{manual}"
    );
    assert!(
        manual.contains("| `extra_header` | text, may be repeated |  |"),
        "{manual}"
    );
}
