//! The table of experiments: one row for each, and one column for whatever several kinds of them have.

use std::io;

use super::table::{Maybe, Rows};
use serde::Serialize;
use strata_model::experiment::{
    BankWidth, COUNTER, Chain, Experiment, Launched, LoadPath, Order, Prepare, Timing, Walk,
};
use strata_model::units::Bytes;
use strata_recording::Entry;

/// Columns of `experiments.csv`.
pub(super) const EXPERIMENTS: &[&str] = &[
    "number",
    "kernel",
    "kernel_version",
    "path",
    "footprint_B",
    "stride_B",
    "order",
    "granule_B",
    "page_B",
    "lines_per_page",
    "first_page",
    "offsets_B",
    "bank_width_B",
    "pattern",
    "warm_laps",
    "timed_loads",
    "rounds",
    "walk",
    "prepare",
    "fill_passes",
    "alone",
    "sm_asked",
    "allocation",
    "carveout_percent",
    "partner_path",
    "partner_footprint_B",
    "partner_stride_B",
    "partner_thread",
    "partner_block_threads",
    "seed",
    "repeat",
    "at_s",
    "outcome",
    "failure",
    "smid",
    "base_address",
    "threads_per_block",
    "shared_per_block_B",
    "laps_between_windows",
];

/// The row of an experiment.
pub(super) fn experiment(rows: &mut Rows, entry: &Entry) -> io::Result<()> {
    let e = &entry.experiment;
    let own = Own::of(e)?;
    let prepare = match e {
        Experiment::Clock(_) | Experiment::Watch(_) | Experiment::Warp(_) | Experiment::Imported(_) => None,
        other => Some(other.prepare()),
    };
    let (prepare, passes) = match prepare {
        None => (None, None),
        Some(Prepare::Nothing) => (Some("nothing"), None),
        Some(Prepare::FlushL2) => (Some("flush_l2"), None),
        Some(Prepare::Fill { passes }) => (Some("fill"), Some(passes)),
    };
    let (partner, place) = (e.partner(), e.place());
    let launched = match e {
        Experiment::Launched(launched) => Some(launched),
        _ => None,
    };
    let (outcome, failure) = match &entry.outcome {
        Ok(_) => ("measured", String::new()),
        Err(failure) => ("failed", failure.to_string()),
    };
    let samples = entry.outcome.as_ref().ok();
    let list = |all: &[u64]| all.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
    rows.row(&[
        &entry.number,
        &e.name(),
        &entry.kernel_version,
        &Maybe(e.path().map(LoadPath::name)),
        &Maybe(e.footprint().map(Bytes::get)),
        &Maybe(own.stride.map(Bytes::get)),
        &Maybe(own.order),
        &Maybe(own.granule.map(Bytes::get)),
        &Maybe(own.page.map(Bytes::get)),
        &Maybe(own.lines_per_page),
        &Maybe(own.first),
        &Maybe(own.offsets.map(list)),
        &Maybe(own.bank_width.map(Bytes::get)),
        &Maybe(own.pattern),
        &Maybe(own.warm_laps),
        &Maybe(own.timed_loads),
        &Maybe(own.rounds),
        &Maybe(own.walk),
        &Maybe(prepare),
        &Maybe(passes),
        &e.alone(),
        &Maybe(e.sm()),
        &Maybe(place.filter(|_| e.chain().is_some()).map(|place| place.allocation)),
        &Maybe(e.carveout_percent()),
        &Maybe(partner.map(|p| p.path.name())),
        &Maybe(partner.map(|p| p.footprint.0)),
        &Maybe(partner.map(|p| p.stride.0)),
        &Maybe(partner.map(|p| p.thread)),
        &Maybe(partner.map(|p| p.block_threads)),
        &Maybe(own.seed),
        &e.repeat(),
        &entry.at_s,
        &outcome,
        &failure,
        &Maybe(samples.map(|s| s.sm)),
        &Maybe(samples.filter(|s| s.base != 0).map(|s| format!("{:#x}", s.base))),
        &Maybe(launched.map(|l| l.threads_per_block)),
        &Maybe(launched.map(|l| l.shared_per_block.get())),
        &Maybe(own.laps_between),
    ])
}

/// Cells that only some kinds of experiments have.
#[derive(Default)]
struct Own<'e> {
    /// Distance of neighbouring elements; of a warp, the width of an access.
    stride: Option<Bytes>,
    order: Option<&'static str>,
    granule: Option<Bytes>,
    page: Option<Bytes>,
    lines_per_page: Option<u32>,
    first: Option<u64>,
    offsets: Option<&'e [u64]>,
    bank_width: Option<Bytes>,
    /// What no other column has, as JSON.
    pattern: Option<String>,
    warm_laps: Option<u32>,
    /// Loads or pairs of them that are timed, of whole laps those of the shorter measurement; operations of a pattern.
    timed_loads: Option<u32>,
    rounds: Option<u32>,
    walk: Option<&'static str>,
    laps_between: Option<u32>,
    seed: Option<u64>,
}

impl<'e> Own<'e> {
    fn of(experiment: &'e Experiment) -> io::Result<Self> {
        Ok(match experiment {
            Experiment::Clock(clock) => Own { pattern: Some(serde_json::to_string(clock)?), ..Own::default() },
            Experiment::Watch(watch) => Own { pattern: Some(serde_json::to_string(watch)?), ..Own::default() },
            Experiment::Chase(chase) | Experiment::Launched(Launched { chase, .. }) => {
                let (timed_loads, rounds, walk) = match chase.timing {
                    Timing::EachLoad { loads, walk } => (loads, None, Some(walk)),
                    Timing::EachPair { pairs } => (pairs, None, Some(Walk::Straight)),
                    Timing::Laps { loads, rounds } => (loads, Some(rounds), None),
                };
                let (warm_laps, timed_loads) = (Some(chase.warm_laps), Some(timed_loads));
                let laps_between = walk.map(Walk::laps_between);
                let walk = walk.map(|walk| if walk == Walk::Straight { "straight" } else { "resident" });
                Own { warm_laps, timed_loads, rounds, walk, laps_between, ..Own::of_chain(chase.chain()) }
            }
            Experiment::Disturb(disturb) => Own {
                warm_laps: Some(disturb.warm_laps),
                timed_loads: Some(disturb.loads),
                ..Own::of_chain(disturb.chain())
            },
            Experiment::Warp(warp) => Own {
                stride: Some(warp.width.bytes()),
                order: Some("lanes"),
                offsets: Some(warp.offsets.as_slice()),
                bank_width: warp.bank_width.map(BankWidth::bytes),
                warm_laps: Some(warp.warm_loads),
                timed_loads: Some(warp.loads),
                rounds: Some(warp.rounds),
                ..Own::default()
            },
            Experiment::Pattern(run) => Own {
                order: Some("pattern"),
                pattern: Some(serde_json::to_string(&run.pattern)?),
                timed_loads: Some(run.pattern.operations()),
                rounds: Some(run.rounds),
                seed: Some(run.seed),
                ..Own::default()
            },
            Experiment::Stream(stream) => Own { stride: Some(stream.width.bytes()), ..Own::in_json("stream", stream)? },
            Experiment::PartitionStream(of) => {
                let order = if of.is_far { "far" } else { "near" };
                Own { stride: Some(of.stream.width.bytes()), ..Own::in_json(order, of)? }
            }
            Experiment::ClusterStream(of) => {
                Own { stride: Some(of.stream.width.bytes()), ..Own::in_json("clusters", of)? }
            }
            Experiment::CopyStream(of) => {
                Own { stride: Some(of.stream.width.bytes()), ..Own::in_json(of.by.name(), of)? }
            }
            Experiment::WindowStream(of) => {
                Own { stride: Some(of.stream.width.bytes()), ..Own::in_json("windows", of)? }
            }
            // The list is in a column of its own.
            Experiment::PartitionChase(chase) => {
                Own { pattern: Some(serde_json::to_string(&chase.chase)?), ..Own::of_chain(chase.chain()) }
            }
            Experiment::LoadedChase(chase) => {
                Own { pattern: Some(serde_json::to_string(chase)?), ..Own::of_chain(chase.chain()) }
            }
            Experiment::Transfer(transfer) => Own::in_json("copy", transfer)?,
            Experiment::Atomics(atomics) => Own { stride: Some(COUNTER), ..Own::in_json("atomics", atomics)? },
            Experiment::AsyncCopy(copy) => {
                let (timed_loads, rounds) = (Some(copy.steps), Some(copy.rounds));
                Own { timed_loads, rounds, ..Own::in_json(copy.work.name(), copy)? }
            }
            Experiment::Clusters(clusters) => Own::in_json("clusters", clusters)?,
            Experiment::CodeWalk(walk) => {
                Own { stride: Some(walk.block), rounds: Some(walk.laps), ..Own::in_json("code", walk)? }
            }
            Experiment::PageWalk(walk) => Own { timed_loads: Some(walk.pages), ..Own::in_json("pages", walk)? },
            Experiment::Residency(residency) => {
                Own { timed_loads: Some(residency.lines), ..Own::in_json("residency", residency)? }
            }
            Experiment::Contention(of) => Own::in_json("contention", of)?,
            Experiment::Displacement(of) => Own { stride: Some(of.step), ..Own::in_json("displacement", of)? },
            Experiment::Distributed(of) => {
                let (timed_loads, rounds) = (Some(of.steps), Some(of.rounds));
                Own { timed_loads, rounds, ..Own::in_json(of.work.name(), of)? }
            }
            Experiment::Imported(imported) => Own {
                stride: imported.stride,
                order: Some(imported.series.name()),
                timed_loads: Some(imported.loads),
                ..Own::default()
            },
        })
    }

    /// What has no chain, with a word for what it does, and all that it says of itself.
    fn in_json(order: &'static str, all: &impl Serialize) -> io::Result<Self> {
        Ok(Own { order: Some(order), pattern: Some(serde_json::to_string(all)?), ..Own::default() })
    }

    fn of_chain(chain: Chain<'e>) -> Self {
        let own = Own { stride: Some(chain.stride), seed: Some(chain.seed), ..Own::default() };
        match chain.order {
            Order::Sequential => Own { order: Some("sequential"), ..own },
            Order::Random => Own { order: Some("random"), ..own },
            Order::Scattered { granule } => Own { order: Some("scattered"), granule: Some(*granule), ..own },
            Order::Paged { page, lines } => {
                Own { order: Some("paged"), page: Some(*page), lines_per_page: Some(*lines), ..own }
            }
            Order::Listed { offsets } => Own { order: Some("listed"), offsets: Some(offsets), ..own },
            Order::Pages { granule, lines, shuffled } => Own {
                order: Some(if *shuffled { "pages_shuffled" } else { "pages" }),
                granule: Some(*granule),
                lines_per_page: Some(*lines),
                ..own
            },
            Order::Window { granule, first } => Own {
                order: Some("window"),
                granule: Some(*granule),
                lines_per_page: Some(1),
                first: Some(*first),
                ..own
            },
        }
    }
}
