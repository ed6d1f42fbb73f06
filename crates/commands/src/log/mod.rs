//! The system log: ns_log, ns_logctl, ns_logroll.

mod asyncfile;
mod filter;
mod grep;

use shared::log::{self, Color, Intensity, Severity};
use synopsis::{Int, MAX, Rest, choice, commands};
use tcl::{Exit, Obj};

use crate::kinds::context;

pub use asyncfile::TABLE as ASYNCFILE;

choice! {
    /// How messages of a severity are colored.
    enum ColorWord {
        Black = "black", Red = "red", Green = "green", Yellow = "yellow", Blue = "blue", Magenta = "magenta",
        Cyan = "cyan", Gray = "gray", Default = "default"
    }
    enum IntensityWord { Normal = "normal", Bright = "bright" }
}

commands! { TABLE(call):

    /// Writes to the system log, if the severity is on.
    "ns_log" (severity: String, message: Rest)
        => known(&severity).map(|s| if let Some(s) = s && s.is_enabled() { log::write_text(s, message.joined()) });

    /// How many messages this thread holds back.
    #[family("/subcommand/ ?/arg/?")]
    "ns_logctl count" => log::held_count();

    /// Writes what this thread holds back, and goes on holding.
    "ns_logctl flush" => log::held_flush();

    /// The messages held back, which are forgotten.
    "ns_logctl get" => log::held_take();

    /// The messages of the log file that contain a text.
    "ns_logctl grep" [-filename: Option<String>, --] (string: String)
        => grep::messages(filename.as_deref(), &string);

    /// From now on messages of this thread are held back.
    "ns_logctl hold" => log::hold();

    /// The messages held back, which stay.
    "ns_logctl peek" => log::held_peek();

    /// Has a script called for each message.
    "ns_logctl register" (script: String, arg: Option<Rest>)
        => match &context(call).server {
            Some(server) => filter::register(server, &script, arg.map_or(&[], |a| a.0)),
            None => Err(tcl::error("ns_logctl register: there is no server yet")),
        };

    /// Writes what this thread holds back and ends the holding.
    "ns_logctl release" => log::release();

    /// The names of all severities.
    "ns_logctl severities" => names();

    /// Whether a severity is on; turns it on or off.
    "ns_logctl severity" (severity: String)
        [-color: Option<ColorWord>, -intensity: Option<IntensityWord>] (value as "true|false": Option<bool>)
        => control(&severity, color, intensity, value);

    /// How many messages there were of each severity.
    "ns_logctl stats"
        => Obj::dict(log::severities().into_iter().map(|s| (Obj::from(&*s.name()), Obj::from(s.count()))));

    /// Forgets messages held back, all but the first ones.
    "ns_logctl truncate" (count: Option<Int<0, MAX>>) => log::held_truncate(count.map_or(0, Int::as_usize));

    /// Ends what ns_logctl register began.
    "ns_logctl unregister" (handle: String) => filter::unregister(&handle);

    /// Rolls the system log.
    "ns_logroll" => log::roll().map_err(|e| tcl::error(format!("could not roll server log: {e}")));
}

fn names() -> Vec<String> {
    log::severities()
        .into_iter()
        .map(|s| s.name().to_string())
        .collect()
}

/// A severity by name or number. A number that nobody has is off.
fn known(name: &str) -> Result<Option<Severity>, Exit> {
    if let Some(severity) = log::severity(name) {
        return Ok(Some(severity));
    }
    if let Ok(number) = name.trim().parse() {
        return Ok(Severity::by_number(number));
    }
    Err(tcl::error(format!(
        "unknown severity: \"{name}\": should be one of: {}",
        names().join(" ")
    )))
}

fn control(
    name: &str,
    color: Option<ColorWord>,
    intensity: Option<IntensityWord>,
    on: Option<bool>,
) -> Result<bool, Exit> {
    let changes = color.is_some() || intensity.is_some() || on.is_some();
    let severity = match known(name) {
        Err(_) if changes => Some(
            log::register(name).ok_or_else(|| tcl::error("max number of severities reached"))?,
        ),
        found => found?,
    };
    let Some(severity) = severity else {
        return Ok(false);
    };
    if color.is_some() || intensity.is_some() {
        let (old_color, old_intensity) = severity.color();
        let color = color.and_then(|c| {
            Color::NAMES
                .into_iter()
                .find(|(n, _)| *n == c.word())
                .map(|(_, c)| c)
        });
        let intensity = intensity.map(|i| match i {
            IntensityWord::Normal => Intensity::Normal,
            IntensityWord::Bright => Intensity::Bright,
        });
        severity.set_color(
            color.unwrap_or(old_color),
            intensity.unwrap_or(old_intensity),
        );
    }
    Ok(on.map_or_else(|| severity.is_enabled(), |on| severity.set_enabled(on)))
}
