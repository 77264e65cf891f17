//! Reads machine code: a cubin is an ELF file with one code section for each function.
//!
//! It may come from a recording, and so from anyone: every place is checked before it is read.

use object::LittleEndian;
use object::elf::{EM_CUDA, FileHeader64};
use object::read::elf::{FileHeader, SectionHeader};
use strata_model::samples::CodeFacts;

/// What is wrong with a file that is no cubin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// It is no 64-bit ELF file, or not a whole one.
    #[error("not a whole 64-bit ELF file: {0}")]
    Elf(object::Error),
    /// It has something else than machine code in it.
    #[error("an ELF file, but {0}")]
    Foreign(&'static str),
}

impl From<object::Error> for Malformed {
    fn from(error: object::Error) -> Self {
        Malformed::Elf(error)
    }
}

type Result<T> = std::result::Result<T, Malformed>;

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

/// `EI_ABIVERSION` from which the flags have the target in their second byte instead of their first.
const ABI_TARGET_IN_SECOND_BYTE: u8 = 8;
/// Name of a code section without the function's.
const CODE_SECTION: &str = ".text.";

/// Reads a cubin.
///
/// # Errors
///
/// The file is no whole ELF file, or not one of CUDA's machine code.
pub fn read(bytes: &[u8]) -> Result<Cubin<'_>> {
    let header = FileHeader64::<LittleEndian>::parse(bytes)?;
    let endian = header.endian()?;
    if header.e_machine(endian) != EM_CUDA {
        return Err(Malformed::Foreign("not of CUDA machine code"));
    }
    let flags = header.e_flags(endian).0;
    let second = header.e_ident().abi_version >= ABI_TARGET_IN_SECOND_BYTE;
    let target = if second { flags >> 8 & 0xff } else { flags & 0xff };

    let sections = header.sections(endian, bytes)?;
    let mut functions = Vec::new();
    for section in sections.iter() {
        let name = std::str::from_utf8(sections.section_name(endian, section)?);
        let name = name.map_err(|_| Malformed::Foreign("a section's name is not text"))?;
        if let Some(name) = name.strip_prefix(CODE_SECTION) {
            functions.push(Function { name, code: section.data(endian, bytes)? });
        }
    }
    if functions.is_empty() {
        return Err(Malformed::Foreign("without a code section"));
    }
    Ok(Cubin { target, functions })
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
    use object::elf::{SHT_PROGBITS, SHT_STRTAB};

    use super::*;

    /// A file with a name table and one code section of 16 bytes, after the section without a content that comes first.
    fn elf(abi: u8, flags: u32) -> Vec<u8> {
        let names = b"\0.text.lap_ca\0";
        let mut file = vec![0; 0x40];
        // 64 bits, little-endian, version 1.
        file[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        file[8] = abi;
        file[0x12..0x14].copy_from_slice(&EM_CUDA.0.to_le_bytes());
        file[0x14] = 1;
        file[0x30..0x34].copy_from_slice(&flags.to_le_bytes());
        file.extend_from_slice(names);
        file.extend_from_slice(&[7; 16]);
        let table = file.len() as u64;
        file[0x28..0x30].copy_from_slice(&table.to_le_bytes());
        for (at, value) in [(0x3a, 64_u16), (0x3c, 3), (0x3e, 1)] {
            file[at..at + 2].copy_from_slice(&value.to_le_bytes());
        }
        file.extend_from_slice(&[0; 64]);
        for (name, kind, start, size) in
            [(0_u32, SHT_STRTAB, 0x40_u64, names.len() as u64), (1, SHT_PROGBITS, 0x40 + names.len() as u64, 16)]
        {
            let mut section = [0; 64];
            section[..4].copy_from_slice(&name.to_le_bytes());
            section[4..8].copy_from_slice(&kind.0.to_le_bytes());
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
