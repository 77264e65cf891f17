//! Where a result goes: standard output, or a file that is made before anything is measured and replaced at the end.

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, anyhow};
use gpu_strata::{Answer, Exchange, Extent, Pictures, Terminal};
use strata_files::{Replacement, STANDARD};

use super::folder::Folder;
use super::{Call, Fault, terminal};
use crate::cli::{self, Format};

/// The option that names the file of a report.
pub const OUTPUT: &str = "--output";

/// Whether a file could be written, before anything is measured. It is neither made nor changed.
pub fn check_writable(path: &Path, option: &str) -> Result<(), Fault> {
    // A folder gets files of its own, and is made where it is missing.
    if path == Path::new(STANDARD) || path.is_dir() || path.as_os_str().as_bytes().ends_with(b"/") {
        return Ok(());
    }
    Replacement::begin(path).map(drop).map_err(|error| unwritable(path, option, error))
}

fn unwritable(path: &Path, option: &str, error: io::Error) -> Fault {
    Fault::usage(
        anyhow::Error::new(error)
            .context(format!("cannot write `{}`; name another file with {option}", path.display())),
    )
}

/// Where the report goes.
pub struct Destination {
    /// The file and its new content; standard output without one.
    file: Option<(PathBuf, Replacement)>,
    /// The pictures' folder of a Markdown report that goes to a file.
    figures: Option<Folder>,
}

impl Destination {
    /// Reserves the file, if there is to be one, and the folder of its pictures.
    pub fn open(arguments: &cli::Output) -> Result<Self, Fault> {
        if arguments.compact && arguments.format != Format::Json {
            return Err(Fault::usage(anyhow!("--compact is for --format json")));
        }
        let path = arguments.output.as_deref();
        let destination = Destination::at(path, OUTPUT)?;
        let illustrated = path.filter(|path| arguments.format == Format::Markdown && *path != Path::new(STANDARD));
        let figures = illustrated.map(Folder::beside).transpose()?.flatten();
        Ok(Destination { figures, ..destination })
    }

    /// Reserves this file; standard output without one, or for `-`. What is there stays until there is a result.
    /// `option` is what names it.
    pub fn at(path: Option<&Path>, option: &str) -> Result<Self, Fault> {
        let begin = |path: &Path| match Replacement::begin(path) {
            Ok(new) => Ok((path.to_owned(), new)),
            Err(error) => Err(unwritable(path, option, error)),
        };
        let file = path.filter(|path| *path != Path::new(STANDARD)).map(begin).transpose()?;
        Ok(Destination { file, figures: None })
    }

    /// The width and style of a text: those of the terminal, or of paper if there is no terminal.
    pub fn terminal(&self) -> Terminal {
        if self.file.is_some() { Terminal::PAPER } else { terminal::of_stdout() }
    }

    /// Writes the report of an answer; the exit status says whether the answer is complete.
    pub fn answer(self, answer: &Answer, arguments: &cli::Output) -> Result<ExitCode, Fault> {
        match arguments.format {
            Format::Json if arguments.compact => self.write(&answer.compact_json()?)?,
            Format::Markdown => self.illustrated(answer)?,
            Format::Text => {
                // A file is kept, and has room.
                let whole = arguments.details || self.file.is_some();
                let text = answer.text(&self.terminal(), if whole { Extent::Details } else { Extent::Short });
                self.write(&text)?;
            }
            Format::Json => self.write(&answer.json()?)?,
            Format::Html => self.write(&answer.html()?)?,
            Format::Mt4g => self.write(&answer.exchange(Exchange::Mt4g)?)?,
            Format::Hwloc => self.write(&answer.exchange(Exchange::Hwloc)?)?,
            Format::Machine => self.write(&answer.exchange(Exchange::Machine)?)?,
            Format::Accelsim => self.write(&answer.exchange(Exchange::Accelsim)?)?,
        }
        Ok(if answer.is_partial() { partial() } else { ExitCode::SUCCESS })
    }

    /// Writes a Markdown report. The pictures come first, so that no link points to a missing file.
    fn illustrated(mut self, answer: &Answer) -> Result<(), Fault> {
        let folder = self.figures.take();
        let pictures = folder.as_ref().map_or(Pictures::Embedded, |folder| Pictures::Beside(folder.name()));
        let report = answer.markdown(pictures);
        if let Some(mut folder) = folder {
            folder.fill(&report.pictures)?;
        }
        self.write(&report.text)
    }

    /// Writes the whole result.
    pub fn write(self, text: &str) -> Result<(), Fault> {
        let Some((path, mut new)) = self.file else { return stdout(text) };
        let written = new.write_all(text.as_bytes()).and_then(|()| new.commit());
        written
            .with_context(|| format!("writing `{}` failed; what was there before is unchanged", path.display()))
            .map_err(Fault::run)
    }
}

/// The exit status where only some questions were answered.
pub fn partial() -> ExitCode {
    ExitCode::from(4)
}

/// Prints to standard output.
pub fn stdout(text: &str) -> Result<(), Fault> {
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.context("writing to standard output failed").map_err(Fault::run)
}

/// Refuses a format that a characterization does not have.
pub fn check_of_characterization(format: Format) -> Result<(), Fault> {
    if format.is_of_characterizations() { Ok(()) } else { Err(no_characterization()) }
}

fn no_characterization() -> Fault {
    Fault::usage(anyhow!(
        "--format: a characterization can be text, json, markdown or html; mt4g, hwloc, machine and accelsim are formats of a discovery"
    ))
}

/// Prints an error to standard error, also where notes are not wanted.
pub fn error(text: &str) {
    eprintln!("strata: {}", terminal::safe(text));
}

/// Prints a note to standard error, if notes are wanted.
pub fn note(call: Call, text: &str) {
    if !call.quiet {
        error(text);
    }
}

/// Prints warnings to standard error, if they are wanted.
pub fn warn(call: Call, warnings: &[String]) {
    for warning in warnings {
        note(call, &format!("warning: {warning}"));
    }
}
