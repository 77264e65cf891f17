//! The values for the templates: paths, types, counts and names. No instruction text is made here.

use std::collections::BTreeMap;

use minijinja::context;
use minijinja::value::Value;
use strata_model::experiment::{
    CHAIN, CHAINS, CODE, CODE_GROUP, COPY_UNROLL, CodeWalk, INSTRUCTION, LoadPath, PARTNER_CODE, STEPS_A_PASS, Traffic,
    WARP,
};
use strata_model::pattern::{
    BURST_LINE, BURST_LINES, BURST_OPTIONAL, BURST_STEP, CONSTANTS_A_PASS, Counters, LOADS_A_PASS, Layout, LoadedFrom,
    MOST_THREADS, MOST_WARPS, OPERANDS, OPERATIONS_A_PASS, Operand, OperandsIn, Scope, WRITES_A_PASS, burst_begin,
};
use strata_model::units::Bytes;

use super::{Ptx, Target};
use crate::dialect::{Capability, Dialect};
use crate::{
    AtomicProgram, FACTOR, PatternProgram, Program, RECORDED_SM, StreamProgram, TERM, Way, code, contention,
    distributed, job, pages, residency, sizes, streams, sums,
};

/// Names of the parameters of a pattern that follow `out`, `buffer`, `rounds` and `count`.
const PATTERN_PARAMETERS: [&str; 3] = ["a", "b", "c"];

/// Type of the clock's value on a device of this compute capability: 64 bits where one instruction reads them.
fn clock_type(capability: Capability) -> &'static str {
    if capability >= (7, 0) { "u64" } else { "u32" }
}

/// One of the (at most two) chases in a kernel.
fn agent(dialect: &Ptx, path: LoadPath, letter: &str) -> Value {
    let of = if dialect.element(path) == Bytes(8) { "u64" } else { "u32" };
    context! { path => path.name(), letter, type => of }
}

/// The values for a program, on a device of this compute capability.
pub(super) fn values(dialect: &Ptx, program: Program, capability: Capability, target: &Target) -> Value {
    let (a, b) = program.paths();
    let (major, minor) = target.capability;
    let common = context! {
        name => dialect.entry(program),
        target => context! { name => format!("sm_{major}{minor}"), version => target.version },
        clock => context! { type => clock_type(capability) },
        job => BTreeMap::from(job::OFFSETS),
        constant => context! { symbol => sizes::CONSTANT_SYMBOL, bytes => sizes::CONSTANT_BYTES },
        content => context! {
            complement => streams::COMPLEMENT,
            factor => streams::HASH_FACTOR,
            masks => streams::MASKS,
            scale => streams::SCALE,
        },
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
        Program::Stream(stream) => stream_values(stream),
        Program::Atomics(AtomicProgram { shared, aggregated, unroll }) => {
            context! { shared, aggregated, unroll, patience => streams::PATIENCE }
        }
        Program::Distributed(work) => context! {
            work => work.name(),
            distributed => context! {
                elements => CHAIN.0,
                stride => CHAIN.1.0,
                unroll => STEPS_A_PASS,
                head => distributed::HEAD,
            },
        },
        Program::Code(block) => code_values(block),
        Program::Pages => context! {
            walks => pages::WALKS,
            displaces => pages::DISPLACES,
            state => pages::STATE,
            partners_done => pages::PARTNERS_DONE,
            head => pages::HEAD,
            astray => pages::ASTRAY,
            ended => pages::ENDED,
            patience => pages::PATIENCE,
        },
        Program::Asynchronous(work) => context! { work => work.name(), unroll => COPY_UNROLL },
        Program::Residency(access, path) => {
            let residency::Instructions { load, store, atomic, policy, discard } = residency::instructions(access);
            context! {
                load,
                store,
                atomic,
                policy,
                discard,
                whole => path == LoadPath::GlobalCg,
                persists => access.persists(),
                accesses => residency::ACCESSES,
                times => residency::TIMES,
                never => residency::NEVER,
                head => residency::HEAD,
                astray => residency::ASTRAY,
                on_sm => residency::ON_SM,
                ended => residency::ENDED,
            }
        }
        Program::Contention => context! {
            chains => CHAINS,
            warp => WARP,
            loads_a_look => contention::LOADS_A_LOOK,
            times => contention::TIMES,
            loads => contention::LOADS,
            state => contention::STATE,
            over => contention::OVER,
            head => contention::HEAD,
            astray => contention::ASTRAY,
            loading => contention::LOADING,
            settling => contention::SETTLING,
            ended => contention::ENDED,
            patience => contention::PATIENCE,
            never => residency::NEVER,
        },
        Program::Displacement(traffic) => context! { writes => traffic == Traffic::Write, never => residency::NEVER },
        _ => context! {},
    };
    context! { ..own, ..common }
}

/// The blocks of the code that is walked through: in the order in which they lie, each with its successor.
fn code_values(bytes: Bytes) -> Value {
    let groups = (CODE / CODE_GROUP) as u32;
    let each = (CODE_GROUP / bytes) as u32;
    let of_group = |group| CodeWalk::order(bytes, group).into_iter().map(move |block| group * each + block);
    let order: Vec<u32> = (0..groups).flat_map(of_group).collect();
    let mut blocks: Vec<(u32, Value)> = order
        .iter()
        .enumerate()
        .map(|(visit, &number)| {
            let (visit, next) = (visit as u32, order.get(visit + 1));
            // Behind the last block of a group a walk may end.
            let ends = ((visit + 1).is_multiple_of(each)).then_some((visit + 1) / each);
            (number, context! { number, next, ends })
        })
        .collect();
    blocks.sort_by_key(|(number, _)| *number);
    context! {
        blocks => blocks.into_iter().map(|(_, block)| block).collect::<Vec<_>>(),
        instructions => bytes / INSTRUCTION,
        partner_block => PARTNER_CODE / bytes,
        anybody => code::ANYBODY,
        head => code::HEAD,
        state => code::STATE,
        partner_done => code::PARTNER_DONE,
        patience => code::PATIENCE,
    }
}

/// The values for a stream.
fn stream_values(stream: StreamProgram) -> Value {
    let (loads, stores) = stream.traffic.arrays();
    context! {
        loads,
        stores,
        width => stream.width,
        unroll => stream.unroll,
        piece => stream.piece(),
        shared => stream.path == LoadPath::Shared,
        textured => stream.path == LoadPath::Texture,
        constants => stream.path == LoadPath::Constant,
        settling => streams::SETTLING,
        patience => streams::PATIENCE,
        chased => stream.way == Way::Chased,
        listed => stream.way == Way::Listed,
        clustered => stream.way == Way::Clustered,
        bulk => stream.way == Way::Bulk,
        multicast => stream.way == Way::Multicast,
        cp_async => stream.way == Way::CpAsync,
        most_warps => MOST_WARPS,
        sm_at => RECORDED_SM,
        chases => streams::CHASES,
        golden => format!("{:#x}", streams::COMPLEMENT),
    }
}

/// The values for one kind of pattern.
fn pattern_values(pattern: PatternProgram) -> Value {
    match pattern {
        PatternProgram::Writes => context! { writes_a_pass => WRITES_A_PASS },
        PatternProgram::Pairs(_) | PatternProgram::Sampled | PatternProgram::Cube => {
            context! {}
        }
        PatternProgram::Sourced(operands) => context! {
            from => match operands {
                OperandsIn::Registers => "registers",
                OperandsIn::Shared => "shared",
                OperandsIn::L1 => "l1",
            },
            operands => OPERANDS,
            lanes => WARP,
            bound => MOST_THREADS,
        },
        PatternProgram::Barriers(scope) => context! {
            scope => match scope {
                Scope::Warp => "warp",
                Scope::Block => "block",
                Scope::Grid => "grid",
                Scope::Nobody => "nobody",
            },
        },
        PatternProgram::Reads(_, width) => context! { width },
        PatternProgram::Burst(each) => context! {
            each,
            optional => BURST_OPTIONAL,
            begins => (0..each).map(|load| burst_begin(load).0).collect::<Vec<_>>(),
            line => BURST_LINE.0,
            lines => BURST_LINES,
            step => BURST_STEP,
            warps => MOST_WARPS,
            bound => MOST_THREADS,
        },
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
            shared => from == LoadedFrom::Shared,
            operations,
            bound => MOST_THREADS,
            loads_a_pass => LOADS_A_PASS,
        },
    }
}
