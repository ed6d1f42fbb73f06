//! ns_accesslog.

use std::sync::Arc;

use server::script::Context;
use synopsis::{Call, Int, commands};
use tcl::Exit;

use super::line::Format;
use super::{AccessLog, AccessLogs};

commands! { TABLE(call):

    /// The strftime pattern of rolled files.
    #[family("/subcommand/ ?/arg .../?")]
    "ns_accesslog rollfmt" (timeformat: Option<String>)
        => log(call).and_then(|l| roll_format(&l, timeformat));

    /// How many rolled files are kept.
    "ns_accesslog maxbackup" (nrfiles: Option<Int<1>>)
        => log(call).map(|l| {
            if let Some(n) = nrfiles {
                l.change(|o| o.max_backup = n.as_usize());
            }
            l.options().max_backup
        });

    /// How many lines are kept in memory.
    "ns_accesslog maxbuffer" (nrlines: Option<Int<0>>)
        => log(call).map(|l| {
            if let Some(n) = nrlines {
                l.change(|o| o.max_lines = n.as_usize());
            }
            l.options().max_lines
        });

    /// Header fields that are logged.
    "ns_accesslog extendedheaders" (headers: Option<String>)
        => log(call).and_then(|l| extended(&l, headers));

    /// What is logged.
    "ns_accesslog flags" (flags: Option<Vec<tcl::Obj>>)
        => log(call).and_then(|l| flags_of(&l, flags));

    /// The file.
    "ns_accesslog file" (filepath: Option<String>)
        => log(call).and_then(|l| {
            if let Some(path) = filepath {
                l.move_to(&path).map_err(tcl::error)?;
            }
            Ok(l.path().display().to_string())
        });

    /// Renames the file and goes on with a new one.
    "ns_accesslog roll" (filepath: Option<String>)
        => log(call).and_then(|l| roll(&l, filepath));
}

fn log(call: &Call<'_>) -> Result<Arc<AccessLog>, Exit> {
    let logs = Context::of(call.interp)
        .server()
        .extensions
        .find::<AccessLogs>();
    let first = logs.and_then(|l| l.0.read().first().cloned());
    first.ok_or_else(|| tcl::error("module nslog is not loaded in this server"))
}

fn roll_format(log: &AccessLog, pattern: Option<String>) -> Result<String, Exit> {
    if let Some(pattern) = pattern {
        if shared::strftime::utc(0).format(&pattern).is_none() {
            return Err(tcl::error(format!("invalid time format \"{pattern}\"")));
        }
        log.change(|o| o.roll_format = Some(pattern).filter(|p| !p.is_empty()));
    }
    Ok(log.options().roll_format.unwrap_or_default())
}

fn extended(log: &AccessLog, headers: Option<String>) -> Result<String, Exit> {
    if let Some(headers) = headers {
        let mut format = Format::clone(&log.format());
        format.set_extended(&headers).map_err(tcl::error)?;
        log.set_format(format);
    }
    Ok(log.format().extended.clone())
}

fn flags_of(log: &AccessLog, flags: Option<Vec<tcl::Obj>>) -> Result<Vec<&'static str>, Exit> {
    if let Some(flags) = flags {
        let mut format = Format::clone(&log.format());
        let names = switches(&mut format).map(|(name, _)| name);
        switches(&mut format)
            .into_iter()
            .for_each(|(_, on)| *on = false);
        for wanted in flags.iter().map(tcl::Obj::text) {
            let found = switches(&mut format)
                .into_iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(&wanted));
            match found {
                Some((_, on)) => *on = true,
                None => {
                    return Err(tcl::error(format!(
                        "bad option \"{wanted}\": must be {}",
                        names.join(", ")
                    )));
                }
            }
        }
        log.set_format(format);
    }
    let mut format = Format::clone(&log.format());
    Ok(switches(&mut format)
        .into_iter()
        .filter(|(_, on)| **on)
        .map(|(name, _)| name)
        .collect())
}

fn switches(f: &mut Format) -> [(&'static str, &mut bool); 7] {
    [
        ("logcombined", &mut f.combined),
        ("formattedtime", &mut f.formatted_time),
        ("logreqtime", &mut f.request_time),
        ("logpartialtimes", &mut f.partial_times),
        ("logthreadname", &mut f.thread_name),
        ("checkforproxy", &mut f.check_for_proxy),
        ("suppressquery", &mut f.suppress_query),
    ]
}

fn roll(log: &AccessLog, path: Option<String>) -> Result<(), Exit> {
    let failed =
        |e: std::io::Error| tcl::error(format!("could not roll \"{}\": {e}", log.path().display()));
    log.roll().map_err(failed)?;
    match path {
        Some(path) => log.move_to(&path).map_err(tcl::error),
        None => Ok(()),
    }
}
