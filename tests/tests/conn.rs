//! Answers and the current request: what arrives at a client when handlers use ns_return, ns_write, ns_conn and the like.

use testkit::Server;

const HANDLERS: &str = r#"
ns_register_proc GET /latin {ns_return 200 "text/plain; charset=iso-8859-1" "caf\u00e9 \u20ac"}
ns_register_proc GET /japan {ns_return 200 "text/plain; charset=shift_jis" "\u65e5"}
ns_register_proc GET /cyrillic {ns_return 200 "text/plain; charset=cp866" "\u0416"}
ns_register_proc GET /big {ns_return 200 text/plain [string repeat "abcdefgh\n" 1000]}
ns_register_proc GET /own-head {ns_write "HTTP/1.1 404 Gone Fishing\r\nX-Own: 1\r\n" "Content-Type: text/plain\r\n\r\nno" " fish"}
ns_register_proc GET /plain-write {ns_write "just text"}
ns_register_proc GET /pieces {ns_headers 200 text/plain; ns_write one; ns_write two " and " three}
ns_register_proc GET /too-long {ns_headers 200 text/plain 4; ns_write abcdef}
ns_register_proc GET /too-short {ns_headers 200 text/plain 40; ns_write abcdef}
ns_register_proc GET /half {ns_headers 200 text/plain; ns_write abc; error "half way"}
ns_register_proc GET /silent {set x 1}
ns_register_proc GET /twice {
    ns_return 200 text/plain first
    nsv_set conn twice [list [catch {ns_return 200 text/plain second} m] $m [ns_conn isconnected]]
}
ns_register_proc GET /status {ns_conn status 418; ns_return 200 text/plain tea}
ns_register_proc GET /split {
    ns_set put [ns_conn outputheaders] X-Split "a\r\nX-Injected: b"
    ns_returnredirect "/a b\r\nX: y"
}
ns_register_proc GET /channel {
    set c [ns_conn channel]
    fconfigure $c -translation binary
    puts -nonewline $c "spoken without HTTP"
    close $c
}
ns_register_proc POST /copy {
    set f [file tempfile name]
    fconfigure $f -translation binary
    ns_conncptofp -bytes 4 $f
    seek $f 0
    ns_returnfp 200 text/plain $f 4
    close $f
    file delete $name
}
ns_register_proc GET /parts {
    set f [file tempfile name]
    puts -nonewline $f 0123456789
    close $f
    set r [ns_writer submitfile -headers -offset 2 -size 5 $name]
    file delete $name
    nsv_set conn parts $r
}
"#;

fn server() -> Server {
    Server::builder()
        .library("conn.tcl", HANDLERS)
        .param("ns/server/default", "compressenable", "true")
        .start()
}

#[test]
fn text_goes_out_in_the_charset_of_its_type() {
    let server = server();
    assert_eq!(server.get("/latin").body, b"caf\xe9 ?");
    assert_eq!(server.get("/japan").body, b"\x93\xfa");
    let cyrillic = server.get("/cyrillic");
    assert_eq!(cyrillic.body, b"\x86");
    assert_eq!(
        cyrillic.header("content-type"),
        Some("text/plain; charset=cp866")
    );
}

#[test]
fn compression_is_announced_and_left_to_the_client() {
    let server = server();
    let plain = server.get("/big");
    assert_eq!(
        (plain.body.len(), plain.header("vary")),
        (9000, Some("accept-encoding"))
    );
    assert_eq!(plain.header("content-encoding"), None);
    let mut connection = server.connect();
    connection.send("GET /big HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: br\r\nAccept-Encoding: GZIP\r\n\r\n");
    let packed = connection.response();
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    assert!(packed.body.len() < 500 && packed.body.starts_with(&[0x1f, 0x8b]));
}

#[test]
fn heads_that_scripts_write_are_framed_anew() {
    let server = server();
    let mut connection = server.connect();
    for _ in 0..2 {
        connection.send("GET /own-head HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let own = connection.response();
        assert_eq!(
            (own.status, own.header("x-own"), own.text().as_str()),
            (404, Some("1"), "no fish")
        );
        connection.send("GET /plain-write HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert_eq!(connection.response().text(), "just text");
        connection.send("GET /pieces HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert_eq!(connection.response().text(), "onetwo and three");
        connection.send("GET /too-long HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert_eq!(connection.response().text(), "abcd");
    }
}

#[test]
fn what_is_not_complete_does_not_look_complete() {
    let server = server();
    for path in ["/too-short", "/half"] {
        let mut connection = server.connect();
        connection.send(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
        assert!(connection.read_response("GET").is_err(), "{path}");
    }
    assert_eq!(server.get("/silent").status, 500);
}

#[test]
fn one_request_has_one_answer() {
    let server = server();
    assert_eq!(server.get("/twice").text(), "first");
    assert_eq!(
        server.eval("nsv_get conn twice").unwrap(),
        "1 {connection socket is detached} 0"
    );
    assert_eq!(server.get("/status").status, 418);
}

#[test]
fn line_breaks_of_scripts_make_no_header_fields() {
    let server = server();
    let response = server.get("/split");
    assert_eq!(response.header("location"), Some("/a%20b%0D%0AX:%20y"));
    assert_eq!(response.header("x-injected"), None);
}

#[test]
fn connections_and_channels() {
    let server = server();
    let answer = server.raw("GET /channel HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_eq!(answer, b"spoken without HTTP");
    let copied = server.post("/copy", "application/octet-stream", "abcdefgh");
    assert_eq!(copied.text(), "abcd", "{}", server.log());
    let parts = server.get("/parts");
    assert_eq!(
        (parts.status, parts.text().as_str()),
        (200, "23456"),
        "{}",
        server.log()
    );
}
