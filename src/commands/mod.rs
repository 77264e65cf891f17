//! One function per command, and the exit status of each outcome.

mod characterize;
mod compare;
mod discover;
mod fault;
mod figures;
mod files;
mod folder;
mod import;
mod l1;
mod machines;
mod measure;
mod measuring;
mod output;
mod plain;
mod replay;
mod terminal;

use std::process::ExitCode;
use std::time::Instant;

use crate::cli::Command;
pub use fault::Fault;

/// Runs a command. `started` is when the process began.
pub fn run(command: Command, started: Instant) -> Result<ExitCode, Fault> {
    match command {
        Command::Discover(arguments) => discover::run(&arguments, started),
        Command::Characterize(arguments) => characterize::run(&arguments, started),
        Command::Replay(arguments) => replay::run(&arguments),
        Command::Import(arguments) => import::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Figures(arguments) => figures::run(&arguments, started),
        Command::L1(arguments) => l1::run(&arguments),
        Command::Devices { format } => plain::devices(format),
        Command::Machines(arguments) => machines::run(&arguments),
        Command::Measure(arguments) => measure::run(&arguments, started),
        Command::Export(arguments) => plain::export(&arguments),
        Command::Schema { of } => plain::schema(of),
        Command::Completions { shell } => plain::completions(shell),
        Command::Man { dir } => plain::manual(&dir),
    }
}
