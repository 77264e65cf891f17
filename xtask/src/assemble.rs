//! Runs ptxas: one release, one target, one kernel.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use strata_kernels::PTX;

use crate::wheels::Ptxas;

/// Compute capability of a target: `sm_86` is 8.6, `sm_120` is 12.0.
pub fn capability(target: u32) -> (u32, u32) {
    (target / 10, target % 10)
}

impl Ptxas {
    /// The targets that this release is asked for, from the oldest that a text names on, ascending.
    pub fn targets(&self) -> Result<Vec<u32>> {
        let output = Command::new(&self.program)
            .arg("--help")
            .output()
            .with_context(|| format!("running {}", self.program.display()))?;
        let mut targets = targets_in(&String::from_utf8_lossy(&output.stdout));
        let (major, minor) = PTX.oldest_target();
        let range = 10 * major + minor..=self.newest;
        targets.retain(|target| range.contains(target));
        ensure!(!targets.is_empty(), "`ptxas --help` of release {} names no target `sm_NN`", self.version);
        Ok(targets)
    }

    /// Assembles a PTX file. The error is the assembler's message, with the lines of PTX that it names.
    pub fn assemble(&self, target: u32, optimised: bool, ptx: &Path, cubin: &Path) -> Result<(), String> {
        let mut command = Command::new(&self.program);
        if !optimised {
            command.arg("-O0");
        }
        let output = command.arg(format!("-arch=sm_{target}")).arg(ptx).arg("-o").arg(cubin).output();
        let output = output.map_err(|error| format!("{}: {error}", self.program.display()))?;
        if output.status.success() {
            return Ok(());
        }
        let text = std::fs::read_to_string(ptx).unwrap_or_default();
        Err(with_lines(&String::from_utf8_lossy(&output.stderr), &text))
    }
}

/// The plain targets (`sm_90`, not `sm_90a`) among the allowed values that `ptxas --help` lists, quoted.
fn targets_in(help: &str) -> Vec<u32> {
    let quoted = help.split('\'').filter_map(|word| word.strip_prefix("sm_"));
    let mut targets: Vec<u32> = quoted.filter_map(|number| number.parse().ok()).collect();
    targets.sort_unstable();
    targets.dedup();
    targets
}

/// Adds the lines of PTX to a message that names them: `ptxas FILE, line 7; error : …`.
fn with_lines(message: &str, ptx: &str) -> String {
    let mut out = String::new();
    let mut shown = None;
    for line in message.trim().lines() {
        out += line;
        out.push('\n');
        let number =
            line.split_once(", line ").and_then(|(_, rest)| rest.split(';').next()?.trim().parse::<usize>().ok());
        if let Some(number) = number.filter(|number| shown != Some(*number)) {
            let source = number.checked_sub(1).and_then(|index| ptx.lines().nth(index)).unwrap_or("");
            out += &format!("    PTX line {number}: {}\n", source.trim());
            shown = Some(number);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read_from_the_help_text() {
        let help = "        'compute_90','lto_75','sm_100',\n        'sm_100a','sm_100f','sm_90','sm_90a'.\n  'sm_52'.";
        assert_eq!(targets_in(help), [52, 90, 100]);
        assert_eq!(capability(52), (5, 2));
        assert_eq!(capability(121), (12, 1));
    }

    #[test]
    fn a_message_gets_its_line() {
        let message = "ptxas k.ptx, line 2; error   : Unknown modifier '.x'\nptxas fatal   : Ptx assembly aborted\n";
        let shown = with_lines(message, ".version 6.0\n\tld.x\n");
        assert!(shown.contains("'.x'\n    PTX line 2: ld.x\nptxas fatal"), "{shown}");
    }
}
