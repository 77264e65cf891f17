//! `strata completions`: the script of clap; that for bash completes words with a colon, too.

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use super::{Fault, output};
use crate::cli::Cli;

/// What makes one word of the pieces into which bash splits it.
const WHOLE_WORD: &str = include_str!("completions.bash");
/// How the script of clap registers its function, and the name of the one that stands before it.
const REGISTERED: &str = "complete -F _strata ";
const REGISTERED_WHOLE: &str = "complete -F _strata_whole_word ";

/// Prints the script.
pub fn run(shell: Shell) -> Result<ExitCode, Fault> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "strata", &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    if shell == Shell::Bash {
        script = script.replace(REGISTERED, REGISTERED_WHOLE);
        script.push_str(WHOLE_WORD);
    }
    output::stdout(&script)?;
    Ok(ExitCode::SUCCESS)
}
