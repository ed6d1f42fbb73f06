//! What is typed behind `nsd`.

use std::path::PathBuf;

use server::identity;
use server::process::Options;

/// What is to be done.
pub enum Mode {
    Run(Box<Arguments>),
    Help,
    Version,
}

/// Everything that can be asked for.
#[derive(Default)]
pub struct Arguments {
    pub options: Options,
    pub user: Option<String>,
    pub group: Option<String>,
    pub root: Option<PathBuf>,
    pub pidfile: Option<PathBuf>,
    pub test: bool,
    inittab: bool,
    watch: bool,
}

impl Arguments {
    /// Reads the words; options may be joined (`-fd`), their values may follow at once (`-tFILE`).
    ///
    /// # Errors
    /// What is wrong with which word.
    pub fn parse(words: &[String]) -> Result<Mode, String> {
        let mut a = Arguments::default();
        let mut prebind: Vec<String> = Vec::new();
        let mut rest = words.iter().skip(1).peekable();
        while let Some(word) = rest.next_if(|w| w.len() > 1 && w.starts_with('-')) {
            if word == "--" {
                break;
            }
            let mut letters = word[1..].char_indices();
            while let Some((at, letter)) = letters.next() {
                let mut value = |what: &str| -> Result<String, String> {
                    let joined = &word[1 + at + letter.len_utf8()..];
                    letters = "".char_indices();
                    if !joined.is_empty() {
                        return Ok(joined.to_owned());
                    }
                    rest.next()
                        .cloned()
                        .ok_or_else(|| format!("option -{letter} needs {what}"))
                };
                match letter {
                    'h' => return Ok(Mode::Help),
                    'V' => return Ok(Mode::Version),
                    'c' => a.options.command = true,
                    'f' => a.options.foreground = true,
                    'i' => a.inittab = true,
                    'w' => a.watch = true,
                    'd' => a.options.debug = true,
                    'T' => a.test = true,
                    'u' => a.user = Some(value("a user name or number")?),
                    'g' => a.group = Some(value("a group name or number")?),
                    'r' => a.root = Some(value("a directory")?.into()),
                    't' => {
                        a.options.config = Some(value("a configuration file or directory")?.into())
                    }
                    's' => a.options.default_server = Some(value("the name of a server")?),
                    'p' => a.pidfile = Some(value("the name of a file")?.into()),
                    'b' => prebind.push(value("address:port")?),
                    'B' => {
                        prebind.push(addresses_of(&value("the name of a file with addresses")?)?)
                    }
                    other => return Err(format!("unknown option -{other}")),
                }
            }
        }
        a.options.argv = rest.cloned().collect();
        a.options.prebound = prebind;
        a.options.program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from(&words[0]));
        if a.options.config.is_none() && !a.options.command {
            return Err("a configuration is needed: -t FILE (or -c for command mode)".to_owned());
        }
        if !a.options.argv.is_empty() && !a.options.command {
            return Err(format!(
                "\"{}\": words behind the options are for command mode (-c)",
                a.options.argv[0]
            ));
        }
        if let Some(config) = &a.options.config {
            a.options.config = Some(std::path::absolute(config).unwrap_or_else(|_| config.clone()));
        }
        Ok(Mode::Run(Box::new(a)))
    }

    /// Whether it detaches from the terminal.
    pub fn daemon(&self) -> bool {
        !(self.options.foreground
            || self.options.command
            || self.inittab
            || self.test
            || self.watch)
    }
}

fn addresses_of(file: &str) -> Result<String, String> {
    let text = std::fs::read_to_string(file).map_err(|e| format!("-B {file}: {e}"))?;
    let lines = text
        .lines()
        .map(|l| l.split('#').next().unwrap_or_default().trim())
        .filter(|l| !l.is_empty());
    Ok(lines.collect::<Vec<_>>().join(","))
}

pub fn help(program: &str) -> String {
    format!(
        "usage: {program} [-cdfhiTV] [-t config] [-u user] [-g group] [-r path] [-s server] [-p pidfile]\n\
        \x20          [-b address:port[,address:port...]] [-B file] [script args...]\n\n\
        \x20 -t  configuration file, or directory of ordered fragments (*.tcl, *.conf)\n\
        \x20 -f  foreground mode: log to standard error, do not detach\n\
        \x20 -i  inittab mode: do not detach\n\
        \x20 -c  command mode: evaluate a script, or commands from standard input\n\
        \x20 -T  check the configuration, list all parameters, and stop\n\
        \x20 -d  debugger-friendly: ignore SIGINT, log severity Debug\n\
        \x20 -u  user (name or number) to run as      -g  group to run as\n\
        \x20 -r  directory to change the root to      -s  default server\n\
        \x20 -p  file for the process id\n\
        \x20 -b  addresses to bind before the user is changed, -B reads them from a file\n\
        \x20 -V  version                              -h  this text"
    )
}

pub fn version() -> String {
    format!(
        "{}/{}\n   Version:     {}\n   Compatible:  {} {}\n   Tcl:         {}\n   Platform:    {} {}",
        identity::PRODUCT,
        identity::VERSION,
        identity::VERSION,
        identity::NAME,
        identity::COMPATIBLE_PATCHLEVEL,
        tcl::version(),
        std::env::consts::OS,
        std::env::consts::ARCH
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(words: &[&str]) -> Result<Arguments, String> {
        let words: Vec<String> = std::iter::once("nsd")
            .chain(words.iter().copied())
            .map(str::to_owned)
            .collect();
        match Arguments::parse(&words)? {
            Mode::Run(a) => Ok(*a),
            _ => Err("not run".to_owned()),
        }
    }

    #[test]
    fn options_may_be_joined_and_values_too() {
        let a = run(&["-fd", "-t/etc/x.tcl", "-u", "www", "-b", "a:1,b:2", "-b3"]).expect("valid");
        assert!(a.options.foreground && a.options.debug && !a.daemon());
        assert_eq!(
            a.options.config.as_deref(),
            Some(std::path::Path::new("/etc/x.tcl"))
        );
        assert_eq!(a.user.as_deref(), Some("www"));
        assert_eq!(a.options.prebound, ["a:1,b:2", "3"]);
    }

    #[test]
    fn words_behind_the_options_are_a_script_with_arguments() {
        let a = run(&["-c", "s.tcl", "-x", "y"]).expect("valid");
        assert_eq!(a.options.argv, ["s.tcl", "-x", "y"]);
    }

    #[test]
    fn mistakes_are_named() {
        assert!(run(&["-f"]).err().is_some_and(|e| e.contains("-t FILE")));
        assert!(run(&["-t"]).err().is_some_and(|e| e.contains("-t needs")));
        assert!(run(&["-q"]).err().is_some_and(|e| e.contains("-q")));
    }
}
