//! Values: text in both directions, numbers with Tcl's messages, byte arrays, lists, dictionaries.
use proptest::prelude::*;
use tcl::{Exit, Interp, Obj, TclError};

const NINE: &str = "9";

fn is_nine() -> bool {
    tcl::version().starts_with(NINE)
}

fn message(result: Result<impl std::fmt::Debug, TclError>) -> (String, String) {
    let error = result.unwrap_err();
    (error.message().to_owned(), error.code().to_owned())
}

#[test]
fn text_travels_both_ways() {
    let interp = Interp::create().unwrap();
    for text in [
        "",
        "plain",
        "Grüße 世界",
        "a\0b\0",
        "\u{1F600} smile",
        "\u{10FFFF}",
        "}{ \\",
    ] {
        assert_eq!(Obj::from(text).text(), text);
        interp.set("x", text).unwrap();
        assert_eq!(interp.get("x").unwrap().text(), text);
        assert_eq!(interp.eval("set x").unwrap().text(), text);
        assert_eq!(Obj::from(text).to_bytes(), text.as_bytes());
    }
    assert_eq!(
        interp.eval("set y \u{1F600}\0").unwrap().text(),
        "\u{1F600}\0"
    );
    assert_eq!(interp.eval("string length a\0b").unwrap().text(), "3");
}

#[test]
fn characters_above_the_base_plane_are_safe() {
    let interp = Interp::create().unwrap();
    interp.set("x", "a\u{1F600}b\u{10428}").unwrap();
    // 8.6.13 overran its heap on raw four-byte sequences here.
    assert_eq!(
        interp
            .eval("string toupper $x")
            .unwrap()
            .text()
            .chars()
            .next(),
        Some('A')
    );
    assert_eq!(interp.eval("string reverse abc").unwrap().text(), "cba");
    let length = interp.eval("string length $x").unwrap().int().unwrap();
    assert_eq!(length, if is_nine() { 4 } else { 6 });
    assert_eq!(interp.get("x").unwrap().char_len(), 4);
    // Half a character is no character.
    assert_eq!(
        interp
            .eval("string index \\ud83d\\ude00x 0")
            .unwrap()
            .text()
            .chars()
            .count(),
        1
    );
    assert_eq!(interp.eval("set lone \\ud83d").unwrap().text(), "\u{FFFD}");
}

#[test]
fn numbers() {
    assert_eq!(Obj::from("0x1F").int().unwrap(), 31);
    assert_eq!(Obj::from(i64::MIN).int().unwrap(), i64::MIN);
    assert_eq!(Obj::from(u64::MAX).text(), "18446744073709551615");
    assert_eq!(Obj::from("1.5").double().unwrap(), 1.5);
    assert_eq!(Obj::from(1.0).text(), "1.0");
    assert!(Obj::from("yes").boolean().unwrap());
    assert!(!Obj::from("off").boolean().unwrap());
    assert_eq!(Obj::from(true).text(), "1");
    for text in [
        "18446744073709551615",
        "-18446744073709551615",
        "9223372036854775808",
        "1e400",
        "12345678901234567890123",
    ] {
        assert!(Obj::from(text).int().is_err(), "{text}");
    }
}

#[test]
fn conversion_errors_are_tcls_own() {
    let interp = Interp::create().unwrap();
    interp.register("int", |_, words| tcl::ok(words[1].int()?));
    interp.register("bool", |_, words| tcl::ok(words[1].boolean()?));
    interp.register("double", |_, words| tcl::ok(words[1].double()?));
    interp.register("elements", |_, words| tcl::ok(words[1].elements()?.len()));
    interp.register("pairs", |_, words| tcl::ok(words[1].pairs()?.len()));
    for (ours, theirs) in [
        (
            "int abc",
            "lindex {} [incr x 0][unset x][string index a abc]",
        ),
        ("bool maybe", "if {\"maybe\"} {}"),
        ("elements \"a \\{\"", "llength \"a \\{\""),
        ("elements {{a}b}", "llength {{a}b}"),
        ("pairs {a b c}", "dict size {a b c}"),
    ] {
        let get = |script: &str| match interp.eval(script) {
            Err(Exit::Error(error)) => error,
            other => panic!("{script}: {other:?}"),
        };
        let error = get(ours);
        if !theirs.starts_with("lindex") {
            let expected = get(theirs);
            assert_eq!(
                (error.message(), error.code()),
                (expected.message(), expected.code()),
                "{ours}"
            );
        } else {
            assert_eq!(
                (error.message(), error.code()),
                ("expected integer but got \"abc\"", "TCL VALUE NUMBER")
            );
        }
        assert!(error.info().contains("while executing"), "{}", error.info());
    }
    assert_eq!(interp.eval("int { 12 }").unwrap().text(), "12");
    // Outside of any interpreter there still is a message.
    assert_eq!(
        message(Obj::from("abc").int()).0,
        "expected integer but got \"abc\""
    );
    assert_eq!(
        message(Obj::from("a {").elements()).0,
        "invalid list: \"a {\""
    );
}

#[test]
fn a_conversion_error_leaves_the_interpreter_as_it_was() {
    let interp = Interp::create().unwrap();
    interp.register("lenient", |interp, words| {
        interp.eval("set kept result")?;
        assert!(words[1].int().is_err());
        assert_eq!(interp.result().text(), "result");
        tcl::ok("fine")
    });
    assert_eq!(
        interp
            .eval("catch {lenient abc} r o; list $r $o")
            .unwrap()
            .text(),
        "fine {-code 0 -level 0}"
    );
}

#[test]
fn byte_arrays() {
    let interp = Interp::create().unwrap();
    let all: Vec<u8> = (0..=255).collect();
    let bytes = Obj::bytes(&all);
    assert!(bytes.is_bytes());
    assert_eq!(bytes.to_bytes(), all);
    assert_eq!(bytes.byte_values().unwrap(), all);
    assert_eq!(bytes.char_len(), 256);
    assert!(Obj::bytes(&[]).is_empty());
    let made = interp.eval("binary format H* 00ff80c3a4").unwrap();
    assert!(made.is_bytes());
    assert_eq!(made.to_bytes(), b"\x00\xff\x80\xc3\xa4");
    // A text is no byte array, also after somebody looked at it as one.
    let text = interp.eval("set t äö; binary scan $t H* h; set t").unwrap();
    assert!(!text.is_bytes());
    assert_eq!(text.to_bytes(), "äö".as_bytes());
    assert_eq!(text.byte_values().unwrap(), b"\xe4\xf6");
    assert_eq!(Obj::from("世").byte_values(), None);
    // With a text it is a text.
    assert_eq!(bytes.text().chars().count(), 256);
    assert!(!bytes.is_bytes());
    assert_eq!(bytes.byte_values().unwrap(), all);
    interp.set("b", Obj::from_owned_bytes(all.clone())).unwrap();
    assert_eq!(interp.eval("string length $b").unwrap().text(), "256");
}

#[test]
fn bytes_are_lent_to_closures_that_cannot_reach_tcl() {
    thread_local! {
        static HIDDEN: std::cell::RefCell<Option<Obj>> = const { std::cell::RefCell::new(None) };
    }
    let bytes = Obj::bytes(b"abc");
    assert_eq!(bytes.with_bytes(<[u8]>::len), 3);
    HIDDEN.set(Some(bytes.clone()));
    let escaped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        bytes.with_bytes(|_| {
            HIDDEN.with_borrow(|hidden| hidden.as_ref().map(|value| value.elements().is_ok()))
        })
    }));
    assert!(
        escaped.is_err(),
        "a conversion would free the bytes that are lent"
    );
    HIDDEN.take();
    assert_eq!(bytes.elements().unwrap().len(), 1);
}

#[test]
fn lists_and_dictionaries() {
    let mut list = Obj::list_of(["a", "b c", ""]);
    let shared = list.clone();
    list.push("d").unwrap();
    assert_eq!(list.text(), "a {b c} {} d");
    assert_eq!(shared.text(), "a {b c} {}");
    assert_eq!(list.list_len().unwrap(), 4);
    assert!(Obj::from("{").clone().push("x").is_err());
    let mut dict = Obj::dict([(Obj::from("k"), Obj::from(1)), ("l".into(), 2.into())]);
    dict.dict_put("k", 3).unwrap();
    assert_eq!(dict.text(), "k 3 l 2");
    assert_eq!(dict.dict_get("l").unwrap().unwrap().text(), "2");
    assert!(dict.dict_get("m").unwrap().is_none());
    assert_eq!(dict.pairs().unwrap().len(), 2);
    let mut text = Obj::from("a");
    text.append("\0ü\u{1F600}");
    assert_eq!(text.text(), "a\0ü\u{1F600}");
    assert!(text == "a\0ü\u{1F600}");
    assert!(shared.ptr_eq(&shared.clone()));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn list_quoting_is_tcls(words in proptest::collection::vec("[ \\t\\n\\\\{}\\[\\]\"$;#a-cü\u{1F600}]{0,8}|\\PC{0,6}", 0..6)) {
        let interp = Interp::create_bare();
        let ours = tcl::list_format(&words);
        let theirs = Obj::list_of(words.iter().map(String::as_str)).text();
        prop_assert_eq!(&ours, &theirs);
        prop_assert_eq!(tcl::list_parse(&ours).unwrap(), words.clone());
        interp.set("l", ours).unwrap();
        prop_assert_eq!(interp.eval("llength $l").unwrap().int().unwrap(), words.len() as i64);
    }

    #[test]
    fn list_parsing_is_tcls(text in "[ \\t\\n\\\\{}\\[\\]\"$;#axuU0-9bfnrtvü]{0,16}") {
        let interp = Interp::create_bare();
        interp.register("elements", |_, words| Ok(Obj::list(words[1].elements()?)));
        let theirs = interp.call(&["elements".into(), Obj::from(&text)]);
        match (tcl::list_parse(&text), theirs) {
            (Ok(ours), Ok(theirs)) => {
                let theirs: Vec<String> = theirs.elements().unwrap().iter().map(Obj::text).collect();
                prop_assert_eq!(ours, theirs);
            }
            (Err(ours), Err(Exit::Error(theirs))) => {
                prop_assert_eq!((ours.message(), ours.code()), (theirs.message(), theirs.code()));
            }
            (ours, theirs) => prop_assert!(false, "{:?} {:?}", ours, theirs),
        }
    }
}
