//! Interpreters of connection threads: what the library left behind is there, on first use, as if it had been sourced.

use testkit::Server;

/// Evaluates a script in a connection thread of a server with this library.
#[track_caller]
fn after(library: &str, script: &str) -> String {
    let server = Server::builder().library("app.tcl", library).start();
    value(&server, script)
}

#[track_caller]
fn value(server: &Server, script: &str) -> String {
    match server.eval(script) {
        Ok(value) => value,
        Err(e) => panic!("{script}: {}\n{}", e.message, server.log()),
    }
}

const ONE_THREAD: &str = "ns_section -update ns/server/default {ns_param maxthreads 1}";

const APP: &str = r#"
    proc plain {a {b 2} args} { return "$a $b $args" }
    namespace eval ::app {
        namespace export e1 e2
        variable scalar "a b"
        variable array
        array set array {k v {two words} {x y}}
        variable count 0
        proc e1 {} { return e1 }
        proc e2 {} { return e2 }
        proc hidden {} { variable count; incr count; helper }
        proc helper {} { return "helped [plain 1]" }
        proc where {} { return [namespace current] }
        namespace eval inner { proc up {} { e1only }; proc e1only {} { return inner } }
    }
    namespace eval ::user { namespace import ::app::*; proc both {} { list [e1] [e2] } }
    namespace eval ::pathed { namespace path ::app; proc go {} { hidden } }
    namespace eval ::ens { namespace export a b; proc a {} { return A }; proc b {} { return B }; namespace ensemble create }
    namespace eval ::ens2 { proc doit {x} { return "did $x" }; namespace ensemble create -command ::mapped -map {do doit} }
    interp alias {} short {} plain 7
    proc {odd name*} {} { return odd }
    proc ::app::[string repeat x 3] {} { return xxx }
    namespace eval ::app { namespace unknown ::app::catcher; proc catcher {args} { return "caught $args" } }
    set aGlobal 1
    set ::env(NAVIS_TEST) yes
"#;

#[test]
fn procedures_namespaces_and_what_hangs_on_them() {
    let server = Server::builder()
        .append(ONE_THREAD)
        .library("app.tcl", APP)
        .start();
    for (script, want) in [
        ("plain 1", "1 2 "),
        ("plain 1 3 4 5", "1 3 4 5"),
        ("set ::app::count", "0"),
        ("app::hidden; app::hidden; set ::app::count", "2"),
        ("app::hidden", "helped 1 2 "),
        ("set ::app::scalar", "a b"),
        ("set {::app::array(two words)}", "x y"),
        ("::app::where", "::app"),
        ("app::inner::up", "inner"),
        ("user::both", "e1 e2"),
        ("pathed::go", "helped 1 2 "),
        ("list [ens a] [ens b]", "A B"),
        ("mapped do it", "did it"),
        ("short", "7 2 "),
        ("{odd name*}", "odd"),
        ("app::xxx", "xxx"),
        ("namespace eval ::app { nosuch 1 2 }", "caught nosuch 1 2"),
        ("info exists ::aGlobal", "0"),
        ("set ::env(NAVIS_TEST)", "yes"),
        ("namespace origin ::user::e1", "::app::e1"),
        ("namespace which app::e1", "::app::e1"),
        ("namespace eval ::app {namespace export}", "e1 e2"),
    ] {
        assert_eq!(value(&server, script), want, "{script}");
    }
}

#[test]
fn what_is_not_made_yet_is_seen_by_introspection() {
    for (script, want) in [
        ("lsort [info procs ::app::e*]", "::app::e1 ::app::e2"),
        ("namespace eval ::app {lsort [info procs e*]}", "e1 e2"),
        ("info commands plain", "plain"),
        ("info commands ::plain", "::plain"),
        (
            "lsort [info commands ::user::*]",
            "::user::both ::user::e1 ::user::e2",
        ),
        ("info args plain", "a b args"),
        ("info default plain b d; set d", "2"),
        ("string trim [info body app::e1]", "return e1"),
        ("info commands ::nosuch*", ""),
        ("expr {{plain} in [info procs]}", "1"),
        (
            "info procs ::app::inner::*",
            "::app::inner::up ::app::inner::e1only",
        ),
        (
            "namespace eval ::fresh {namespace import ::app::e1; e1}",
            "e1",
        ),
        (
            "namespace eval ::fresh {namespace path ::ens; list [a] [b]}",
            "A B",
        ),
    ] {
        let got = after(APP, script);
        let sorted = |text: &str| {
            let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            words.sort();
            words
        };
        assert_eq!(sorted(&got), sorted(want), "{script}");
    }
}

#[test]
fn scripts_may_change_what_is_not_made_yet() {
    for (script, want) in [
        ("proc plain {} {return mine}; plain", "mine"),
        (
            "rename plain other; list [other 5] [catch plain] [info commands plain]",
            "{5 2 } 1 {}",
        ),
        (
            "rename plain {}; list [catch plain m] $m",
            "1 {invalid command name \"plain\"}",
        ),
        ("proc plain {} {}; rename plain {}; catch plain", "1"),
        (
            "namespace delete ::app; list [catch ::app::e1] [namespace exists ::app] [info commands ::app::*]",
            "1 0 {}",
        ),
        (
            "namespace delete ::app; namespace eval ::app {proc e2 {} {return new}}; list [app::e2] [catch app::e1]",
            "new 1",
        ),
        (
            "namespace eval ::user {namespace forget ::app::*}; catch ::user::e1",
            "1",
        ),
        (
            "rename plain old; proc plain args {return \"<[old {*}$args]>\"}; list [plain 1] [app::helper]",
            "{<1 2 >} {helped <1 2 >}",
        ),
        (
            "trace add execution plain enter {lappend ::seen}; plain 1; set ::seen",
            "{plain 1} enter",
        ),
        (
            "catch {error boom}; set before $::errorInfo; plain 1; expr {$before eq $::errorInfo}",
            "1",
        ),
    ] {
        assert_eq!(after(APP, script), want, "{script}");
    }
}

#[test]
fn a_change_in_one_request_stays_in_its_thread_until_ns_eval_tells_all() {
    let server = Server::builder().library("app.tcl", APP).start();
    assert_eq!(
        value(
            &server,
            "ns_eval {proc plain args {return new}; proc fresh {} {return fresh}}; list [plain] [fresh]"
        ),
        "new fresh"
    );
    // Other threads, old and new.
    assert_eq!(
        value(
            &server,
            "ns_thread wait [ns_thread create {list [plain] [fresh] [app::e1]}]"
        ),
        "new fresh e1"
    );
    let ids: Vec<String> = (0..6)
        .map(|_| value(&server, "list [ns_thread id] [plain] [fresh]"))
        .collect();
    assert!(
        ids.iter().all(|line| line.ends_with(" new fresh")),
        "{ids:?}"
    );
    assert_eq!(
        value(
            &server,
            "ns_eval {namespace eval ::late {variable v 5; proc p {} {variable v; return $v}}}; late::p"
        ),
        "5"
    );
    assert_eq!(
        value(&server, "ns_thread wait [ns_thread create {late::p}]"),
        "5"
    );
    assert_eq!(
        value(&server, "ns_eval {rename fresh {}}; info commands fresh"),
        ""
    );
    assert_eq!(
        value(&server, "ns_thread wait [ns_thread create {catch fresh}]"),
        "1"
    );
    let error = server
        .eval("ns_eval {proc broken {} {}; error no}")
        .expect_err("an error in the script");
    assert_eq!(error.message, "no");
    assert_eq!(
        value(
            &server,
            "ns_thread wait [ns_thread create {info commands broken}]"
        ),
        ""
    );
    assert_eq!(
        value(
            &server,
            "set e [ns_ictl epoch]; ns_eval {set x 1}; expr {[ns_ictl epoch] - $e}"
        ),
        "1"
    );
}

#[test]
fn a_saved_script_makes_new_interpreters() {
    let server = Server::builder().library("app.tcl", APP).start();
    value(
        &server,
        "ns_ictl save \"[ns_ictl get]\\nproc added {} {return added}\"",
    );
    assert_eq!(
        value(
            &server,
            "ns_thread wait [ns_thread create {list [added] [user::both] [plain 1] [set ::app::array(k)]}]"
        ),
        "added {e1 e2} {1 2 } v"
    );
}

#[test]
fn global_variables_channels_and_sets_end_with_their_request() {
    let server = Server::builder().append(ONE_THREAD).start();
    value(
        &server,
        "set ::left 1; array set ::arr {a b}; set ::ch [open /dev/null]; ns_set create s; set ::tcl_mine 1",
    );
    assert_eq!(
        value(
            &server,
            "list [info exists ::left] [info exists ::arr] [lsearch -inline [file channels] file*] [ns_set list]"
        ),
        "0 0 {} {}"
    );
    value(
        &server,
        "namespace eval ::keep {variable v 1}; proc ::kept {} {return 1}",
    );
    assert_eq!(value(&server, "list [set ::keep::v] [kept]"), "1 1");
    assert_eq!(
        value(&server, "ns_ictl markfordelete; info exists ::keep::v"),
        "1"
    );
    assert_eq!(value(&server, "info exists ::keep::v"), "0");
}

#[test]
fn traces_of_interpreters_run_in_their_order() {
    let server = Server::builder()
        .append(ONE_THREAD)
        .library(
            "app.tcl",
            r"
            nsv_set t log {}
            foreach when {create allocate getconn freeconn deallocate delete} {
                ns_ictl trace $when [list nsv_lappend t log $when]
                ns_ictl trace $when nsv_lappend t log ${when}2
            }
            ",
        )
        .start();
    value(&server, "nsv_set t log {}");
    assert_eq!(
        value(&server, "nsv_get t log"),
        "freeconn2 freeconn deallocate2 deallocate allocate allocate2 getconn getconn2"
    );
    value(&server, "nsv_set t log {}; ns_ictl markfordelete");
    assert_eq!(
        value(&server, "lrange [nsv_get t log] 4 end"),
        "delete2 delete create create2 allocate allocate2 getconn getconn2"
    );
    value(
        &server,
        "nsv_set t log {}; ns_thread wait [ns_thread create {set x 1}]; nsv_set t copy [nsv_get t log]",
    );
    assert_eq!(
        value(&server, "nsv_get t copy"),
        "create create2 allocate allocate2 deallocate2 deallocate delete2 delete"
    );
    assert_eq!(
        value(&server, "ns_ictl gettraces create"),
        "{nsv_lappend t log create} {nsv_lappend t log create2}"
    );
}

#[test]
fn classes_and_objects_of_tcloo() {
    let library = r#"
        oo::class create Base {
            variable name
            constructor {n} { set name $n; nsv_incr made n }
            destructor { nsv_incr made gone }
            method name {} { return $name }
            method Upper {} { string toupper $name }
            method loud {} { my Upper }
            method unknown {args} { return "unknown $args" }
            forward size string length
            export Upper
            unexport loud
        }
        oo::class create ::app::Sub { superclass Base; mixin; method name {} { return "sub [next]" } }
        oo::class create Mix { method extra {} { return extra } }
        oo::define ::app::Sub mixin Mix
        oo::objdefine Base { method classwide {} { return "class method" } ; forward echo list }
        ::app::Sub create obj first
        oo::objdefine obj { method own {} { return own }; mixin Mix }
        oo::class create Meta { superclass oo::class; method make {n} { uplevel 1 [list [self] create $n $n] } }
        Meta create FromMeta { superclass Base }
        oo::class create Counter { variable n; constructor {} {set n 0}; method up {} {incr n} }
        Counter create counter
        counter up; counter up
        proc use {} { [Base new tmp] name }
    "#;
    for (script, want) in [
        ("obj name", "sub first"),
        (
            "list [obj own] [obj extra] [obj Upper] [obj size abc]",
            "own extra FIRST 3",
        ),
        ("obj loud", "unknown loud"),
        ("use", "tmp"),
        ("[app::Sub new x] name", "sub x"),
        ("list [Base classwide] [Base echo a]", "{class method} a"),
        ("FromMeta make y; y name", "y"),
        ("counter up", "3"),
        (
            "set n [nsv_get made n]; obj destroy; list [expr {$n >= 1}] [nsv_get made gone]",
            "1 1",
        ),
        (
            "list [info object class obj] [info class superclasses app::Sub] [info object isa metaclass Meta]",
            "::app::Sub ::Base 1",
        ),
    ] {
        assert_eq!(after(library, script), want, "{script}");
    }
    let server = Server::builder().library("app.tcl", library).start();
    value(
        &server,
        "ns_eval {oo::define Base method late {} {return late}; oo::class create New {method x {} {return x}}}",
    );
    assert_eq!(value(&server, "list [obj late] [[New new] x]"), "late x");
    assert_eq!(
        value(
            &server,
            "ns_thread wait [ns_thread create {list [obj late] [[New new] x] [obj name]}]"
        ),
        "late x {sub first}"
    );
}

#[test]
fn packages() {
    let tcl9 = tcl9();
    for (library, script, want) in [
        (
            "package require tdom",
            "[[dom parse <a><b>x</b></a>] documentElement] asXML -indent none",
            "<a><b>x</b></a>",
        ),
        (
            "package require json",
            "dict get [json::json2dict {{\"a\": [1, 2]}}] a",
            "1 2",
        ),
        (
            "package require md5",
            "md5::md5 -hex abc",
            "900150983CD24FB0D6963F7D28E17F72",
        ),
        (
            "package require struct::list; package require struct::set",
            "list [struct::list equal {a b} {a b}] [lsort [struct::set union {a b} {b c}]]",
            "1 {a b c}",
        ),
        (
            "package require fileutil",
            "fileutil::stripPath /a /a/b",
            "b",
        ),
        (
            "package require uri",
            "dict get [uri::split http://h/p] host",
            "h",
        ),
        ("package require csv", "csv::split a,b", "a b"),
        ("package require base64", "base64::encode abc", "YWJj"),
        ("package require html", "html::html_entities <", "&lt;"),
        (
            "package require snit; snit::type Dog {option -name x; method bark {} {return \"$options(-name) barks\"}}",
            "Dog create d -name Rex; d bark",
            "Rex barks",
        ),
        ("package require logger", "logger::services", ""),
        (
            "package require http",
            "lindex [split [http::config -useragent] /] 0",
            "Mozilla",
        ),
        (
            "package require msgcat; msgcat::mclocale de; namespace eval ::app {msgcat::mcset de Hello Hallo}",
            "namespace eval ::app {msgcat::mc Hello}",
            "Hallo",
        ),
        (
            "package require Thread",
            "tsv::set a b 5; tsv::get a b",
            "5",
        ),
        (
            "package require struct::stack",
            "set s [struct::stack]; $s push 1 2; $s size",
            "2",
        ),
        (
            "package require textutil",
            "textutil::trimPrefix abc a",
            "bc",
        ),
        (
            "package require cmdline",
            "set l {-a 1 rest}; cmdline::getopt l {a.arg} o v; list $o $v $l",
            "a 1 rest",
        ),
        (
            "package require TclOO; package require oo::util 1",
            "oo::class create X {classmethod hi {} {return hi}}; X hi",
            "hi",
        ),
        (
            "",
            "package require json; json::json2dict {{\"a\": 1}}",
            "a 1",
        ),
        (
            "lappend auto_path /nowhere; tcl::tm::path add /nowhere/tm",
            "list [expr {{/nowhere} in $::auto_path}] [expr {{/nowhere/tm} in [tcl::tm::path list]}]",
            "1 1",
        ),
        ("", "clock format 0 -gmt 1 -format %Y-%m-%d", "1970-01-01"),
    ] {
        if library.ends_with("Thread") && tcl9 {
            eprintln!("skipped: Debian has no Thread for Tcl 9");
            continue;
        }
        assert_eq!(after(library, script), want, "{library}: {script}");
    }
}

/// Whether the program was built for Tcl 9.
fn tcl9() -> bool {
    testkit::nsd_command("puts [info tclversion]")
        .stdout
        .starts_with("9.")
}

#[test]
fn objects_of_nsf() {
    if tcl9() {
        eprintln!("skipped: Debian has no nsf for Tcl 9");
        return;
    }
    let library = r#"
        package require nx
        package require XOTcl
        nx::Class create Person { :property {name x}; :public method hello {} { return "hi ${:name}" } }
        Person create joe -name Joe
        xotcl::Class Account -parameter {{balance 0}}
        Account instproc add {n} { my incr balance $n }
        Account acc -balance 5
        namespace eval ::app { nx::Class create Special -superclass ::Person { :public method hello {} { return "special [next]" } } }
    "#;
    let server = Server::builder().library("app.tcl", library).start();
    assert_eq!(value(&server, "joe hello"), "hi Joe");
    assert_eq!(value(&server, "acc add 3"), "8");
    assert_eq!(
        value(&server, "app::Special create s -name S; s hello"),
        "special hi S"
    );
    assert_eq!(
        value(
            &server,
            "ns_thread wait [ns_thread create {Person create z; list [z hello] [acc balance]}]"
        ),
        "{hi x} 5"
    );
}

#[test]
fn errors_in_library_files_are_logged_and_the_rest_is_there() {
    let server = Server::builder()
        .library("a.tcl", "proc good {} {return good}\nerror {broken file}")
        .library("b.tcl", "proc later {} {return later}")
        .start();
    assert_eq!(value(&server, "list [good] [later]"), "good later");
    assert!(server.log().contains("broken file"), "{}", server.log());
}

#[test]
fn init_tcl_comes_first_and_modules_know_their_name() {
    let server = Server::builder()
        .library("a.tcl", "lappend ::order a")
        .library("init.tcl", "set ::order init")
        .library("z.tcl", "lappend ::order z; nsv_set o order $::order")
        .library("mymod/x.tcl", "nsv_set o module [ns_module name]")
        .param("ns/server/default/modules", "mymod", "tcl")
        .start();
    assert_eq!(
        value(&server, "list [nsv_get o order] [nsv_get o module]"),
        "{init a z} mymod"
    );
}
