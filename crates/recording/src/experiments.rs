//! An experiment as a recording has it. Version 4 writes the kinds of the model; what older versions wrote is in
//! [`super::legacy`].

use serde::{Deserialize, Serialize};
use strata_model::experiment::{
    AsyncCopy, Atomics, CODE_BLOCK, Chase, Clock, ClusterStream, Clusters, CodeWalk, Contention, CopyStream,
    Displacement, Distributed, Disturb, Experiment, Imported, Launched, LoadedChase, Order, PageWalk, PartitionChase,
    PartitionStream, PatternRun, Residency, Stream, Transfer, Warp, Watch, WindowStream,
};
use strata_model::units::Bytes;

/// How some version of the format has an experiment.
pub trait Recorded {
    /// The experiment; an error says why no experiment can be so.
    fn experiment(self) -> Result<Experiment, String>;

    /// Bytes of offsets that are written out.
    fn listed(&self) -> u64;
}

/// As [`Experiment`], which names its kind in a text format. Here the number of the variant does.
#[derive(Serialize, Deserialize)]
pub enum Kinds {
    Clock(Clock),
    Chase(Chase),
    Disturb(Disturb),
    Warp(Warp),
    Pattern(PatternRun),
    Imported(Imported),
    Watch(Watch),
    Launched(Launched),
    Stream(Stream),
    LoadedChase(LoadedChase),
    Transfer(Transfer),
    Atomics(Atomics),
    Clusters(Clusters),
    Distributed(Distributed),
    PartitionStream(PartitionStream),
    PartitionChase(PartitionChase),
    ClusterStream(ClusterStream),
    AsyncCopy(AsyncCopy),
    CopyStream(CopyStream),
    CodeWalk(WholeBlocks),
    PageWalk(PageWalk),
    WindowStream(WindowStream),
    Residency(Residency),
    Displacement(Displacement),
    CodeBlocks(CodeWalk),
    Contention(Contention),
}

/// A walk through blocks of [`CODE_BLOCK`], from before there were others.
#[derive(Serialize, Deserialize)]
pub struct WholeBlocks {
    footprint: Bytes,
    sm: Option<u32>,
    partner: Option<u32>,
    warm_laps: u32,
    laps: u32,
    repeat: u32,
}

impl From<CodeWalk> for WholeBlocks {
    fn from(walk: CodeWalk) -> Self {
        let CodeWalk { footprint, block: _, sm, partner, warm_laps, laps, repeat } = walk;
        WholeBlocks { footprint, sm, partner, warm_laps, laps, repeat }
    }
}

impl From<WholeBlocks> for CodeWalk {
    fn from(walk: WholeBlocks) -> Self {
        let WholeBlocks { footprint, sm, partner, warm_laps, laps, repeat } = walk;
        CodeWalk { footprint, block: CODE_BLOCK, sm, partner, warm_laps, laps, repeat }
    }
}

impl From<&Experiment> for Kinds {
    fn from(experiment: &Experiment) -> Self {
        match experiment {
            Experiment::Clock(clock) => Kinds::Clock(*clock),
            Experiment::Chase(chase) => Kinds::Chase(chase.clone()),
            Experiment::Disturb(disturb) => Kinds::Disturb(disturb.clone()),
            Experiment::Warp(warp) => Kinds::Warp(warp.clone()),
            Experiment::Pattern(run) => Kinds::Pattern(*run),
            Experiment::Imported(imported) => Kinds::Imported(*imported),
            Experiment::Watch(watch) => Kinds::Watch(*watch),
            Experiment::Launched(launched) => Kinds::Launched(launched.clone()),
            Experiment::Stream(stream) => Kinds::Stream(stream.clone()),
            Experiment::LoadedChase(chase) => Kinds::LoadedChase(chase.clone()),
            Experiment::Transfer(transfer) => Kinds::Transfer(transfer.clone()),
            Experiment::Atomics(atomics) => Kinds::Atomics(atomics.clone()),
            Experiment::Clusters(clusters) => Kinds::Clusters(*clusters),
            Experiment::Distributed(distributed) => Kinds::Distributed(*distributed),
            Experiment::PartitionStream(stream) => Kinds::PartitionStream(stream.clone()),
            Experiment::PartitionChase(chase) => Kinds::PartitionChase(chase.clone()),
            Experiment::ClusterStream(stream) => Kinds::ClusterStream(stream.clone()),
            Experiment::AsyncCopy(copy) => Kinds::AsyncCopy(*copy),
            Experiment::CopyStream(stream) => Kinds::CopyStream(stream.clone()),
            Experiment::CodeWalk(walk) if walk.block == CODE_BLOCK => Kinds::CodeWalk((*walk).into()),
            Experiment::CodeWalk(walk) => Kinds::CodeBlocks(*walk),
            Experiment::PageWalk(walk) => Kinds::PageWalk(walk.clone()),
            Experiment::WindowStream(stream) => Kinds::WindowStream(stream.clone()),
            Experiment::Residency(residency) => Kinds::Residency(residency.clone()),
            Experiment::Displacement(displacement) => Kinds::Displacement(*displacement),
            Experiment::Contention(contention) => Kinds::Contention(contention.clone()),
        }
    }
}

impl Recorded for Kinds {
    fn experiment(self) -> Result<Experiment, String> {
        Ok(match self {
            Kinds::Clock(clock) => clock.into(),
            Kinds::Chase(chase) => chase.into(),
            Kinds::Disturb(disturb) => disturb.into(),
            Kinds::Warp(warp) => warp.into(),
            Kinds::Pattern(run) => run.into(),
            Kinds::Imported(imported) => imported.into(),
            Kinds::Watch(watch) => watch.into(),
            Kinds::Launched(launched) => launched.into(),
            Kinds::Stream(stream) => stream.into(),
            Kinds::LoadedChase(chase) => chase.into(),
            Kinds::Transfer(transfer) => transfer.into(),
            Kinds::Atomics(atomics) => atomics.into(),
            Kinds::Clusters(clusters) => clusters.into(),
            Kinds::Distributed(distributed) => distributed.into(),
            Kinds::PartitionStream(stream) => stream.into(),
            Kinds::PartitionChase(chase) => chase.into(),
            Kinds::ClusterStream(stream) => stream.into(),
            Kinds::AsyncCopy(copy) => copy.into(),
            Kinds::CopyStream(stream) => stream.into(),
            Kinds::CodeWalk(walk) => CodeWalk::from(walk).into(),
            Kinds::PageWalk(walk) => walk.into(),
            Kinds::WindowStream(stream) => stream.into(),
            Kinds::Residency(residency) => residency.into(),
            Kinds::Displacement(displacement) => displacement.into(),
            Kinds::CodeBlocks(walk) => walk.into(),
            Kinds::Contention(contention) => contention.into(),
        })
    }

    fn listed(&self) -> u64 {
        match self {
            Kinds::Chase(Chase { order, .. })
            | Kinds::Disturb(Disturb { order, .. })
            | Kinds::Launched(Launched { chase: Chase { order, .. }, .. }) => listed(order),
            Kinds::Warp(warp) => size_of_val(warp.offsets.as_slice()) as u64,
            Kinds::Stream(stream)
            | Kinds::LoadedChase(LoadedChase { stream, .. })
            | Kinds::ClusterStream(ClusterStream { stream, .. })
            | Kinds::CopyStream(CopyStream { stream, .. }) => size_of_val(stream.sms.as_slice()) as u64,
            Kinds::PartitionStream(stream) => of_partitions(stream),
            Kinds::PartitionChase(PartitionChase { chase, order }) => {
                size_of_val(chase.stream.sms.as_slice()) as u64 + listed(order)
            }
            Kinds::Atomics(atomics) => size_of_val(atomics.sms.as_slice()) as u64,
            Kinds::PageWalk(walk) => of_walk(walk),
            Kinds::Contention(contention) => size_of_val(contention.places.as_slice()) as u64,
            Kinds::WindowStream(stream) => of_windows(stream),
            Kinds::Clock(_)
            | Kinds::Watch(_)
            | Kinds::Pattern(_)
            | Kinds::Imported(_)
            | Kinds::Transfer(_)
            | Kinds::Clusters(_)
            | Kinds::Distributed(_)
            | Kinds::AsyncCopy(_)
            | Kinds::CodeWalk(_)
            | Kinds::CodeBlocks(_)
            | Kinds::Residency(_)
            | Kinds::Displacement(_) => 0,
        }
    }
}

/// Bytes of the lists of a stream by partition.
fn of_partitions(stream: &PartitionStream) -> u64 {
    let PartitionStream { stream, homes, sms, .. } = stream;
    (size_of_val(stream.sms.as_slice()) + homes.pages.len() + sms.len()) as u64
}

/// Bytes of offsets that an experiment writes out; the same as [`Recorded::listed`] of its wire form.
pub fn listed_of(experiment: &Experiment) -> u64 {
    match experiment {
        Experiment::Warp(warp) => size_of_val(warp.offsets.as_slice()) as u64,
        Experiment::Stream(stream)
        | Experiment::LoadedChase(LoadedChase { stream, .. })
        | Experiment::ClusterStream(ClusterStream { stream, .. })
        | Experiment::CopyStream(CopyStream { stream, .. }) => size_of_val(stream.sms.as_slice()) as u64,
        Experiment::PartitionStream(stream) => of_partitions(stream),
        Experiment::PartitionChase(PartitionChase { chase, order }) => {
            size_of_val(chase.stream.sms.as_slice()) as u64 + listed(order)
        }
        Experiment::Atomics(atomics) => size_of_val(atomics.sms.as_slice()) as u64,
        Experiment::PageWalk(walk) => of_walk(walk),
        Experiment::WindowStream(stream) => of_windows(stream),
        other => other.chain().map_or(0, |chain| listed(chain.order)),
    }
}

/// Bytes of the lists of SMs of a walk over pages.
fn of_walk(walk: &PageWalk) -> u64 {
    (size_of_val(walk.walkers.as_slice()) + size_of_val(walk.partners.as_slice())) as u64
}

/// Bytes of the lists of SMs of a stream by window.
fn of_windows(stream: &WindowStream) -> u64 {
    (size_of_val(stream.stream.sms.as_slice()) + stream.sms.len()) as u64
}

fn listed(order: &Order) -> u64 {
    match order {
        Order::Listed { offsets } => size_of_val(offsets.as_slice()) as u64,
        _ => 0,
    }
}
