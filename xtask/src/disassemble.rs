//! Runs nvdisasm over machine code.
//!
//! Starting it takes a third of a second whatever it reads, so the code of many kernels is put into one raw file and
//! disassembled at once. In raw code branches have addresses instead of labels and paired instructions cannot occur,
//! which makes the listing easy to parse.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::sass::{self, Function};

/// The oldest target that can be disassembled.
pub const OLDEST: u32 = 75;

/// The disassembler, with a place for its input.
pub struct Disassembler {
    /// The program.
    pub program: PathBuf,
    /// A folder for temporary files.
    pub scratch: PathBuf,
}

impl Disassembler {
    /// Disassembles functions of one target, given by name and code.
    pub fn disassemble(&self, target: u32, functions: &[(String, &[u8])]) -> Result<Vec<Function>> {
        ensure!(target >= OLDEST, "machine code of sm_{target} cannot be read: nvdisasm begins at sm_{OLDEST}");
        if functions.is_empty() {
            return Ok(Vec::new());
        }
        let blob: Vec<u8> = functions.iter().flat_map(|(_, code)| code.iter().copied()).collect();
        let path = self.scratch.join("code.bin");
        fs::create_dir_all(&self.scratch)?;
        fs::write(&path, blob)?;
        let listing = self.listing(target, &path)?;
        let all = sass::parse(&listing).with_context(|| format!("listing of nvdisasm for sm_{target}"))?;

        let mut rest = all.as_slice();
        let mut start = 0;
        let mut parsed = Vec::new();
        for (name, code) in functions {
            let end = start + code.len() as u64;
            let (own, others) = rest.split_at(rest.partition_point(|instruction| instruction.address < end));
            ensure!(!own.is_empty(), "`{name}` for sm_{target} has no code");
            let instructions = own.iter().map(|instruction| instruction.rebased(start)).collect();
            parsed.push(Function { name: name.clone(), instructions });
            (rest, start) = (others, end);
        }
        Ok(parsed)
    }

    fn listing(&self, target: u32, path: &Path) -> Result<String> {
        let mut command = Command::new(&self.program);
        let output = command.args(["-b", &format!("SM{target}")]).arg(path).output();
        let output = output.with_context(|| format!("running {}", self.program.display()))?;
        if !output.status.success() {
            bail!("nvdisasm failed on code of sm_{target}: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(String::from_utf8(output.stdout)?)
    }
}
