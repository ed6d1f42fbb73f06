//! The page API where it meets the network: codings, validators, proxies in front, limits, hosts.

use testkit::{Response, Server};

fn ask(server: &Server, path: &str, fields: &[(&str, &str)]) -> Response {
    server.connect().request("GET", path, fields, b"")
}

const TEXT: &str = "ns_register_proc GET /text {ns_return 200 text/plain [string repeat {abcdefgh } 1000]}
    ns_register_proc GET /stream {ns_headers 200 text/plain; ns_write [string repeat a 2000]; ns_write [string repeat b 2000]}
    ns_register_proc GET /image {ns_return 200 image/png [string repeat a 2000]}";

#[test]
fn modern_codings_for_those_who_name_them() {
    let server = Server::builder()
        .library("t.tcl", TEXT)
        .param("ns/server/default", "compressenable", "true")
        .param("ns/server/default", "compressbrotli", "true")
        .start();
    let coding = |path: &str, accept: &str| {
        let answer = ask(&server, path, &[("Accept-Encoding", accept)]);
        let magic = answer.body.first_chunk::<4>().copied().unwrap_or_default();
        match answer.header("content-encoding") {
            Some("zstd") => assert_eq!(magic, [0x28, 0xb5, 0x2f, 0xfd], "RFC 8878"),
            Some("gzip") => assert_eq!(magic[..2], [0x1f, 0x8b], "RFC 1952"),
            _ => {}
        }
        assert!(answer.body.len() < 2000 || answer.header("content-encoding").is_none());
        (
            answer.header("content-encoding").unwrap_or("-").to_owned(),
            answer.header("vary").is_some(),
        )
    };
    for path in ["/text", "/stream"] {
        for (accept, expected) in [
            ("gzip, deflate, br, zstd", "zstd"),
            ("gzip, br", "br"),
            ("gzip", "gzip"),
            ("*", "gzip"),
            ("identity", "-"),
            ("zstd;q=0", "-"),
        ] {
            assert_eq!(
                coding(path, accept),
                (expected.to_owned(), true),
                "{path} {accept}"
            );
        }
    }
    assert_eq!(coding("/image", "gzip, br, zstd"), ("-".to_owned(), false));
}

#[test]
fn each_coding_can_be_switched_off() {
    let server = Server::builder()
        .library("t.tcl", TEXT)
        .param("ns/server/default", "compressenable", "true")
        .param("ns/server/default", "compresszstd", "false")
        .start();
    let answer = ask(&server, "/text", &[("Accept-Encoding", "gzip, br, zstd")]);
    assert_eq!(answer.header("content-encoding"), Some("gzip"));
}

#[test]
fn packed_files_beside_the_files() {
    let server = Server::builder()
        .param("ns/fastpath", "zstd_static", "true")
        .page("a.html", "plain")
        .page("a.html.zst", "(zstd)")
        .start();
    let answer = ask(&server, "/a.html", &[("Accept-Encoding", "gzip, zstd")]);
    assert_eq!(
        (
            answer.text().as_str(),
            answer.header("content-encoding"),
            answer.header("vary")
        ),
        ("(zstd)", Some("zstd"), Some("accept-encoding"))
    );
    assert_eq!(
        ask(&server, "/a.html", &[("Accept-Encoding", "gzip")]).text(),
        "plain"
    );
}

#[test]
fn tags_of_files() {
    let server = Server::builder()
        .param("ns/server/default/fastpath", "etag", "true")
        .page("a.html", "first")
        .library(
            "f.tcl",
            "ns_register_proc GET /file {ns_returnfile 200 text/plain [ns_info home]/pages/a.html}",
        )
        .start();
    let first = server.get("/a.html");
    let tag = first.header("etag").expect("a tag").to_owned();
    assert!(tag.starts_with('"') && tag.ends_with('"'));
    assert_eq!(server.get("/file").header("etag"), Some(tag.as_str()));
    for (field, value, status) in [
        ("If-None-Match", tag.as_str(), 304),
        ("If-None-Match", "\"other\"", 200),
        ("If-None-Match", "*", 304),
        ("If-Match", tag.as_str(), 200),
        ("If-Match", "\"other\"", 412),
    ] {
        let answer = ask(&server, "/a.html", &[(field, value)]);
        assert_eq!(
            (answer.status, answer.header("etag")),
            (status, Some(tag.as_str())),
            "{field}: {value}"
        );
    }
    let range = [("Range", "bytes=0-1"), ("If-Range", tag.as_str())];
    assert_eq!(ask(&server, "/a.html", &range).text(), "fi");
    assert_eq!(
        ask(&server, "/a.html", &[range[0], ("If-Range", "\"other\"")]).text(),
        "first"
    );
    std::fs::write(server.home().join("pages/a.html"), "second!").expect("a changed file");
    let changed = ask(&server, "/a.html", &[("If-None-Match", &tag)]);
    assert_eq!(changed.text(), "second!");
    assert_ne!(changed.header("etag"), Some(tag.as_str()));
}

#[test]
fn clients_behind_proxies() {
    let script = "ns_register_proc GET /who {ns_return 200 text/plain [ns_conn peeraddr],[ns_conn peeraddr -source direct]}";
    let who = |trusted: &str, skip: &str, header: &str| {
        let server = Server::builder()
            .library("w.tcl", script)
            .module("nslog", "nslog")
            .param("ns/reverseproxymode", "enabled", "true")
            .param("ns/reverseproxymode", "skipnonpublic", skip)
            .param("ns/reverseproxymode", "trustedservers", trusted)
            .start();
        let mut server = server;
        let said = ask(&server, "/who", &[("X-Forwarded-For", header)]).text();
        assert_eq!(server.stop(), Some(0));
        let log = String::from_utf8_lossy(&server.read("log/access.log")).into_owned();
        (said, log.split(' ').next().unwrap_or_default().to_owned())
    };
    for (trusted, skip, header, client) in [
        ("127.0.0.0/8", "false", "1.1.1.1, 8.8.8.8", "8.8.8.8"),
        (
            "127.0.0.1 8.8.8.0/24",
            "false",
            "6.6.6.6, 1.1.1.1, 8.8.8.8",
            "1.1.1.1",
        ),
        ("127.0.0.1", "true", "8.8.8.8, 10.0.0.1", "8.8.8.8"),
        ("10.0.0.0/8", "false", "8.8.8.8", "127.0.0.1"),
        ("", "false", "8.8.8.8, 1.1.1.1", "8.8.8.8"),
    ] {
        let expected = (format!("{client},127.0.0.1"), client.to_owned());
        assert_eq!(
            who(trusted, skip, header),
            expected,
            "{trusted} {skip} {header}"
        );
    }
}

#[test]
fn uploads_have_a_limit() {
    let server = Server::builder()
        .param("ns/module/nssock", "maxinput", "1000")
        .library(
            "u.tcl",
            "ns_register_proc POST /up {ns_return 200 text/plain [ns_conn contentlength]}",
        )
        .start();
    assert_eq!(
        server.post("/up", "text/plain", vec![b'x'; 1000]).text(),
        "1000"
    );
    assert_eq!(
        server.post("/up", "text/plain", vec![b'x'; 1001]).status,
        413
    );
    let chunked = format!(
        "POST /up HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n{}0\r\n\r\n",
        format!("1f4\r\n{}\r\n", "x".repeat(500)).repeat(3)
    );
    assert!(String::from_utf8_lossy(&server.raw(chunked)).starts_with("HTTP/1.1 413 "));
}

#[test]
fn bodies_in_json() {
    let server = Server::builder()
        .library(
            "j.tcl",
            "ns_register_proc POST /j {ns_return 200 text/plain [dict get [ns_getjson] list]}",
        )
        .start();
    assert_eq!(
        server
            .post("/j", "application/json", r#"{"list": ["a b", 1.5, true]}"#)
            .text(),
        "{a b} 1.5 true"
    );
    assert_eq!(
        server.post("/j", "application/json", "{\"list\": ").status,
        500
    );
}

#[test]
fn hosts_by_their_names() {
    let server = Server::builder()
        .param("ns/server/default/vhost", "enabled", "true")
        .param("ns/server/default/vhost", "stripwww", "false")
        .param("ns/server/default/vhost", "stripport", "true")
        .file("a.test/pages/index.html", "a")
        .file("www.a.test/pages/index.html", "www")
        .library("v.tcl", "ns_register_proc GET /paths {ns_return 200 text/plain [list [ns_serverpath x] [ns_pagepath y] [ns_url2file /z]]}")
        .start();
    let ask = |host: &str, path: &str| {
        let answer = server.raw(format!("GET {path} HTTP/1.0\r\nHost: {host}\r\n\r\n"));
        String::from_utf8_lossy(&answer)
            .rsplit("\r\n\r\n")
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    assert_eq!(ask("a.test:8080", "/"), "a");
    assert_eq!(ask("WWW.a.test", "/"), "www");
    let home = server.home().to_string_lossy().into_owned();
    assert_eq!(
        ask("a.test", "/paths"),
        format!("{home}/a.test/x {home}/a.test/pages/y {home}/a.test/pages/z")
    );
    for host in ["..", "../a.test", "a.test/../..", ".a.test", "a%2e"] {
        assert!(
            !ask(host, "/").contains("www") && !ask(host, "/").starts_with('a'),
            "{host}"
        );
    }
}
