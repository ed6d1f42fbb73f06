//! `cargo xtask corpus`: how much of `tests/reference/commands.tsv` a program has, asked from the program itself.
//!
//! A usage line can be had without running the command where a call is surely wrong: without words when an argument is
//! required, with far too many when nothing repeats. The other lines are tested with their commands.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

/// A wrong call of one of these might be taken for a right one, with grave results.
const NOT_ASKED: &[&str] = &["exit", "ns_shutdown", "ns_kill"];

/// Seconds after which a program that does not answer is ended.
const LIMIT: &str = "120";

/// Modules bring commands of their own.
const MODULES: &str = "ns_section ns/parameters {ns_param home [pwd]; ns_param logdir [pwd]}
ns_section ns/servers {ns_param s s}
ns_section ns/server/s/modules {ns_param nsdb nsdb; ns_param nslog nslog}
ns_section ns/server/s/module/nslog {ns_param file /dev/null; ns_param rolllog false}
";

struct Row {
    name: String,
    usage: String,
    probe: Probe,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Probe {
    NoWords,
    TooManyWords,
    Not,
}

/// Prints how many commands exist and how many usage lines are equal; with `list` also what is missing or different.
///
/// # Errors
/// When the program cannot be run or does not finish.
pub fn run(root: &Path, nsd: &Path, list: bool) -> Result<(), String> {
    let text = fs::read_to_string(root.join("tests/reference/commands.tsv"))
        .map_err(|e| format!("commands.tsv: {e}"))?;
    let rows = rows(&text);
    let answers = ask(nsd, &script(&rows))?;
    let (mut exist, mut probed, mut equal) = (0, 0, 0);
    for (at, row) in rows.iter().enumerate() {
        let (exists, message) = answers
            .get(&at)
            .map_or((false, ""), |(exists, message)| (*exists, message.as_str()));
        exist += usize::from(exists);
        if !exists && list {
            println!("missing  {}", row.name);
        }
        if row.probe == Probe::Not {
            continue;
        }
        probed += 1;
        if exists && message == expected(&row.usage) {
            equal += 1;
        } else if exists && list {
            println!(
                "differs  {}\n   want {}\n   got  {message}",
                row.name,
                expected(&row.usage)
            );
        }
    }
    println!("corpus commands {exist} of {}", rows.len());
    println!("corpus usages {equal} of {probed}");
    Ok(())
}

fn rows(text: &str) -> Vec<Row> {
    text.lines()
        .skip(1)
        .filter_map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            let [name, kind, usage, ..] = cells.as_slice() else {
                return None;
            };
            let probe = if kind.contains("nsf") || NOT_ASKED.contains(name) {
                Probe::Not
            } else {
                probe(name, usage)
            };
            Some(Row {
                name: (*name).to_owned(),
                usage: (*usage).to_owned(),
                probe,
            })
        })
        .collect()
}

/// How the usage line can be had; see the head of this file.
fn probe(name: &str, usage: &str) -> Probe {
    // Lines in parentheses were taken from documents, not from an answer.
    if usage.is_empty() || usage.starts_with('(') {
        return Probe::Not;
    }
    let line = usage.trim_start_matches("wrong # args: ");
    let mut rest = line;
    for word in name.split(' ') {
        rest = rest.strip_prefix(word).unwrap_or(rest).trim_start();
    }
    if rest.is_empty() {
        return Probe::TooManyWords;
    }
    let mut optional = false;
    let mut required = false;
    for word in rest.split(' ') {
        let (opens, closes) = (word.starts_with('?'), word.ends_with('?') && word.len() > 1);
        required |= !optional && !opens;
        optional = (optional || opens) && !closes;
    }
    if required {
        Probe::NoWords
    } else if rest.contains("...") {
        Probe::Not
    } else {
        Probe::TooManyWords
    }
}

fn expected(usage: &str) -> String {
    if usage.starts_with("wrong # args:") {
        usage.to_owned()
    } else {
        format!("wrong # args: should be \"{usage}\"")
    }
}

fn script(rows: &[Row]) -> String {
    let mut script = String::from(
        "proc answer {at name exists message} {puts [list corpus $at $exists [string map {\\n { }} $message]]}\n\
         proc exists {words} {\n\
         \tif {[llength [info commands ::[lindex $words 0]]] == 0} {return 0}\n\
         \tif {[llength $words] == 1} {return 1}\n\
         \tcatch {{*}[lrange $words 0 end-1] -no-such-word-} message\n\
         \tregexp \"(^|\\[^a-zA-Z0-9_])[lindex $words end]($|\\[^a-zA-Z0-9_])\" $message\n\
         }\n\
         set many [lrepeat 60 x]\n\
         set usages {}\n\
         if {[llength [info commands ::navis::usages]]} {set usages [::navis::usages]}\n",
    );
    for (at, row) in rows.iter().enumerate() {
        let extra = match row.probe {
            Probe::NoWords => "",
            Probe::TooManyWords => " {*}$many",
            Probe::Not => {
                let _ = writeln!(
                    script,
                    "answer {at} {{{0}}} [exists {{{0}}}] {{}}",
                    row.name
                );
                continue;
            }
        };
        let _ = writeln!(
            script,
            "set message {{}}; set exists [exists {{{0}}}]; if {{[dict exists $usages {{{0}}}]}} {{set message \"wrong # args: should be \\\"[dict get $usages {{{0}}}]\\\"\"}} elseif {{$exists}} {{catch {{{0}{extra}}} message}}; answer {at} {{{0}}} $exists $message",
            row.name
        );
    }
    script
}

/// Runs the script in command mode; the answers by row number.
fn ask(nsd: &Path, script: &str) -> Result<HashMap<usize, (bool, String)>, String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let file = folder.path().join("corpus.tcl");
    fs::write(&file, script).map_err(|e| e.to_string())?;
    let readable = |path: &Path, mode| {
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode))
    };
    let configuration = folder.path().join("nsd.tcl");
    fs::write(&configuration, MODULES).map_err(|e| e.to_string())?;
    readable(folder.path(), 0o755)
        .and_then(|()| readable(&file, 0o644))
        .map_err(|e| e.to_string())?;
    let mut command = Command::new("timeout");
    command
        .args(["--kill-after=5", LIMIT])
        .arg(nsd)
        .arg("-c")
        .arg("-t")
        .arg(&configuration)
        .current_dir(folder.path());
    if fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0) {
        command.args(["-u", "nobody"]);
    }
    let output = command
        .arg(&file)
        .output()
        .map_err(|e| format!("{}: {e}", nsd.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let answers: HashMap<_, _> = text.lines().filter_map(answer).collect();
    if answers.is_empty() {
        return Err(format!(
            "{}: {}\n{}",
            nsd.display(),
            output.status,
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    if !output.status.success() {
        println!(
            "the program ended with {} after {} answers",
            output.status,
            answers.len()
        );
    }
    Ok(answers)
}

/// `corpus 12 1 {the message}`: a Tcl list whose last element is bare, braced or escaped.
fn answer(line: &str) -> Option<(usize, (bool, String))> {
    let mut words = line.strip_prefix("corpus ")?.splitn(3, ' ');
    let at = words.next()?.parse().ok()?;
    let exists = words.next()? == "1";
    let word = words.next()?;
    let message = match word
        .strip_prefix('{')
        .and_then(|word| word.strip_suffix('}'))
    {
        Some(inner) => inner.to_owned(),
        None => {
            let mut plain = String::new();
            let mut chars = word.chars();
            while let Some(c) = chars.next() {
                plain.extend(if c == '\\' { chars.next() } else { Some(c) });
            }
            plain
        }
    };
    Some((at, (exists, message)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_asked() {
        assert_eq!(
            probe("ns_md5", "ns_md5 ?-binary? ?--? /string/"),
            Probe::NoWords
        );
        assert_eq!(probe("ns_set list", "ns_set list"), Probe::TooManyWords);
        assert_eq!(
            probe("ns_adp_ctl trace", "ns_adp_ctl trace ?true|false?"),
            Probe::TooManyWords
        );
        assert_eq!(
            probe("a b", "a b ?-x /value/? ?--? ?/arg .../?"),
            Probe::Not
        );
        assert_eq!(probe("a b", "a b -x /value/ ?/arg .../?"), Probe::NoWords);
        assert_eq!(probe("a", "(doc) a /b/"), Probe::Not);
        assert_eq!(
            probe("keyldel", "wrong # args: keyldel listvar /key/ ?/key/ ...?"),
            Probe::NoWords
        );
    }

    #[test]
    fn answers_are_lists() {
        let message = "wrong # args: should be \"ns_md5 /a/\"".to_owned();
        assert_eq!(
            answer(&format!("corpus 7 1 {{{message}}}")),
            Some((7, (true, message)))
        );
        assert_eq!(answer("corpus 7 0 {}"), Some((7, (false, String::new()))));
        assert_eq!(
            answer("corpus 7 1 a\\{b\\ c"),
            Some((7, (true, "a{b c".to_owned())))
        );
        assert_eq!(answer("something else"), None);
    }
}
