//! Developer tasks of gpu-strata. `cargo xtask check-kernels` is the only one.
//!
//! Reading order: [`check`] (what is checked), [`wheels`] and [`assemble`] (how machine code is made), [`cubin`] and
//! [`disassemble`] (how it is read), [`sass`] (instructions), [`opcodes`] and [`rules`] (what they must look like).

mod assemble;
mod check;
mod cubin;
mod disassemble;
mod flow;
mod opcodes;
mod rules;
mod sass;
mod wheels;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

const USAGE: &str = "\
Usage: cargo xtask check-kernels [--code DIR]... [--recording FILE.strata]...

Assembles every kernel with each ptxas release for every target it knows, and checks the machine code between the clock
reads. Checks the machine code kept in recordings/*.strata likewise.

  --code DIR        check the *.cubin files in DIR instead (the name of a file is that of its kernel)
  --recording FILE  check the machine code in a recording instead";

/// What the command line asks for.
#[derive(Debug, Default, PartialEq)]
struct Request {
    code: Vec<PathBuf>,
    recordings: Vec<PathBuf>,
}

/// Parses the command line without the program's name. `None` asks for help.
fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Option<Request>> {
    let mut arguments = arguments.into_iter();
    match arguments.next().as_deref() {
        Some("check-kernels") => {}
        None | Some("help" | "-h" | "--help") => return Ok(None),
        Some(other) => bail!("there is no task `{other}`\n\n{USAGE}"),
    }
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

fn run() -> Result<()> {
    let Some(request) = parse(std::env::args().skip(1))? else {
        println!("{USAGE}");
        return Ok(());
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask lies in the repository")?;
    if request == Request::default() {
        check::everything(root)
    } else {
        check::given(root, &request.code, &request.recordings)
    }
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

    fn parse_words(line: &str) -> Result<Option<Request>> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn the_command_line() {
        assert_eq!(parse_words("check-kernels").unwrap(), Some(Request::default()));
        assert_eq!(parse_words("").unwrap(), None);
        assert_eq!(parse_words("check-kernels --help").unwrap(), None);
        let request = parse_words("check-kernels --code a --recording b --code c").unwrap().unwrap();
        assert_eq!(request.code, [PathBuf::from("a"), PathBuf::from("c")]);
        assert_eq!(request.recordings, [PathBuf::from("b")]);
        assert!(parse_words("check-kernels --code").is_err());
        assert!(parse_words("check-kernels x").is_err());
        assert!(parse_words("check-kernel").is_err());
    }
}
