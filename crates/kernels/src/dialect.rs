//! A program for a device: its text in an instruction set, and the machine code that is allowed.
//!
//! An instruction set is a folder of templates and one implementation of [`Dialect`]. Nothing above knows which one is in use.

use strata_model::experiment::LoadPath;
use strata_model::facts::DeviceFacts;
use strata_model::samples::CodeFacts;
use strata_model::units::Bytes;

use crate::{Program, ptx};

/// A compute capability: major and minor.
pub type Capability = (u32, u32);

/// What the machine code of a kernel must look like between its clock reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Nothing is timed by pairs of clock reads.
    None,
    /// One pair of reads in a straight line with this many dependent loads and a consumer between them, nothing else.
    PerLoad {
        /// The path of the loads.
        path: LoadPath,
        /// How many.
        loads: u32,
    },
    /// One pair of reads around one loop of dependent loads.
    Lap {
        /// The path of the loads.
        path: LoadPath,
    },
    /// As [`Check::Lap`], by loads of shared memory of this width.
    Warp {
        /// Bytes that a lane loads at once.
        bytes: u32,
    },
    /// One pair of reads around whatever a block does, which touches memory by the listed opcodes only.
    Block {
        /// Beginnings of the opcodes.
        accesses: &'static [&'static str],
        /// The path of its loads, which a target may lack.
        path: LoadPath,
    },
    /// Three reads: between the first two nothing but loads, of which none is used before the second. The third waits for all of them.
    Burst {
        /// Opcodes of its loads, whole.
        load: &'static [&'static str],
        /// How many there are.
        loads: u32,
        /// How many of them a warp may leave out.
        optional: u32,
    },
    /// A loop that reads the clock in each pass, with these accesses to memory and no other.
    Stream {
        /// The path of its loads, which a target may lack.
        path: LoadPath,
        /// Opcodes of its loads, whole.
        load: &'static [&'static str],
        /// How many there are in a pass.
        loads: u32,
        /// Opcodes of its stores, whole.
        store: &'static [&'static str],
        /// How many there are in a pass.
        stores: u32,
        /// Opcodes of the load of the next piece's number; none, where pieces are not listed.
        index: &'static [&'static str],
        /// Beginnings of the opcodes by which blocks agree on the last pass, in any number.
        last: &'static [&'static str],
    },
    /// Before the last clock read lie so many bytes of code in blocks, each of which begins with a jump or with what decides on one.
    Laid {
        /// Bytes of all blocks.
        bytes: u64,
        /// Bytes of each.
        block: u64,
    },
    /// A loop that reads the clock in each pass, with these atomics and no other access to memory.
    Atomics {
        /// Opcodes of its atomics, whole.
        atomic: &'static [&'static str],
        /// How many there are in a pass.
        atomics: u32,
        /// How many shuffles there are in a pass. Where there are some, one lane makes the atomics.
        shuffles: u32,
    },
}

/// The text of one kernel: a module with one entry point.
#[derive(Clone, Debug)]
pub struct Text {
    /// Entry point.
    pub entry: String,
    /// What the driver compiles.
    pub code: String,
    /// The target that the code names: the oldest device that it can be compiled for.
    pub target: Capability,
    /// What its machine code must look like.
    pub check: Check,
    /// Whether compilers may move, merge and leave out instructions; if not, they must be told so.
    pub optimised: bool,
}

/// An instruction set that programs are written in.
pub trait Dialect: Sync {
    /// Its name, such as `PTX`.
    fn name(&self) -> &'static str;

    /// The oldest target that a text may name, because the compilers in use take no older one.
    fn oldest_target(&self) -> Capability;

    /// Why no device of this compute capability can run the program, if none can.
    fn missing(&self, program: Program, capability: Capability) -> Option<String>;

    /// Name of the program's entry point.
    fn entry(&self, program: Program) -> String {
        program.name()
    }

    /// Size of an element of a chain on this path: what one load of the chain brings.
    fn element(&self, path: LoadPath) -> Bytes;

    /// The program's text for a device of this compute capability.
    ///
    /// # Panics
    ///
    /// If a template of this crate is malformed, which the tests rule out: they write out every one.
    fn text(&self, program: Program, capability: Capability) -> Text;

    /// What the machine code between the program's clock reads must look like.
    fn check(&self, program: Program) -> Check;

    /// What stands between the program's clock reads in machine code that a compiler made of its text; nothing where this code cannot be
    /// read.
    fn between_clock_reads(&self, program: Program, machine_code: &[u8]) -> Option<CodeFacts>;
}

/// The dialect of NVIDIA's devices.
pub static PTX: &dyn Dialect = &ptx::Ptx;

/// The dialect for a device. Every device that there is a driver for takes PTX.
pub fn dialect_for(_: &DeviceFacts) -> &'static dyn Dialect {
    PTX
}

/// Every program's text for a device of this compute capability, whether or not it can run there.
pub fn all(dialect: &dyn Dialect, capability: Capability) -> Vec<Text> {
    Program::all().into_iter().map(|program| dialect.text(program, capability)).collect()
}
