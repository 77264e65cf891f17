//! PTX text, read as far as kernels that measure memory use it: [`parse`] makes statements of text, `lower.rs` makes
//! instructions of them that can be executed. What is not known is an error that names it and its line.
//!
//! The reference is NVIDIA's PTX ISA. Left out: floating point (but for what moves its bits, and `fma.rn.f32`, which is read so
//! that it can be refused for what it is), 16-bit and packed types, calls, predicated vectors.

mod code;
mod lex;
mod lower;
mod opcode;
mod parse;
mod uniform;
mod walk;

pub use code::{
    Atomic, CachePolicy, Compare, Copying, Entry, Hinted, Inst, Module, NONE, Op, Shuffle, Space, Special, Type,
    cluster_address, cluster_window, map_shared,
};
pub use parse::parse;
pub use walk::Walk;

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Line, from 1.
    pub line: u32,
    /// What is wrong.
    pub what: String,
}

impl Fault {
    fn at(line: u32, what: impl Into<String>) -> Self {
        Fault { line, what: what.into() }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

/// Reads a module.
///
/// # Errors
///
/// The first thing that cannot be read, executed or resolved, with its line.
pub fn module(text: &str) -> Result<Module, Fault> {
    lower::lower(&parse(text)?)
}
