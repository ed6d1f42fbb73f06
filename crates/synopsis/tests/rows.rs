//! Rows as authors write them, run in a real interpreter: usages, values and messages.

use navis_synopsis as synopsis;
use synopsis::{
    Call, FromObj, Int, Interval, Kind, Label, MAX, MemorySize, Rest, Time, choice, commands,
    register_all,
};
use tcl::{Exit, Interp, Obj};

choice! {
    /// How bytes are written.
    pub enum Encoding { Hex = "hex", Base64Url = "base64url", Base64 = "base64", Binary = "binary" }
    enum Scope { Private = "private", Shared = "shared" }
}

/// A handle only `s1` and `s2` name.
struct Set(String);

impl FromObj for Set {
    const KIND: Kind = Kind::Value("setId");
    fn from_obj(_: &Call<'_>, _: Label, value: &Obj) -> Result<Set, Exit> {
        match value.text().as_str() {
            name @ ("s1" | "s2") => Ok(Set(name.to_owned())),
            name => Err(tcl::error(format!("no such set: '{name}'"))),
        }
    }
}

struct OfServer(String);

commands! { TABLE(call):

    /// MD5 digest of a string.
    "ns_md5" [-binary: bool, --] (string: String)
        => format!("{string} {binary}");

    /// Nothing at all.
    "ns_cache_names" => ();

    /// Only options.
    "ns_baseunit" [-size: Option<MemorySize>, -time: Option<Time>]
        => match (size, time) {
            (Some(size), None) => Ok(Obj::from(size.0)),
            (None, Some(time)) => Ok(Obj::from(time.decimal())),
            _ => Err(tcl::error("either -size or -time must be specified")),
        };

    /// Limits.
    "ns_schedule_daily" [-once: bool, -thread: bool, --]
        (hour: Int<0, 23>, minute: Int<0, 59>, script: Obj, arg: Option<Rest>)
        => format!("{hour} {minute} {} {}", script.text(), arg.map_or(0, |a| a.len()));

    /// A limit without end; an optional argument.
    "ns_rand" (maximum: Option<Int<1, MAX>>) => maximum.map(|m| m.get());

    /// A time that is not negative.
    "ns_sleep" (duration: Interval) => duration.0;

    /// A required option; a choice.
    "ns_crypto::aead::decrypt string"
        [-binary: bool, -aad: Option<Obj>, -cipher: Option<String>, -encoding: Encoding = Encoding::Hex, -iv: Option<Obj>, -key: Obj, -tag: Obj, --]
        (input: Obj)
        => encoding;

    /// A choice as an argument.
    "ns_library" (scope: Scope, module: Option<String>) => format!("{} {module:?}", scope.word());

    /// Options with values that are truths; a default.
    "ns_getcookie" [-all: Option<bool>, -include_set_cookies: Option<bool>, --] (name: String, default: String = "none".to_owned())
        => format!("{all:?} {include_set_cookies:?} {name} {default}");

    /// A handle; raw identifiers; a default of another kind.
    "ns_set get" [-all: bool, -nocase: bool, --] (set as "setId": Set, key: String, default: Option<Obj>)
        => format!("{} {key} {all} {nocase} {}", set.0, default.is_some());

    /// Sibling.
    "ns_set array" (set as "setId": Set) => set.0;

    /// Sibling.
    "ns_set size" (set as "setId": Set, elements as "nrElements": Option<Int<0, MAX>>, bytes as "bufferSize": Option<Int<200, MAX>>)
        => elements.map(|n| n.get()).or(bytes.map(|n| n.get()));

    /// A handle as an option; a value's looks.
    "ns_urlspace get" [-context: Option<Set>, -exact: bool, -id: Option<Int<-1, 16>>, -r#type as "/port/": Option<Obj>] (url as "URL": String)
        => format!("{url} {exact} {}", r#type.is_some());

    /// An optional argument before a required one.
    "ns_register_adptag" [-tagset: Option<String>] (tag: String, endtag: Option<String>, script as "proc": Obj)
        => format!("{tag} {endtag:?} {}", script.text());

    /// All words.
    "nsv_append" (array: String, key: String, value: Rest) => format!("{array} {key} {}", value.joined());

    /// Subcommands of subcommands.
    "ns_json triples getvalue" [-pretty: bool, --] (triples: Obj) => triples;

    /// Sibling.
    "ns_json triples match" [-schema: Obj, --] (triples: Obj) => triples;

    /// Sibling of another depth.
    "ns_json null" => ();

    /// A family that speaks Tcl.
    #[family("/subcommand/ ?/arg .../?")]
    "ns_env exists" (name: String) => name;

    /// Sibling.
    "ns_env names" => ();

    /// Sibling.
    "ns_env nap" => "zzz";

    /// With and without subcommand.
    "ns_time" => 1_i64;

    /// Sibling.
    #[family("/subcommand/ ?/arg .../?")]
    "ns_time get" => 2_i64;

    /// Sibling.
    "ns_time make" (sec: Int<0, MAX>, usec: Option<Int<0, MAX>>) => sec.get() + usec.map_or(0, |u| u.get());

    /// Two siblings.
    "ns_auth request" (method: String) => method;

    /// Two siblings.
    "ns_auth user" (name: String) => name;

    /// Options behind an argument.
    "ns_logctl severity" (severity: String) [-color: Option<Encoding>, -on: bool] (value: Option<bool>)
        => format!("{severity} {color:?} {on} {value:?}");

    /// A Tcl procedure.
    #[style(proc)]
    "ns_link" [-nocomplain: bool] (path: String, link: String, arg: Option<Rest>) => format!("{path} {link} {nocomplain} {}", arg.is_some());

    /// A procedure with its own parser.
    #[style(args)]
    "ns_sha2" [-length: Option<Int<1, 512>>, --] (message: String, args as "/args/": Option<Rest>) => message;

    /// From package nsf.
    #[style(nsf)]
    "ns_hotp" [-digest: Option<String>, -digits: Option<i64>, -key: Option<String>] (counter: Obj) => counter;

    /// From package nsf.
    #[style(nsf)]
    "revproxy::up" [-url: Obj, -insecure: bool, -host: Option<bool>] => url;

    /// Its own message.
    #[complains("wrong # args: keylget listvar ?/key/?")]
    "keylget" (listvar: String, key: Option<String>) => listvar;

    /// Its own usage.
    #[usage("/array/ ...")]
    #[deprecated("use ns_md5")]
    "ns_old" (array: String, pair: Option<Rest>) => { let _ = pair; array };

    /// Options before the subcommand.
    "ns_server" [-server as "/server/": Option<String>, --] {rest in OF_SERVER}
        => rest.run(&OfServer(server.unwrap_or_else(|| "default".to_owned())));

    /// Rows that parse the words again.
    "ns_cache_configure" (cache: String, arg: Option<Rest>)
        => match arg {
            Some(_) => call.hand_over(&CONFIGURE[0], 2, Some(&cache)),
            None => Ok(Obj::from("all")),
        };

    /// A method of an object of package nsf.
    #[style(nsf)] #[named("::ns_md string")]
    "ns_md string" [-digest: Option<String>] (message: Obj) => message;

    /// Another name.
    "ns_digest" (arg: Option<Rest>) => call.forward("ns_md5");

    /// The question mark works.
    "ns_try" (value: Obj) => { let n = value.int()?; n + 1 };
}

commands! { OF_SERVER(call):
    /// Threads.
    "ns_server maxthreads" (value: Option<Int<1, 100>>)
        => format!("{} {:?}", call.context::<OfServer>().map_or("", |c| &c.0), value.map(|v| v.get()));
    /// Numbers.
    "ns_server stats" => 7_i64;
    /// Words.
    "ns_server charset" (which: Option<Scope>) => which;
}

commands! { CONFIGURE(call):
    /// Limits of a cache.
    "ns_cache_configure" [-timeout: Option<Time>, -maxsize: Option<MemorySize>]
        => format!("{:?} {}", call.context::<String>(), maxsize.map_or(0, |s| s.0) + timeout.map_or(0, |t| t.sec));
}

const NONE: &str = "NONE";
const ARGS: &str = "TCL WRONGARGS";

#[test]
fn calls_have_the_results_and_messages_of_the_reference() {
    let interp = Interp::create().expect("an interpreter");
    register_all(&interp, &[TABLE]);
    // script, result, errorCode (empty: success)
    let cases = [
        ("ns_md5 a", "a false", ""),
        ("ns_md5 -binary a", "a true", ""),
        ("ns_md5 -- -binary", "-binary false", ""),
        ("ns_md5 -binary", "-binary false", ""),
        ("ns_md5 --", "-- false", ""),
        (
            "ns_md5 -bogus x",
            "wrong # args: should be \"ns_md5 ?-binary? ?--? /string/\"",
            ARGS,
        ),
        (
            "ns_md5",
            "wrong # args: should be \"ns_md5 ?-binary? ?--? /string/\"",
            ARGS,
        ),
        (
            "rename ns_md5 {my md}; {my md}",
            "wrong # args: should be \"{my md} ?-binary? ?--? /string/\"",
            ARGS,
        ),
        (
            "rename {my md} digest; digest a b",
            "wrong # args: should be \"digest ?-binary? ?--? /string/\"",
            ARGS,
        ),
        ("ns_cache_names", "", ""),
        (
            "ns_cache_names x",
            "wrong # args: should be \"ns_cache_names\"",
            ARGS,
        ),
        (
            "ns_baseunit",
            "either -size or -time must be specified",
            NONE,
        ),
        (
            "ns_baseunit x",
            "wrong # args: should be \"ns_baseunit ?-size /memory-size/? ?-time /time/?\"",
            ARGS,
        ),
        ("ns_baseunit -size", "missing argument to -size", NONE),
        ("ns_baseunit -size 12KB", "12288", ""),
        ("ns_baseunit -time 3.5h", "12600", ""),
        (
            "ns_baseunit -size 10kb",
            "invalid memory unit '10kb'; valid units kB, MB, GB, KiB, MiB, and GiB",
            NONE,
        ),
        (
            "ns_baseunit -time x",
            "expected time value but got \"x\"",
            NONE,
        ),
        ("ns_schedule_daily -thread 3 15 s", "3 15 s 0", ""),
        ("ns_schedule_daily 3 15 s a b", "3 15 s 2", ""),
        (
            "ns_schedule_daily 24 0 {set y}",
            "expected integer in range [0,23] for 'hour', but got 24",
            NONE,
        ),
        (
            "ns_schedule_daily -1 0",
            "expected integer in range [0,23] for 'hour', but got -1",
            NONE,
        ),
        (
            "ns_rand 0",
            "expected integer in range [1,MAX] for '?maximum', but got 0",
            NONE,
        ),
        ("ns_rand", "", ""),
        (
            "ns_sleep -1",
            "expected time value in range [0s, MAX], for 'duration', but got -1",
            NONE,
        ),
        ("ns_crypto::aead::decrypt string -key k -tag t x", "hex", ""),
        (
            "ns_crypto::aead::decrypt string -key k -tag t -encoding base64 x",
            "base64",
            "",
        ),
        (
            "ns_crypto::aead::decrypt string -key k -tag t -encoding b x",
            "bad option \"b\": must be hex, base64url, base64, or binary",
            NONE,
        ),
        (
            "ns_crypto::aead::decrypt string -key k x",
            "wrong # args: should be \"ns_crypto::aead::decrypt string ?-binary? ?-aad /value/? ?-cipher /value/? ?-encoding hex|base64url|base64|binary? ?-iv /value/? -key /value/ -tag /value/ ?--? /input/\"",
            ARGS,
        ),
        (
            "ns_crypto::aead::decrypt",
            "wrong # args: should be \"ns_crypto::aead::decrypt string ?/arg .../\"",
            ARGS,
        ),
        (
            "ns_crypto::aead::decrypt bogus",
            "ns_crypto::aead::decrypt: bad subcommand \"bogus\": must be string",
            NONE,
        ),
        (
            "ns_library bogus",
            "bad option \"bogus\": must be private, or shared",
            NONE,
        ),
        ("ns_library shared m", "shared Some(\"m\")", ""),
        (
            "ns_library",
            "wrong # args: should be \"ns_library private|shared ?/module/?\"",
            ARGS,
        ),
        ("ns_getcookie -all true x", "Some(true) None x none", ""),
        (
            "ns_getcookie -all maybe x",
            "expected boolean value but got \"maybe\"",
            "TCL VALUE NUMBER",
        ),
        (
            "ns_getcookie",
            "wrong # args: should be \"ns_getcookie ?-all true|false? ?-include_set_cookies true|false? ?--? /name/ ?/default/?\"",
            ARGS,
        ),
        ("ns_set get -all s1 k", "s1 k true false false", ""),
        ("ns_set get nosuch", "no such set: 'nosuch'", NONE),
        ("ns_set array a b", "no such set: 'a'", NONE),
        (
            "ns_set array s1 b",
            "wrong # args: should be \"ns_set array /setId/\"",
            ARGS,
        ),
        (
            "ns_set get s1",
            "wrong # args: should be \"ns_set get ?-all? ?-nocase? ?--? /setId/ /key/ ?/default/?\"",
            ARGS,
        ),
        (
            "ns_set size s1 1 100",
            "expected integer in range [200,MAX] for '?bufferSize', but got 100",
            NONE,
        ),
        (
            "ns_set size s1 x",
            "expected integer but got \"x\"",
            "TCL VALUE NUMBER",
        ),
        (
            "ns_set",
            "wrong # args: should be \"ns_set get|array|size ?/arg .../\"",
            ARGS,
        ),
        (
            "ns_set arr",
            "ns_set: bad subcommand \"arr\": must be get, array, or size",
            NONE,
        ),
        (
            "ns_set {}",
            "ns_set: bad subcommand \"\": must be get, array, or size",
            NONE,
        ),
        (
            "ns_urlspace get -id 17 /x",
            "expected integer in range [-1,16] for '-id', but got 17",
            NONE,
        ),
        (
            "ns_urlspace get",
            "wrong # args: should be \"ns_urlspace get ?-context /setId/? ?-exact? ?-id /integer[-1,16]/? ?-type /port/? /URL/\"",
            ARGS,
        ),
        ("ns_urlspace get -type 1 -exact u", "u true true", ""),
        ("ns_register_adptag a b", "a None b", ""),
        ("ns_register_adptag -tagset t a b c", "a Some(\"b\") c", ""),
        ("ns_register_adptag -tagset t", "-tagset None t", ""),
        ("nsv_append a k 1 2 3", "a k 1 2 3", ""),
        (
            "nsv_append a k",
            "wrong # args: should be \"nsv_append /array/ /key/ /value .../\"",
            ARGS,
        ),
        ("ns_json triples getvalue -pretty -- {}", "", ""),
        (
            "ns_json triples bogus",
            "ns_json triples: bad subcommand \"bogus\": must be getvalue or match",
            NONE,
        ),
        (
            "ns_json triples",
            "wrong # args: should be \"ns_json triples getvalue|match ?/arg .../\"",
            ARGS,
        ),
        (
            "ns_json triples match",
            "wrong # args: should be \"ns_json triples match -schema /value/ ?--? /triples/\"",
            ARGS,
        ),
        (
            "ns_json bogus",
            "ns_json: bad subcommand \"bogus\": must be triples or null",
            NONE,
        ),
        (
            "ns_env",
            "wrong # args: should be \"ns_env /subcommand/ ?/arg .../?\"",
            ARGS,
        ),
        (
            "ns_env bogus",
            "bad subcommand \"bogus\": must be exists, names, or nap",
            "TCL LOOKUP INDEX subcommand bogus",
        ),
        (
            "ns_env {}",
            "ambiguous subcommand \"\": must be exists, names, or nap",
            "TCL LOOKUP INDEX subcommand {}",
        ),
        (
            "ns_env na",
            "ambiguous subcommand \"na\": must be exists, names, or nap",
            "TCL LOOKUP INDEX subcommand na",
        ),
        ("ns_env ex X", "X", ""),
        (
            "ns_env ex",
            "wrong # args: should be \"ns_env exists /name/\"",
            ARGS,
        ),
        (
            "rename ns_env e; e names x",
            "wrong # args: should be \"e names\"",
            ARGS,
        ),
        ("ns_time", "1", ""),
        ("ns_time get", "2", ""),
        (
            "ns_time bogus",
            "bad subcommand \"bogus\": must be get or make",
            "TCL LOOKUP INDEX subcommand bogus",
        ),
        (
            "ns_time make 1 -5",
            "expected integer in range [0,MAX] for '?usec', but got -5",
            NONE,
        ),
        (
            "ns_auth bogus",
            "ns_auth: bad subcommand \"bogus\": must be request or user",
            NONE,
        ),
        (
            "ns_logctl severity notice -color bogus",
            "bad option \"bogus\": must be hex, base64url, base64, or binary",
            NONE,
        ),
        (
            "ns_logctl severity notice -on -color hex false",
            "notice Some(Hex) true Some(false)",
            "",
        ),
        (
            "ns_logctl severity",
            "wrong # args: should be \"ns_logctl severity /severity/ ?-color hex|base64url|base64|binary? ?-on? ?true|false?\"",
            ARGS,
        ),
        (
            "ns_link",
            "wrong # args: should be \"ns_link ?-nocomplain? path link ?arg ...?\"",
            ARGS,
        ),
        (
            "ns_sha2",
            "wrong # args: should be \"?-length /length/? ?--? /message/ ?/args/?\"",
            ARGS,
        ),
        (
            "ns_hotp",
            "required argument 'counter' is missing, should be:\n\tns_hotp ?-digest /value/? ?-digits /integer/? ?-key /value/? /counter/",
            NONE,
        ),
        (
            "ns_hotp -digits x 1",
            "expected integer but got \"x\" for parameter \"-digits\"",
            NONE,
        ),
        (
            "ns_hotp 1 2",
            "invalid argument '2', maybe too many arguments; should be \"ns_hotp ?-digest /value/? ?-digits /integer/? ?-key /value/? /counter/\"",
            NONE,
        ),
        (
            "revproxy::up",
            "required argument 'url' is missing, should be:\n\trevproxy::up -url /value/ ?-insecure? ?-host /boolean/?",
            NONE,
        ),
        ("keylget", "wrong # args: keylget listvar ?/key/?", NONE),
        (
            "keylget a b c",
            "wrong # args: keylget listvar ?/key/?",
            NONE,
        ),
        (
            "ns_old",
            "wrong # args: should be \"ns_old /array/ ...\"",
            ARGS,
        ),
        (
            "ns_server",
            "wrong # args: should be \"ns_server ?-server /server/? ?--? maxthreads|stats|charset ?/arg .../?\"",
            ARGS,
        ),
        ("ns_server -server s maxthreads 5", "s Some(5)", ""),
        (
            "ns_server bogus",
            "bad option \"bogus\": must be maxthreads, stats, or charset",
            NONE,
        ),
        (
            "ns_server -bogus",
            "bad option \"-bogus\": must be maxthreads, stats, or charset",
            NONE,
        ),
        (
            "ns_server -server s stats x",
            "wrong # args: should be \"ns_server stats\"",
            ARGS,
        ),
        (
            "ns_server charset bogus",
            "bad option \"bogus\": must be private, or shared",
            NONE,
        ),
        (
            "ns_cache_configure c118 -bogus 1",
            "wrong # args: should be \"ns_cache_configure c118 ?-timeout /time/? ?-maxsize /memory-size/?\"",
            ARGS,
        ),
        (
            "ns_cache_configure c1 -maxsize 1KB",
            "Some(\"c1\") 1024",
            "",
        ),
        (
            "ns_md string a b",
            "invalid argument 'b', maybe too many arguments; should be \"::ns_md string ?-digest /value/? /message/\"",
            NONE,
        ),
        ("rename digest ns_md5; ns_digest -binary a", "a true", ""),
        (
            "ns_digest",
            "wrong # args: should be \"ns_md5 ?-binary? ?--? /string/\"",
            ARGS,
        ),
        ("ns_try 3", "4", ""),
        (
            "ns_try x",
            "expected integer but got \"x\"",
            "TCL VALUE NUMBER",
        ),
    ];
    let mut wrong = Vec::new();
    for (script, result, code) in cases {
        let got = match interp.eval(script) {
            Ok(value) => (value.text(), String::new()),
            Err(Exit::Error(e)) => (e.message().to_owned(), e.code().to_owned()),
            Err(other) => (format!("{other:?}"), String::new()),
        };
        let got = (
            got.0,
            got.1
                .replace("TCL VALUE INTEGER", "TCL VALUE NUMBER")
                .replace("TCL VALUE BOOLEAN", "TCL VALUE NUMBER"),
        );
        if (got.0.as_str(), got.1.as_str()) != (result, code) {
            wrong.push(format!(
                "{script}\n  want {result:?} {code:?}\n  got  {:?} {:?}",
                got.0, got.1
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn tables_keep_the_laws() {
    let wrong = synopsis::laws::check(&[TABLE]);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(synopsis::laws::check(&[OF_SERVER, CONFIGURE]).is_empty());
}

#[test]
fn deprecated_rows_are_reported() {
    use std::sync::Mutex;
    static HEARD: Mutex<Vec<String>> = Mutex::new(Vec::new());
    synopsis::report_deprecated(|name, advice| {
        // Other tests of this program call the row as well, on threads of their own.
        if std::thread::current().name() != Some("deprecated_rows_are_reported") {
            return;
        }
        HEARD
            .lock()
            .expect("not poisoned")
            .push(format!("{name}: {advice}"))
    });
    let interp = Interp::create().expect("an interpreter");
    register_all(&interp, &[TABLE]);
    interp.eval("ns_old a; ns_old b c").expect("it still works");
    assert_eq!(
        *HEARD.lock().expect("not poisoned"),
        ["ns_old: use ns_md5", "ns_old: use ns_md5"]
    );
}

#[test]
fn the_manual_comes_from_the_rows() {
    let pages = synopsis::manual::pages(&[TABLE]);
    let (_, page) = pages
        .iter()
        .find(|(name, _)| *name == "ns_old")
        .expect("a page");
    assert_eq!(
        page,
        "# ns_old\n\n```tcl\nns_old /array/ ...\n```\n\n## ns_old\n\n`ns_old /array/ ...`\n\nDeprecated: use ns_md5.\n\nIts own usage.\n"
    );
    let names = synopsis::manual::completions(&[TABLE]);
    assert!(
        ["ns_json", "ns_json triples", "ns_json triples match"]
            .iter()
            .all(|n| names.iter().any(|m| m == n))
    );
}
