//! One function per command, and the exit status of each outcome.

mod characterize;
mod check;
mod compare;
mod completions;
mod discover;
mod explain;
mod fault;
mod figures;
mod files;
mod fleet;
mod folder;
mod gpus;
mod import;
mod l1;
mod links;
mod machines;
mod measure;
mod measuring;
mod node;
mod output;
mod plain;
mod progress;
mod replay;
mod roofline;
mod terminal;

use std::process::ExitCode;
use std::time::Instant;

use crate::cli::Command;
pub use check::{end_with_the_watcher, status_of_unread};
pub use fault::Fault;

/// What all commands are told.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// When the process began.
    pub started: Instant,
    /// Nothing goes to standard error but errors.
    pub quiet: bool,
}

/// Runs a command.
pub fn run(command: Command, call: Call) -> Result<ExitCode, Fault> {
    match command {
        Command::Discover(arguments) => discover::run(&arguments, call),
        Command::Characterize(arguments) => characterize::run(&arguments, call),
        Command::Roofline(arguments) => roofline::run(&arguments, call),
        Command::Replay(arguments) => replay::run(&arguments, call),
        Command::Import(arguments) => import::run(&arguments, call),
        Command::Compare(arguments) => compare::run(&arguments, call),
        Command::Check(arguments) => check::run(&arguments, call),
        Command::Links(arguments) => links::run(&arguments, call),
        Command::Fleet(arguments) => fleet::run(&arguments, call),
        Command::Figures(arguments) => figures::run(&arguments, call),
        Command::L1(arguments) => l1::run(&arguments, call),
        Command::Devices { format } => plain::devices(format),
        Command::Machines(arguments) => machines::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Glossary => explain::glossary(),
        Command::Measure(arguments) => measure::run(&arguments, call),
        Command::Export(arguments) => plain::export(&arguments, call),
        Command::Schema { of } => plain::schema(of),
        Command::Completions { shell } => completions::run(shell),
        Command::Man { dir } => plain::manual(&dir, call),
    }
}
