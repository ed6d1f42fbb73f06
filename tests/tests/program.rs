//! The program as a whole: its flags, its start and its failures, command mode, signals, the end.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use testkit::wait::{PATIENCE, until};
use testkit::{Connection, Server, free_port, nsd, nsd_command, nsd_path, unprivileged};

/// A handler that says that it runs, and ends when the file `go` is there.
const WAITING: &str = r#"
    ns_register_proc GET /wait {
        close [open [ns_info home]/running w]
        while {![file exists [ns_info home]/go]} {after 2}
        ns_return 200 text/plain done
    }
"#;

fn user() -> Vec<&'static str> {
    unprivileged().map_or_else(Vec::new, |user| vec!["-u", user])
}

#[test]
fn version_and_help() {
    let version = nsd(&["-V"], "");
    assert_eq!(version.code, Some(0));
    assert!(version.stdout.starts_with("Navis/"), "{version:?}");
    assert!(version.stdout.contains("Version:"), "{version:?}");
    let help = nsd(&["-h"], "");
    assert_eq!(help.code, Some(0));
    assert!(help.stdout.starts_with("usage: "), "{help:?}");
    let wrong = nsd(&["-Q"], "");
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.stderr.contains("unknown option -Q"), "{wrong:?}");
}

#[test]
fn root_is_refused_with_the_remedy() {
    if unprivileged().is_none() {
        return; // Not root: there is nothing to refuse.
    }
    let refused = nsd(&["-c"], "puts no");
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("-u USER"), "{refused:?}");
    assert!(!refused.stdout.contains("no"), "{refused:?}");
    let unknown = nsd(&["-c", "-u", "nosuchuser"], "");
    assert!(
        unknown.stderr.contains("-u nosuchuser: no such user"),
        "{unknown:?}"
    );
}

#[test]
fn exit_codes_of_command_mode() {
    for (script, code) in [
        ("set x 1", 0),
        ("exit 7", 7),
        ("exit", 0),
        ("catch {exit 3}; puts stderr {not reached}", 3),
        ("ns_shutdown", 0),
        ("ns_shutdown -restart", 130),
        ("error boom", 1),
        ("proc p {} {exit 5}; p", 5),
    ] {
        let ended = nsd_command(script);
        assert_eq!(ended.code, Some(code), "{script}: {ended:?}");
        assert!(!ended.stderr.contains("not reached"), "{ended:?}");
        assert!(
            ended.stderr.contains("Notice: stopped"),
            "{script}: not in order: {ended:?}"
        );
    }
    let failed = nsd_command("proc inner {} {error boom}\ninner");
    assert!(
        failed.stderr.contains("boom\n") && failed.stderr.contains("invoked from within"),
        "{failed:?}"
    );
}

#[test]
fn command_mode_is_like_tclsh() {
    let shown =
        nsd_command("puts [list $argv0 $argv $argc $tcl_interactive [file tail [info script]]]");
    assert_eq!(shown.stdout, "script.tcl {} 0 0 script.tcl\n", "{shown:?}");
    let unflushed = nsd_command("fconfigure stdout -buffering full; puts -nonewline held; exit 0");
    assert_eq!(unflushed.stdout, "held");
    let mut words = user();
    words.insert(0, "-c");
    let typed = nsd(
        &words,
        "set a 5\nproc f {} {\n  return [expr {$::a * 2}]\n}\nf\nnosuch\nputs last\n",
    );
    assert_eq!(typed.code, Some(0));
    assert_eq!(typed.stdout, "5\n10\nlast\n", "{typed:?}");
    assert!(
        typed.stderr.contains("invalid command name \"nosuch\""),
        "{typed:?}"
    );
    let left = nsd(&words, "exit 4\nputs no\n");
    assert_eq!((left.code, left.stdout.as_str()), (Some(4), ""));
}

#[test]
fn a_taken_port_is_named_and_nothing_is_left_behind() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("bound").port();
    let builder = Server::builder().append(&format!(
        "ns_section -update ns/module/nssock {{ns_param port {port}}}"
    ));
    let home = builder.home();
    let kept = fs::read_dir(&home).expect("the home").count();
    assert!(kept > 0);
    let Err(failure) = builder.try_start() else {
        panic!("it started on a taken port")
    };
    assert!(failure.contains(&format!("127.0.0.1:{port}")), "{failure}");
    assert!(!home.join("nsd.pid").exists());
}

#[test]
fn mistakes_of_the_configuration_are_told() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("c.tcl");
    fs::write(&path, "ns_section ns/servers {ns_param s s}\nns_section ns/server/s {\n  ns_param maxthread 3\n}\n").expect("a file");
    let _ = Command::new("chmod")
        .args(["-R", "a+rX"])
        .arg(folder.path())
        .status();
    let path = path.to_string_lossy().into_owned();
    let tested = nsd(&["-T", "-t", &path], "");
    let told = format!("{}{}", tested.stdout, tested.stderr);
    assert!(
        told.contains("maxthread") && told.contains("maxthreads"),
        "{told}"
    );
    fs::write(
        folder.path().join("c.tcl"),
        "ns_section ns/servers {ns_param s s}\nnosuchcommand\n",
    )
    .expect("a file");
    let broken = nsd(&["-T", "-t", &path], "");
    assert_ne!(broken.code, Some(0));
    assert!(
        broken.stderr.contains("nosuchcommand") && broken.stderr.contains("c.tcl"),
        "{broken:?}"
    );
}

#[test]
fn a_running_request_is_answered_before_the_end() {
    let mut server = Server::builder().library("wait.tcl", WAITING).start();
    let mut connection = server.connect();
    connection.send("GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let running = server.home().join("running");
    until(PATIENCE, || running.exists().then_some(())).expect("the handler runs");
    server.signal("TERM");
    until(PATIENCE, || {
        server.log().contains("stopping;").then_some(())
    })
    .expect("the end has begun");
    fs::write(server.home().join("go"), "").expect("a file");
    let response = connection.response();
    assert_eq!((response.status, response.text().as_str()), (200, "done"));
    assert_eq!(server.wait(), Some(0), "{}", server.log());
    assert!(!server.home().join("nsd.pid").exists());
}

#[test]
fn the_end_waits_no_longer_than_shutdowntimeout() {
    let mut server = Server::builder()
        .library("wait.tcl", WAITING)
        .param("ns/parameters", "shutdowntimeout", "500ms")
        .start();
    let mut connection = server.connect();
    connection.send("GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let running = server.home().join("running");
    until(PATIENCE, || running.exists().then_some(())).expect("the handler runs");
    let begin = Instant::now();
    assert_eq!(server.stop(), Some(0), "{}", server.log());
    assert!(
        begin.elapsed() < Duration::from_secs(8),
        "{:?}\n{}",
        begin.elapsed(),
        server.log()
    );
    assert!(server.log().contains("was not enough"), "{}", server.log());
}

#[test]
fn hooks_run_in_their_order() {
    let library = r#"
        proc note {what} { set f [open [ns_info home]/notes a]; puts $f $what; close $f }
        foreach at {exit shutdown startup prestartup signal} { ns_at$at note $at; ns_at$at note ${at}2 }
    "#;
    let mut server = Server::builder().library("hooks.tcl", library).start();
    let notes = server.home().join("notes");
    let read = || {
        fs::read_to_string(&notes)
            .unwrap_or_default()
            .replace('\n', " ")
    };
    until(PATIENCE, || read().contains("startup2").then_some(())).expect("start-up hooks");
    server.signal("HUP");
    until(PATIENCE, || read().contains("signal2").then_some(())).expect("signal hooks");
    assert_eq!(server.stop(), Some(0));
    assert_eq!(
        read(),
        "prestartup prestartup2 startup startup2 signal signal2 shutdown2 shutdown exit2 exit "
    );
}

#[test]
fn ns_shutdown_ends_the_server() {
    let mut server = Server::builder().start();
    assert_eq!(
        server
            .eval("ns_shutdown 5; ns_info shutdownpending")
            .expect("it answers"),
        "1"
    );
    assert_eq!(server.wait(), Some(0), "{}", server.log());
}

/// Without `-f`: the program returns when the server accepts, the log goes to a file, HUP rolls it.
#[test]
fn in_the_background() {
    let folder = tempfile::tempdir().expect("a directory");
    let home = folder.path();
    let port = free_port();
    fs::create_dir(home.join("log")).expect("a folder");
    let text = format!(
        "ns_section ns/parameters {{
            ns_param home {home}; ns_param logdir {home}/log; ns_param pidfile {home}/log/nsd.pid
        }}
        ns_section ns/servers {{ns_param s s}}
        ns_section ns/modules {{ns_param nssock nssock}}
        ns_section ns/module/nssock {{ns_param address 127.0.0.1; ns_param port {port}; ns_param defaultserver s}}",
        home = home.display()
    );
    fs::write(home.join("c.tcl"), text).expect("the configuration");
    let _ = Command::new("chmod")
        .args(["-R", "a+rwX"])
        .arg(home)
        .status();
    let status = Command::new(nsd_path())
        .args(user())
        .arg("-t")
        .arg(home.join("c.tcl"))
        .stdin(Stdio::null())
        .status()
        .expect("the program");
    assert!(status.success(), "{status:?}");
    let pid = fs::read_to_string(home.join("log/nsd.pid"))
        .expect("a pid file")
        .trim()
        .to_owned();
    let kill = |signal: &str| {
        Command::new("kill")
            .args([signal, &pid])
            .status()
            .is_ok_and(|s| s.success())
    };
    Connection::open(("127.0.0.1", port)).expect("it accepts as soon as the program has returned");
    let log = home.join("log/nsd.log");
    assert!(
        fs::read_to_string(&log)
            .expect("the log")
            .contains("server started")
    );
    assert!(kill("-HUP"));
    let rolled = until(PATIENCE, || {
        home.join("log/nsd.log.000").exists().then_some(())
    });
    assert!(kill("-TERM"));
    let gone = until(PATIENCE, || {
        (!home.join("log/nsd.pid").exists()).then_some(())
    });
    assert!(gone.is_some(), "the pid file is left");
    assert!(rolled.is_some(), "HUP did not roll the log");
    until(PATIENCE, || (!kill("-0")).then_some(())).expect("the process ends");
}

#[test]
fn two_servers_and_a_directory_of_fragments() {
    let folder = Server::builder()
        .file("conf/10-base.tcl", "ns_section ns/parameters {ns_param home [file dirname [file dirname [file normalize [info script]]]]}\nns_section ns/servers {ns_param one One; ns_param two Two}")
        .file("conf/20-net.conf", "ns_section ns/modules {ns_param nssock nssock}\nns_section ns/module/nssock {ns_param address 127.0.0.1; ns_param port $::env(PORT); ns_param defaultserver one}\nns_section ns/module/nssock/servers {ns_param one one.test; ns_param two two.test}")
        .file("conf/30-servers.tcl", "foreach s {one two} {ns_section ns/server/$s/fastpath {ns_param pagedir pages/$s}; ns_section ns/server/$s/tcl {ns_param library lib/$s}}")
        .file("conf/ignored.txt", "error no")
        .page("one/index.html", "one")
        .page("two/index.html", "two")
        .file("lib/one/a.tcl", "ns_register_proc GET /name {ns_return 200 text/plain [ns_info server]}")
        .file("lib/two/a.tcl", "ns_register_proc GET /name {ns_return 200 text/plain [ns_info server]}")
        .without_eval();
    let conf = folder.home().join("conf");
    let server = folder.configuration_file(conf).start();
    for (host, want) in [
        ("one.test", "one"),
        ("two.test", "two"),
        ("other.test", "one"),
    ] {
        let mut connection = server.connect();
        connection.send(format!(
            "GET / HTTP/1.1\r\nHost: {host}\r\n\r\nGET /name HTTP/1.1\r\nHost: {host}\r\n\r\n"
        ));
        assert_eq!(connection.response().text(), want);
        assert_eq!(connection.response().text(), want);
    }
}

#[test]
fn sockets_bound_in_advance_are_used() {
    let port = free_port();
    let server = Server::builder()
        .argument("-b")
        .argument(&format!("127.0.0.1:{port}"))
        .start();
    // Nobody wants that address: it is told, and the server starts.
    let told = || {
        let log = server.log();
        (log.contains("bound in advance") && log.contains(&port.to_string())).then_some(())
    };
    until(PATIENCE, told).expect("a warning");
    assert_eq!(server.eval("expr 1").as_deref(), Ok("1"));
}
