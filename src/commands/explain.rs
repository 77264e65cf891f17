//! `strata explain` and `strata glossary`: what the names in reports mean.

use std::process::ExitCode;

use super::{Fault, output, terminal};
use crate::cli::Explain;

/// Explains one name.
pub fn run(arguments: &Explain) -> Result<ExitCode, Fault> {
    output::stdout(&gpu_strata::explain(&arguments.name, &terminal::of_stdout())?)?;
    Ok(ExitCode::SUCCESS)
}

/// All terms.
pub fn glossary() -> Result<ExitCode, Fault> {
    output::stdout(&gpu_strata::glossary(&terminal::of_stdout()))?;
    Ok(ExitCode::SUCCESS)
}
