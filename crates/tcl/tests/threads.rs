//! Threads come and go with their interpreters and leave nothing behind.
use tcl::{Interp, Obj, run_thread};

fn resident_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn work(number: u64) {
    run_thread(|| {
        let interp = Interp::create().unwrap();
        interp.register("number", move |_, _| tcl::ok(number));
        interp.set_data(std::rc::Rc::new(Obj::from("data")));
        let _canceller = interp.canceller();
        assert_eq!(
            interp
                .eval("proc p n {expr {$n * 2}}; p [number]")
                .unwrap()
                .int()
                .unwrap(),
            number as i64 * 2
        );
        assert!(interp.eval("error gone").is_err());
    });
}

fn rounds(count: u64) {
    for number in (0..count).step_by(4) {
        let threads: Vec<_> = (0..4)
            .map(|more| std::thread::spawn(move || work(number + more)))
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
    }
}

/// One test at a time: the memory of the other one (a panic's back-trace reads the debug information) is not meant.
static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

#[test]
fn memory_stays_flat() {
    let _alone = ALONE.lock();
    rounds(60);
    let before = resident_kilobytes();
    rounds(300);
    let grown = resident_kilobytes().saturating_sub(before);
    // Without Tcl_FinalizeThread 300 threads leave about 57 MB. The address sanitizer keeps freed memory for a while.
    let limit = if std::env::var_os("NAVIS_ASAN").is_some() {
        u64::MAX
    } else {
        4_000
    };
    assert!(grown < limit, "{grown} kB");
}

#[test]
fn a_thread_that_panics_is_cleaned_up() {
    let _alone = ALONE.lock();
    let thread = std::thread::spawn(|| {
        run_thread(|| {
            let interp = Interp::create().unwrap();
            interp.eval("set x 1").unwrap();
            panic!("on purpose");
        })
    });
    assert!(thread.join().is_err());
}

#[test]
fn a_forgotten_thread_is_cleaned_up_too() {
    let _alone = ALONE.lock();
    // One after the other, so that the system gives the same thread id again.
    for _ in 0..20 {
        let thread = std::thread::spawn(|| {
            let interp = Interp::create().unwrap();
            interp
                .eval("after 0 {set x 1}; vwait x; set x")
                .unwrap()
                .text()
        });
        assert_eq!(thread.join().unwrap(), "1");
    }
}
