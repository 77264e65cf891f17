//! What templates are given: paths, types, counts and names. No text of an instruction is made here.

use std::collections::BTreeMap;

use minijinja::context;
use minijinja::value::Value;
use strata_model::experiment::LoadPath;
use strata_model::pattern::{
    CONSTANTS_A_PASS, Counters, From, LOADS_A_PASS, Layout, MOST_THREADS, OPERATIONS_A_PASS, Operand, Scope,
};
use strata_model::units::Bytes;

use super::{Ptx, Target};
use crate::dialect::{Capability, Dialect};
use crate::{FACTOR, PatternProgram, Program, TERM, job, sizes, sums};

/// Names of the parameters of a pattern that follow `out`, `buffer`, `rounds` and `count`.
const PATTERN_PARAMETERS: [&str; 3] = ["a", "b", "c"];

/// Which clock register a device can read without splitting the read in two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClockRead {
    /// `%clock64`: one instruction from compute capability 7.0 on.
    Clock64,
    /// `%clock`: before that, where a 64-bit read is two reads.
    Clock32,
}

impl ClockRead {
    /// The register for a device of this compute capability.
    pub fn for_capability(capability: Capability) -> Self {
        if capability >= (7, 0) { ClockRead::Clock64 } else { ClockRead::Clock32 }
    }

    /// The register, its type, and the instructions that make 32 and 64 bits of a difference of two reads.
    fn values(self) -> Value {
        match self {
            ClockRead::Clock64 => {
                context! { register => "%clock64", type => "u64", narrow => "cvt.sat.u32.u64", widen => "mov.u64" }
            }
            ClockRead::Clock32 => {
                context! { register => "%clock", type => "u32", narrow => "mov.u32", widen => "cvt.u64.u32" }
            }
        }
    }
}

/// One of the (at most two) chases in a kernel.
fn agent(dialect: &Ptx, path: LoadPath, letter: &str) -> Value {
    let of = if dialect.element(path) == Bytes(8) { "u64" } else { "u32" };
    context! { path => path.name(), letter, type => of }
}

/// The values for a program.
pub(super) fn values(dialect: &Ptx, program: Program, clock: ClockRead, target: &Target) -> Value {
    let (a, b) = program.paths();
    let (major, minor) = target.capability;
    let common = context! {
        name => dialect.entry(program),
        target => context! { name => format!("sm_{major}{minor}"), version => target.version },
        clock => clock.values(),
        job => BTreeMap::from(job::OFFSETS),
        constant => context! { symbol => sizes::CONSTANT_SYMBOL, bytes => sizes::CONSTANT_BYTES },
        local_bytes => sizes::LOCAL_BYTES,
        bank_row => sizes::BANK_ROW,
        unroll => 1u32 << sizes::UNROLL_SHIFT,
        unroll_shift => sizes::UNROLL_SHIFT,
        parameters => PATTERN_PARAMETERS,
        a => agent(dialect, a, "a"),
        b => agent(dialect, b, "b"),
    };
    let own = match program {
        Program::PerLoad(_, loads) => context! { loads },
        Program::Warp(bytes) => context! { bytes },
        Program::Pattern(pattern) => pattern_values(pattern),
        _ => context! {},
    };
    context! { ..own, ..common }
}

/// The values for one kind of pattern.
fn pattern_values(pattern: PatternProgram) -> Value {
    match pattern {
        PatternProgram::Pairs(_) => context! {},
        PatternProgram::Barriers(scope) => context! {
            scope => match scope {
                Scope::Warp => "warp",
                Scope::Block => "block",
                Scope::Grid => "grid",
                Scope::Nobody => "nobody",
            },
        },
        PatternProgram::Reads(_, width) => context! { width },
        PatternProgram::Sums { variables, padding, bound } => {
            let statements = sums::statements(variables, padding);
            let statements: Vec<Value> =
                statements.into_iter().map(|s| context! { from => s.from, to => s.to, padding => s.padding }).collect();
            context! { variables, bound, statements }
        }
        PatternProgram::Constants(uniform) => context! { uniform, constants_a_pass => CONSTANTS_A_PASS },
        PatternProgram::Operands(operand) => context! {
            operand => match operand {
                Operand::Immediate => "immediate",
                Operand::Parameter => "parameter",
            },
            factor => format!("{FACTOR:#x}"),
            term => format!("{TERM:#x}"),
            operations_a_pass => OPERATIONS_A_PASS,
        },
        PatternProgram::Square(layout) => context! { array => layout == Layout::Array },
        PatternProgram::Histogram(counters) => context! { shared => counters == Counters::Shared },
        PatternProgram::Intensity(from, operations) => context! {
            shared => from == From::Shared,
            operations,
            bound => MOST_THREADS,
            loads_a_pass => LOADS_A_PASS,
        },
    }
}
