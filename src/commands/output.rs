//! Where a result goes: standard output, or a file that is opened before anything is measured.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, anyhow};
use gpu_strata::characterization::Characterization;
use gpu_strata::recording::Writer;
use gpu_strata::report::{self, costs};
use gpu_strata::topology::{RunInfo, Topology};

use super::Fault;
use crate::cli::{self, Format};

/// A file that is to be written later. It is opened at once, so that a path that cannot be written is noticed before anything
/// is measured; what is in it stays until there is something to put in its place, and a file that was not there before is
/// taken away again if nothing comes.
pub struct Reserved {
    path: PathBuf,
    created: bool,
}

impl Reserved {
    /// Opens the file for writing. `option` is the option that named it.
    pub fn open(path: &Path, option: &str) -> Result<Self, Fault> {
        let created = !path.exists();
        File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .with_context(|| format!("cannot write `{}`; name another file with {option}", path.display()))
            .map_err(Fault::usage)?;
        Ok(Reserved { path: path.to_owned(), created })
    }

    /// The path, which from now on holds what its user puts there.
    fn take(mut self) -> PathBuf {
        self.created = false;
        std::mem::take(&mut self.path)
    }

    /// Starts a recording there.
    pub fn record(self) -> Result<Writer, Fault> {
        Writer::create(&self.take()).map_err(Fault::run)
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if self.created {
            // It is empty and nobody asked for an empty file; if it cannot be removed, that is no worse.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Where the report goes.
pub struct Destination {
    file: Option<Reserved>,
}

impl Destination {
    /// Reserves the file, if there is to be one.
    pub fn open(arguments: &cli::Output) -> Result<Self, Fault> {
        let file = arguments.output.as_deref().map(|path| Reserved::open(path, "--output")).transpose()?;
        Ok(Destination { file })
    }

    /// Writes the report of an answer; the status says whether it is whole.
    pub fn answer(self, answer: &Answer, format: Format) -> Result<ExitCode, Fault> {
        self.write(&answer.render(format)?)?;
        Ok(if answer.is_partial() { ExitCode::from(4) } else { ExitCode::SUCCESS })
    }

    /// Writes the whole result.
    fn write(self, text: &str) -> Result<(), Fault> {
        let Some(reserved) = self.file else { return stdout(text) };
        let path = reserved.take();
        fs::write(&path, text).with_context(|| format!("writing `{}` failed", path.display())).map_err(Fault::run)
    }
}

/// Prints to standard output.
pub fn stdout(text: &str) -> Result<(), Fault> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Fault::run)
}

/// What a command answers with.
pub enum Answer {
    /// Of `strata discover`.
    Topology(Box<Topology>),
    /// Of `strata characterize`.
    Characterization(Box<Characterization>),
}

impl Answer {
    /// Whether something failed.
    fn is_partial(&self) -> bool {
        match self {
            Answer::Topology(topology) => topology.is_partial(),
            Answer::Characterization(characterization) => characterization.is_partial(),
        }
    }

    /// How the run was made.
    pub fn run(&self) -> &RunInfo {
        match self {
            Answer::Topology(topology) => &topology.run,
            Answer::Characterization(characterization) => &characterization.run,
        }
    }

    /// The report in the format asked for.
    fn render(&self, format: Format) -> Result<String, Fault> {
        match (self, format) {
            (Answer::Topology(answer), Format::Text) => Ok(report::text(answer)),
            (Answer::Topology(answer), Format::Json) => report::json(&**answer).map_err(Fault::run),
            (Answer::Topology(answer), Format::Markdown) => Ok(report::markdown(answer)),
            (Answer::Topology(answer), Format::Html) => report::html(answer).map_err(Fault::run),
            (Answer::Topology(answer), Format::Mt4g) => report::json(&report::mt4g(answer)).map_err(Fault::run),
            (Answer::Topology(answer), Format::Hwloc) => report::hwloc(answer).map_err(Fault::run),
            (Answer::Topology(answer), Format::Machine) => Ok(report::machine(answer)),
            (Answer::Characterization(answer), Format::Text) => Ok(costs::text(answer)),
            (Answer::Characterization(answer), Format::Json) => report::json(&**answer).map_err(Fault::run),
            (Answer::Characterization(answer), Format::Markdown) => Ok(costs::markdown(answer)),
            (Answer::Characterization(answer), Format::Html) => costs::html(answer).map_err(Fault::run),
            (Answer::Characterization(_), Format::Mt4g | Format::Hwloc | Format::Machine) => Err(no_characterization()),
        }
    }
}

/// Refuses a format that a characterization does not have.
pub fn check_of_characterization(format: Format) -> Result<(), Fault> {
    if format.is_of_characterizations() { Ok(()) } else { Err(no_characterization()) }
}

fn no_characterization() -> Fault {
    Fault::usage(anyhow!(
        "--format: mt4g, hwloc and machine describe what memory a GPU has, which a characterization does not ask; of a \
         characterization there are text, json, markdown and html"
    ))
}

/// Prints warnings to standard error.
pub fn warn(warnings: &[String]) {
    for warning in warnings {
        eprintln!("strata: warning: {warning}");
    }
}
