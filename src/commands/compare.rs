//! `strata compare`: two results, or a result and what is published.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, anyhow};
use gpu_strata::compare::{self, Asked, Document, Kind, LONGEST, Options, Sheet, published};
use gpu_strata::recording;
use gpu_strata::reference;
use gpu_strata::report::{self, comparison};
use gpu_strata::units::Bytes;

use super::Fault;
use super::output::{self, Answer, Destination};
use super::replay;
use crate::cli::{Compare, ComparisonFormat};

/// The word that asks for published values.
const REFERENCE: &str = "reference";

/// Compares, reports and gives the status of `diff`: 0 the same, 1 different, 2 trouble, whatever the trouble is.
pub fn run(arguments: &Compare) -> Result<ExitCode, Fault> {
    compared(arguments).map_err(Fault::trouble)
}

fn compared(arguments: &Compare) -> Result<ExitCode, Fault> {
    if arguments.list_references {
        output::stdout(&references()?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let a = arguments.a.as_deref().unwrap_or(REFERENCE);
    let b = arguments.b.as_deref().unwrap_or(REFERENCE);
    let destination = Destination::at(arguments.output.as_deref())?;
    let (a, b) = sides(&Named::of(a), &Named::of(b))?;
    let options = Options { tolerance_percent: arguments.tolerance, only: arguments.only.clone() };
    let answer = compare::compare(&a, &b, &options);
    if !answer.compared() {
        let only = if answer.only.is_empty() { String::new() } else { format!(" in {}", answer.only.join(", ")) };
        return Err(Fault::usage(anyhow!(
            "`{}` and `{}` say nothing of the same thing{only}, so that nothing can be compared; give two results of one \
             kind, or other names to --only",
            a.side.name,
            b.side.name
        )));
    }
    if !arguments.quiet {
        let text = match arguments.format {
            ComparisonFormat::Text => comparison::text(&answer, &destination.terminal()),
            ComparisonFormat::Json => report::json(&answer).map_err(Fault::run)?,
            ComparisonFormat::Markdown => comparison::markdown(&answer),
        };
        destination.write(&text)?;
    }
    Ok(ExitCode::from(u8::from(!answer.same)))
}

/// What an argument names.
enum Named<'a> {
    /// Published values of the other side's GPU.
    ReferenceOfOther,
    /// Published values by the name of a chip or product.
    Reference(&'a str),
    /// A file.
    File(&'a Path),
}

impl<'a> Named<'a> {
    fn of(argument: &'a str) -> Self {
        match argument.strip_prefix(REFERENCE) {
            Some("") => Named::ReferenceOfOther,
            Some(rest) if rest.starts_with(':') => Named::Reference(&rest[1..]),
            _ => Named::File(Path::new(argument)),
        }
    }
}

/// A file that was read.
struct Input {
    document: Document,
    name: String,
}

impl Input {
    fn sheet(&self) -> Sheet {
        self.document.sheet(&self.name)
    }
}

fn sides(a: &Named<'_>, b: &Named<'_>) -> Result<(Sheet, Sheet), Fault> {
    let (file_a, file_b) = (read(a)?, read(b)?);
    let sheet = |named: &Named<'_>, own: &Option<Input>, other: &Option<Input>| match (named, own, other) {
        (_, Some(input), _) => Ok(input.sheet()),
        (Named::Reference(name), None, other) => {
            let kind = other.as_ref().map_or(Kind::Reference, |other| other.document.kind());
            published(Asked::Named(name), kind).map_err(Fault::usage)
        }
        (_, None, Some(other)) => {
            let (device, capability) = other.document.device();
            published(Asked::Device(device, capability), other.document.kind()).map_err(Fault::usage)
        }
        (_, None, None) => Err(Fault::usage(anyhow!(
            "`reference` alone means the GPU of the other side, which is no result; give a result, or reference:NAME \
             (`strata compare --list-references` lists them)"
        ))),
    };
    Ok((sheet(a, &file_a, &file_b)?, sheet(b, &file_b, &file_a)?))
}

fn read(named: &Named<'_>) -> Result<Option<Input>, Fault> {
    let Named::File(path) = named else { return Ok(None) };
    let name = path.display().to_string();
    let document = if is_recording(path)? {
        match replay::answer(path, &[])? {
            Answer::Topology(topology, _) => Document::Topology(topology),
            Answer::Characterization(answer) => Document::Characterization(answer),
        }
    } else {
        compare::parse(&name, &text(path)?).map_err(Fault::usage)?
    };
    Ok(Some(Input { document, name }))
}

fn open(path: &Path) -> Result<File, Fault> {
    let cannot = || format!("cannot read `{}`; give a result as JSON, a recording, or reference:NAME", path.display());
    if fs::metadata(path).with_context(cannot).map_err(Fault::usage)?.is_dir() {
        return Err(Fault::usage(anyhow!("`{}` is a folder; give a file in it", path.display())));
    }
    File::open(path).with_context(cannot).map_err(Fault::usage)
}

/// A recording begins with its magic bytes, whatever its file is called.
fn is_recording(path: &Path) -> Result<bool, Fault> {
    let mut begin = Vec::new();
    let length = recording::MAGIC.len() as u64;
    open(path)?.take(length).read_to_end(&mut begin).map_err(|error| unread(path, error))?;
    Ok(begin == recording::MAGIC)
}

/// The bytes of a file that is not too long to be a result.
fn text(path: &Path) -> Result<Vec<u8>, Fault> {
    let file = open(path)?;
    let mut bytes = Vec::new();
    file.take(LONGEST + 1).read_to_end(&mut bytes).map_err(|error| unread(path, error))?;
    if bytes.len() as u64 > LONGEST {
        return Err(Fault::usage(anyhow!(
            "`{}` is longer than {}, which no result is: the longest has half a MiB; give a result as JSON, or a recording",
            path.display(),
            Bytes(LONGEST)
        )));
    }
    Ok(bytes)
}

fn unread(path: &Path, error: std::io::Error) -> Fault {
    Fault::usage(anyhow!("cannot read `{}`: {error}; take another copy", path.display()))
}

/// The references that there are.
fn references() -> Result<String, Fault> {
    let mut text = String::new();
    for reference in reference::all().map_err(Fault::run)? {
        let products: Vec<&str> = reference.products().collect();
        text.push_str(&format!(
            "{:<6} {:<8} {:>3} values  {}\n",
            reference.name,
            reference.architecture,
            reference.values.len(),
            products.join(", ")
        ));
    }
    text.push_str("\n`strata compare RESULT reference:NAME` takes a name from the first column, or a product.\n");
    Ok(text)
}
