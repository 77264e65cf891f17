//! The `strata` command: parse, call the library, print.

// The only part of strata that prints.
#![allow(clippy::print_stderr, clippy::print_stdout)]

mod cli;
mod commands;

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let started = std::time::Instant::now();
    commands::end_with_the_watcher();
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    match commands::run(cli.command, commands::Call { started, quiet: cli.quiet }) {
        Ok(code) => code,
        Err(fault) => {
            if !fault.is_closed_stdout() {
                eprintln!("strata: {}", fault.message());
            }
            fault.exit_code()
        }
    }
}

/// Prints what clap has to say: bad usage to standard error, help and version to standard output.
fn usage(error: &clap::Error) -> ExitCode {
    let printed = error.print().and_then(|()| std::io::stdout().flush());
    match printed {
        // Nagios takes 2 for a failure that was found.
        _ if error.use_stderr() => ExitCode::from(commands::status_of_unread(std::env::args_os())),
        Err(failed) if failed.kind() != ErrorKind::BrokenPipe => {
            eprintln!("strata: writing to standard output failed: {failed}");
            ExitCode::from(1)
        }
        _ => ExitCode::SUCCESS,
    }
}
