//! `strata compare`: two results, a result and published values, or results and a policy.

use std::path::Path;
use std::process::ExitCode;

use anyhow::anyhow;
use gpu_strata::{CompareOptions, Policy, Side, Terminal, compare_all, references};

use super::files::Files;
use super::output::{self, Destination};
use super::{Call, Fault};
use crate::cli::{Compare, ComparisonFormat};

/// Compares, reports and returns the exit status of `diff`: 0 the same, 1 different, 2 any trouble.
pub fn run(arguments: &Compare, call: Call) -> Result<ExitCode, Fault> {
    match (&arguments.policy, &arguments.write_policy) {
        (Some(policy), _) => checked(arguments, policy),
        (_, Some(target)) => written(arguments, target, call),
        _ => compared(arguments),
    }
    .map_err(Fault::trouble)
}

fn compared(arguments: &Compare) -> Result<ExitCode, Fault> {
    if arguments.list_references {
        let advice = "\n`strata compare RESULT reference:NAME` takes a name from the first column, or a product.\n";
        output::stdout(&(references()? + advice))?;
        return Ok(ExitCode::SUCCESS);
    }
    let destination = destination(arguments, None)?;
    // Without a name, the other side is the published values of the result's GPU.
    let answer = compare_all(sides(arguments), &options(arguments))?;
    reported(arguments, destination, answer.same(), |terminal| match arguments.format {
        ComparisonFormat::Text => Ok(answer.text(terminal)),
        ComparisonFormat::Json => answer.json(),
        ComparisonFormat::Markdown => Ok(answer.markdown()),
        ComparisonFormat::Html => answer.html(),
    })
}

/// Writes an answer, unless nothing is wanted but the exit status; that is 0 if all is `well`, and 1 otherwise.
fn reported(
    arguments: &Compare,
    destination: Destination,
    well: bool,
    text: impl FnOnce(&Terminal) -> gpu_strata::Result<String>,
) -> Result<ExitCode, Fault> {
    if !arguments.quiet {
        let text = text(&destination.terminal())?;
        destination.write(&text)?;
    }
    Ok(ExitCode::from(u8::from(!well)))
}

fn options(arguments: &Compare) -> CompareOptions {
    CompareOptions {
        tolerance_percent: arguments.tolerance,
        only: arguments.only.clone(),
        required: arguments.require.clone(),
        max_age: arguments.max_age,
    }
}

/// `--policy`: 0 every result passes, 1 one does not.
fn checked(arguments: &Compare, policy: &Path) -> Result<ExitCode, Fault> {
    if matches!(arguments.format, ComparisonFormat::Markdown | ComparisonFormat::Html) {
        return Err(Fault::usage(anyhow!("--format: with --policy it can be text or json")));
    }
    let destination = destination(arguments, Some(policy))?;
    let answer = Policy::open(policy)?.check(sides(arguments), arguments.max_age)?;
    reported(arguments, destination, answer.passes(), |terminal| match arguments.format {
        ComparisonFormat::Json => answer.json(),
        _ => Ok(answer.text(terminal)),
    })
}

/// `--write-policy`
fn written(arguments: &Compare, target: &Path, call: Call) -> Result<ExitCode, Fault> {
    let policy = Policy::of_good(sides(arguments))?;
    policy.write(target)?;
    if !arguments.quiet {
        let file = target.display();
        output::note(
            call,
            &format!(
                "wrote `{file}`: {} limits for {} from {} results; {} values have no limit, and the file says why",
                policy.limits(),
                policy.product(),
                policy.made_from(),
                policy.left_out()
            ),
        );
        if policy.is_wide() {
            output::warn(
                call,
                &["so few results say little of the spread, so the limits of what varies are wide; five or more \
                            results of different GPUs make narrower ones"
                    .to_owned()],
            );
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// All results, in their order.
fn sides(arguments: &Compare) -> Vec<Side> {
    inputs(arguments).map(Side::named).collect()
}

fn inputs(arguments: &Compare) -> impl Iterator<Item = &str> {
    arguments.a.iter().chain(&arguments.b).chain(&arguments.more).map(String::as_str)
}

/// Where the answer goes: not to a file that is read.
fn destination(arguments: &Compare, policy: Option<&Path>) -> Result<Destination, Fault> {
    let path = arguments.output.as_deref();
    if let Some(path) = path {
        let read = inputs(arguments).map(Path::new).chain(policy);
        Files::default().read(read).written(Some(path), "--output").check()?;
    }
    Destination::at(path, output::OUTPUT)
}
