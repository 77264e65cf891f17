//! What to do on the device: an experiment is data.
//!
//! A probe writes experiments, the bench runs them, a recording keeps them. Two experiments that are equal ask for the
//! same thing, so a sample is found again by the content of its experiment. Nothing here knows how a device is driven.
//!
//! [`Experiment`] has a variant for each kind, and each kind only the fields that it needs. What a type cannot rule out (a
//! stride that is no multiple of the element, offsets outside of the footprint) is left to the kind's `defect`, because an
//! experiment may come from a file that anyone wrote.
//!
//! A new kind is a new variant. The compiler then names every place that must know of it, which is why the enum is
//! exhaustive: the accessors below, the choice of the kernel, the bench, the wire format, the evidence and the tables.

mod async_copy;
mod atomics;
mod chase;
mod clock;
mod cluster_stream;
mod clusters;
mod code_walk;
mod contention;
mod copy_stream;
mod displacement;
mod distributed;
mod disturb;
mod imported;
mod launched;
mod load_path;
mod loaded_chase;
mod order;
mod page_walk;
mod partitioned;
mod pattern_run;
mod persistent;
mod place;
mod residency;
mod stream;
mod transfer;
mod warp;
mod watch;
mod window_stream;

use serde::{Deserialize, Serialize};

pub use async_copy::{AsyncCopy, COPY_UNIT, COPY_UNROLL, CopyWork};
pub use atomics::{ATOMIC_UNROLLS, AtomicMemory, Atomics, COUNTER, Target};
pub use chase::{Chase, Timing, Walk};
pub use clock::Clock;
pub use cluster_stream::ClusterStream;
pub use clusters::Clusters;
pub use code_walk::{CODE, CODE_BLOCK, CODE_GROUP, CodeWalk, INSTRUCTION, LEAST_CODE_BLOCK, PARTNER_CODE};
pub use contention::{CHAINS, CONTENDED, Contention, MOST_LOADED, PLACE};
pub use copy_stream::CopyStream;
pub use displacement::{Displacement, LONGEST_PAUSE, STORED};
pub use distributed::{CHAIN, ClusterWork, Distributed, UNROLL as STEPS_A_PASS};
pub use disturb::{Disturb, Partner};
pub use imported::Imported;
pub use launched::Launched;
pub use load_path::{LoadPath, Side};
pub use loaded_chase::LoadedChase;
pub use order::{Chain, LARGE_PAGE, Order, pages_span};
pub use page_walk::PageWalk;
pub use partitioned::{HomeMap, PartitionChase, PartitionStream};
pub use pattern_run::PatternRun;
pub use persistent::{Counted, Persistent};
pub use place::{BEYOND_L2, Place, Prepare};
pub use residency::{Access, Residency, Reuse};
pub use stream::{Content, Region, Stream, Traffic, UNROLLS};
pub use transfer::{Direction, Transfer};
pub use warp::{AccessWidth, BankWidth, WARP, Warp};
pub use watch::{Watch, Watched};
pub use window_stream::{MOST_DRAWN, WindowStream};

use crate::units::Bytes;

/// One experiment. In JSON it is an object whose `kind` names the variant, beside the fields of that kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Experiment {
    /// The SM clock.
    Clock(Clock),
    /// One thread walks a chain of dependent loads.
    Chase(Chase),
    /// One thread walks a chain, another disturbs it.
    Disturb(Disturb),
    /// All lanes of a warp load from shared memory.
    Warp(Warp),
    /// Threads at work by a pattern.
    Pattern(PatternRun),
    /// Loads that another tool timed.
    Imported(Imported),
    /// Whether something else takes the device away for a while.
    Watch(Watch),
    /// One thread of a launch of many walks a chain.
    Launched(Launched),
    /// Many threads move memory as fast as they can.
    Stream(Stream),
    /// One thread walks a chain while others move memory.
    LoadedChase(LoadedChase),
    /// Copy engines move data to or from host memory.
    Transfer(Transfer),
    /// Many threads add to counters as fast as they can.
    Atomics(Atomics),
    /// Blocks in clusters say where they are.
    Clusters(Clusters),
    /// Blocks of a cluster use each other's shared memory.
    Distributed(Distributed),
    /// Many threads move memory of one partition of the L2 as fast as they can.
    PartitionStream(PartitionStream),
    /// One thread walks a chain through one partition of the L2 while others move memory.
    PartitionChase(PartitionChase),
    /// Many threads move the shared memory of other blocks of their cluster as fast as they can.
    ClusterStream(ClusterStream),
    /// A thread makes copies that go on by themselves.
    AsyncCopy(AsyncCopy),
    /// Many threads make copies that go on by themselves, as fast as they can.
    CopyStream(CopyStream),
    /// A thread, or one on each SM, walks through code.
    CodeWalk(CodeWalk),
    /// Threads on several SMs visit pages, and others displace their translations.
    PageWalk(PageWalk),
    /// Many threads read at random, those of each SM from a window of the memory, as fast as they can.
    WindowStream(WindowStream),
    /// A thread times loads of lines that were accessed in some way before other memory was read.
    Residency(Residency),
    /// Many threads read memory that displaces what was read or written before.
    Displacement(Displacement),
    /// A thread times loads of lines while other SMs load one line over and over.
    Contention(Contention),
}

impl Experiment {
    /// A short name of what is measured, for tables and files: `clock`, `lap`, `per_load`, `per_two_loads`, `disturb`, `warp`,
    /// `pattern`, `imported`, `watch`, `launched`, `stream`, `loaded_chase`, `transfer`, `atomics`, `clusters`,
    /// `distributed`, `partition_stream`, `partition_chase`, `cluster_stream`, `async_copy`, `copy_stream`,
    /// `code_walk`, `page_walk`, `window_stream`, `residency`, `displacement`, `contention`.
    pub fn name(&self) -> &'static str {
        match self {
            Experiment::Clock(_) => "clock",
            Experiment::Chase(chase) => match chase.timing {
                Timing::Laps { .. } => "lap",
                Timing::EachLoad { .. } => "per_load",
                Timing::EachPair { .. } => "per_two_loads",
            },
            Experiment::Disturb(_) => "disturb",
            Experiment::Warp(_) => "warp",
            Experiment::Pattern(_) => "pattern",
            Experiment::Imported(_) => "imported",
            Experiment::Watch(_) => "watch",
            Experiment::Launched(_) => "launched",
            Experiment::Stream(_) => "stream",
            Experiment::LoadedChase(_) => "loaded_chase",
            Experiment::Transfer(_) => "transfer",
            Experiment::Atomics(_) => "atomics",
            Experiment::Clusters(_) => "clusters",
            Experiment::Distributed(_) => "distributed",
            Experiment::PartitionStream(_) => "partition_stream",
            Experiment::PartitionChase(_) => "partition_chase",
            Experiment::ClusterStream(_) => "cluster_stream",
            Experiment::AsyncCopy(_) => "async_copy",
            Experiment::CopyStream(_) => "copy_stream",
            Experiment::CodeWalk(_) => "code_walk",
            Experiment::PageWalk(_) => "page_walk",
            Experiment::WindowStream(_) => "window_stream",
            Experiment::Residency(_) => "residency",
            Experiment::Displacement(_) => "displacement",
            Experiment::Contention(_) => "contention",
        }
    }

    /// Version of the kernel that runs it. Raised when the kernel's text changes so that its samples mean something else.
    pub fn kernel_version(&self) -> u16 {
        match self {
            Experiment::Clock(_)
            | Experiment::Chase(_)
            | Experiment::Disturb(_)
            | Experiment::Warp(_)
            | Experiment::Pattern(_)
            | Experiment::Imported(_)
            | Experiment::Watch(_)
            | Experiment::Launched(_)
            | Experiment::Stream(_)
            | Experiment::LoadedChase(_)
            | Experiment::Transfer(_)
            | Experiment::Atomics(_)
            | Experiment::Clusters(_)
            | Experiment::Distributed(_)
            | Experiment::PartitionStream(_)
            | Experiment::PartitionChase(_)
            | Experiment::ClusterStream(_)
            | Experiment::AsyncCopy(_)
            | Experiment::CopyStream(_)
            | Experiment::CodeWalk(_)
            | Experiment::PageWalk(_)
            | Experiment::WindowStream(_)
            | Experiment::Residency(_)
            | Experiment::Displacement(_)
            | Experiment::Contention(_) => 1,
        }
    }

    /// What makes the experiment impossible, if anything does.
    pub fn defect(&self) -> Option<String> {
        match self {
            Experiment::Clock(_) | Experiment::Watch(_) => None,
            Experiment::Chase(chase) => chase.defect(),
            Experiment::Launched(launched) => launched.defect(),
            Experiment::Disturb(disturb) => disturb.defect(),
            Experiment::Warp(warp) => warp.defect(),
            Experiment::Pattern(run) => run.defect(),
            Experiment::Stream(stream) => stream.defect(),
            Experiment::LoadedChase(loaded) => loaded.defect(),
            Experiment::Transfer(transfer) => transfer.defect(),
            Experiment::Atomics(atomics) => atomics.defect(),
            Experiment::Clusters(clusters) => clusters.defect(),
            Experiment::Distributed(distributed) => distributed.defect(),
            Experiment::PartitionStream(stream) => stream.defect(),
            Experiment::PartitionChase(chase) => chase.defect(),
            Experiment::ClusterStream(stream) => stream.defect(),
            Experiment::AsyncCopy(copy) => copy.defect(),
            Experiment::CopyStream(stream) => stream.defect(),
            Experiment::CodeWalk(walk) => walk.defect(),
            Experiment::PageWalk(walk) => walk.defect(),
            Experiment::WindowStream(stream) => stream.defect(),
            Experiment::Residency(residency) => residency.defect(),
            Experiment::Displacement(displacement) => displacement.defect(),
            Experiment::Contention(contention) => contention.defect(),
            Experiment::Imported(_) => {
                Some("these timings come from another tool: they can be analysed, but not run again".into())
            }
        }
    }

    /// The path of its loads; none for the clock, the watch, copies, clusters and code.
    pub fn path(&self) -> Option<LoadPath> {
        match self {
            Experiment::Clock(_)
            | Experiment::Watch(_)
            | Experiment::Transfer(_)
            | Experiment::Clusters(_)
            | Experiment::CodeWalk(_) => None,
            Experiment::Distributed(_) => Some(LoadPath::Shared),
            Experiment::AsyncCopy(_)
            | Experiment::PageWalk(_)
            | Experiment::Displacement(_)
            | Experiment::Contention(_) => Some(LoadPath::GlobalCg),
            Experiment::Chase(chase) | Experiment::Launched(Launched { chase, .. }) => Some(chase.path),
            Experiment::Disturb(disturb) => Some(disturb.path),
            Experiment::Warp(_) => Some(LoadPath::Shared),
            Experiment::Pattern(run) => Some(run.path),
            Experiment::Stream(_)
            | Experiment::LoadedChase(_)
            | Experiment::PartitionStream(_)
            | Experiment::PartitionChase(_)
            | Experiment::ClusterStream(_)
            | Experiment::CopyStream(_)
            | Experiment::WindowStream(_) => self.stream().map(|stream| stream.path),
            Experiment::Atomics(atomics) => Some(atomics.path()),
            Experiment::Residency(residency) => Some(residency.path),
            Experiment::Imported(imported) => Some(imported.path),
        }
    }

    /// Memory or code that it walks; none for the clock, the watch and clusters, and where another tool's files do not say.
    pub fn footprint(&self) -> Option<Bytes> {
        match self {
            Experiment::Clock(_) | Experiment::Watch(_) | Experiment::Clusters(_) => None,
            Experiment::Distributed(_) => Some(CHAIN.1 * u64::from(CHAIN.0)),
            Experiment::Chase(chase) | Experiment::Launched(Launched { chase, .. }) => Some(chase.footprint),
            Experiment::Disturb(disturb) => Some(disturb.footprint),
            Experiment::Warp(warp) => Some(warp.footprint),
            Experiment::Pattern(run) => Some(run.pattern.footprint()),
            Experiment::Stream(stream)
            | Experiment::PartitionStream(PartitionStream { stream, .. })
            | Experiment::ClusterStream(ClusterStream { stream, .. })
            | Experiment::CopyStream(CopyStream { stream, .. })
            | Experiment::WindowStream(WindowStream { stream, .. }) => Some(stream.footprint),
            Experiment::LoadedChase(loaded) | Experiment::PartitionChase(PartitionChase { chase: loaded, .. }) => {
                Some(loaded.footprint)
            }
            Experiment::Transfer(transfer) => Some(transfer.bytes),
            Experiment::AsyncCopy(copy) => Some(copy.bytes),
            Experiment::CodeWalk(walk) => Some(walk.footprint),
            Experiment::PageWalk(walk) => Some(Bytes(walk.window().0.saturating_mul(2))),
            Experiment::Residency(residency) => Some(residency.span()),
            Experiment::Displacement(displacement) => Some(displacement.after),
            Experiment::Contention(_) => Some(CONTENDED),
            Experiment::Atomics(atomics) => Some(atomics.footprint()),
            Experiment::Imported(imported) => imported.footprint,
        }
    }

    /// Distance of neighbouring elements of a chain; none where there is no chain, or another tool's files do not say.
    pub fn stride(&self) -> Option<Bytes> {
        match self {
            Experiment::Chase(chase) | Experiment::Launched(Launched { chase, .. }) => Some(chase.stride),
            Experiment::Disturb(disturb) => Some(disturb.stride),
            Experiment::Imported(imported) => imported.stride,
            Experiment::PageWalk(walk) => Some(walk.distance),
            Experiment::Residency(residency) => Some(residency.distance),
            Experiment::Displacement(displacement) => Some(displacement.step),
            Experiment::LoadedChase(loaded) | Experiment::PartitionChase(PartitionChase { chase: loaded, .. }) => {
                Some(loaded.stride)
            }
            Experiment::Clock(_)
            | Experiment::Watch(_)
            | Experiment::Warp(_)
            | Experiment::Pattern(_)
            | Experiment::Stream(_)
            | Experiment::Transfer(_)
            | Experiment::Atomics(_)
            | Experiment::Clusters(_)
            | Experiment::Distributed(_)
            | Experiment::PartitionStream(_)
            | Experiment::ClusterStream(_)
            | Experiment::AsyncCopy(_)
            | Experiment::CopyStream(_)
            | Experiment::WindowStream(_)
            | Experiment::Contention(_)
            | Experiment::CodeWalk(_) => None,
        }
    }

    /// The chain that its (first) thread walks, if it walks one.
    pub fn chain(&self) -> Option<Chain<'_>> {
        match self {
            Experiment::Chase(chase) | Experiment::Launched(Launched { chase, .. }) => Some(chase.chain()),
            Experiment::Disturb(disturb) => Some(disturb.chain()),
            Experiment::LoadedChase(loaded) => Some(loaded.chain()),
            Experiment::PartitionChase(chase) => Some(chase.chain()),
            Experiment::Clock(_)
            | Experiment::Watch(_)
            | Experiment::Warp(_)
            | Experiment::Pattern(_)
            | Experiment::Stream(_)
            | Experiment::Transfer(_)
            | Experiment::Atomics(_)
            | Experiment::Clusters(_)
            | Experiment::Distributed(_)
            | Experiment::PartitionStream(_)
            | Experiment::ClusterStream(_)
            | Experiment::AsyncCopy(_)
            | Experiment::CopyStream(_)
            | Experiment::CodeWalk(_)
            | Experiment::PageWalk(_)
            | Experiment::WindowStream(_)
            | Experiment::Residency(_)
            | Experiment::Displacement(_)
            | Experiment::Contention(_)
            | Experiment::Imported(_) => None,
        }
    }

    /// What many threads move, if they do.
    pub fn stream(&self) -> Option<&Stream> {
        match self {
            Experiment::Stream(stream)
            | Experiment::LoadedChase(LoadedChase { stream, .. })
            | Experiment::PartitionStream(PartitionStream { stream, .. })
            | Experiment::ClusterStream(ClusterStream { stream, .. })
            | Experiment::CopyStream(CopyStream { stream, .. })
            | Experiment::WindowStream(WindowStream { stream, .. })
            | Experiment::PartitionChase(PartitionChase { chase: LoadedChase { stream, .. }, .. }) => Some(stream),
            _ => None,
        }
    }

    /// The agent that disturbs a chain.
    pub fn partner(&self) -> Option<&Partner> {
        match self {
            Experiment::Disturb(disturb) => Some(&disturb.partner),
            _ => None,
        }
    }

    /// Where it runs, for the kinds that may choose.
    pub fn place(&self) -> Option<&Place> {
        match self {
            Experiment::Chase(chase) | Experiment::Launched(Launched { chase, .. }) => Some(&chase.place),
            Experiment::Disturb(disturb) => Some(&disturb.place),
            Experiment::Warp(warp) => Some(&warp.place),
            Experiment::Clock(_)
            | Experiment::Watch(_)
            | Experiment::Pattern(_)
            | Experiment::Stream(_)
            | Experiment::LoadedChase(_)
            | Experiment::Transfer(_)
            | Experiment::Atomics(_)
            | Experiment::Clusters(_)
            | Experiment::Distributed(_)
            | Experiment::PartitionStream(_)
            | Experiment::PartitionChase(_)
            | Experiment::ClusterStream(_)
            | Experiment::AsyncCopy(_)
            | Experiment::CopyStream(_)
            | Experiment::CodeWalk(_)
            | Experiment::PageWalk(_)
            | Experiment::WindowStream(_)
            | Experiment::Residency(_)
            | Experiment::Displacement(_)
            | Experiment::Contention(_)
            | Experiment::Imported(_) => None,
        }
    }

    /// The SM that is asked for, counted from 0 in ascending `%smid`; any when absent.
    pub fn sm(&self) -> Option<u32> {
        match self {
            Experiment::Clock(clock) => Some(clock.sm),
            Experiment::Watch(watch) => Some(watch.sm),
            Experiment::AsyncCopy(copy) => Some(copy.sm),
            Experiment::CodeWalk(walk) => walk.sm,
            Experiment::Contention(contention) => Some(contention.sm),
            Experiment::LoadedChase(loaded) | Experiment::PartitionChase(PartitionChase { chase: loaded, .. }) => {
                Some(loaded.sm)
            }
            other => other.place().and_then(|place| place.sm),
        }
    }

    /// Nothing else may run on the device.
    pub fn alone(&self) -> bool {
        match self {
            Experiment::Clock(_)
            | Experiment::Watch(_)
            | Experiment::Pattern(_)
            | Experiment::Stream(_)
            | Experiment::LoadedChase(_)
            | Experiment::Transfer(_)
            | Experiment::Atomics(_)
            | Experiment::Clusters(_)
            | Experiment::Distributed(_)
            | Experiment::PartitionStream(_)
            | Experiment::PartitionChase(_)
            | Experiment::ClusterStream(_)
            | Experiment::AsyncCopy(_)
            | Experiment::CopyStream(_)
            | Experiment::CodeWalk(_)
            | Experiment::PageWalk(_)
            | Experiment::WindowStream(_)
            | Experiment::Residency(_)
            | Experiment::Displacement(_)
            | Experiment::Contention(_) => true,
            other => other.place().is_some_and(|place| place.alone),
        }
    }

    /// Share of the unified memory asked for as shared memory, in per cent; the driver's choice when absent.
    pub fn carveout_percent(&self) -> Option<u8> {
        match self {
            Experiment::Pattern(run) => run.carveout_percent,
            other => other.place().and_then(|place| place.carveout_percent),
        }
    }

    /// What is done to the L2 before the kernel starts.
    pub fn prepare(&self) -> Prepare {
        match self {
            Experiment::Chase(chase) | Experiment::Launched(Launched { chase, .. }) => chase.prepare,
            Experiment::Disturb(disturb) => disturb.prepare,
            Experiment::Pattern(run) => run.prepare,
            Experiment::Stream(_)
            | Experiment::LoadedChase(_)
            | Experiment::PartitionStream(_)
            | Experiment::PartitionChase(_)
            | Experiment::ClusterStream(_)
            | Experiment::CopyStream(_)
            | Experiment::WindowStream(_) => self.stream().map_or(Prepare::Nothing, |stream| stream.prepare),
            Experiment::Clock(_)
            | Experiment::Watch(_)
            | Experiment::Warp(_)
            | Experiment::Transfer(_)
            | Experiment::Atomics(_)
            | Experiment::Clusters(_)
            | Experiment::Distributed(_)
            | Experiment::AsyncCopy(_)
            | Experiment::CodeWalk(_)
            | Experiment::PageWalk(_)
            | Experiment::Residency(_)
            | Experiment::Displacement(_)
            | Experiment::Contention(_)
            | Experiment::Imported(_) => Prepare::Nothing,
        }
    }

    /// Tells repetitions of one experiment apart.
    pub fn repeat(&self) -> u32 {
        match self {
            Experiment::Clock(clock) => clock.repeat,
            Experiment::Watch(watch) => watch.repeat,
            Experiment::Chase(chase) | Experiment::Launched(Launched { chase, .. }) => chase.repeat,
            Experiment::Disturb(disturb) => disturb.repeat,
            Experiment::Warp(warp) => warp.repeat,
            Experiment::Pattern(run) => run.repeat,
            Experiment::Stream(_)
            | Experiment::LoadedChase(_)
            | Experiment::PartitionStream(_)
            | Experiment::PartitionChase(_)
            | Experiment::ClusterStream(_)
            | Experiment::CopyStream(_)
            | Experiment::WindowStream(_) => self.stream().map_or(0, |stream| stream.repeat),
            Experiment::Transfer(transfer) => transfer.repeat,
            Experiment::Atomics(atomics) => atomics.repeat,
            Experiment::Clusters(clusters) => clusters.repeat,
            Experiment::Distributed(distributed) => distributed.repeat,
            Experiment::AsyncCopy(copy) => copy.repeat,
            Experiment::CodeWalk(walk) => walk.repeat,
            Experiment::PageWalk(walk) => walk.repeat,
            Experiment::Residency(residency) => residency.repeat,
            Experiment::Displacement(displacement) => displacement.repeat,
            Experiment::Contention(contention) => contention.repeat,
            Experiment::Imported(imported) => imported.repeat,
        }
    }
}

macro_rules! from_kind {
    ($($kind:ident => $variant:ident),*) => {$(
        impl From<$kind> for Experiment {
            fn from(of_a_kind: $kind) -> Self {
                Experiment::$variant(of_a_kind)
            }
        }
    )*};
}

from_kind!(
    Clock => Clock, Chase => Chase, Disturb => Disturb, Warp => Warp, PatternRun => Pattern, Imported => Imported,
    Watch => Watch, Launched => Launched, Stream => Stream, LoadedChase => LoadedChase,
    Transfer => Transfer, Atomics => Atomics, Clusters => Clusters,
    Distributed => Distributed, PartitionStream => PartitionStream, PartitionChase => PartitionChase,
    ClusterStream => ClusterStream, AsyncCopy => AsyncCopy,
    CopyStream => CopyStream, CodeWalk => CodeWalk,
    PageWalk => PageWalk, WindowStream => WindowStream, Residency => Residency,
    Displacement => Displacement, Contention => Contention
);

#[cfg(test)]
mod tests;
