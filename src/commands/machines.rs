//! `strata machines`: a list of the simulated machines, and the description of one.

use std::fmt::Write;
use std::process::ExitCode;

use gpu_strata::Machine;

use super::{Fault, output, terminal};
use crate::cli::Machines;

/// Lists the machines, or explains one.
pub fn run(arguments: &Machines) -> Result<ExitCode, Fault> {
    let text = match &arguments.name {
        None => list()?,
        Some(name) => {
            let machine = Machine::find(name)?;
            let text =
                if arguments.toml { machine.toml().to_owned() } else { machine.explain(terminal::of_stdout().width()) };
            terminal::safe(&text)
        }
    };
    output::stdout(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn list() -> Result<String, Fault> {
    let mut text = String::new();
    for name in Machine::names() {
        let machine = Machine::find(name)?;
        let (major, minor) = machine.compute_capability();
        let _ = writeln!(text, "{name:<11} {:<24} {:<22} {major}.{minor}", machine.product(), machine.chip());
    }
    text.push_str("\n`strata machines NAME` explains one; `strata discover --device sim:NAME` measures it.\n");
    Ok(text)
}
