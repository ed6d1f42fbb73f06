//! Pages with scripts in them: what the recorded exchanges do not show.

use testkit::{Builder, Server};

fn adp() -> Builder {
    Server::builder().param("ns/server/default/adp", "map", "/*.adp")
}

#[test]
fn a_page_that_changes_is_read_again() {
    let server = adp().page("a.adp", "one <%= [ns_adp_argc] %>").start();
    assert_eq!(server.get("/a.adp").text(), "one 2");
    // Another length, so that the change shows whatever the clock of the file system does.
    std::fs::write(server.home().join("pages/a.adp"), "the second <%= 2 %>").expect("the page");
    assert_eq!(server.get("/a.adp").text(), "the second 2");
    std::fs::remove_file(server.home().join("pages/a.adp")).expect("the page is there");
    assert_eq!(server.get("/a.adp").status, 404);
}

#[test]
fn errors_tell_file_line_and_the_pages_around() {
    let server = adp()
        .page("outer.adp", "\n<%\nns_adp_include inner.adp\n%>end")
        .page("inner.adp", "a\n<% set x 1\nset y $nothing %>b")
        .start();
    assert_eq!(server.get("/outer.adp").text(), "\na\nbend");
    let log = server.log();
    assert!(log.contains("can't read \"nothing\""), "{log}");
    assert!(
        log.contains("at line 3 of adp file") && log.contains("included from line 2 of adp file"),
        "{log}"
    );
}

#[test]
fn one_script_knows_the_lines_of_its_page() {
    let server = adp()
        .param("ns/server/default/adp", "singlescript", "true")
        .page(
            "a.adp",
            "a\nb\n<% foreach i {1 2} { %>\n(<%= $i %>)\n<% } %>\n\n<% error here %>lost",
        )
        .start();
    assert_eq!(server.get("/a.adp").text(), "a\nb\n\n(1)\n\n(2)\n\n\n");
    assert!(
        server.log().contains("at line 7 of adp file"),
        "{}",
        server.log()
    );
}

#[test]
fn pages_within_pages_have_an_end() {
    let server = adp()
        .page("a.adp", "<% ns_adp_include a.adp %>x")
        .page("b.adp", "fine")
        .start();
    assert_eq!(server.get("/a.adp").status, 200);
    assert!(
        server.log().contains("pages within pages"),
        "{}",
        server.log()
    );
    assert_eq!(server.get("/b.adp").text(), "fine");
}

#[test]
fn an_aborted_page_is_an_error_and_a_broken_stream_is_seen() {
    let server = adp()
        .page("a.adp", "text <% ns_adp_abort %> more")
        .page(
            "redirect.adp",
            "text <% ns_returnredirect /b.adp; ns_adp_abort %> more",
        )
        .page("b.adp", "next")
        .start();
    assert_eq!(server.get("/a.adp").status, 500);
    let redirect = server.get("/redirect.adp");
    assert_eq!(
        (redirect.status, redirect.header("location")),
        (302, Some("/b.adp"))
    );
    assert_eq!(server.get("/b.adp").text(), "next");
}

#[test]
fn kept_output_holds_pages_that_are_not_kept() {
    let server = adp()
        .param("ns/server/default/adp", "cache", "true")
        .page(
            "a.adp",
            "<% ns_adp_include -cache 60 kept.adp [ns_queryget key] %>|",
        )
        .page(
            "kept.adp",
            "<%= [nsv_incr n kept] %> <% ns_adp_include -nocache fresh.adp x %> end",
        )
        .page(
            "fresh.adp",
            "<%= [ns_adp_argv 0] %><%= [nsv_incr n fresh] %>",
        )
        .start();
    assert_eq!(server.get("/a.adp?key=1").text(), "1 x1 end|");
    assert_eq!(server.get("/a.adp?key=1").text(), "1 x2 end|");
    assert_eq!(server.get("/a.adp?key=2").text(), "2 x3 end|");
}

#[test]
fn switches_last_for_one_request() {
    let server = adp()
        .param("ns/server/default", "maxthreads", "1")
        .page("on.adp", "<% ns_adp_ctl displayerror on; ns_adp_mimetype text/plain %><%= [ns_adp_ctl displayerror] %>")
        .page("off.adp", "<%= [ns_adp_ctl displayerror] %>")
        .start();
    assert_eq!(server.get("/on.adp").text(), "1");
    let off = server.get("/off.adp");
    assert_eq!(
        (off.text().as_str(), off.header("content-type")),
        ("0", Some("text/html; charset=utf-8"))
    );
}

#[test]
fn output_goes_to_a_channel_on_demand() {
    let server = adp().start();
    let script = "set f [open [ns_config ns/parameters home]/out w]
        set out [ns_adp_parse -string {a<% ns_adp_flush %>b}]
        close $f; set out";
    assert_eq!(server.eval(script).expect("the script runs"), "ab");
    let bad = server
        .eval("ns_adp_ctl channel nosuch")
        .expect_err("there is no such channel");
    assert!(format!("{bad:?}").contains("nosuch"), "{bad:?}");
}

#[test]
fn a_notice_is_a_page_on_demand() {
    let server = adp()
        .param("ns/server/default", "noticeadp", "notice.adp")
        .file("conf/notice.adp", "<%= $status %>: <%= $title %>")
        .start();
    let missing = server.get("/none.adp");
    assert_eq!(
        (missing.status, missing.text().as_str()),
        (404, "404: Not Found")
    );
}

#[test]
fn a_text_run_often_stays_the_same_page() {
    let server = adp().start();
    let script = "set out {}
        foreach x {1 2 3} {lappend out [ns_adp_parse {<% set n [ns_adp_argv 1] %>n=<%= $n %><% ns_adp_return %>x} $x]}
        set out";
    assert_eq!(server.eval(script).expect("the script runs"), "n=1 n=2 n=3");
    let script = "foreach x {1 2} {catch {ns_adp_parse {a<% nosuch %>}} m o; lappend out $m [dict get $o -errorcode]}; set out";
    let failed = "{invalid command name \"nosuch\"} {TCL LOOKUP COMMAND nosuch}";
    assert_eq!(
        server.eval(script).expect("the script runs"),
        format!("{failed} {failed}")
    );
}

#[test]
fn the_debugger_is_called_on_demand() {
    let server = adp()
        .param("ns/server/default/adp", "enabledebug", "true")
        .library("debug.tcl", "proc ns_adp_debuginit {procs host port} {ns_log notice debugger $procs at $host:$port}")
        .page("a.adp", "fine")
        .start();
    assert_eq!(server.get("/a.adp?debug=b.adp").text(), "fine");
    assert!(!server.log().contains("debugger"), "{}", server.log());
    assert_eq!(
        server
            .get("/a.adp?debug=*.adp&dhost=h&dport=9&dprocs=p*")
            .text(),
        "fine"
    );
    assert!(
        server.log().contains("debugger p* at h:9"),
        "{}",
        server.log()
    );
}
