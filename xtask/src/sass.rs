//! Machine code as text: parses nvdisasm's listing of raw code into instructions.

use std::fmt;

use anyhow::{Context, Result, ensure};

/// Which registers a register belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum File {
    /// `R0`: a value for each thread.
    Vector,
    /// `UR0`: one value for all threads of a warp.
    Uniform,
    /// `P0`.
    Predicate,
    /// `UP0`.
    UniformPredicate,
}

/// A register. Those that are constant (`RZ`, `URZ`, `PT`, `UPT`) are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Register {
    /// Its file.
    pub file: File,
    /// Its number.
    pub number: u16,
}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = match self.file {
            File::Vector => "R",
            File::Uniform => "UR",
            File::Predicate => "P",
            File::UniformPredicate => "UP",
        };
        write!(f, "{letter}{}", self.number)
    }
}

impl Register {
    fn parse(word: &str) -> Option<Self> {
        // `UR` and `UP` before their suffixes.
        let files =
            [("UR", File::Uniform), ("UP", File::UniformPredicate), ("R", File::Vector), ("P", File::Predicate)];
        let (number, file) = files.iter().find_map(|(letter, file)| Some((word.strip_prefix(letter)?, *file)))?;
        Some(Register { file, number: number.parse().ok()? })
    }

    fn is_predicate(self) -> bool {
        matches!(self.file, File::Predicate | File::UniformPredicate)
    }
}

/// An instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Where it stands, in bytes from the start of its function.
    pub address: u64,
    /// Predicate that must hold for it to have an effect, as in `@!P0`, without the `@`.
    pub guard: Option<String>,
    /// Opcode with its modifiers, as in `LDG.E.64.STRONG.SM`.
    pub opcode: String,
    /// Operands, as in `desc[UR8][R2.64]`.
    pub operands: Vec<String>,
    /// Where it may branch to.
    pub branch: Option<u64>,
}

/// A function's instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Its instructions, by address.
    pub instructions: Vec<Instruction>,
}

/// Parses the listing of raw code. Lines that are no instructions (headers, blank ones) have no address comment.
pub fn parse(listing: &str) -> Result<Vec<Instruction>> {
    let lines = listing.lines().map(str::trim).filter(|line| line.starts_with("/*"));
    let instructions = lines.map(|line| Instruction::parse(line).with_context(|| format!("cannot read `{line}`")));
    let instructions: Vec<_> = instructions.collect::<Result<_>>()?;
    ensure!(!instructions.is_empty(), "there is no instruction");
    ensure!(instructions.is_sorted_by(|a, b| a.address < b.address), "addresses do not ascend");
    Ok(instructions)
}

impl Instruction {
    /// Parses `/*00b0*/ @!P0 OPCODE A, B ;`.
    fn parse(line: &str) -> Result<Self> {
        let (address, text) = line.strip_prefix("/*").and_then(|rest| rest.split_once("*/")).context("no address")?;
        let address = u64::from_str_radix(address, 16).context("the address is not hexadecimal")?;
        let text = text.trim().strip_suffix(';').context("no `;` at the end")?.trim();
        let (guard, text) = match text.strip_prefix('@') {
            Some(rest) => {
                let (guard, text) = rest.split_once(char::is_whitespace).context("a guard without an instruction")?;
                (Some(guard.to_owned()), text.trim())
            }
            None => (None, text),
        };
        let (opcode, operands) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        ensure!(opcode.starts_with(|letter: char| letter.is_ascii_uppercase()), "no opcode");
        let operands: Vec<String> = operands
            .split(',')
            .map(|operand| operand.trim().to_owned())
            .filter(|operand| !operand.is_empty())
            .collect();
        let mut instruction = Instruction { address, guard, opcode: opcode.to_owned(), operands, branch: None };
        instruction.branch = instruction.branch_target();
        Ok(instruction)
    }

    fn branch_target(&self) -> Option<u64> {
        let transfers = matches!(self.base(), "BRA" | "BSSY" | "CALL" | "JMP" | "WARPSYNC");
        let hexadecimal = self.operands.last().and_then(|operand| operand.strip_prefix("0x"));
        hexadecimal.filter(|_| transfers).and_then(|digits| u64::from_str_radix(digits, 16).ok())
    }

    /// The same instruction with addresses counted from `start`.
    pub fn rebased(&self, start: u64) -> Self {
        let mut moved = self.clone();
        moved.address -= start;
        if let (Some(target), Some(operand)) = (self.branch, moved.operands.last_mut()) {
            let target = target.wrapping_sub(start);
            *operand = format!("{target:#x}");
            moved.branch = Some(target);
        }
        moved
    }

    /// The opcode without modifiers.
    pub fn base(&self) -> &str {
        self.opcode.split('.').next().unwrap_or_default()
    }

    /// Whether it reads the clock (not the global timer).
    pub fn reads_clock(&self) -> bool {
        self.operands.iter().any(|operand| operand.starts_with("SR_CLOCK"))
    }

    /// Whether it may go elsewhere, or on: a guard, or a uniform predicate among the operands.
    pub fn is_conditional(&self) -> bool {
        self.guard.as_deref().is_some_and(|guard| guard != "PT" && guard != "UPT") || self.operands.len() > 1
    }

    /// Number of leading operands that it writes.
    ///
    /// By the convention of the listing the first operand is written, together with predicates that follow it before the
    /// first source (`ISETP P0, PT, R2, …`, `IADD3 R1, P0, R2, …`); texture loads write two registers. Stores, branches
    /// and barriers write none.
    fn written_operands(&self) -> usize {
        let predicate = |index: usize| {
            self.operands.get(index).is_some_and(|operand| {
                matches!(operand.as_str(), "PT" | "UPT") || Register::parse(operand).is_some_and(Register::is_predicate)
            })
        };
        match self.base() {
            "TEX" | "TLD" | "TLD4" => 2,
            "ST" | "STG" | "STS" | "STL" | "RED" | "REDG" | "BRA" | "BAR" | "EXIT" | "BSSY" | "BSYNC" => 0,
            // A predicate, `PT` where nobody asks, comes before what was there.
            "ATOM" | "ATOMG" | "ATOMS" => 1 + usize::from(predicate(0)),
            _ if predicate(0) => 1 + usize::from(predicate(1)),
            _ => 1 + [1, 2].iter().take_while(|index| predicate(**index)).count(),
        }
    }

    /// Registers that it writes, each with those that follow it in a wide result.
    pub fn written(&self) -> Vec<Register> {
        let wide = self.opcode.split('.').any(|part| matches!(part, "64" | "U64" | "WIDE"));
        let clock_pair = self.base().starts_with("CS2") && !self.opcode.ends_with(".32");
        let width = if self.opcode.contains(".128") { 4 } else { 1 + u16::from(wide || clock_pair) };
        let operands = &self.operands[..self.written_operands().min(self.operands.len())];
        let registers = operands.iter().filter_map(|operand| Register::parse(operand));
        registers
            .flat_map(|first| {
                let width = if first.is_predicate() { 1 } else { width };
                (0..width).map(move |offset| Register { number: first.number + offset, ..first })
            })
            .collect()
    }

    /// Registers that it reads, its guard apart. Of a pair, only the first is named by the listing.
    pub fn read(&self) -> Vec<Register> {
        let operands = &self.operands[self.written_operands().min(self.operands.len())..];
        let words = operands.iter().flat_map(|operand| operand.split(|c: char| !c.is_ascii_alphanumeric()));
        words.filter_map(Register::parse).collect()
    }

    /// The register of its guard.
    pub fn guard_register(&self) -> Option<Register> {
        Register::parse(self.guard.as_deref()?.trim_start_matches('!'))
    }
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let guard = self.guard.as_ref().map(|guard| format!("@{guard}")).unwrap_or_default();
        let operands = self.operands.join(", ");
        let separator = if operands.is_empty() { "" } else { " " };
        write!(f, "/*{:04x}*/ {guard:>5} {}{separator}{operands} ;", self.address, self.opcode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTING: &str = "
\t.headerflags\t@\"EF_CUDA_64BIT_ADDRESS EF_CUDA_SM90 EF_CUDA_VIRTUAL_SM(EF_CUDA_SM90)\"
        /*00b0*/                   CS2R R4, SR_CLOCKLO ;
        /*00c0*/                   LDG.E.64.STRONG.SM R2, desc[UR8][R2.64] ;
        /*00d0*/                   ISETP.NE.U32.AND P0, PT, R2, RZ, PT ;
        /*00e0*/                   IADD3 R19, P1, -R4, R13, RZ ;
        /*00f0*/              @!P0 BRA 0xb0 ;
        /*0100*/                   TLD.LZ RZ, R12, R10, UR4, 0x0, 1D, 0x1 ;
        /*0110*/                   STS [UR6+0x10], R4 ;
        /*0120*/                   BRA.U !UP0, 0xb0 ;
        /*0130*/                   NOP;
";

    fn registers(text: &str) -> Vec<Register> {
        text.split_whitespace().map(|word| Register::parse(word).unwrap()).collect()
    }

    #[test]
    fn a_listing_is_parsed() {
        let code = parse(LISTING).unwrap();
        assert_eq!(code.len(), 9);
        assert!(code[0].reads_clock() && !code[1].reads_clock());
        assert_eq!((code[1].address, code[1].opcode.as_str(), code[1].base()), (0xc0, "LDG.E.64.STRONG.SM", "LDG"));
        assert_eq!(code[1].operands, ["R2", "desc[UR8][R2.64]"]);
        assert_eq!((code[4].guard.as_deref(), code[4].branch), (Some("!P0"), Some(0xb0)));
        assert_eq!((code[7].guard.as_deref(), code[7].branch, code[7].is_conditional()), (None, Some(0xb0), true));
        assert_eq!((code[8].base(), code[8].operands.len()), ("NOP", 0));
        assert_eq!(code[4].to_string(), "/*00f0*/  @!P0 BRA 0xb0 ;");
        assert_eq!(code[4].rebased(0xb0).to_string(), "/*0040*/  @!P0 BRA 0x0 ;");
    }

    #[test]
    fn registers_read_and_written() {
        let code = parse(LISTING).unwrap();
        let expected = [
            ("R4 R5", ""),
            ("R2 R3", "UR8 R2"),
            ("P0", "R2"),
            ("R19 P1", "R4 R13"),
            ("", ""),
            ("R12", "R10 UR4"),
            ("", "UR6 R4"),
            ("", "UP0"),
            ("", ""),
        ];
        for (instruction, (written, read)) in code.iter().zip(expected) {
            assert_eq!(instruction.written(), registers(written), "written by {instruction}");
            assert_eq!(instruction.read(), registers(read), "read by {instruction}");
        }
        assert_eq!(code[4].guard_register(), Some(registers("P0")[0]));
    }

    #[test]
    fn what_is_no_listing_is_an_error() {
        assert!(parse("").is_err());
        assert!(parse("/*00b0*/ CS2R R4, SR_CLOCKLO").is_err());
        assert!(parse("/*00b0*/ ; \n").is_err());
        assert!(parse("/*zz*/ NOP;").is_err());
        assert!(parse("/*0010*/ NOP;\n/*0000*/ NOP;").is_err());
    }
}
