//! The program: arguments in, the lists of commands and modules plugged together, exit code out.

mod arguments;
mod command_mode;
mod daemon;

use std::process::ExitCode;

use arguments::{Arguments, Mode};
use server::life::{self, Start};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args_os()
        .map(|w| w.to_string_lossy().into_owned())
        .collect();
    let arguments = match Arguments::parse(&words) {
        Ok(Mode::Run(arguments)) => *arguments,
        Ok(Mode::Help) => {
            println!("{}", arguments::help(&words[0]));
            return ExitCode::SUCCESS;
        }
        Ok(Mode::Version) => {
            println!("{}", arguments::version());
            return ExitCode::SUCCESS;
        }
        Err(problem) => {
            eprintln!("nsd: {problem}\n{}", arguments::help(&words[0]));
            return ExitCode::from(2);
        }
    };
    if arguments.daemon() && !daemon::is_child() {
        return daemon::launch(&words);
    }
    tcl::initialize(&arguments.options.program);
    shared::thread::set_name(if arguments.options.config.is_some() {
        "-main:conf-"
    } else {
        "-main-"
    });
    let command: Option<Box<dyn FnOnce(&std::sync::Arc<server::process::Process>) -> i32 + Send>> =
        if arguments.options.command {
            Some(Box::new(command_mode::run))
        } else {
            None
        };
    let start = Start {
        scripting: commands::scripting(),
        modules: modules::MODULES,
        user: arguments.user,
        group: arguments.group,
        root: arguments.root,
        pidfile: arguments.pidfile,
        test: arguments.test,
        ready: Some(Box::new(daemon::ready)),
        command,
        options: arguments.options,
    };
    match life::run(start) {
        Ok(code) => ExitCode::from(u8::try_from(code.rem_euclid(256)).unwrap_or(1)),
        Err(problem) => {
            shared::log::flush();
            for line in problem.lines() {
                eprintln!("nsd: {line}");
            }
            ExitCode::FAILURE
        }
    }
}
