//! The five ways a script ends, in both directions, and what an error carries across nested evaluations.
use tcl::{Exit, Interp, Obj, ReturnExit, Settle, TclError};

fn interp() -> Interp {
    let interp = Interp::create().expect("Tcl starts");
    // Evaluates its argument and passes on whatever comes out.
    interp.register("through", |interp, words| interp.eval(&words[1].text()));
    interp
}

fn failure(interp: &Interp, script: &str) -> TclError {
    match interp.eval(script) {
        Err(Exit::Error(error)) => error,
        other => panic!("{script}: {other:?}"),
    }
}

#[test]
fn all_five_pass_through_a_command() {
    let interp = interp();
    for code in ["ok", "error", "return", "break", "continue", "5", "17"] {
        let direct = interp.eval(&format!(
            "list [catch {{return -level 0 -code {code} x}} r o] $r [dict get $o -code]"
        ));
        let through = interp.eval(&format!(
            "list [catch {{through {{return -level 0 -code {code} x}}}} r o] $r [dict get $o -code]"
        ));
        let text = through.unwrap().text();
        // What break and continue left as a result is nothing anybody reads.
        if ["break", "continue"].contains(&code) {
            assert_eq!(text.replace("{}", "x"), direct.unwrap().text(), "{code}");
        } else {
            assert_eq!(text, direct.unwrap().text(), "{code}");
        }
    }
}

#[test]
fn return_keeps_its_options() {
    let interp = interp();
    let script = "proc p {} {through {return -code error -errorcode {A B} -level 2 -mine yes v}; error never}
                  proc q {} {p; error never}
                  list [catch q r o] $r [dict get $o -errorcode] [dict get $o -mine]";
    assert_eq!(interp.eval(script).unwrap().text(), "1 v {A B} yes");
}

#[test]
fn commands_return_in_all_ways() {
    let interp = interp();
    interp.register("exit_with", |_, words| {
        Err(match words[1].text().as_str() {
            "break" => Exit::Break,
            "continue" => Exit::Continue,
            "return" => ReturnExit::new("early").into(),
            "error" => tcl::error("bad"),
            "coded" => TclError::new("bad").with_code(&["MY", "two words"]).into(),
            _ => Exit::Code(42, Obj::from("odd")),
        })
    });
    assert_eq!(
        interp
            .eval("set n 0; while 1 {incr n; exit_with break}; set n")
            .unwrap()
            .text(),
        "1"
    );
    assert_eq!(
        interp
            .eval("foreach n {1 2 3} {exit_with continue; error x}; set n")
            .unwrap()
            .text(),
        "3"
    );
    assert_eq!(
        interp
            .eval("proc p {} {exit_with return; error x}; p")
            .unwrap()
            .text(),
        "early"
    );
    assert_eq!(
        interp
            .eval("list [catch {exit_with 42} r] $r")
            .unwrap()
            .text(),
        "42 odd"
    );
    assert_eq!(
        interp
            .eval("list [catch {exit_with error} r o] $r [dict get $o -errorcode] $::errorCode")
            .unwrap()
            .text(),
        "1 bad NONE NONE"
    );
    assert_eq!(
        interp
            .eval("list [catch {exit_with coded} r o] $r [dict get $o -errorcode] $::errorCode")
            .unwrap()
            .text(),
        "1 bad {MY {two words}} {MY {two words}}"
    );
}

#[test]
fn errors_name_message_code_and_trace() {
    let interp = interp();
    let error = failure(
        &interp,
        "proc inner {} {error boom {} {X 1}}\nproc outer {} {\n  inner\n}\nouter",
    );
    assert_eq!((error.message(), error.code()), ("boom", "X 1"));
    assert_eq!(error.code_words(), ["X", "1"]);
    assert_eq!(
        error.info(),
        "boom\n    while executing\n\"error boom {} {X 1}\"\n    (procedure \"inner\" line 1)\n    invoked from within\n\"inner\"\n    (procedure \"outer\" line 2)\n    invoked from within\n\"outer\""
    );
    assert_eq!(interp.error_info(), error.info());
    assert_eq!(interp.result().text(), "");
}

#[test]
fn the_trace_grows_through_rust_as_through_c() {
    let interp = interp();
    // `namespace eval` is C and evaluates its script; `through` must leave the same kind of trace.
    let error = failure(&interp, "proc p {} {\n  through {error boom}\n}\np");
    assert_eq!(
        error.info(),
        "boom\n    while executing\n\"error boom\"\n    invoked from within\n\"through {error boom}\"\n    (procedure \"p\" line 2)\n    invoked from within\n\"p\""
    );
    let caught = interp.eval("catch p r o; list [dict get $o -errorinfo] [expr {[dict get $o -errorinfo] eq $::errorInfo}]");
    let caught = caught.unwrap().elements().unwrap();
    assert_eq!(caught[0].text(), error.info());
    assert_eq!(caught[1].text(), "1");
}

#[test]
fn a_fresh_error_after_a_swallowed_one_starts_a_new_trace() {
    let interp = interp();
    interp.register("swallow", |interp, words| {
        assert!(interp.eval(&words[1].text()).is_err());
        Err(tcl::error("fresh"))
    });
    let error = failure(&interp, "swallow {error old {} OLD}");
    assert_eq!((error.message(), error.code()), ("fresh", "NONE"));
    assert_eq!(
        error.info(),
        "fresh\n    while executing\n\"swallow {error old {} OLD}\""
    );
    interp.register("fine", |interp, words| {
        assert!(interp.eval(&words[1].text()).is_err());
        Ok(Obj::from("fine"))
    });
    assert_eq!(
        interp
            .eval("catch {fine {error old {} OLD}} r o; list $r $o")
            .unwrap()
            .text(),
        "fine {-code 0 -level 0}"
    );
}

#[test]
fn notes_are_added_to_the_trace() {
    let interp = interp();
    interp.register("noted", |interp, words| {
        match interp.eval(&words[1].text()) {
            Err(Exit::Error(error)) => Err(error.with_note("\n    (while noting)").into()),
            other => other,
        }
    });
    let error = failure(&interp, "noted {error boom}");
    assert!(
        error
            .info()
            .contains("\"error boom\"\n    (while noting)\n    invoked from within\n\"noted"),
        "{}",
        error.info()
    );
}

#[test]
fn the_top_settles() {
    let interp = interp();
    assert_eq!(interp.eval("return done").settle().unwrap().text(), "done");
    assert_eq!(
        interp
            .eval("return -code error -errorcode E oops")
            .settle()
            .unwrap_err()
            .code(),
        "E"
    );
    assert_eq!(
        interp.eval("break").settle().unwrap_err().message(),
        "invoked \"break\" outside of a loop"
    );
    assert_eq!(
        interp
            .eval("return -code 7")
            .settle()
            .unwrap_err()
            .message(),
        "command returned bad code: 7"
    );
}

#[test]
fn an_error_may_outlive_its_interpreter() {
    let error = failure(&interp(), "error gone {} {A B}");
    let other = interp();
    assert_eq!(error.line(), Some(1));
    let cell = std::cell::RefCell::new(Some(error));
    other.register("again", move |_, _| {
        Err(cell.borrow_mut().take().expect("called once").into())
    });
    let again = failure(&other, "again");
    assert_eq!((again.message(), again.code()), ("gone", "A B"));
    assert!(
        again.info().ends_with("invoked from within\n\"again\""),
        "{}",
        again.info()
    );
}

#[test]
fn panics_become_errors() {
    let interp = interp();
    let told = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
    let hook = told.clone();
    tcl::on_panic(move |text| *hook.lock().unwrap() = text.to_owned());
    let before = tcl::panics();
    interp.register("explode", |_, _| panic!("secret {}", 1));
    let error = failure(&interp, "explode");
    assert_eq!(
        (error.message(), error.code()),
        ("internal error in command explode", "NAVIS PANIC")
    );
    assert_eq!(tcl::panics(), before + 1);
    assert_eq!(
        *told.lock().unwrap(),
        "internal error in command explode: secret 1"
    );
    // Also when dropping the closure panics.
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    let bomb = Bomb;
    interp.register("bomb", move |_, _| {
        let _ = &bomb;
        tcl::ok(())
    });
    assert!(interp.unregister("bomb"));
    assert_eq!(tcl::panics(), before + 2);
    assert_eq!(interp.eval("expr 1+1").unwrap().text(), "2");
}

#[test]
fn a_command_may_delete_or_replace_itself() {
    let interp = interp();
    let kept = std::rc::Rc::new(5);
    let weak = std::rc::Rc::downgrade(&kept);
    interp.register("once", move |interp, _| {
        interp.rename("once", "")?;
        tcl::ok(i64::from(*kept))
    });
    assert_eq!(interp.eval("once").unwrap().text(), "5");
    assert!(weak.upgrade().is_none());
    assert!(!interp.has_command("once"));
}

#[test]
fn an_empty_script_is_evaluated() {
    let interp = tcl::Interp::create().expect("an interpreter");
    assert!(interp.eval("").is_ok_and(|value| value.is_empty()));
    assert!(interp.eval_global("").is_ok_and(|value| value.is_empty()));
}
