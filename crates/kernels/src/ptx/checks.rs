//! What may touch memory in the machine code of a pattern, a stream or atomics.

use strata_model::experiment::{ClusterWork, CopyWork, LoadPath};
use strata_model::pattern::{BURST_OPTIONAL, Counters, Layout, LoadedFrom, OperandsIn, Scope};

use crate::{AtomicProgram, Check, PatternProgram, StreamProgram, Way};

/// What a pass of a stream must be made of.
pub(super) fn stream(program: StreamProgram) -> Check {
    let StreamProgram { traffic, path, width, unroll, way } = program;
    // Some of them with `.SYS` for sm_75.
    let load: &[&str] = match (path, width) {
        _ if way == Way::Bulk => &["UBLKCP.S.G"],
        _ if way == Way::Multicast => &["UBLKCP.S.G.MULTICAST"],
        _ if way == Way::CpAsync => &["LDGSTS.E.BYPASS.128"],
        (LoadPath::Shared, 4) if way == Way::Clustered => &["LD.E"],
        (LoadPath::Shared, 8) if way == Way::Clustered => &["LD.E.64"],
        (LoadPath::Shared, _) if way == Way::Clustered => &["LD.E.128"],
        (LoadPath::Shared, 4) => &["LDS", "LDS.U"],
        (LoadPath::Shared, 8) => &["LDS.64", "LDS.U.64"],
        (LoadPath::Shared, _) => &["LDS.128", "LDS.U.128"],
        (LoadPath::Texture, _) => &["TLD.LZ", "TLD.LZ.P", "TLD.SCR.LZ", "TLD.SCR.LZ.NODEP"],
        (LoadPath::Constant, _) => &["LDC"],
        (LoadPath::GlobalNc, 4) => &["LDG.E.CONSTANT", "LDG.E.CONSTANT.SYS"],
        (LoadPath::GlobalNc, 8) => &["LDG.E.64.CONSTANT", "LDG.E.64.CONSTANT.SYS"],
        (LoadPath::GlobalNc, _) => &["LDG.E.128.CONSTANT", "LDG.E.128.CONSTANT.SYS"],
        (LoadPath::Host, 4) => &["LDG.E.STRONG.SYS"],
        (LoadPath::Host, 8) => &["LDG.E.64.STRONG.SYS"],
        (LoadPath::Host, _) => &["LDG.E.128.STRONG.SYS"],
        _ => accesses(PatternProgram::Reads(path, width)),
    };
    let store: &[&str] = match width {
        4 if way == Way::Clustered => &["ST.E"],
        8 if way == Way::Clustered => &["ST.E.64"],
        _ if way == Way::Clustered => &["ST.E.128"],
        4 => &["STG.E", "STG.E.SYS"],
        8 => &["STG.E.64", "STG.E.64.SYS"],
        _ => &["STG.E.128", "STG.E.128.SYS"],
    };
    let (loads, stores) = traffic.arrays();
    // Of the number of the next piece, where pieces are listed, or of whether there is one.
    let index: &[&str] = match way {
        Way::Listed => accesses(PatternProgram::Reads(LoadPath::GlobalCa, 4)),
        Way::Multicast => &["LDS"],
        _ => &[],
    };
    let last: &[&str] =
        if way == Way::Multicast { &["ST.E", "MEMBAR", "ERRBAR", "CGAERRBAR", "CCTL", "SHFL.IDX"] } else { &[] };
    // A bulk copy moves all that a warp copies of a piece.
    let unroll = if way.is_bulk() { 1 } else { unroll };
    Check::Stream { path, load, loads: loads as u32 * unroll, store, stores: stores as u32 * unroll, index, last }
}

/// What a burst must be made of.
pub(super) fn burst(each: u32) -> Check {
    Check::Burst { load: &["LDG.E.STRONG.SYS"], loads: each, optional: BURST_OPTIONAL }
}

/// What a pass of atomics must be made of: the atomics, and one of a warp's lanes makes them where the warp sums up first.
pub(super) fn atomics(program: AtomicProgram) -> Check {
    let AtomicProgram { shared, aggregated, unroll } = program;
    let atomic: &[&str] = match shared {
        true => &["ATOMS.ADD"],
        false => &["RED.E.ADD.STRONG.GPU", "REDG.E.ADD.STRONG.GPU"],
    };
    Check::Atomics { atomic, atomics: unroll, shuffles: if aggregated { SHUFFLES * unroll } else { 0 } }
}

/// What a step in the shared memory of a cluster must be made of: generic loads only, or the barrier with its fences.
pub(super) fn distributed(work: ClusterWork) -> Check {
    let accesses: &[&str] = match work {
        ClusterWork::Load => &["LD.E.64"],
        ClusterWork::Atomic => &["ATOM.E.ADD.STRONG.GPU"],
        ClusterWork::Barrier => &["UCGABAR", "MEMBAR", "ERRBAR", "CGAERRBAR", "CCTL", UNEXECUTED],
        ClusterWork::RelaxedBarrier => &["UCGABAR", "CCTL"],
    };
    Check::Block { accesses, path: LoadPath::Shared }
}

/// What a lap over pages must be made of: the loads of its chain.
pub(super) fn visits() -> &'static [&'static str] {
    accesses(PatternProgram::Reads(LoadPath::GlobalCg, 8))
}

/// What an asynchronous copy and what waits for it must be made of.
pub(super) fn asynchronous(work: CopyWork) -> Check {
    let accesses: &[&str] = match work {
        CopyWork::Bulk => &["SYNCS", "USYNCS", "UBLKCP.S.G"],
        CopyWork::BulkStore => &["UBLKCP.G.S", "UTMACMDFLUSH", "CCTL"],
        CopyWork::CpAsync => &["LDGSTS.E.BYPASS.128", "LDGDEPBAR", UNEXECUTED],
        CopyWork::Mbarrier => &["SYNCS", "USYNCS"],
    };
    Check::Block { accesses, path: LoadPath::GlobalCg }
}

/// Shuffles by which the lanes of a warp sum up: half as many lanes are left after each.
const SHUFFLES: u32 = 5;

/// Four loads that are never executed (`@!PT LDS RZ`) stand before a fence in what driver 580 makes.
const UNEXECUTED: &str = "LDS";

/// What may touch memory between the clock reads: the beginning of the opcodes, in machine code from sm_75 on. An empty list is
/// nothing at all.
pub(super) fn accesses(program: PatternProgram) -> &'static [&'static str] {
    match program {
        PatternProgram::Pairs(LoadPath::GlobalCa) => &["LDG.E.U8.STRONG.SM", "LDG.E.U8.STRONG.CTA"],
        PatternProgram::Pairs(LoadPath::GlobalCg) => &["LDG.E.U8.STRONG.GPU"],
        PatternProgram::Pairs(LoadPath::Texture) | PatternProgram::Square(Layout::Linear) => &["TLD."],
        PatternProgram::Pairs(LoadPath::Constant) => &["LDC.U8"],
        PatternProgram::Pairs(_) => &["LDS.U8", "LDS.U.U8"],
        PatternProgram::Writes => &["STG.E", "MEMBAR", "ERRBAR", "CCTL", UNEXECUTED],
        PatternProgram::Barriers(Scope::Grid) => &[
            "STG.E",
            "ATOMG.E.ADD",
            "ATOM.E.ADD",
            "RED.E.ADD",
            "REDG.E.ADD",
            "LDG.E.STRONG.SYS",
            "MEMBAR",
            "ERRBAR",
            "CCTL",
            UNEXECUTED,
        ],
        PatternProgram::Barriers(_) => &["STG.E"],
        PatternProgram::Reads(LoadPath::GlobalCa, 4) => &["LDG.E.STRONG.SM", "LDG.E.STRONG.CTA"],
        PatternProgram::Reads(LoadPath::GlobalCa, 8) => &["LDG.E.64.STRONG.SM", "LDG.E.64.STRONG.CTA"],
        PatternProgram::Reads(LoadPath::GlobalCa, _) => &["LDG.E.128.STRONG.SM", "LDG.E.128.STRONG.CTA"],
        PatternProgram::Reads(LoadPath::GlobalCg, 4) => &["LDG.E.STRONG.GPU"],
        PatternProgram::Reads(LoadPath::GlobalCg, 8) => &["LDG.E.64.STRONG.GPU"],
        PatternProgram::Reads(LoadPath::GlobalCg, _) => &["LDG.E.128.STRONG.GPU"],
        PatternProgram::Reads(_, 4) => &["LDG.E.CONSTANT"],
        PatternProgram::Reads(_, 8) => &["LDG.E.64.CONSTANT"],
        PatternProgram::Reads(..) => &["LDG.E.128.CONSTANT"],
        PatternProgram::Sums { .. } => &["LDL", "STL"],
        PatternProgram::Constants(_) => &["LDC", "ULDC", "LDCU"],
        // A burst has rules of its own.
        PatternProgram::Operands(_) | PatternProgram::Burst(_) => &[],
        PatternProgram::Square(Layout::Array) | PatternProgram::Cube => &["TLD."],
        PatternProgram::Sampled => &["TEX"],
        PatternProgram::Sourced(OperandsIn::Registers) => &[],
        PatternProgram::Sourced(OperandsIn::Shared) => &["LDS"],
        PatternProgram::Sourced(OperandsIn::L1) => &["LDG.E.STRONG.SM", "LDG.E.STRONG.CTA"],
        PatternProgram::Histogram(Counters::Global) => &["LDG.E.STRONG.GPU", "RED.E.ADD", "REDG.E.ADD"],
        PatternProgram::Histogram(Counters::Shared) => {
            &["LDG.E.STRONG.GPU", "ATOMS.", "LDS", "STS", "RED.E.ADD", "REDG.E.ADD"]
        }
        PatternProgram::Intensity(LoadedFrom::Shared, _) => &["LDS"],
        PatternProgram::Intensity(LoadedFrom::Global, _) => &["LDG.E.STRONG.GPU"],
    }
}
