//! Reads machine code: a cubin is an ELF file with one code section for each function.
//!
//! It may come from a recording, and so from anyone: every place is checked before it is read.

use strata_model::samples::CodeFacts;

/// What is wrong with a file that is no cubin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(&'static str);

type Result<T> = std::result::Result<T, Malformed>;

fn ensure(holds: bool, what: &'static str) -> Result<()> {
    if holds { Ok(()) } else { Err(Malformed(what)) }
}

const CUT: Malformed = Malformed("the ELF file is cut short");

/// A function's machine code.
#[derive(Debug, PartialEq)]
pub struct Function<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its instructions, encoded.
    pub code: &'a [u8],
}

/// A cubin.
#[derive(Debug, PartialEq)]
pub struct Cubin<'a> {
    /// The target it was made for, as in `sm_90`.
    pub target: u32,
    /// The functions.
    pub functions: Vec<Function<'a>>,
}

/// `e_machine` of CUDA.
const EM_CUDA: u16 = 190;
/// `EI_ABIVERSION` from which the flags have the target in their second byte instead of their first.
const ABI_TARGET_IN_SECOND_BYTE: u8 = 8;
/// Bytes of a section's header.
const SECTION_HEADER: u64 = 64;
/// Name of a code section without the function's.
const CODE_SECTION: &str = ".text.";

/// Reads a cubin.
pub fn read(bytes: &[u8]) -> Result<Cubin<'_>> {
    ensure(bytes.get(..5) == Some(b"\x7fELF\x02"), "not a 64-bit ELF file")?;
    ensure(u16_at(bytes, 0x12)? == EM_CUDA, "an ELF file, but not of CUDA machine code")?;
    let flags = u32_at(bytes, 0x30)?;
    let target = if bytes[8] >= ABI_TARGET_IN_SECOND_BYTE { flags >> 8 & 0xff } else { flags & 0xff };

    let table = u64_at(bytes, 0x28)?;
    let (entry_size, entries, names) = (u16_at(bytes, 0x3a)?, u16_at(bytes, 0x3c)?, u16_at(bytes, 0x3e)?);
    let header = |index: u16| -> Result<&[u8]> {
        let at = table
            .checked_add(u64::from(index) * u64::from(entry_size))
            .ok_or(Malformed("section table out of range"))?;
        slice(bytes, at, SECTION_HEADER)
    };
    let content = |index: u16| -> Result<&[u8]> {
        let header = header(index)?;
        slice(bytes, u64_at(header, 0x18)?, u64_at(header, 0x20)?)
    };
    let names = content(names)?;
    let mut functions = Vec::new();
    for index in 0..entries {
        let name =
            names.get(u32_at(header(index)?, 0)? as usize..).ok_or(Malformed("a section's name is out of range"))?;
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        let name = std::str::from_utf8(name).map_err(|_| Malformed("a section's name is not text"))?;
        if let Some(name) = name.strip_prefix(CODE_SECTION) {
            functions.push(Function { name, code: content(index)? });
        }
    }
    ensure(!functions.is_empty(), "no code section")?;
    Ok(Cubin { target, functions })
}

fn slice(bytes: &[u8], start: u64, length: u64) -> Result<&[u8]> {
    let start = usize::try_from(start).map_err(|_| CUT)?;
    bytes.get(start..).and_then(|rest| rest.get(..usize::try_from(length).ok()?)).ok_or(CUT)
}

fn array_at<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N]> {
    let rest = bytes.get(at..).and_then(|rest| rest.get(..N)).ok_or(CUT)?;
    rest.try_into().map_err(|_| CUT)
}

fn u16_at(bytes: &[u8], at: usize) -> Result<u16> {
    Ok(u16::from_le_bytes(array_at(bytes, at)?))
}

fn u32_at(bytes: &[u8], at: usize) -> Result<u32> {
    Ok(u32::from_le_bytes(array_at(bytes, at)?))
}

fn u64_at(bytes: &[u8], at: usize) -> Result<u64> {
    Ok(u64::from_le_bytes(array_at(bytes, at)?))
}

/// First target whose instructions take 16 bytes each, with the opcode in the lowest 12 bits: Volta.
const WIDE_SINCE: u32 = 70;
/// Bytes of such an instruction.
const INSTRUCTION: usize = 16;
/// `LDL`, `STL` and `CS2R` there, as nvdisasm 13.5 reads them for sm_75 to sm_120.
const LOAD_LOCAL: u16 = 0x983;
/// See [`LOAD_LOCAL`].
const STORE_LOCAL: u16 = 0x387;
/// See [`LOAD_LOCAL`].
const READ_SPECIAL: u16 = 0x805;
/// Byte of `CS2R` that says what is read.
const SPECIAL_AT: usize = 9;
/// `SR_CLOCKLO` there.
const CLOCK: u8 = 0x50;

/// What stands between the first and the last clock read of a function; nothing, if this machine code cannot be read.
pub fn between_clock_reads(bytes: &[u8], function: &str) -> Option<CodeFacts> {
    let cubin = read(bytes).ok().filter(|cubin| cubin.target >= WIDE_SINCE)?;
    let code = cubin.functions.iter().find(|f| f.name == function)?.code;
    let opcodes: Vec<u16> = code.chunks_exact(INSTRUCTION).map(|i| u16::from_le_bytes([i[0], i[1]]) & 0xfff).collect();
    // `CS2R` also clears registers.
    let clock = |(i, &opcode): (usize, &u16)| {
        (opcode == READ_SPECIAL && code[i * INSTRUCTION + SPECIAL_AT] == CLOCK).then_some(i)
    };
    let first = opcodes.iter().enumerate().find_map(clock)?;
    let last = opcodes.iter().enumerate().rev().find_map(clock)?;
    let timed = opcodes.get(first + 1..last)?;
    let count = |wanted| timed.iter().filter(|&&opcode| opcode == wanted).count() as u32;
    Some(CodeFacts {
        bytes: (timed.len() * INSTRUCTION) as u32,
        local_loads: count(LOAD_LOCAL),
        local_stores: count(STORE_LOCAL),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with a name table and one code section of 16 bytes.
    fn elf(abi: u8, flags: u32) -> Vec<u8> {
        let names = b"\0.text.lap_ca\0";
        let mut file = vec![0; 0x40];
        file[..5].copy_from_slice(b"\x7fELF\x02");
        file[8] = abi;
        file[0x12..0x14].copy_from_slice(&EM_CUDA.to_le_bytes());
        file[0x30..0x34].copy_from_slice(&flags.to_le_bytes());
        file.extend_from_slice(names);
        file.extend_from_slice(&[7; 16]);
        let table = file.len() as u64;
        file[0x28..0x30].copy_from_slice(&table.to_le_bytes());
        for (at, value) in [(0x3a, 64_u16), (0x3c, 2), (0x3e, 0)] {
            file[at..at + 2].copy_from_slice(&value.to_le_bytes());
        }
        for (name, start, size) in [(0_u32, 0x40_u64, names.len() as u64), (1, 0x40 + names.len() as u64, 16)] {
            let mut section = [0; 64];
            section[..4].copy_from_slice(&name.to_le_bytes());
            section[0x18..0x20].copy_from_slice(&start.to_le_bytes());
            section[0x20..0x28].copy_from_slice(&size.to_le_bytes());
            file.extend_from_slice(&section);
        }
        file
    }

    #[test]
    fn target_and_code_are_found() {
        let functions = || vec![Function { name: "lap_ca", code: &[7; 16] }];
        assert_eq!(read(&elf(7, 0x005a_055a)).unwrap(), Cubin { target: 90, functions: functions() });
        assert_eq!(read(&elf(8, 0x0600_7802)).unwrap(), Cubin { target: 120, functions: functions() });
    }

    #[test]
    fn local_accesses_are_counted_between_the_clock_reads() {
        let instruction = |opcode: u16, special: u8| {
            let mut bytes = [0; INSTRUCTION];
            bytes[..2].copy_from_slice(&(opcode | 0x7000).to_le_bytes());
            bytes[SPECIAL_AT] = special;
            bytes
        };
        let code = [
            (LOAD_LOCAL, 0), // before
            (READ_SPECIAL, CLOCK),
            (LOAD_LOCAL, 0),
            (READ_SPECIAL, 0xff), // clears registers
            (STORE_LOCAL, 0),
            (LOAD_LOCAL, 0),
            (READ_SPECIAL, CLOCK),
            (STORE_LOCAL, 0), // after
        ];
        let code: Vec<u8> = code.into_iter().flat_map(|(opcode, special)| instruction(opcode, special)).collect();
        let mut file = elf(7, 90);
        let at = file.len() as u64;
        let section = file.len() - 64;
        file[section + 0x18..section + 0x20].copy_from_slice(&at.to_le_bytes());
        file[section + 0x20..section + 0x28].copy_from_slice(&(code.len() as u64).to_le_bytes());
        file.extend_from_slice(&code);
        let facts = CodeFacts { bytes: 4 * 16, local_loads: 2, local_stores: 1 };
        assert_eq!(between_clock_reads(&file, "lap_ca"), Some(facts));
        assert_eq!(between_clock_reads(&file, "other"), None);
        file[0x30..0x34].copy_from_slice(&61u32.to_le_bytes());
        assert_eq!(between_clock_reads(&file, "lap_ca"), None, "older instructions are others");
    }

    #[test]
    fn a_damaged_file_is_an_error() {
        let whole = elf(7, 90);
        for length in 0..whole.len() {
            assert!(read(&whole[..length]).is_err(), "{length} bytes");
        }
        let mut far = whole;
        far[0x28..0x30].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(read(&far).is_err());
    }
}
