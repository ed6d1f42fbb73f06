//! Interpreters: scripts, variables, commands, data, resolvers, cancelling.
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tcl::{Exit, Interp, Obj, SubstFlags};

#[test]
fn scripts_run_in_all_ways() {
    let interp = Interp::create().unwrap();
    assert!(tcl::version().starts_with("8.6.") || tcl::version().starts_with("9.0."));
    assert_eq!(
        interp.eval("info patchlevel").unwrap().text(),
        tcl::version()
    );
    assert_eq!(interp.eval("expr {6 * 7}").unwrap().text(), "42");
    let script = Obj::from("incr n");
    for _ in 0..3 {
        interp.eval_obj(&script).unwrap();
    }
    assert_eq!(interp.get("n").unwrap().text(), "3");
    assert_eq!(
        interp
            .call(&["list".into(), "$n".into(), "[x]".into()])
            .unwrap()
            .text(),
        "{$n} {[x]}"
    );
    assert!(interp.call(&[]).unwrap().is_empty());
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ä.tcl");
    std::fs::write(&file, "set sourced \u{fc}; return early; error never").unwrap();
    assert_eq!(interp.source(&file, Some("utf-8")).unwrap().text(), "early");
    assert_eq!(interp.get("sourced").unwrap().text(), "ü");
    assert!(interp.source(&directory.path().join("none"), None).is_err());
    let text = Obj::from("$n [incr n] \\x41");
    assert_eq!(
        interp.subst(&text, SubstFlags::ALL).unwrap().text(),
        "3 4 A"
    );
    let variables = SubstFlags {
        commands: false,
        variables: true,
        backslashes: false,
    };
    assert_eq!(
        interp.subst(&text, variables).unwrap().text(),
        "4 [incr n] \\x41"
    );
    assert!(interp.subst(&Obj::from("$nope"), SubstFlags::ALL).is_err());
}

#[test]
fn variables_of_all_scopes() {
    let interp = Interp::create().unwrap();
    interp.register("probe", |interp, _| {
        interp.set("local", 1)?;
        interp.set("array(a b)", 2)?;
        interp.set_element("array", "c)d(", 3)?;
        interp.set_global("global", 4)?;
        assert_eq!(interp.get("array(a b)").unwrap().text(), "2");
        assert!(interp.get("global").is_none());
        assert_eq!(interp.level(), 1);
        assert!(interp.unset("local"));
        assert!(!interp.unset("local"));
        interp.eval("array size array")
    });
    assert_eq!(interp.eval("proc p {} probe; p").unwrap().text(), "2");
    assert_eq!(interp.get_global("global").unwrap().text(), "4");
    assert_eq!(interp.level(), 0);
    match interp.set("global(x)", 1) {
        Err(Exit::Error(error)) => assert_eq!(
            error.message(),
            "can't set \"global(x)\": variable isn't array"
        ),
        other => panic!("{other:?}"),
    }
    assert!(interp.unset_global("global"));
}

#[test]
fn commands_and_namespaces() {
    let interp = Interp::create().unwrap();
    interp.eval("namespace eval ::a::b {}").unwrap();
    interp.register("::a::b::c", |interp, words| {
        tcl::ok(format!(
            "{} {}",
            words[0].text(),
            interp.current_namespace()
        ))
    });
    assert_eq!(interp.eval("::a::b::c").unwrap().text(), "::a::b::c ::");
    assert_eq!(
        interp.eval("namespace eval a {b::c}").unwrap().text(),
        "b::c ::a"
    );
    assert_eq!(interp.command_full_name("a::b::c").unwrap(), "::a::b::c");
    assert_eq!(interp.command_full_name("nope"), None);
    interp.rename("::a::b::c", "d").unwrap();
    assert!(interp.has_command("d") && !interp.has_command("::a::b::c"));
    assert!(interp.unregister("d") && !interp.unregister("d"));
    assert!(interp.rename("nope", "x").is_err());
    interp.eval("interp create kid").unwrap();
    interp
        .with_child("kid", |kid| kid.register("mine", |_, _| tcl::ok("kid")))
        .unwrap();
    assert_eq!(interp.eval("kid eval mine").unwrap().text(), "kid");
    // Deleting the child from inside it.
    interp
        .with_child("kid", |kid| kid.register("kill", |_, _| tcl::ok(())))
        .unwrap();
    interp
        .eval("interp alias kid die {} interp delete kid")
        .unwrap();
    assert!(
        interp
            .with_child("kid", |kid| kid.eval("die").is_ok())
            .is_some()
    );
    assert!(interp.with_child("kid", |_| ()).is_none());
}

#[test]
fn data_lives_and_dies_with_the_interpreter() {
    struct Told(Rc<Cell<u32>>);
    impl Drop for Told {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
    let dropped = Rc::new(Cell::new(0));
    let interp = Interp::create_bare();
    let other = Interp::create_bare();
    assert!(interp.data::<Told>().is_none());
    interp.set_data(Rc::new(Told(dropped.clone())));
    interp.set_data(Rc::new(5u8));
    assert_eq!(*interp.data::<u8>().unwrap(), 5);
    assert!(other.data::<u8>().is_none());
    assert!(interp.data::<Told>().is_some());
    interp.set_data(Rc::new(Told(dropped.clone())));
    assert_eq!(dropped.get(), 1);
    drop(interp);
    assert_eq!(dropped.get(), 2);
    // A new interpreter, perhaps at the same address, has nothing.
    assert!(Interp::create_bare().data::<u8>().is_none());
}

#[test]
fn resolvers_define_commands_on_first_use() {
    let interp = Interp::create().unwrap();
    let asked = Rc::new(RefCell::new(Vec::new()));
    let log = asked.clone();
    interp.add_resolver("lazy", move |interp, name, context, _| {
        log.borrow_mut().push(format!("{context} {name}"));
        if name == "lazy_one" && !interp.has_command("lazy_one") {
            interp
                .eval_global("proc lazy_one {} {return made}")
                .unwrap();
        }
        if name == "lazy_bad" {
            let _ = interp.eval("error ignored");
            panic!("also survived");
        }
    });
    assert_eq!(interp.eval("lazy_one").unwrap().text(), "made");
    assert_eq!(
        interp.eval("namespace eval n {lazy_one}").unwrap().text(),
        "made"
    );
    assert!(asked.borrow().contains(&":: lazy_one".to_owned()));
    assert!(asked.borrow().contains(&"::n lazy_one".to_owned()));
    match interp.eval("lazy_bad") {
        Err(Exit::Error(error)) => assert_eq!(error.message(), "invalid command name \"lazy_bad\""),
        other => panic!("{other:?}"),
    }
    assert_eq!(
        interp.eval("proc p {} {lazy_one}; p").unwrap().text(),
        "made"
    );
    assert!(interp.remove_resolver("lazy"));
    assert!(!interp.remove_resolver("lazy"));
    let before = asked.borrow().len();
    interp.eval("set x 1; string length abc").unwrap();
    assert_eq!(asked.borrow().len(), before);
}

#[test]
fn saved_states_come_back() {
    let interp = Interp::create().unwrap();
    interp.eval("set x result").unwrap();
    {
        let _state = interp.save_state();
        let _ = interp.eval("error other");
    }
    assert_eq!(interp.result().text(), "result");
}

#[test]
fn an_evaluation_is_cancelled_from_another_thread() {
    let interp = Interp::create().unwrap();
    let canceller = interp.canceller();
    let other = canceller.clone();
    let (begun, wait) = std::sync::mpsc::channel();
    interp.register("begun", move |_, _| {
        begun.send(()).unwrap();
        tcl::ok(())
    });
    let thread = std::thread::spawn(move || {
        wait.recv().unwrap();
        assert!(other.cancel());
    });
    match interp.eval("begun; while 1 {catch {while 1 {incr n}}}") {
        Err(Exit::Error(error)) => {
            assert!(error.message().starts_with("eval"), "{}", error.message())
        }
        other => panic!("{other:?}"),
    }
    thread.join().unwrap();
    assert_eq!(interp.eval("expr 1").unwrap().text(), "1");
    drop(interp);
    assert!(!canceller.cancel());
}

#[test]
fn the_event_loop_runs_timers() {
    use tcl::event::{EventFlags, do_one_event};
    let interp = Interp::create().unwrap();
    interp.eval("after 1 {set done yes}").unwrap();
    while interp.get("done").is_none() {
        assert!(do_one_event(EventFlags::ALL));
    }
    assert!(!do_one_event(EventFlags::ALL.without_waiting()));
}
