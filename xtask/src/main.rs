//! Developer tasks of gpu-strata: the check of the kernels' machine code, the tables of docs/evidence, how far results agree, and
//! what is released.
//!
//! Reading order: [`check`] (what is checked), [`wheels`] and [`assemble`] (how machine code is made), `strata_kernels::cubin` and
//! [`disassemble`] (how it is read), [`sass`] (instructions), [`opcodes`] and [`rules`] (what they must look like).

mod agreement;
mod assemble;
mod atomic_rules;
mod block_rules;
mod browser;
mod browser_layout;
mod browser_test;
mod burst_rules;
mod check;
mod circular;
mod coverage;
mod disassemble;
mod dist;
mod evidence;
mod flow;
mod fuzz;
mod judge;
mod licences;
mod opcodes;
mod public_api;
mod repeatability;
mod rules;
mod sass;
mod stream_rules;
mod wheels;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, Parser, Subcommand};

/// Developer tasks of gpu-strata.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

/// Kernels to check; none means all of them.
#[derive(Args, Debug, Default, PartialEq)]
struct Request {
    /// Check the *.cubin files in DIR instead (the name of a file is that of its kernel)
    #[arg(long, value_name = "DIR")]
    code: Vec<PathBuf>,
    /// Check the machine code in a recording instead
    #[arg(long, value_name = "FILE.strata")]
    recording: Vec<PathBuf>,
}

#[derive(Debug, PartialEq, Subcommand)]
enum Task {
    /// Check the machine code of every kernel.
    ///
    /// Assembles every kernel with each ptxas release for every target it knows, and checks the machine code between the clock
    /// reads. Checks the machine code kept in recordings/*.strata likewise.
    CheckKernels(Request),
    /// Discover simulated machines with several seeds, as they are and changed in one property, and compare every pair.
    ///
    /// Results of one machine must be the same to `strata compare`; a changed machine must differ.
    Agreement(agreement::Request),
    /// Run a part of a recording's experiments on a simulated machine and print where the two differ
    Circular {
        /// The recording
        #[arg(value_name = "FILE.strata")]
        recording: PathBuf,
        /// A machine's name, or a machine file
        machine: String,
    },
    /// Build what is released into target/dist: archives, packages for Debian, Python wheels, components, checksums.
    ///
    /// zig links, so that the programs run on glibc 2.17 and later; pip fetches it. Each program is tried on a simulated GPU, that for
    /// aarch64 in an emulator.
    Dist(dist::Request),
    /// Print the experiments behind docs/evidence/h200.md as JSON, for `strata measure`; given a recording of them, the tables
    Evidence {
        /// A recording of the experiments
        #[arg(value_name = "FILE.strata")]
        recording: Option<PathBuf>,
    },
    /// Fuzz every parser of untrusted input, or the named ones; crashing inputs are kept in fuzz/crashes
    Fuzz(fuzz::Request),
    /// Discover machines drawn at random and print what is wrong of all that is said, by attribute and by kind of machine
    Judge(judge::Request),
    /// Check the licences of all dependencies, and that THIRD-PARTY.md lists those of `strata`
    Licences {
        /// Write THIRD-PARTY.md
        #[arg(long)]
        write: bool,
    },
    /// Compare the public interface of the library with the lists in docs/public-api
    PublicApi {
        /// Write the lists
        #[arg(long)]
        write: bool,
    },
    /// Print how far several results of one device agree: values, intervals, and what `strata compare` says of each pair
    Repeatability {
        /// The results, as JSON or as recordings
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
    },
    /// Open HTML reports in a headless Chromium and use them like a reader.
    ///
    /// Set CHROMIUM to use another browser. Set SCREENSHOTS to a folder to keep pictures of the pages.
    BrowserTest {
        /// The reports
        #[arg(value_name = "FILE.html", required = true)]
        pages: Vec<PathBuf>,
    },
}

fn run(task: Task) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask lies in the repository")?;
    match task {
        Task::CheckKernels(request) if request == Request::default() => check::everything(root),
        Task::CheckKernels(request) => check::given(root, &request.code, &request.recording),
        Task::Agreement(request) => {
            print!("{}", agreement::study(&request)?);
            Ok(())
        }
        Task::Evidence { recording } => {
            print!("{}", recording.map_or_else(evidence::experiments, |recording| evidence::tables(&recording))?);
            Ok(())
        }
        Task::Circular { recording, machine } => {
            print!("{}", circular::table(&recording, &machine)?);
            Ok(())
        }
        Task::Dist(request) => dist::dist(root, &request),
        Task::Fuzz(request) => fuzz::fuzz(root, &request),
        Task::Judge(request) => judge::study(&request),
        Task::Licences { write } => licences::licences(root, write),
        Task::PublicApi { write } => public_api::public_api(root, write),
        Task::Repeatability { files } => {
            print!("{}", repeatability::tables(&files)?);
            Ok(())
        }
        Task::BrowserTest { pages } => {
            let program = std::env::var("CHROMIUM").unwrap_or("chromium".into());
            let screenshots = std::env::var_os("SCREENSHOTS").map(PathBuf::from);
            browser_test::check(&program, &pages, screenshots.as_deref())
        }
    }
}

fn main() -> ExitCode {
    match run(Cli::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
