//! SQL dates and times built from the fields of forms, and taken apart for them; tables written as CSV.

use synopsis::{Call, Rest, commands};
use tcl::{Exit, Obj, Outcome};

use super::commands::database;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

commands! { TABLE(call):

    /// `2000-01-05` from a month's name or number, a day and a year; empty when all are empty.
    #[style(proc)]
    "ns_buildsqldate" (month: String, day: String, year: String)
        => build_date(&month, &day, &year);

    /// `22:30:00` from `10:30` and `PM`; empty when both are empty.
    #[style(proc)]
    "ns_buildsqltime" (time: String, ampm: String)
        => build_time(&time, &ampm);

    /// Both with a blank between them; empty when either is empty.
    #[style(proc)]
    "ns_buildsqltimestamp" (month: String, day: String, year: String, time: String, ampm: String)
        => build_stamp(&month, &day, &year, &time, &ampm);

    /// Month (its name), day or year of a date.
    #[style(proc)]
    "ns_parsesqldate" (opt: String, sqldate: String)
        => parse_date(&opt, &sqldate);

    /// Time (of twelve hours) or AM and PM.
    #[style(proc)]
    "ns_parsesqltime" (opt: String, sqltime: String)
        => parse_time(&opt, &sqltime);

    /// One part of a time stamp.
    #[style(proc)]
    "ns_parsesqltimestamp" (opt: String, sqltimestamp: String)
        => parse_stamp(&opt, &sqltimestamp);

    /// Now, in local time.
    #[style(proc)]
    "ns_localsqltimestamp"
        => local_stamp();

    /// Writes all rows of a table to a channel as CSV; returns their number.
    #[style(proc)]
    "ns_writecsv" (datafp: Obj, db: Obj, table: String, header: bool = true)
        => write_csv(call, &datafp, &db, &table, header);

    /// Closes all connections as soon as they are not in use.
    #[style(proc)] #[usage("?/arg .../?")]
    "ns_dbshutdown" (args: Option<Rest>)
        => {
            let _ = args;
            database(call).map(|d| d.pools.iter().for_each(|p| p.bounce()))
        };
}

fn whole(text: &str, max: u32) -> Option<u32> {
    let plain = !text.is_empty() && text.len() <= 4 && text.bytes().all(|b| b.is_ascii_digit());
    if plain {
        text.parse().ok().filter(|n| *n <= max)
    } else {
        None
    }
}

fn build_date(month: &str, day: &str, year: &str) -> Result<String, Exit> {
    if month.is_empty() && day.is_empty() && year.is_empty() {
        return Ok(String::new());
    }
    let wrong = || tcl::error(format!("Invalid date: {month} {day} {year}"));
    let named = MONTHS
        .iter()
        .position(|m| *m == month)
        .and_then(|i| u32::try_from(i + 1).ok());
    let m = named
        .or_else(|| whole(month, 12))
        .filter(|m| *m > 0)
        .ok_or_else(wrong)?;
    let y = whole(year, 9999).ok_or_else(wrong)?;
    let leap = y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
    let days = match m {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let d = whole(day, days).filter(|d| *d > 0).ok_or_else(wrong)?;
    Ok(format!("{y:04}-{m:02}-{d:02}"))
}

fn build_time(time: &str, ampm: &str) -> Result<String, Exit> {
    if time.is_empty() && ampm.is_empty() {
        return Ok(String::new());
    }
    let wrong = || tcl::error(format!("Invalid time: {time} {ampm}"));
    let parts: Vec<&str> = time.split(':').collect();
    let (hour, minute, second) = match parts.as_slice() {
        [h, m] => (*h, *m, "0"),
        [h, m, s] => (*h, *m, *s),
        _ => return Err(wrong()),
    };
    let hour = whole(hour, 12).filter(|h| *h > 0).ok_or_else(wrong)?;
    let (minute, second) = (
        whole(minute, 59).ok_or_else(wrong)?,
        whole(second, 59).ok_or_else(wrong)?,
    );
    let hour = match ampm {
        "AM" => hour % 12,
        "PM" => hour % 12 + 12,
        _ => return Err(wrong()),
    };
    Ok(format!("{hour:02}:{minute:02}:{second:02}"))
}

fn build_stamp(month: &str, day: &str, year: &str, time: &str, ampm: &str) -> Result<String, Exit> {
    let date = build_date(month, day, year)?;
    let time = build_time(time, ampm)?;
    if date.is_empty() || time.is_empty() {
        Ok(String::new())
    } else {
        Ok(format!("{date} {time}"))
    }
}

fn parse_date(opt: &str, date: &str) -> Result<String, Exit> {
    let wrong = || tcl::error(format!("Invalid date: {date}"));
    let parts: Vec<&str> = date
        .split(' ')
        .next()
        .unwrap_or_default()
        .split('-')
        .collect();
    let number = |i: usize, max: u32| {
        parts
            .get(i)
            .and_then(|p| whole(p, max))
            .filter(|n| i == 0 || *n > 0)
    };
    match opt {
        "month" => {
            let month = number(1, 12).ok_or_else(wrong)?;
            Ok(MONTHS[month as usize - 1].to_owned())
        }
        "day" => number(2, 31).map(|d| d.to_string()).ok_or_else(wrong),
        "year" => number(0, 9999)
            .map(|_| parts[0].to_owned())
            .ok_or_else(wrong),
        _ => Err(tcl::error(format!(
            "Unknown option \"{opt}\": should be year, month or day"
        ))),
    }
}

fn parse_time(opt: &str, time: &str) -> Result<String, Exit> {
    let wrong = || tcl::error(format!("Invalid time: {time}"));
    let (hour, rest) = time.split_once(':').ok_or_else(wrong)?;
    let hour = whole(hour, 23).ok_or_else(wrong)?;
    let clock = if hour % 12 == 0 { 12 } else { hour % 12 };
    // Fractions of a second and time zones are not shown in forms.
    let rest = rest.split(['.', '+', '-']).next().unwrap_or_default();
    match opt {
        "time" => Ok(format!("{clock}:{rest}")),
        "ampm" => Ok(if hour < 12 { "AM" } else { "PM" }.to_owned()),
        _ => Err(tcl::error(format!(
            "Unknown option \"{opt}\": should be time or ampm"
        ))),
    }
}

fn parse_stamp(opt: &str, stamp: &str) -> Result<String, Exit> {
    let (date, time) = stamp
        .split_once(' ')
        .ok_or_else(|| tcl::error(format!("Invalid timestamp: {stamp}")))?;
    match opt {
        "month" | "day" | "year" => parse_date(opt, date),
        "time" | "ampm" => parse_time(opt, time),
        _ => Err(tcl::error(format!(
            "Unknown option \"{opt}\": should be month, day, year, time or ampm"
        ))),
    }
}

fn local_stamp() -> String {
    let now = shared::strftime::local(shared::time::Time::now().sec);
    now.format("%Y-%m-%d %H:%M:%S").unwrap_or_default()
}

fn write_csv(call: &Call<'_>, channel: &Obj, db: &Obj, table: &str, header: bool) -> Outcome {
    let words = |list: &[&Obj]| list.iter().map(|w| (*w).clone()).collect::<Vec<Obj>>();
    let invoke = |list: &[&Obj]| call.interp.call(&words(list));
    let [ns_db, select, getrow, ns_set, puts] =
        ["::ns_db", "select", "getrow", "::ns_set", "::puts"].map(Obj::from);
    let row = invoke(&[
        &ns_db,
        &select,
        db,
        &Obj::from(format!("select * from {table}")),
    ])?;
    let write = |what: &str| -> Outcome<()> {
        let fields = invoke(&[&ns_set, &Obj::from(what), &row])?.elements()?;
        let line: Vec<String> = fields.iter().map(|f| f.with_text(csv_field)).collect();
        invoke(&[&puts, channel, &Obj::from(line.join(","))]).map(drop)
    };
    if header {
        write("keys")?;
    }
    let mut count = 0;
    while invoke(&[&ns_db, &getrow, db, &row])?.boolean()? {
        write("values")?;
        count += 1;
    }
    Ok(Obj::from(i64::from(count)))
}

/// A field in quotes, as `ns_getcsv` reads it back.
fn csv_field(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}
