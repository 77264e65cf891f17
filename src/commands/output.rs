//! Where a result goes: standard output, or a file that is opened before anything is measured.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, anyhow};
use gpu_strata::{Answer, Exchange, Extent, Pictures, Terminal};

use super::folder::Folder;
use super::{Call, Fault, terminal};
use crate::cli::{self, Format};

/// A file that is written later. It is opened at once, so that a path that cannot be written is an error before the
/// measurement. Its old content stays until there is a result. A new file is removed again if there is no result.
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

    /// The path. From now on the file is not removed.
    pub fn take(mut self) -> PathBuf {
        self.created = false;
        std::mem::take(&mut self.path)
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if self.created {
            // It is empty, and nobody asked for an empty file. A failure to remove it does no harm.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Refuses an output that is one of the files that are read.
pub fn check_not_read<'p>(output: &Path, read: impl IntoIterator<Item = &'p Path>) -> Result<(), Fault> {
    let Ok(output) = fs::canonicalize(output) else { return Ok(()) };
    if read.into_iter().any(|path| fs::canonicalize(path).is_ok_and(|path| path == output)) {
        return Err(Fault::usage(anyhow!("`{}` is read; name another file with --output", output.display())));
    }
    Ok(())
}

/// Where the report goes.
pub struct Destination {
    file: Option<Reserved>,
    /// The pictures' folder of a Markdown report that goes to a file.
    figures: Option<Folder>,
}

impl Destination {
    /// Reserves the file, if there is to be one, and the folder of its pictures.
    pub fn open(arguments: &cli::Output) -> Result<Self, Fault> {
        let path = arguments.output.as_deref();
        let destination = Destination::at(path)?;
        let illustrated = path.filter(|_| arguments.format == Format::Markdown);
        let figures = illustrated.map(Folder::beside).transpose()?.flatten();
        Ok(Destination { figures, ..destination })
    }

    /// Reserves this file; standard output without one.
    pub fn at(path: Option<&Path>) -> Result<Self, Fault> {
        let file = path.map(|path| Reserved::open(path, "--output")).transpose()?;
        Ok(Destination { file, figures: None })
    }

    /// The width and style of a text: those of the terminal, or of paper if there is no terminal.
    pub fn terminal(&self) -> Terminal {
        if self.file.is_some() { Terminal::PAPER } else { terminal::of_stdout() }
    }

    /// Writes the report of an answer; the exit status says whether the answer is complete.
    pub fn answer(self, answer: &Answer, arguments: &cli::Output) -> Result<ExitCode, Fault> {
        match arguments.format {
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
        let Some(reserved) = self.file else { return stdout(text) };
        let path = reserved.take();
        fs::write(&path, text).with_context(|| format!("writing `{}` failed", path.display())).map_err(Fault::run)
    }
}

/// The exit status where only some questions were answered.
pub fn partial() -> ExitCode {
    ExitCode::from(4)
}

/// Prints to standard output.
pub fn stdout(text: &str) -> Result<(), Fault> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Fault::run)
}

/// Refuses a format that a characterization does not have.
pub fn check_of_characterization(format: Format) -> Result<(), Fault> {
    if format.is_of_characterizations() { Ok(()) } else { Err(no_characterization()) }
}

fn no_characterization() -> Fault {
    Fault::usage(anyhow!(
        "--format: a characterization can be text, json, markdown or html; mt4g, hwloc and machine are formats of a discovery"
    ))
}

/// Prints warnings to standard error, if they are wanted.
pub fn warn(call: Call, warnings: &[String]) {
    for warning in warnings.iter().filter(|_| !call.quiet) {
        eprintln!("strata: warning: {warning}");
    }
}
