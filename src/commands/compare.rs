//! `strata compare`: two results, or a result and published values.

use std::process::ExitCode;

use gpu_strata::{CompareOptions, Side, compare, references};

use super::Fault;
use super::output::{self, Destination};
use crate::cli::{Compare, ComparisonFormat};

/// Compares, reports and returns the exit status of `diff`: 0 the same, 1 different, 2 any trouble.
pub fn run(arguments: &Compare) -> Result<ExitCode, Fault> {
    compared(arguments).map_err(Fault::trouble)
}

fn compared(arguments: &Compare) -> Result<ExitCode, Fault> {
    if arguments.list_references {
        let advice = "\n`strata compare RESULT reference:NAME` takes a name from the first column, or a product.\n";
        output::stdout(&(references()? + advice))?;
        return Ok(ExitCode::SUCCESS);
    }
    // Without a name, a side is the published values of the other side's GPU.
    let side = |argument: &Option<String>| argument.as_deref().map_or(Side::PublishedOfOther, Side::named);
    let destination = Destination::at(arguments.output.as_deref())?;
    let options = CompareOptions {
        tolerance_percent: arguments.tolerance,
        only: arguments.only.clone(),
        required: arguments.require.clone(),
        max_age: arguments.max_age,
    };
    let answer = compare(side(&arguments.a), side(&arguments.b), &options)?;
    if !arguments.quiet {
        let text = match arguments.format {
            ComparisonFormat::Text => answer.text(&destination.terminal()),
            ComparisonFormat::Json => answer.json()?,
            ComparisonFormat::Markdown => answer.markdown(),
        };
        destination.write(&text)?;
    }
    Ok(ExitCode::from(u8::from(!answer.same())))
}
