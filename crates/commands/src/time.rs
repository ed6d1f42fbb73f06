//! Points and spans of time: ns_time, ns_localtime, ns_fmttime, dates of HTTP, ns_sleep, ns_baseunit.

use shared::strftime;
use synopsis::{Call, Int, Interval, MAX, MemorySize, Time, commands};
use tcl::{Exit, Obj, Outcome};

commands! { TABLE(call):

    /// Seconds since 1970.
    "ns_time" => Time::now().sec;

    /// A time with microseconds below a million.
    #[family("?/subcommand/ ?/arg .../??")]
    "ns_time adjust" (time: Time) => time.adjust().to_string();

    /// The difference of two times.
    "ns_time diff" (time1: Time, time2: Time) => (time1 - time2).to_string();

    /// A time as a decimal number of seconds.
    "ns_time format" (time: Time) => time.decimal();

    /// Now, with microseconds.
    "ns_time get" => Time::now().to_string();

    /// A time some seconds later.
    "ns_time incr" (time: Time, sec: Int<0, MAX>, usec: Option<Int<0, MAX>>)
        => {
            let usec = time.usec.saturating_add(usec.map_or(0, Int::get));
            Time::new(time.sec.saturating_add(*sec), usec).adjust().to_string()
        };

    /// A time from seconds and microseconds.
    "ns_time make" (sec: Int<0, MAX>, usec: Option<Int<0, MAX>>)
        => Time::new(*sec, usec.map_or(0, Int::get)).adjust().to_string();

    /// The seconds of a time.
    "ns_time seconds" (time: Time) => time.sec;

    /// The microseconds of a time beside its seconds.
    "ns_time microseconds" (time: Time) => time.usec;

    /// The local time now: sec min hour mday mon year wday yday isdst.
    "ns_localtime" => Obj::list_of(strftime::local(Time::now().sec).fields());

    /// The same in UTC.
    "ns_gmtime" => Obj::list_of(strftime::utc(Time::now().sec).fields());

    /// A local time as text, by a pattern of strftime.
    "ns_fmttime" (time: Int<0, MAX>, fmt: Option<String>)
        => fmttime(*time, fmt.as_deref().unwrap_or("%c"));

    /// The date of an HTTP header field.
    "ns_httptime" (time: i64) => http::date::format(time);

    /// The seconds of such a date.
    "ns_parsehttptime" (httptime: String)
        => match http::date::parse(&httptime, Time::now().sec) {
            Some(seconds) if seconds >= 0 => Ok(Obj::from(seconds)),
            _ => Err(tcl::error(format!("invalid time: {httptime}"))),
        };

    /// A field of what ns_localtime answers, by name.
    #[style(proc)]
    "ns_parsetime" (option: String, time: Vec<Obj>) => parsetime(&option, &time);

    /// Waits.
    "ns_sleep" (duration: Interval) => std::thread::sleep(duration.0.to_duration());

    /// Bytes or seconds of a text with a unit.
    "ns_baseunit" [-size as "/memory-size/": Option<MemorySize>, -time: Option<Time>]
        => baseunit(call, size, time);
}

/// The longest text of a date that is made.
const LONGEST: usize = 1000;

fn fmttime(time: i64, pattern: &str) -> Outcome<String> {
    let calendar = strftime::local(time);
    // The reference knows some conversions only and answers this for all other patterns.
    let pattern = if strftime::is_reference_pattern(pattern) {
        pattern
    } else {
        "%Y%m%d-%H%M%S"
    };
    match calendar.format(pattern) {
        Some(text) if !text.is_empty() && text.len() <= LONGEST => Ok(text),
        _ => Err(tcl::error(format!("invalid time: {time}"))),
    }
}

const FIELDS: [&str; 9] = [
    "sec", "min", "hour", "mday", "mon", "year", "wday", "yday", "isdst",
];

fn parsetime(option: &str, time: &[Obj]) -> Outcome {
    match FIELDS.iter().position(|field| *field == option) {
        Some(i) => Ok(time.get(i).cloned().unwrap_or_default()),
        None => Err(tcl::error(format!(
            "Incorrect option to ns_parsetime: \"{option}\" Should be one of \"{}\"",
            FIELDS.join(" ")
        ))),
    }
}

fn baseunit(_: &Call<'_>, size: Option<MemorySize>, time: Option<Time>) -> Result<Obj, Exit> {
    match (size, time) {
        (Some(size), None) => Ok(Obj::from(size.0)),
        (None, Some(time)) => Ok(Obj::from(time.decimal())),
        _ => Err(tcl::error("either -size or -time must be specified")),
    }
}
