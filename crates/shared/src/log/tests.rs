//! Laws of the system log. Those that use the process-wide writer take one lock, so that they do not see each other.

use super::*;
use crate::rolling;
use parking_lot::Mutex;
use proptest::prelude::*;

static ALONE: Mutex<()> = Mutex::new(());

fn entry(message: &str) -> Entry {
    Entry {
        severity: NOTICE,
        time: Time::new(0, 5),
        thread: "-main-".into(),
        tid: 255,
        message: message.into(),
    }
}

fn line(format: &Format, message: &str) -> String {
    let mut text = String::new();
    format.append(&mut text, &entry(message));
    text
}

fn to_file(dir: &tempfile::TempDir, run: impl FnOnce()) -> String {
    let path = dir.path().join("nsd.log");
    let options = rolling::Options {
        max_lines: 100,
        ..Default::default()
    };
    set_targets(vec![Target::File(Arc::new(
        rolling::File::open(&path, options).expect("it opens"),
    ))]);
    run();
    flush();
    set_targets(Vec::new());
    std::fs::read_to_string(path).expect("the log is there")
}

#[test]
fn lines_look_as_configured() {
    let pid = std::process::id();
    let plain = Format {
        seconds: false,
        ..Format::default()
    };
    assert_eq!(line(&plain, "a"), format!("[{pid}.ff][-main-] Notice: a\n"));
    let short = Format {
        thread: false,
        expanded: true,
        ..plain.clone()
    };
    assert_eq!(line(&short, "a"), "[-main-] Notice: a\n\n");
    let colored = Format {
        thread: false,
        colorize: true,
        ..plain.clone()
    };
    assert_eq!(
        line(&colored, "a"),
        "\x1b[0;32m[-main-] \x1b[0m\x1b[0;39mNotice: a\x1b[0m\n"
    );
    let exact = Format {
        micros: true,
        ..Format::default()
    };
    assert!(
        line(&exact, "a").contains(":00.000005]["),
        "{}",
        line(&exact, "a")
    );
}

#[test]
fn lines_cannot_be_forged() {
    let format = |sanitize| Format {
        seconds: false,
        thread: false,
        sanitize,
        ..Format::default()
    };
    assert_eq!(line(&format(0), "a\nb"), "[-main-] Notice: a\nb\n");
    assert_eq!(
        line(&format(1), "a\n\tb\x1b"),
        "[-main-] Notice: a\\x0a\\x09b\\x1b\n"
    );
    assert_eq!(
        line(&format(2), "a\n\tb\r\x7f\u{85}\n"),
        "[-main-] Notice: a\n:    \tb\\x0d\\x7f\\xc2\\x85\n"
    );
    assert_eq!(line(&format(3), "ab\tc"), "[-main-] Notice: ab      c\n");
    assert_eq!(
        line(&format(2), "\u{202e}ü"),
        "[-main-] Notice: \\xe2\\x80\\xaeü\n"
    );
}

#[test]
fn severities_are_added_once() {
    let new = register("my:Severity").expect("room for one more");
    assert_eq!(register("MY:severity"), Some(new));
    assert_eq!(
        (severity("my:severity"), &*new.name(), new.is_enabled()),
        (Some(new), "my:Severity", false)
    );
    assert!(!new.set_enabled(true));
    new.set_color(Color::Cyan, Intensity::Bright);
    assert_eq!(new.color(), (Color::Cyan, Intensity::Bright));
    let names: Vec<_> = severities()
        .iter()
        .take(7)
        .map(|s| s.name().to_string())
        .collect();
    assert_eq!(
        names,
        [
            "Notice",
            "Warning",
            "Error",
            "Fatal",
            "Bug",
            "Debug",
            "Deprecated"
        ]
    );
    let before = new.count();
    let _alone = ALONE.lock();
    hold();
    write(new, format_args!("x"));
    held_truncate(0);
    release();
    assert_eq!(new.count(), before + 1);
}

#[test]
fn a_thread_can_keep_its_messages() {
    let _alone = ALONE.lock();
    let dir = tempfile::tempdir().expect("a directory");
    let log = to_file(&dir, || {
        hold();
        crate::notice!("first");
        crate::warning!("second");
        crate::debug!("off");
        assert_eq!(held_count(), 2);
        assert!(
            held_peek().contains("] Notice: first\n")
                && held_peek().ends_with("] Warning: second\n")
        );
        held_truncate(1);
        held_flush();
        crate::error!("taken");
        assert!(held_take().ends_with("] Error: taken\n"));
        assert_eq!(held_count(), 0);
        crate::error!("released");
        release();
        assert_eq!(held_peek(), "");
    });
    let texts: Vec<_> = log
        .lines()
        .map(|line| line.rsplit_once("] ").expect("a prefix").1)
        .collect();
    assert_eq!(texts, ["Notice: first", "Error: released"]);
}

#[test]
fn a_thread_that_ends_loses_nothing() {
    let _alone = ALONE.lock();
    let dir = tempfile::tempdir().expect("a directory");
    let log = to_file(&dir, || {
        let thread = std::thread::spawn(|| {
            hold();
            crate::notice!("end-test");
        });
        thread.join().expect("it ends");
    });
    assert_eq!(log.matches("end-test").count(), 1);
}

#[test]
fn sinks_see_and_stop_messages() {
    let _alone = ALONE.lock();
    let dir = tempfile::tempdir().expect("a directory");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink: Sink = {
        let seen = seen.clone();
        Arc::new(move |entry: &Entry| {
            if !entry.message.starts_with("sink-test") {
                return ControlFlow::Continue(());
            }
            seen.lock().push(entry.message.clone());
            crate::notice!("sink-test from the sink");
            if entry.message.ends_with("stop") {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })
    };
    let log = to_file(&dir, || {
        let id = add_sink(sink);
        crate::notice!("sink-test go");
        crate::notice!("sink-test stop");
        assert!(remove_sink(id) && !remove_sink(id));
        crate::notice!("sink-test after");
    });
    assert_eq!(*seen.lock(), ["sink-test go", "sink-test stop"]);
    assert_eq!(log.matches("from the sink").count(), 2);
    assert_eq!(
        log.matches("go\n").count() + log.matches("after\n").count(),
        2
    );
    assert!(!log.contains("stop\n"));
}

#[test]
fn the_writer_thread_loses_nothing_within_its_bound() {
    let _alone = ALONE.lock();
    let dir = tempfile::tempdir().expect("a directory");
    let log = to_file(&dir, || {
        start_async(1 << 20).expect("a thread starts");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..200).for_each(|i| crate::notice!("async-test {i}")));
            }
            roll().expect("it rolls");
        });
        flush();
        stop_async();
        crate::notice!("async-test direct");
    });
    let rolled = std::fs::read_to_string(dir.path().join("nsd.log.000")).unwrap_or_default();
    assert_eq!(format!("{rolled}{log}").matches("async-test").count(), 801);
}

#[test]
fn the_writer_thread_drops_beyond_its_bound_and_says_so() {
    let _alone = ALONE.lock();
    let dir = tempfile::tempdir().expect("a directory");
    let before = dropped();
    let log = to_file(&dir, || {
        start_async(10).expect("a thread starts");
        crate::notice!("drop-test longer than ten bytes");
        flush();
        stop_async();
    });
    assert_eq!(dropped(), before + 1);
    assert!(
        log.contains("system log: 1 messages were dropped") && !log.contains("drop-test"),
        "{log}"
    );
}

#[test]
fn repeated_messages_are_counted() {
    let _alone = ALONE.lock();
    let dir = tempfile::tempdir().expect("a directory");
    let before = format();
    let log = to_file(&dir, || {
        set_format(Format {
            deduplicate: true,
            ..Format::default()
        });
        (0..5).for_each(|_| crate::notice!("same"));
        crate::notice!("other");
        set_format(Format::clone(&before));
    });
    assert_eq!(log.matches("same").count(), 1, "{log}");
    assert!(
        log.contains("repeated 4 times") && log.contains("other"),
        "{log}"
    );
}

proptest! {
    #[test]
    fn every_line_has_a_prefix(message in "(.|\n|\r|\t|\u{85}){0,40}", sanitize in 1u8..4) {
        let text = line(&Format { seconds: false, thread: false, sanitize, ..Format::default() }, &message);
        for (i, line) in text.lines().enumerate() {
            let start = if i == 0 { "[-main-] Notice: " } else { ":    " };
            prop_assert!(line.starts_with(start));
        }
        prop_assert!(text.chars().all(|c| !c.is_control() || c == '\n' || (c == '\t' && sanitize == 2)));
    }
}
