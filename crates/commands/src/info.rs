//! What the process tells about itself: ns_info.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use ::server::hooks::Moment;
use ::server::identity;
use ::server::process::{Phase, Process};
use ::server::schedule::{EventStatus, When};
use synopsis::{Call, commands};
use tcl::Obj;

use crate::kinds::context;

commands! { TABLE(call):

    /// Address of the machine's name; 0.0.0.0 when it has none.
    #[family("/subcommand/")]
    "ns_info address" () => address();

    /// Arguments of the program behind its options.
    "ns_info argv" () => process(call).options.argv.clone();

    /// Path of the program.
    "ns_info argv0" () => program(call);

    /// Directory of programs.
    "ns_info bindir" () => under_home(call, &process(call).settings().bindir.clone());

    /// When the server was started, in seconds since 1970.
    "ns_info boottime" () => seconds(process(call).started);

    /// When the program was made.
    "ns_info builddate" () => build_date(call);

    /// How the program was made: a dictionary. `product` and `productversion` are ours, whatever `ns_info name` says.
    "ns_info buildinfo" () => build_info();

    /// Scripts that wait for a turning point of the process.
    "ns_info callbacks" () => callbacks(call);

    /// Path of the configuration.
    "ns_info config" () => process(call).config.read().source.to_string_lossy().into_owned();

    /// Directory that relative paths start from.
    "ns_info home" () => process(call).home().to_string_lossy().into_owned();

    /// Name of the machine.
    "ns_info hostname" () => hostname();

    /// Whether IPv6 is supported.
    "ns_info ipv6" () => true;

    /// Locks with their counters: name, owner, id, locks, busy, wait, longest wait, time locked, reads, writes.
    "ns_info locks" () => locks();

    /// Path of the system log.
    "ns_info log" () => log_path(call);

    /// Directory of log files.
    "ns_info logdir" () => process(call).logdir().to_string_lossy().into_owned();

    /// First part of the version.
    "ns_info major" () => identity::COMPATIBLE_VERSION.split('.').next();

    /// The memory allocator: a dictionary. `-release` is accepted for existing scripts: unused memory is given back anyway.
    "ns_info meminfo" [-release: bool] () => memory();

    /// Second part of the version.
    "ns_info minor" () => identity::COMPATIBLE_VERSION.split('.').nth(1);

    /// Media types by extension: a dictionary.
    "ns_info mimetypes" () => mime_types(call);

    /// The name applications know the server by.
    "ns_info name" () => identity::NAME;

    /// Path of the program.
    "ns_info nsd" () => program(call);

    /// Full version.
    "ns_info patchlevel" () => identity::COMPATIBLE_PATCHLEVEL;

    /// Process id.
    "ns_info pid" () => std::process::id();

    /// Memory pools of Tcl; it has none to tell about.
    "ns_info pools" () => ();

    /// Scheduled scripts: id, flags, interval, next, last queued, last start, last end, procedure, script.
    "ns_info scheduled" () => process(call).scheduler().list().iter().map(scheduled).collect::<Vec<Obj>>();

    /// Name of this virtual server.
    "ns_info server" () => context(call).server.as_ref().map(|s| s.name.clone());

    /// Names of all virtual servers.
    "ns_info servers" () => process(call).servers().iter().map(|s| s.name.clone()).collect::<Vec<String>>();

    /// Scripts that wait for sockets.
    "ns_info sockcallbacks" () => ();

    /// Whether TLS is supported; `-details`: a dictionary.
    "ns_info ssl" [-details: bool] () => tls(call, details);

    /// Revision of the sources.
    "ns_info tag" () => format!("{} {}", identity::PRODUCT, identity::VERSION);

    /// Threads: name, parent, id, flags, start, procedure, argument.
    "ns_info threads" () => threads();

    /// Seconds since the start.
    "ns_info uptime" () => process(call).uptime().as_secs();

    /// Version, major and minor.
    "ns_info version" () => identity::COMPATIBLE_VERSION;

    /// Whether the server has been asked to end.
    "ns_info shutdownpending" () => process(call).ending().is_some();

    /// Whether the start is complete.
    "ns_info started" () => process(call).phase() >= Phase::Running;

    /// Filters of this server.
    #[deprecated("ns_server filters")]
    "ns_info filters" () => call.interp.call(&["ns_server", "filters"].map(Obj::from));

    /// Directory of pages.
    #[deprecated("ns_server pagedir")]
    "ns_info pagedir" () => call.interp.call(&["ns_server", "pagedir"].map(Obj::from));

    /// Directory of pages.
    #[deprecated("ns_server pagedir")]
    "ns_info pageroot" () => call.interp.call(&["ns_server", "pagedir"].map(Obj::from));

    /// Operating system.
    #[deprecated("$::tcl_platform(os)")]
    "ns_info platform" () => std::env::consts::OS;

    /// Traces of this server.
    #[deprecated("ns_server traces")]
    "ns_info traces" () => call.interp.call(&["ns_server", "traces"].map(Obj::from));

    /// Handlers of this server.
    #[deprecated("ns_server requestprocs")]
    "ns_info requestprocs" () => call.interp.call(&["ns_server", "requestprocs"].map(Obj::from));

    /// Directory of the private Tcl library.
    #[deprecated("ns_server tcllib")]
    "ns_info tcllib" () => call.interp.call(&["ns_server", "tcllib"].map(Obj::from));

    /// How URLs of this server become files.
    #[deprecated("ns_server url2file")]
    "ns_info url2file" () => call.interp.call(&["ns_server", "url2file"].map(Obj::from));

    /// Whether this is Windows.
    #[deprecated("$::tcl_platform(platform)")]
    "ns_info winnt" () => false;
}

fn process(call: &Call<'_>) -> Arc<Process> {
    Arc::clone(&context(call).process)
}

fn program(call: &Call<'_>) -> String {
    process(call).options.program.to_string_lossy().into_owned()
}

fn under_home(call: &Call<'_>, path: &str) -> String {
    process(call)
        .home()
        .join(path)
        .to_string_lossy()
        .into_owned()
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs())
}

fn hostname() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match name.trim() {
        "" => "localhost".to_owned(),
        name => name.to_owned(),
    }
}

fn address() -> String {
    use std::net::ToSocketAddrs;
    let found = (hostname(), 0)
        .to_socket_addrs()
        .ok()
        .and_then(|mut a| a.next());
    found.map_or_else(|| "0.0.0.0".to_owned(), |a| a.ip().to_string())
}

/// The program's file is as old as the program.
fn build_date(call: &Call<'_>) -> String {
    let made = std::fs::metadata(&process(call).options.program).and_then(|m| m.modified());
    let made = made.map_or(0, seconds);
    let made = shared::strftime::local(i64::try_from(made).unwrap_or(0));
    made.format("%b %e %Y at %H:%M:%S").unwrap_or_default()
}

fn build_info() -> Obj {
    let pairs = [
        ("compiler", "rustc".to_owned()),
        ("assertions", u8::from(cfg!(debug_assertions)).to_string()),
        ("system_malloc", "0".to_owned()),
        ("with_deprecated", "1".to_owned()),
        ("tcl", tcl::version().to_owned()),
        ("product", identity::PRODUCT.to_owned()),
        ("productversion", identity::VERSION.to_owned()),
    ];
    Obj::list(
        pairs
            .into_iter()
            .flat_map(|(k, v)| [Obj::from(k), Obj::from(v)]),
    )
}

fn callbacks(call: &Call<'_>) -> Vec<Obj> {
    let row = |(moment, text): (Moment, String)| {
        let name = match moment {
            Moment::Prestartup => "prestartup",
            Moment::Startup => "startup",
            Moment::Signal => "signal",
            Moment::Shutdown => "shutdown",
            Moment::Exit => "exit",
        };
        Obj::list([name.to_owned(), "ns:tclcallback".to_owned(), text].map(Obj::from))
    };
    process(call).hooks.list().into_iter().map(row).collect()
}

fn locks() -> Vec<Obj> {
    let time = |d: std::time::Duration| {
        Obj::from(decimal(i64::try_from(d.as_micros()).unwrap_or(i64::MAX)))
    };
    let row = |lock: shared::lock::Stats| {
        Obj::list([
            Obj::from(&*lock.name),
            Obj::new(),
            Obj::from(lock.id),
            Obj::from(lock.locks),
            Obj::from(lock.busy),
            time(lock.total_wait),
            time(lock.max_wait),
            time(lock.held),
            Obj::from(lock.reads),
            Obj::from(lock.writes),
        ])
    };
    shared::lock::list().into_iter().map(row).collect()
}

fn log_path(call: &Call<'_>) -> String {
    let process = process(call);
    let settings = process.settings();
    let name = settings
        .systemlog
        .as_ref()
        .or(settings.serverlog.as_ref())
        .map_or("nsd.log", String::as_str);
    process.logdir().join(name).to_string_lossy().into_owned()
}

fn memory() -> Obj {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let stats: Vec<&str> = status
        .lines()
        .filter(|l| l.starts_with("Vm") || l.starts_with("Rss"))
        .collect();
    Obj::list(
        [
            "preload",
            "",
            "version",
            "mimalloc",
            "stats",
            &stats.join("\n"),
        ]
        .map(Obj::from),
    )
}

fn mime_types(call: &Call<'_>) -> Obj {
    let types = Arc::clone(&process(call).mime.read());
    Obj::list(
        types
            .list()
            .into_iter()
            .flat_map(|(ext, t)| [Obj::from(format!(".{ext}")), Obj::from(t)]),
    )
}

fn scheduled(e: &EventStatus) -> Obj {
    let interval = match e.when {
        When::Every(span) => decimal(i64::try_from(span.as_micros()).unwrap_or(i64::MAX)),
        When::Daily { hour, minute } => {
            (i64::from(hour) * 3600 + i64::from(minute) * 60).to_string()
        }
        When::Weekly { day, hour, minute } => {
            (i64::from(day) * 86400 + i64::from(hour) * 3600 + i64::from(minute) * 60).to_string()
        }
    };
    let time = |t: Option<i64>| Obj::from(t.map_or_else(|| "-1".to_owned(), decimal));
    Obj::list([
        Obj::from(e.id),
        Obj::from(i64::from(e.flags.0)),
        Obj::from(interval),
        time(e.next_queue),
        time(e.last_queue),
        time(e.last_start),
        time(e.last_end),
        Obj::from("ns:tclschedproc"),
        Obj::from(&*e.description),
    ])
}

fn decimal(micros: i64) -> String {
    shared::time::Time::from_micros(micros).decimal()
}

fn tls(call: &Call<'_>, details: bool) -> Obj {
    let offered = process(call).modules.iter().any(|m| m.name == "nsssl");
    if details {
        return Obj::list([
            Obj::from("available"),
            Obj::from(offered),
            Obj::from("library"),
            Obj::from("rustls"),
        ]);
    }
    Obj::from(offered)
}

fn threads() -> Vec<Obj> {
    let row = |t: shared::thread::Info| {
        Obj::list([
            Obj::from(&*t.name),
            Obj::from(&*t.parent),
            Obj::from(i64::from(t.tid)),
            Obj::from(i64::from(t.detached)),
            Obj::from(t.started.micros() / 1_000_000),
            Obj::from(&*t.procedure),
            Obj::from(&*t.argument),
        ])
    };
    shared::thread::list().into_iter().map(row).collect()
}
