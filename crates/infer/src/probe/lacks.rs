//! Whether samples are as many as their experiment asks for. A recording of another's making may hold fewer.

use strata_model::experiment::{
    Atomics, CopyStream, Experiment, Launched, PartitionChase, PartitionStream, Stream, Timing, WindowStream,
};
use strata_model::pattern::Pattern;
use strata_model::samples::Samples;

/// What is missing of what the experiment asks for, if anything is.
pub fn lacks(samples: &Samples, experiment: &Experiment) -> Option<String> {
    let latencies = |wanted: u32| (samples.latencies.len(), wanted as usize, "latencies");
    let laps = |rounds: u32| (samples.laps.len(), 2 * rounds as usize, "times of laps");
    let (found, wanted, what) = match experiment {
        Experiment::Clock(_) => (samples.clocks.len().min(1), 1, "clock readings"),
        Experiment::Watch(_) => (samples.clocks.len(), 3, "clock readings"),
        Experiment::Chase(chase) | Experiment::Launched(Launched { chase, .. }) => match chase.timing {
            Timing::EachLoad { loads, .. } => latencies(loads),
            Timing::EachPair { pairs } => latencies(pairs),
            Timing::Laps { rounds, .. } => laps(rounds),
        },
        Experiment::Disturb(disturb) => latencies(disturb.loads),
        Experiment::Warp(warp) => laps(warp.rounds),
        Experiment::Pattern(run) => match run.pattern {
            Pattern::Pairs { .. } => latencies(run.pattern.operations()),
            _ => (samples.laps.len(), run.rounds as usize, "times of rounds"),
        },
        Experiment::Stream(Stream { sms, blocks_per_sm, .. })
        | Experiment::CopyStream(CopyStream { stream: Stream { sms, blocks_per_sm, .. }, .. })
        | Experiment::WindowStream(WindowStream { stream: Stream { sms, blocks_per_sm, .. }, .. })
        | Experiment::Atomics(Atomics { sms, blocks_per_sm, .. }) => {
            let sms = if sms.is_empty() { samples.laps.len() / (*blocks_per_sm).max(1) as usize } else { sms.len() };
            (samples.laps.len(), sms.max(1) * *blocks_per_sm as usize, "times of blocks")
        }
        Experiment::PartitionStream(PartitionStream { stream, sms, .. }) => {
            let blocks = stream.workers(sms.len()).len() * stream.blocks_per_sm as usize;
            (samples.laps.len(), blocks, "times of blocks")
        }
        // The pauses decide how many loads end in the time that counts.
        Experiment::LoadedChase(chase) | Experiment::PartitionChase(PartitionChase { chase, .. }) => {
            let blocks = chase.stream.blocks_per_sm.max(1) as usize;
            (samples.laps.len() % blocks, 0, "times of blocks too many")
        }
        Experiment::ClusterStream(stream) => {
            // Laps and SMs are as many as blocks.
            let found = samples.laps.len().min(samples.sms.len());
            (found, stream.clusters().blocks() as usize, "times and SMs of blocks")
        }
        Experiment::Clusters(clusters) => (samples.sms.len(), clusters.blocks() as usize, "SMs of blocks"),
        Experiment::AsyncCopy(copy) => laps(copy.rounds),
        Experiment::CodeWalk(walk) => {
            let walkers = if walk.sm.is_some() { 1 } else { samples.sms.len().max(1) };
            (samples.laps.len(), walkers * walk.laps as usize, "times of laps")
        }
        Experiment::PageWalk(walk) => (samples.laps.len(), walk.times(), "times of laps"),
        Experiment::Residency(residency) => latencies(residency.lines),
        Experiment::Contention(contention) => latencies(contention.loads() as u32),
        // As many as there are blocks, each on an SM.
        Experiment::Displacement(_) => latencies(samples.sms.len().max(1) as u32),
        Experiment::Distributed(distributed) => (samples.laps.len(), distributed.times(), "times of rounds"),
        Experiment::Transfer(_) => (samples.clocks.len(), 1, "times"),
        Experiment::Imported(imported) => latencies(imported.loads),
    };
    (found != wanted).then(|| format!("the samples hold {found} {what}, not {wanted}"))
}
