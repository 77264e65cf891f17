//! The `strata` command: parse, call the library, print.

// The only part of strata that prints.
#![allow(clippy::print_stderr, clippy::print_stdout)]

mod cli;
mod commands;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let started = std::time::Instant::now();
    let cli = cli::Cli::parse();
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
