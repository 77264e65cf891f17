//! Developer tasks of gpu-strata: the check of the kernels' machine code, and the tables of docs/evidence.
//!
//! Reading order: [`check`] (what is checked), [`wheels`] and [`assemble`] (how machine code is made), `strata_kernels::cubin` and
//! [`disassemble`] (how it is read), [`sass`] (instructions), [`opcodes`] and [`rules`] (what they must look like).

mod assemble;
mod block_rules;
mod browser;
mod browser_test;
mod check;
mod circular;
mod disassemble;
mod evidence;
mod flow;
mod fuzz;
mod opcodes;
mod repeatability;
mod rules;
mod sass;
mod wheels;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

const USAGE: &str = "\
Usage: cargo xtask check-kernels [--code DIR]... [--recording FILE.strata]...
       cargo xtask evidence [FILE.strata]
       cargo xtask repeatability FILE.json FILE.json...
       cargo xtask circular FILE.strata MACHINE
       cargo xtask fuzz [--seconds N] [PARSER]...
       cargo xtask browser-test FILE.html...

check-kernels
Assembles every kernel with each ptxas release for every target it knows, and checks the machine code between the clock
reads. Checks the machine code kept in recordings/*.strata likewise.

  --code DIR        check the *.cubin files in DIR instead (the name of a file is that of its kernel)
  --recording FILE  check the machine code in a recording instead

evidence
Prints the experiments behind docs/evidence/h200.md as JSON, for `strata measure`; given a recording of them, the tables.

repeatability
Prints a table of what several results of one device agree on.

circular
Runs a part of a recording's experiments on a simulated machine (a name, or a file) and prints where the two differ.

fuzz
Gives every parser of foreign bytes, or those named, inputs of a fuzzer's making; what breaks one is kept in fuzz/crashes.

  --seconds N       for so long each, 20 if it is not given

browser-test
Opens HTML reports in a headless Chromium (or what the environment variable CHROMIUM names) and uses them as a reader does.
Where SCREENSHOTS names a folder, pictures go there as base64.";

/// What `check-kernels` is asked for.
#[derive(Debug, Default, PartialEq)]
struct Request {
    code: Vec<PathBuf>,
    recordings: Vec<PathBuf>,
}

/// What the command line asks for.
#[derive(Debug, PartialEq)]
enum Task {
    CheckKernels(Request),
    Circular(PathBuf, String),
    Evidence(Option<PathBuf>),
    Fuzz(fuzz::Request),
    Repeatability(Vec<PathBuf>),
    BrowserTest(Vec<PathBuf>),
}

/// Parses the command line without the program's name. `None` asks for help.
fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Option<Task>> {
    let mut arguments = arguments.into_iter();
    match arguments.next().as_deref() {
        Some("check-kernels") => Ok(parse_check(arguments)?.map(Task::CheckKernels)),
        Some("evidence") => Ok(Some(Task::Evidence(arguments.next().map(PathBuf::from)))),
        Some("fuzz") => Ok(Some(Task::Fuzz(parse_fuzz(arguments)?))),
        Some("circular") => match (arguments.next(), arguments.next()) {
            (Some(recording), Some(machine)) => Ok(Some(Task::Circular(recording.into(), machine))),
            _ => bail!("circular takes a recording and a machine\n\n{USAGE}"),
        },
        Some("repeatability") => Ok(Some(Task::Repeatability(arguments.map(PathBuf::from).collect()))),
        Some("browser-test") => Ok(Some(Task::BrowserTest(arguments.map(PathBuf::from).collect()))),
        None | Some("help" | "-h" | "--help") => Ok(None),
        Some(other) => bail!("there is no task `{other}`\n\n{USAGE}"),
    }
}

fn parse_check(mut arguments: impl Iterator<Item = String>) -> Result<Option<Request>> {
    let mut request = Request::default();
    while let Some(argument) = arguments.next() {
        let list = match argument.as_str() {
            "--code" => &mut request.code,
            "--recording" => &mut request.recordings,
            "-h" | "--help" => return Ok(None),
            other => bail!("check-kernels has no argument `{other}`\n\n{USAGE}"),
        };
        list.push(arguments.next().with_context(|| format!("`{argument}` needs a path"))?.into());
    }
    Ok(Some(request))
}

fn parse_fuzz(mut arguments: impl Iterator<Item = String>) -> Result<fuzz::Request> {
    let mut request = fuzz::Request { seconds: fuzz::SECONDS, only: Vec::new() };
    while let Some(argument) = arguments.next() {
        if argument == "--seconds" {
            let seconds = arguments.next().and_then(|n| n.parse().ok()).filter(|n| *n > 0);
            request.seconds = seconds.with_context(|| format!("--seconds needs a whole number\n\n{USAGE}"))?;
        } else if argument.starts_with('-') {
            bail!("fuzz has no argument `{argument}`\n\n{USAGE}");
        } else {
            request.only.push(argument);
        }
    }
    Ok(request)
}

fn run() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask lies in the repository")?;
    match parse(std::env::args().skip(1))? {
        None => println!("{USAGE}"),
        Some(Task::CheckKernels(request)) if request == Request::default() => check::everything(root)?,
        Some(Task::CheckKernels(request)) => check::given(root, &request.code, &request.recordings)?,
        Some(Task::Evidence(None)) => print!("{}", evidence::experiments()?),
        Some(Task::Evidence(Some(recording))) => print!("{}", evidence::tables(&recording)?),
        Some(Task::Circular(recording, machine)) => print!("{}", circular::table(&recording, &machine)?),
        Some(Task::Fuzz(request)) => fuzz::fuzz(root, &request)?,
        Some(Task::BrowserTest(pages)) => {
            let program = std::env::var("CHROMIUM").unwrap_or("chromium".into());
            let screenshots = std::env::var_os("SCREENSHOTS").map(PathBuf::from);
            browser_test::check(&program, &pages, screenshots.as_deref())?;
        }
        Some(Task::Repeatability(files)) => print!("{}", repeatability::table(&files)?),
    }
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_words(line: &str) -> Result<Option<Task>> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn the_command_line() {
        assert_eq!(parse_words("check-kernels").unwrap(), Some(Task::CheckKernels(Request::default())));
        assert_eq!(parse_words("").unwrap(), None);
        assert_eq!(parse_words("check-kernels --help").unwrap(), None);
        let task = parse_words("check-kernels --code a --recording b --code c").unwrap();
        let Some(Task::CheckKernels(request)) = task else { panic!("{task:?}") };
        assert_eq!(request.code, [PathBuf::from("a"), PathBuf::from("c")]);
        assert_eq!(request.recordings, [PathBuf::from("b")]);
        assert!(parse_words("check-kernels --code").is_err());
        assert!(parse_words("check-kernels x").is_err());
        assert!(parse_words("check-kernel").is_err());
        assert_eq!(parse_words("evidence").unwrap(), Some(Task::Evidence(None)));
        assert_eq!(parse_words("evidence x").unwrap(), Some(Task::Evidence(Some("x".into()))));
        let request = fuzz::Request { seconds: 5, only: vec!["ptx".into()] };
        assert_eq!(parse_words("fuzz ptx --seconds 5").unwrap(), Some(Task::Fuzz(request)));
        assert!(parse_words("fuzz --seconds x").is_err());
        assert!(parse_words("fuzz --minutes 1").is_err());
        let files = vec![PathBuf::from("a"), PathBuf::from("b")];
        assert_eq!(parse_words("browser-test a b").unwrap(), Some(Task::BrowserTest(files.clone())));
        assert_eq!(parse_words("repeatability a b").unwrap(), Some(Task::Repeatability(files)));
    }
}
