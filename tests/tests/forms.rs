//! Forms, cookies, registration, authorization and page roots, as clients see them.

use std::time::Duration;

use testkit::Server;

fn multipart(parts: &[(&str, Option<&str>, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, file, content) in parts {
        let file = file
            .map(|f| format!("; filename=\"{f}\""))
            .unwrap_or_default();
        body.extend_from_slice(
            format!("--XbX\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n")
                .as_bytes(),
        );
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"--XbX--\r\n");
    body
}

const MULTIPART: &str = "multipart/form-data; boundary=XbX";
const URLENCODED: &str = "application/x-www-form-urlencoded";

#[test]
fn fields_come_from_body_and_query() {
    let server = Server::builder()
        .library(
            "f.tcl",
            "ns_register_proc POST /f { ns_return 200 text/plain [ns_set array [ns_getform]] }",
        )
        .param("ns/server/default", "formfallbackcharset", "iso8859-1")
        .start();
    assert_eq!(
        server.post("/f?q=1", URLENCODED, "a=x+y&b=%C3%A9").text(),
        "a {x y} b é q 1"
    );
    assert_eq!(server.post("/f", URLENCODED, "a=%E9").text(), "a é");
    assert_eq!(
        server
            .post(
                "/f",
                "APPLICATION/X-WWW-FORM-URLENCODED; charset=iso-8859-1",
                "a=%E9"
            )
            .text(),
        "a é"
    );
    assert_eq!(server.post("/f?q=1", "text/plain", "a=1").text(), "q 1");
    let body = multipart(&[("a", None, b"1"), ("l", None, b"\xe9")]);
    assert_eq!(server.post("/f?q=1", MULTIPART, body).text(), "a 1 l é q 1");
}

#[test]
fn text_that_is_none_is_the_clients_fault() {
    let server = Server::builder()
        .library(
            "f.tcl",
            "ns_register_proc GET /f { ns_return 200 text/plain [ns_queryget a] }",
        )
        .start();
    assert_eq!(server.get("/f?a=%E9").status, 400);
    assert_eq!(server.get("/f?a=%C3%A9").text(), "é");
}

#[test]
fn files_last_as_long_as_the_request() {
    let script = "ns_register_proc POST /up {
        set file [ns_getformfile up]
        nsv_set up file $file
        set channel [open $file rb]
        ns_return 200 application/octet-stream [read $channel]
        close $channel
    }
    ns_register_proc GET /gone { ns_return 200 text/plain [file exists [nsv_get up file]] }";
    let content: Vec<u8> = (0..200_000_u32)
        .map(|n| n.to_le_bytes()[(n % 3) as usize])
        .collect();
    for limit in ["0", "1000"] {
        let server = Server::builder()
            .library("f.tcl", script)
            .param("ns/module/nssock", "maxupload", limit)
            .start();
        let body = multipart(&[("t", None, b"title"), ("up", Some("../x.bin"), &content)]);
        let answer = server.post("/up", MULTIPART, body);
        assert_eq!(answer.status, 200, "maxupload {limit}: {}", server.log());
        assert!(answer.body == content, "maxupload {limit}");
        // The answer may arrive before the thread that gave it has cleared up.
        let gone = || (server.get("/gone").text() == "0").then_some(());
        assert!(testkit::wait::until(Duration::from_secs(5), gone).is_some());
    }
}

#[test]
fn cookies_go_there_and_back() {
    let server = Server::builder()
        .library(
            "c.tcl",
            "ns_register_proc GET /set { ns_setcookie -expires 60 -path / -samesite strict -secure true c {a b;é}; ns_return 200 text/plain ok }
            ns_register_proc GET /get { ns_return 200 text/plain [ns_getcookie c none] }
            ns_register_proc GET /bad { ns_return 200 text/plain [catch {ns_setcookie \"a\\r\\nX: y\" v}][catch {ns_setcookie -domain {d; x} c v}] }",
        )
        .start();
    let line = server
        .get("/set")
        .header("set-cookie")
        .expect("a cookie")
        .to_owned();
    assert_eq!(
        line,
        "c=\"a%20b%3b%c3%a9\"; Max-Age=60; Path=/; Secure; HttpOnly; SameSite=Strict"
    );
    let pair = line.split(';').next().expect("name and value");
    let answer = server.raw(format!(
        "GET /get HTTP/1.0\r\nHost: localhost\r\nCookie: {pair}\r\n\r\n"
    ));
    assert!(String::from_utf8_lossy(&answer).ends_with("a b;é"));
    assert_eq!(server.get("/bad").text(), "11");
}

#[test]
fn authorities_decide_before_handlers() {
    let server = Server::builder()
        .library(
            "a.tcl",
            "ns_register_auth -authority mine request check
            proc check {method url user password peer} {
                if {![string match /private* $url]} {return ok}
                if {$user eq {ann} && $password eq {x}} {return -code break ok}
                return -code break unauthorized
            }
            ns_register_proc GET /private { ns_return 200 text/plain [ns_conn authuser] }
            ns_register_proc GET /judge { ns_return 200 text/plain [ns_auth request -dict GET /private ann y] }",
        )
        .page("private.html", "not private")
        .start();
    let answer = server.get("/private/x");
    assert_eq!(
        (answer.status, answer.header("www-authenticate")),
        (401, Some("Basic realm=\"default\""))
    );
    let answer = server
        .raw("GET /private HTTP/1.0\r\nHost: localhost\r\nAuthorization: Basic YW5uOng=\r\n\r\n");
    assert!(String::from_utf8_lossy(&answer).ends_with("ann"));
    assert_eq!(
        server.get("/judge").text(),
        "authority mine code UNAUTHORIZED"
    );
    assert_eq!(server.get("/private.html").status, 401);
}

#[test]
fn every_host_has_its_pages() {
    let server = Server::builder()
        .param("ns/server/default/vhost", "enabled", "true")
        .param("ns/server/default/vhost", "hostprefix", "hosts")
        .param("ns/server/default/vhost", "hosthashlevel", "2")
        .file("hosts/e/x/example.org/pages/index.html", "example")
        .page("index.html", "default")
        .library(
            "v.tcl",
            "ns_register_proc GET /where { ns_return 200 text/plain [ns_pagepath a] }",
        )
        .start();
    let ask = |host: &str, path: &str| {
        let answer = server.raw(format!("GET {path} HTTP/1.0\r\nHost: {host}\r\n\r\n"));
        String::from_utf8_lossy(&answer)
            .rsplit("\r\n\r\n")
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    assert_eq!(ask("www.Example.org:99", "/"), "example");
    assert!(ask("example.org", "/where").ends_with("/hosts/e/x/example.org/pages/a"));
    assert!(ask("other.org", "/").contains("404"));
}

#[test]
fn tcl_pages_run_and_are_not_shown() {
    let server = Server::builder()
        .param("ns/server/default", "enabletclpages", "true")
        .page("p.tcl", "ns_return 200 text/plain [ns_queryget x]")
        .page("bad.tcl", "error secret")
        .start();
    assert_eq!(server.get("/p.tcl?x=7").text(), "7");
    let bad = server.get("/bad.tcl");
    assert_eq!((bad.status, bad.text().as_str()), (200, ""));
    server.wait_for_log("secret");
}

#[test]
fn what_is_registered_can_be_removed() {
    let server = Server::builder().start();
    let eval = |script: &str| server.eval(script).expect("no error");
    eval("ns_register_proc GET /r {ns_return 200 text/plain all}");
    eval("ns_register_proc -constraints {x-a 1} GET /r {ns_return 200 text/plain one}");
    eval("ns_register_filter preauth GET /r/* f_log tag; proc f_log args {}");
    assert_eq!(server.get("/r").text(), "all");
    eval("ns_unregister_op -allconstraints GET /r");
    assert_eq!(server.get("/r").status, 404);
}

#[test]
fn limits_refuse_what_is_too_much() {
    let server = Server::builder()
        .append("ns_section ns/limits {ns_param slow Slow}\nns_section ns/limit/slow {ns_param maxrun 1; ns_param maxwait 0}\nns_section ns/server/default/limits {ns_param slow {POST /slow}}")
        .param("ns/server/default", "minthreads", "3")
        .library(
            "l.tcl",
            "ns_limits_set -maxupload 10 small
            ns_limits_register small POST /small
            ns_register_proc POST /small {ns_return 200 text/plain ok}
            ns_register_proc POST /slow {nsv_set slow started 1; ns_sema wait [nsv_get slow go]; ns_return 200 text/plain ok}
            nsv_set slow go [ns_sema create 0]",
        )
        .start();
    assert_eq!(
        server.post("/small", "text/plain", "0123456789").status,
        200
    );
    assert_eq!(
        server.post("/small", "text/plain", "0123456789a").status,
        413
    );
    let mut first = server.connect();
    first.send(
        "POST /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    );
    testkit::wait::until(std::time::Duration::from_secs(10), || {
        (server.eval("nsv_exists slow started").ok()? == "1").then_some(())
    })
    .expect("the first request runs");
    assert_eq!(server.post("/slow", "text/plain", "").status, 503);
    server
        .eval("ns_sema release [nsv_get slow go]")
        .expect("no error");
    assert_eq!(first.response_to("POST").status, 200);
    testkit::wait::until(std::time::Duration::from_secs(10), || {
        (server.eval("dict get [ns_limits_get slow] nrunning").ok()? == "0").then_some(())
    })
    .expect("the count goes down");
}
