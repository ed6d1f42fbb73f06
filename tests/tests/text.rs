//! Text, files and sockets as scripts see them.

use testkit::Server;

fn eval(server: &Server, script: &str) -> String {
    server
        .eval(script)
        .unwrap_or_else(|e| panic!("{script}: {e:?}"))
}

#[test]
fn digests_of_bytes_and_of_text() {
    let server = Server::builder().start();
    for (script, expected) in [
        (
            "ns_md5 [binary format H* e9]",
            "3406877694691DDD1DFB0ACA54681407",
        ),
        ("ns_md5 -- \\u00e9", "66DDCD97CFDEABB2F6FB8A999B4BC76F"),
        (
            "set c [ns_crypto::md new sha1]; ns_crypto::md add $c abc; ns_crypto::md get $c; ns_crypto::md get $c",
            "a9993e364706816aba3e25717850c26c9cd0d89d",
        ),
        (
            "catch {ns_crypto::md get mdctx99} m; set m",
            "argument is not of type \"ns:mdctx\"",
        ),
        (
            "ns_totp -digest sha1 -key 12345678901234567890 -time 59",
            "94287082",
        ),
    ] {
        assert_eq!(eval(&server, script), expected, "{script}");
    }
}

#[test]
fn sockets_talk_to_callbacks() {
    let port = testkit::free_port();
    let server = Server::builder()
        .library(
            "answer.tcl",
            "proc answer {in out} { gets $in line; puts $out \"<$line>\"; close $in; close $out }
             proc ready {sock when} { nsv_set got line [gets $sock]; nsv_set got when $when; return 0 }",
        )
        .start();
    eval(
        &server,
        &format!("ns_socklistencallback 127.0.0.1 {port} answer"),
    );
    let script = format!(
        "lassign [ns_sockopen -timeout 5 127.0.0.1 {port}] in out; puts $out hello; flush $out
         ns_sockselect -timeout 5 [list $in] {{}} {{}}; set n [expr {{[ns_socknread $in] > 0}}]
         set line [gets $in]; ns_sockselect -timeout 5 [list $in] {{}} {{}}; set c [ns_sockcheck $in]
         close $in; close $out; list $n $line $c"
    );
    assert_eq!(eval(&server, &script), "1 <hello> 0");
    let script = "lassign [ns_socketpair] a b; ns_sockcallback $a ready r; puts $b there; flush $b
        set until [expr {[clock seconds] + 10}]
        while {![nsv_exists got when] && [clock seconds] < $until} {after 5}
        close $a; close $b; list [nsv_get got line] [nsv_get got when]";
    assert_eq!(eval(&server, script), "there r");
    assert_eq!(
        eval(&server, "catch {ns_sockopen 127.0.0.1 1} m; set m"),
        "can't connect to \"127.0.0.1:1\": connection refused"
    );
}

#[test]
fn channels_travel_between_threads() {
    let server = Server::builder().start();
    let script = "set f [open /dev/null]; ns_chan create $f null; set n [expr {$f in [file channels]}]
        set t [ns_thread create {set c [ns_chan get null]; set r [list [read $c] [eof $c]]; ns_chan put null; set r}]
        list $n [ns_thread wait $t] [ns_chan list -shared] [ns_chan cleanup -shared] [ns_chan list -shared]";
    assert_eq!(eval(&server, script), "0 {{} 1} null {} {}");
}

#[test]
fn files() {
    let server = Server::builder().start();
    let script = "set c [ns_opentmpfile name]; puts -nonewline $c [string repeat x 70000]needle-needle; flush $c; seek $c 0
        set at [list [ns_fseekchars $c needle] [read $c 7] [ns_fseekchars $c needle] [ns_fseekchars $c nowhere]]
        ns_ftruncate $c 3; close $c; ns_filestat $name about; set size $about(size)
        ns_gzipfile $name $name.gz; set z [zlib gunzip [ns_fileread $name.gz]]
        ns_unlink $name; ns_unlink $name.gz; list $at $size $z [catch {ns_unlink $name} m] [string match {error deleting *: no such file} $m]";
    assert_eq!(eval(&server, script), "{70000 needle- 70007 -1} 3 xxx 1 1");
}
