//! The kernels: what runs on the device.
//!
//! A [`Program`] says what a kernel does; a [`Dialect`] says what that is on a device: its text, the target that it needs, and what
//! the machine code must look like. There is one dialect, [`PTX`]: a template for each kind of program and the idioms that they
//! share, in `ptx/`. The driver compiles the text. What the driver's or any other compiler may make of it is fixed by [`Check`] and
//! verified by `cargo xtask check-kernels`.
//!
//! Reading order: this file, `ptx/per_load.ptx`, `ptx/idiom/clock.ptx`, [`job`].

mod atomics;
pub mod code;
pub mod contention;
pub mod cubin;
mod dialect;
pub mod distributed;
pub mod job;
pub mod pages;
mod patterns;
mod ptx;
pub mod residency;
pub mod sizes;
mod streams;
mod sums;

use strata_model::experiment::{
    Access, AccessWidth, CODE_BLOCK, ClusterWork, CopyWork, Experiment, LEAST_CODE_BLOCK, Launched, LoadPath, Timing,
    Traffic,
};
use strata_model::units::Bytes;

pub use atomics::AtomicProgram;
pub use dialect::{Capability, Check, Dialect, PTX, Text, all, dialect_for};
pub use patterns::PatternProgram;
pub use streams::{
    CHASES, COMPLEMENT, RECORDED_SM, SCALE, StreamProgram, Way, constants, content, stored, stream_sum, written_sum,
};
pub use sums::{FACTOR, TERM, expected_sum};

/// A kernel of the bench's own, or of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Program {
    /// Writes chains into device memory.
    Link,
    /// Brings a chain into the L2.
    Fill,
    /// Finds the SMs.
    Census,
    /// Measures the clock.
    Clock,
    /// Looks for times in which it is stopped.
    Watch,
    /// A whole-lap chase.
    Lap(LoadPath),
    /// A per-load chase with one or two loads between the clock reads.
    PerLoad(LoadPath, u32),
    /// Two agents: the first is timed, the second disturbs.
    Disturb(LoadPath, LoadPath),
    /// All lanes of a warp, each of which loads so many bytes of shared memory at once.
    Warp(u32),
    /// Threads at work by a pattern.
    Pattern(PatternProgram),
    /// Fills memory for streams.
    Content,
    /// Moves memory.
    Stream(StreamProgram),
    /// Adds to counters.
    Atomics(AtomicProgram),
    /// Uses the shared memory of other blocks of its cluster.
    Distributed(ClusterWork),
    /// Copies that go on by themselves.
    Asynchronous(CopyWork),
    /// Much code to walk through, in blocks of so many bytes.
    Code(Bytes),
    /// Visits to pages whose translations others displace.
    Pages,
    /// Loads of lines that were accessed in this way, timed by this path.
    Residency(Access, LoadPath),
    /// Reads or writes memory, line by line.
    Displacement(Traffic),
    /// Loads of lines, timed while other SMs load one line.
    Contention,
}

/// Paths whose caches may be one and the same: the L1 data, texture, read-only and constant caches (Größler, section 4.5).
pub const DISTURBED_PATHS: [LoadPath; 4] =
    [LoadPath::GlobalCa, LoadPath::Texture, LoadPath::GlobalNc, LoadPath::Constant];

/// What is done to memory that is displaced later.
const DISPLACED: [Traffic; 2] = [Traffic::Read, Traffic::Write];

impl Program {
    /// The kernel that an experiment needs; none for what another tool measured.
    pub fn of(experiment: &Experiment) -> Option<Self> {
        Some(match experiment {
            Experiment::Clock(_) => Program::Clock,
            Experiment::Watch(_) => Program::Watch,
            Experiment::Chase(chase) | Experiment::Launched(Launched { chase, .. }) => match chase.timing {
                Timing::EachLoad { .. } => Program::PerLoad(chase.path.kernel(), 1),
                Timing::EachPair { .. } => Program::PerLoad(chase.path.kernel(), 2),
                Timing::Laps { .. } => Program::Lap(chase.path.kernel()),
            },
            Experiment::Disturb(disturb) => Program::Disturb(disturb.path, disturb.partner.path),
            Experiment::Warp(warp) => Program::Warp(warp.width.bytes().0 as u32),
            Experiment::Pattern(run) => Program::Pattern(PatternProgram::of(run)),
            Experiment::Stream(stream) => Program::Stream(StreamProgram::of(stream)),
            Experiment::LoadedChase(chase) => Program::Stream(StreamProgram::of_chase(chase)),
            Experiment::PartitionStream(stream) => Program::Stream(StreamProgram::of_partition(stream)),
            Experiment::PartitionChase(chase) => Program::Stream(StreamProgram::of_chase(&chase.chase)),
            Experiment::WindowStream(stream) => Program::Stream(StreamProgram::of_windows(stream)),
            Experiment::ClusterStream(stream) => Program::Stream(StreamProgram::of_cluster(stream)),
            Experiment::CopyStream(stream) => Program::Stream(StreamProgram::of_copies(stream)),
            Experiment::Atomics(atomics) => Program::Atomics(AtomicProgram::of(atomics)),
            Experiment::Clusters(_) => Program::Census,
            Experiment::Distributed(distributed) => Program::Distributed(distributed.work),
            Experiment::AsyncCopy(copy) => Program::Asynchronous(copy.work),
            Experiment::CodeWalk(walk) => Program::Code(walk.block),
            Experiment::PageWalk(_) => Program::Pages,
            Experiment::Residency(residency) => Program::Residency(residency.access, residency.path),
            Experiment::Displacement(displacement) => Program::Displacement(displacement.traffic),
            Experiment::Contention(_) => Program::Contention,
            // Copy engines run no kernel.
            Experiment::Transfer(_) | Experiment::Imported(_) => return None,
        })
    }

    /// This kernel and those that whoever needs it usually needs, too, so that they can be compiled at the same time.
    pub fn family(self) -> Vec<Program> {
        let mut family = match self {
            Program::Link | Program::Fill | Program::Census | Program::Clock | Program::Watch => {
                vec![Program::Link, Program::Fill, Program::Census, Program::Clock, Program::Watch]
            }
            Program::Lap(path) | Program::PerLoad(path, _) | Program::Disturb(path, _) => {
                let partners = if DISTURBED_PATHS.contains(&path) { &DISTURBED_PATHS[..] } else { &[] };
                let disturb = partners.iter().map(|&partner| Program::Disturb(path, partner));
                [Program::Lap(path), Program::PerLoad(path, 1)].into_iter().chain(disturb).collect()
            }
            Program::Warp(_) => AccessWidth::ALL.map(|width| Program::Warp(width.bytes().0 as u32)).to_vec(),
            // Generated by numbers, of which a batch says which are needed.
            Program::Pattern(_)
            | Program::Content
            | Program::Code(_)
            | Program::Pages
            | Program::Residency(..)
            | Program::Contention => Vec::new(),
            Program::Stream(_) => vec![Program::Content],
            // Few, and whoever needs one of them needs all.
            Program::Atomics(_) => AtomicProgram::all().into_iter().map(Program::Atomics).collect(),
            Program::Displacement(_) => DISPLACED.map(Program::Displacement).to_vec(),
            Program::Distributed(_) => ClusterWork::ALL.map(Program::Distributed).to_vec(),
            Program::Asynchronous(_) => vec![Program::Content],
        };
        if !family.contains(&self) {
            family.push(self);
        }
        family
    }

    /// Every kernel there is; of those that are generated by a number, some.
    pub fn all() -> Vec<Program> {
        let mut all = vec![Program::Link, Program::Fill, Program::Census, Program::Clock, Program::Watch];
        for path in LoadPath::ALL.into_iter().filter(|path| path.kernel() == *path) {
            all.extend([Program::Lap(path), Program::PerLoad(path, 1), Program::PerLoad(path, 2)]);
        }
        for a in DISTURBED_PATHS {
            all.extend(DISTURBED_PATHS.map(|b| Program::Disturb(a, b)));
        }
        all.extend(AccessWidth::ALL.map(|width| Program::Warp(width.bytes().0 as u32)));
        all.extend(PatternProgram::samples().into_iter().map(Program::Pattern));
        all.push(Program::Content);
        all.extend(StreamProgram::samples().into_iter().map(Program::Stream));
        all.extend(AtomicProgram::all().into_iter().map(Program::Atomics));
        all.extend(ClusterWork::ALL.map(Program::Distributed));
        all.extend(CopyWork::ALL.map(Program::Asynchronous));
        all.extend([Program::Code(CODE_BLOCK), Program::Code(LEAST_CODE_BLOCK), Program::Pages, Program::Contention]);
        all.extend(DISPLACED.map(Program::Displacement));
        for path in [LoadPath::GlobalCa, LoadPath::GlobalCg] {
            all.extend(Access::ALL.iter().map(|&access| Program::Residency(access, path)));
        }
        all
    }

    /// The kernel of this name, also of those that are generated by numbers.
    pub fn named(name: &str) -> Option<Program> {
        let code = [256, 512].map(|block| Program::Code(Bytes(block)));
        let listed = || {
            let streams = StreamProgram::all().into_iter().map(Program::Stream);
            Program::all().into_iter().chain(streams).chain(code)
        };
        let generated = || PatternProgram::generated(name).map(Program::Pattern);
        generated().or_else(|| listed().find(|program| program.name() == name))
    }

    /// The entry point.
    pub fn name(self) -> String {
        match self {
            Program::Link => "link".into(),
            Program::Fill => "fill".into(),
            Program::Census => "census".into(),
            Program::Clock => "clock".into(),
            Program::Watch => "watch".into(),
            Program::Lap(path) => format!("lap_{}", path.name()),
            Program::PerLoad(path, 1) => format!("per_load_{}", path.name()),
            Program::PerLoad(path, _) => format!("per_two_loads_{}", path.name()),
            Program::Disturb(a, b) => format!("disturb_{}_{}", a.name(), b.name()),
            Program::Warp(bytes) => format!("warp_shared_{bytes}"),
            Program::Pattern(program) => program.name(),
            Program::Content => "content".into(),
            Program::Stream(program) => program.name(),
            Program::Atomics(program) => program.name(),
            Program::Distributed(work) => format!("distributed_{}", work.name()),
            Program::Asynchronous(work) => format!("asynchronous_{}", work.name()),
            Program::Code(CODE_BLOCK) => "code".into(),
            Program::Code(block) => format!("code_{}", block.0),
            Program::Pages => "pages".into(),
            Program::Residency(access, path) => format!("residency_{}_{}", access.name(), path.name()),
            Program::Displacement(traffic) => format!("displacement_{}", traffic.name()),
            Program::Contention => "contention".into(),
        }
    }

    /// The paths of its loads: the first agent's and the second's.
    fn paths(self) -> (LoadPath, LoadPath) {
        match self {
            Program::Lap(path) | Program::PerLoad(path, _) => (path, path),
            Program::Disturb(a, b) => (a, b),
            Program::Warp(_) => (LoadPath::Shared, LoadPath::Shared),
            Program::Pattern(program) => (program.path(), program.path()),
            Program::Stream(program) => (program.path, program.path),
            Program::Atomics(program) => (program.path(), program.path()),
            Program::Distributed(_) => (LoadPath::Shared, LoadPath::Shared),
            Program::Residency(_, path) => (path, path),
            _ => (LoadPath::GlobalCg, LoadPath::GlobalCg),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_is_found_by_its_name() {
        let streams = StreamProgram::all().into_iter().map(Program::Stream);
        for program in Program::all().into_iter().chain(streams) {
            assert_eq!(Program::named(&program.name()), Some(program));
        }
        assert_eq!(Program::named("sums_12_0_256"), PatternProgram::generated("sums_12_0_256").map(Program::Pattern));
        assert_eq!(Program::named("stream_read_cg_12_4"), None);
        assert!(StreamProgram::samples().iter().all(|program| StreamProgram::all().contains(program)));
    }

    #[test]
    fn a_generated_kernel_is_found_by_its_name() {
        for program in PatternProgram::samples() {
            let name = program.name();
            let is = ["sums", "intensity", "burst"].iter().any(|stem| name.starts_with(stem));
            assert_eq!(PatternProgram::generated(&name), is.then_some(program), "{name}");
        }
        assert_eq!(PatternProgram::generated("sums_1"), None);
    }
}
