//! Channels: descriptors, drivers written in Rust, standard channels, moves between threads.
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex};
use tcl::channel::{self, Access, Channel, Driver, Side, Standard};
use tcl::{Interp, run_thread};

/// A file in memory that tells what happens to it.
#[derive(Default)]
struct Memory {
    content: Arc<Mutex<io::Cursor<Vec<u8>>>>,
    closed: Arc<Mutex<Vec<String>>>,
    flavour: String,
}

impl Driver for Memory {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.content.lock().unwrap().read(buffer)
    }
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.starts_with(b"panic") {
            panic!("asked for");
        }
        self.content.lock().unwrap().write(bytes)
    }
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.content.lock().unwrap().seek(to)
    }
    fn options(&self) -> Vec<(&'static str, String)> {
        vec![("-flavour", self.flavour.clone())]
    }
    fn set_option(&mut self, name: &str, value: &str) -> Option<Result<(), String>> {
        match (name, value) {
            ("-flavour", "bad") => Some(Err("bad flavour".into())),
            ("-flavour", _) => {
                self.flavour = value.into();
                Some(Ok(()))
            }
            _ => None,
        }
    }
    fn close(&mut self) -> io::Result<()> {
        self.closed.lock().unwrap().push("close".into());
        Ok(())
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.closed.lock().unwrap().push("drop".into());
    }
}

fn error(interp: &Interp, script: &str) -> String {
    match interp.eval(script) {
        Err(tcl::Exit::Error(error)) => error.message().to_owned(),
        other => panic!("{script}: {other:?}"),
    }
}

#[test]
fn a_driver_in_rust() {
    let interp = Interp::create().unwrap();
    let memory = Memory::default();
    let (content, closed) = (memory.content.clone(), memory.closed.clone());
    let channel = Channel::from_driver("memory", "mem1", memory, Access::BOTH);
    channel.register(&interp);
    assert_eq!(
        (channel.name().as_str(), channel.kind().as_str()),
        ("mem1", "memory")
    );
    assert!(channel::names(&interp).contains(&"mem1".to_owned()));
    interp.eval("fconfigure mem1 -encoding utf-8 -translation lf; puts mem1 hällo; puts mem1 two; flush mem1").unwrap();
    assert_eq!(content.lock().unwrap().get_ref(), "hällo\ntwo\n".as_bytes());
    assert_eq!(
        interp
            .eval("seek mem1 0; list [gets mem1] [tell mem1] [read mem1] [eof mem1]")
            .unwrap()
            .text(),
        "hällo 7 {two\n} 1"
    );
    assert_eq!(
        interp
            .eval("fconfigure mem1 -flavour sweet; fconfigure mem1 -flavour")
            .unwrap()
            .text(),
        "sweet"
    );
    assert!(
        interp
            .eval("fconfigure mem1")
            .unwrap()
            .text()
            .contains("-flavour sweet")
    );
    assert_eq!(
        error(&interp, "fconfigure mem1 -flavour bad"),
        "bad flavour"
    );
    assert!(error(&interp, "fconfigure mem1 -nope 1").contains("flavour"));
    // A panic is an I/O error to the script.
    let before = tcl::panics();
    assert!(error(&interp, "puts mem1 panic; flush mem1").starts_with("error "));
    assert_eq!(tcl::panics(), before + 1);
    let _ = interp.eval("close mem1");
    assert!(
        closed.lock().unwrap().is_empty(),
        "our handle keeps it open"
    );
    drop(channel);
    assert_eq!(*closed.lock().unwrap(), ["close", "drop"]);
}

#[test]
fn an_interpreter_closes_what_it_alone_has() {
    let interp = Interp::create().unwrap();
    let memory = Memory::default();
    let closed = memory.closed.clone();
    Channel::from_driver("memory", "mem2", memory, Access::BOTH).register(&interp);
    assert!(closed.lock().unwrap().is_empty());
    drop(interp);
    assert_eq!(*closed.lock().unwrap(), ["close", "drop"]);
}

#[test]
fn events_on_a_driver_without_descriptor() {
    let interp = Interp::create().unwrap();
    let memory = Memory::default();
    *memory.content.lock().unwrap() = io::Cursor::new(b"a\nb\n".to_vec());
    let closed = memory.closed.clone();
    Channel::from_driver("memory", "mem3", memory, Access::BOTH).register(&interp);
    interp
        .eval("fileevent mem3 readable {if {[gets mem3 l] < 0} {close mem3; set done 1} else {lappend lines $l}}; vwait done")
        .unwrap();
    assert_eq!(interp.get("lines").unwrap().text(), "a b");
    assert_eq!(*closed.lock().unwrap(), ["close", "drop"]);
}

#[test]
fn descriptors() {
    let interp = Interp::create().unwrap();
    let mut file = tempfile::tempfile().unwrap();
    let channel = Channel::from_fd(file.try_clone().unwrap().into(), Access::BOTH);
    channel.set_binary();
    channel.register(&interp);
    channel.write(b"one\r\n\0\xff").unwrap();
    assert_eq!(channel.tell(), Some(7));
    channel.flush().unwrap();
    channel.seek(SeekFrom::Start(0)).unwrap();
    assert_eq!(channel.read_bytes(3).unwrap(), b"one");
    assert_eq!(channel.read_to_end().unwrap(), b"\r\n\0\xff");
    assert!(channel.is_eof());
    assert_eq!(channel.read(&mut [0; 4]).unwrap(), 0);
    channel.truncate(3).unwrap();
    file.rewind().unwrap();
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    assert_eq!(text, "one");
    assert!(channel.fd(Side::Read).is_ok());
    assert_eq!(channel.access(), Access::BOTH);
    let found = Channel::find(&interp, &channel.name()).unwrap();
    assert_eq!(found.option(&interp, "-translation").unwrap(), "lf lf");
    found.set_option(&interp, "-encoding", "utf-8").unwrap();
    assert!(found.set_option(&interp, "-encoding", "nonsense").is_err());
    assert_eq!(
        Channel::find(&interp, "nope").err().unwrap().message(),
        "can not find channel named \"nope\""
    );
}

#[test]
fn sockets_do_not_block_when_told() {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let interp = Interp::create().unwrap();
    let channel = Channel::from_fd(theirs.into(), Access::BOTH);
    channel.register(&interp);
    channel.set_blocking(false).unwrap();
    assert_eq!(
        channel.read(&mut [0; 4]).unwrap_err().kind(),
        io::ErrorKind::WouldBlock
    );
    assert_eq!(
        channel.read_line().unwrap_err().kind(),
        io::ErrorKind::WouldBlock
    );
    (&ours).write_all(b"line\n").unwrap();
    assert_eq!(channel.read_line().unwrap().unwrap().text(), "line");
    drop(ours);
    assert!(channel.read_line().unwrap().is_none());
    assert!(channel.read_text(None).unwrap().is_empty());

    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut server, _) = listener.accept().unwrap();
    let channel = Channel::from_socket(client.into());
    assert_eq!(channel.kind(), "tcp");
    channel.write_obj(&"hi".into()).unwrap();
    channel.flush().unwrap();
    drop(channel);
    let mut text = String::new();
    server.read_to_string(&mut text).unwrap();
    assert_eq!(text, "hi");
}

#[test]
fn standard_output_is_captured_per_thread() {
    std::thread::spawn(|| {
        run_thread(|| {
            let memory = Memory::default();
            let content = memory.content.clone();
            let channel = Channel::from_driver("memory", "stdout", memory, Access::WRITE);
            channel.make_standard(Standard::Output);
            let interp = Interp::create().unwrap();
            interp.eval("puts captured; flush stdout").unwrap();
            assert_eq!(content.lock().unwrap().get_ref(), b"captured\n");
            assert!(Channel::standard(Standard::Output).is_some());
        });
    })
    .join()
    .unwrap();
}

#[test]
fn channels_move_between_threads() {
    let interp = Interp::create().unwrap();
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let channel = Channel::from_fd(theirs.into(), Access::BOTH);
    let name = channel.name();
    channel.register(&interp);
    interp
        .eval(&format!(
            "fileevent {name} readable {{set x 1}}; fconfigure {name} -translation binary"
        ))
        .unwrap();

    let other = Interp::create().unwrap();
    channel.register(&other);
    let channel = channel
        .cut(&interp)
        .err()
        .expect("another interpreter has it");
    assert!(channel::names(&interp).contains(&name));
    channel.unregister(&other).unwrap();
    let Ok(cut) = channel.cut(&interp) else {
        panic!("nobody else has it")
    };
    assert!(!channel::names(&interp).contains(&name));
    let named = name.clone();
    std::thread::spawn(move || {
        run_thread(|| {
            let interp = Interp::create().unwrap();
            let channel = cut.splice();
            channel.register(&interp);
            drop(channel);
            interp
                .eval(&format!(
                    "puts -nonewline {named} [string toupper [read {named} 2]]; close {named}"
                ))
                .unwrap();
        });
    });
    (&ours).write_all(b"ab").unwrap();
    let mut text = String::new();
    (&ours).read_to_string(&mut text).unwrap();
    assert_eq!(text, "AB");

    // Dropped on the way, it is closed.
    let memory = Memory::default();
    let closed = memory.closed.clone();
    let channel = Channel::from_driver("memory", "mem4", memory, Access::BOTH);
    let Ok(cut) = channel.cut(&interp) else {
        panic!("nobody else has it")
    };
    std::thread::spawn(move || run_thread(|| drop(cut)))
        .join()
        .unwrap();
    assert_eq!(*closed.lock().unwrap(), ["close", "drop"]);
}
