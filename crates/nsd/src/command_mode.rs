//! Command mode: a script from a file, or commands from standard input, in an interpreter of the default server.

use std::io::{BufRead, IsTerminal, Write};
use std::sync::Arc;

use server::process::Process;
use server::script;
use tcl::{Exit, Interp, Obj, Outcome};

/// Runs what the command line asks for; the result is the exit code.
pub fn run(process: &Arc<Process>) -> i32 {
    let Some(server) = process.default_server() else {
        eprintln!("nsd: there is no server");
        return 1;
    };
    let argv = process.options.argv.clone();
    let worked = script::with_interp(&server, |interp, _| {
        prepare(interp, &argv)?;
        match argv.first() {
            Some(file) => {
                if let Err(Exit::Error(e)) = interp.source(std::path::Path::new(file), None) {
                    let info = if e.info().is_empty() {
                        e.message()
                    } else {
                        e.info()
                    };
                    eprintln!("{info}");
                    return Ok(1);
                }
                Ok(0)
            }
            None => Ok(read_commands(interp, process)),
        }
    });
    match worked {
        Ok(code) => code,
        Err(Exit::Error(e)) => {
            eprintln!("{}", e.message());
            1
        }
        Err(_) => 1,
    }
}

/// What `tclsh` sets: argv0, argv, argc, tcl_interactive; and an `exit` that ends the server in order.
fn prepare(interp: &Interp, argv: &[String]) -> Outcome<()> {
    let script = argv.first().cloned().unwrap_or_else(|| "nsd".to_owned());
    interp.set_global("argv0", Obj::from(script))?;
    let rest = argv.get(1..).unwrap_or_default();
    interp.set_global("argv", Obj::list(rest.iter().map(Obj::from)))?;
    interp.set_global("argc", i64::try_from(rest.len()).unwrap_or(0))?;
    let interactive = argv.is_empty() && std::io::stdin().is_terminal();
    interp.set_global("tcl_interactive", interactive)?;
    Ok(())
}

/// Reads commands until the end of input; a command may span lines. A prompt only on a terminal.
fn read_commands(interp: &Interp, process: &Arc<Process>) -> i32 {
    let stdin = std::io::stdin();
    let terminal = stdin.is_terminal();
    let mut pending = String::new();
    loop {
        if terminal {
            print!("{}", if pending.is_empty() { "% " } else { "> " });
            let _ = std::io::stdout().flush();
        }
        let mut line = String::new();
        match stdin.lock().read_line(&mut line) {
            Ok(0) | Err(_) => return 0,
            Ok(_) => pending.push_str(&line),
        }
        let complete = interp.call_global(&[
            Obj::from("::info"),
            Obj::from("complete"),
            Obj::from(&pending),
        ]);
        if !complete.is_ok_and(|c| c.boolean().unwrap_or(true)) {
            continue;
        }
        let command = std::mem::take(&mut pending);
        match interp.eval_global(&command) {
            Ok(result) if !result.is_empty() => println!("{}", result.text()),
            Ok(_) => {}
            Err(Exit::Error(e)) => eprintln!("{}", e.message()),
            Err(_) => {}
        }
        let _ = std::io::stdout().flush();
        if let Some(ending) = process.ending() {
            return ending.code;
        }
    }
}
