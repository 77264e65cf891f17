//! Recordings of versions 2 and 3, in which one structure held experiments of all kinds. It is written here by the words of
//! `recording`'s documentation.

use super::any::experiments;
use super::*;

#[derive(Clone, Copy, serde::Serialize)]
enum Kernel {
    Clock,
    Lap,
    PerLoad,
    PerTwoLoads,
    Disturb,
    Warp,
    Pattern,
    Imported,
}

#[derive(Clone, serde::Serialize)]
enum AnyOrder {
    Sequential,
    Random,
    Scattered { granule: Bytes },
    Paged { page: Bytes, lines: u32 },
    Listed { offsets: Vec<u64> },
    Pages { granule: Bytes, lines: u32, shuffled: bool },
    Lanes { offsets: Vec<u64>, bank_width: Option<Bytes> },
    Pattern(Pattern),
    Imported(Series),
}

#[derive(Clone, serde::Serialize)]
struct Old {
    kernel: Kernel,
    path: LoadPath,
    footprint: Bytes,
    stride: Bytes,
    order: AnyOrder,
    warm_laps: u32,
    timed_loads: u32,
    rounds: u32,
    walk: Walk,
    prepare: Prepare,
    alone: bool,
    sm: Option<u32>,
    allocation: u32,
    carveout: Option<u8>,
    partner: Option<Partner>,
    seed: u64,
    repeat: u32,
}

#[derive(serde::Serialize)]
enum Outcome {
    #[allow(dead_code)]
    Samples,
    Failure(Failure),
}

/// What a kind that has no such field wrote there.
const UNUSED: Old = Old {
    kernel: Kernel::PerLoad,
    path: LoadPath::GlobalCg,
    footprint: Bytes(8),
    stride: Bytes(8),
    order: AnyOrder::Sequential,
    warm_laps: 1,
    timed_loads: 1,
    rounds: 1,
    walk: Walk::Resident,
    prepare: Prepare::Nothing,
    alone: false,
    sm: None,
    allocation: 0,
    carveout: None,
    partner: None,
    seed: 0,
    repeat: 0,
};

fn of_a_chain(order: &Order) -> AnyOrder {
    match order.clone() {
        Order::Sequential => AnyOrder::Sequential,
        Order::Random => AnyOrder::Random,
        Order::Scattered { granule } => AnyOrder::Scattered { granule },
        Order::Paged { page, lines } => AnyOrder::Paged { page, lines },
        Order::Listed { offsets } => AnyOrder::Listed { offsets },
        Order::Pages { granule, lines, shuffled } => AnyOrder::Pages { granule, lines, shuffled },
        Order::Window { .. } => panic!("no version before 4 had windows"),
    }
}

/// What version 4 has and no older one had.
fn is_new(experiment: &Experiment) -> bool {
    let window = experiment.chain().is_some_and(|chain| matches!(chain.order, Order::Window { .. }));
    let kind = matches!(
        experiment,
        Experiment::Watch(_)
            | Experiment::Launched(_)
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
    );
    window || kind || experiment.stream().is_some()
}

/// An experiment as version 3 had it.
fn old(experiment: &Experiment) -> Old {
    let place = experiment.place().copied().unwrap_or_default();
    let Place { sm, allocation, carveout_percent: carveout, alone } = place;
    let (prepare, repeat) = (experiment.prepare(), experiment.repeat());
    let placed = Old { prepare, repeat, sm, allocation, carveout, alone, ..UNUSED };
    let chained = experiment.chain().map(|chain| Old {
        path: chain.path,
        footprint: chain.footprint,
        stride: chain.stride,
        order: of_a_chain(chain.order),
        seed: chain.seed,
        ..placed.clone()
    });
    let chained = chained.unwrap_or(placed.clone());
    match experiment {
        Experiment::Watch(_)
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
        | Experiment::Contention(_) => {
            unreachable!("version 3 has none")
        }
        Experiment::Clock(clock) => Old {
            kernel: Kernel::Clock,
            timed_loads: clock.span_us,
            sm: Some(clock.sm),
            alone: true,
            ..Old { carveout: None, ..placed }
        },
        Experiment::Chase(chase) => {
            let timed =
                |kernel, timed_loads| Old { kernel, timed_loads, warm_laps: chase.warm_laps, ..chained.clone() };
            match chase.timing {
                Timing::EachLoad { loads, walk } => Old { walk, ..timed(Kernel::PerLoad, loads) },
                Timing::EachPair { pairs } => Old { walk: Walk::Straight, ..timed(Kernel::PerTwoLoads, pairs) },
                Timing::Laps { loads, rounds } => Old { rounds, ..timed(Kernel::Lap, loads) },
            }
        }
        Experiment::Disturb(disturb) => Old {
            kernel: Kernel::Disturb,
            timed_loads: disturb.loads,
            warm_laps: disturb.warm_laps,
            partner: Some(disturb.partner),
            ..chained
        },
        Experiment::Warp(warp) => Old {
            kernel: Kernel::Warp,
            path: LoadPath::Shared,
            footprint: warp.footprint,
            stride: warp.width.bytes(),
            order: AnyOrder::Lanes {
                offsets: warp.offsets.to_vec(),
                bank_width: warp.bank_width.map(BankWidth::bytes),
            },
            warm_laps: warp.warm_loads,
            timed_loads: warp.loads,
            rounds: warp.rounds,
            ..placed
        },
        Experiment::Pattern(run) => Old {
            kernel: Kernel::Pattern,
            path: run.path,
            footprint: run.pattern.footprint(),
            stride: Bytes(1),
            order: AnyOrder::Pattern(run.pattern),
            warm_laps: 0,
            timed_loads: run.pattern.operations(),
            rounds: run.rounds,
            alone: true,
            carveout: run.carveout_percent,
            seed: run.seed,
            ..placed
        },
        Experiment::Imported(imported) => Old {
            kernel: Kernel::Imported,
            path: imported.path,
            footprint: imported.footprint.unwrap_or_default(),
            stride: imported.stride.unwrap_or_default(),
            order: AnyOrder::Imported(imported.series),
            timed_loads: imported.loads,
            ..placed
        },
    }
}

/// A recording of a version with these experiments, all of which failed.
fn recording(version: u16, experiments: impl IntoIterator<Item = Old>) -> Recording {
    let entry = |(number, old)| (number, old, 1u16, Outcome::Failure(Failure::failed("it was long ago")), 2.5f64);
    let entries: Vec<_> = (1u32..).zip(experiments).map(entry).collect();
    let header = postcard::to_stdvec(&(0u32, header())).unwrap();
    let measured = postcard::to_stdvec(&(2u32, entries)).unwrap();
    let end = postcard::to_stdvec(&(3u32, run_at_end())).unwrap();
    read(&framed_as(version, &[&header, &measured, &end])).unwrap()
}

proptest! {
    #[test]
    fn an_experiment_of_an_older_version_is_read_as_its_kind(
        experiments in prop::collection::vec(
            experiments().prop_filter("older versions had no such kind", |e| !is_new(e)),
            1..20,
        ),
        version in 2u16..=3,
    ) {
        let recording = recording(version, experiments.iter().map(old));
        prop_assert!(recording.impossible.is_empty());
        let found: Vec<Experiment> = recording.entries.iter().map(|entry| entry.experiment.clone()).collect();
        prop_assert_eq!(&found, &experiments);
        for experiment in &experiments {
            prop_assert_eq!(recording.answer(experiment), Err(Failure::failed("it was long ago")));
        }
    }
}

#[test]
fn fields_that_a_kind_did_not_use_make_no_difference() {
    let lap = Experiment::from(Chase::laps(LoadPath::GlobalCa, Bytes(1024), Bytes(32)));
    let clock = Experiment::from(Clock { span_us: 10, sm: 0, repeat: 0 });
    let recording = recording(
        3,
        [
            Old { walk: Walk::Straight, ..old(&lap) },
            Old { path: LoadPath::Texture, rounds: 7, sm: None, order: AnyOrder::Random, ..old(&clock) },
        ],
    );
    assert_eq!((recording.number_of(&lap), recording.number_of(&clock)), (Some(1), Some(2)));
}

#[test]
fn what_no_kernel_could_run_is_left_out_and_said() {
    let chase = old(&chase(8, 1));
    let partner = Partner {
        path: LoadPath::Local,
        footprint: Bytes(64),
        stride: Bytes(4),
        laps: 1,
        thread: 1,
        block_threads: 64,
    };
    let warp = old(&Warp::new(AccessWidth::B4, [0; WARP], Bytes(1024), 8).into());
    let lanes = |count, bank_width| AnyOrder::Lanes { offsets: vec![0; count], bank_width };
    let sums = old(&sums());
    let series = AnyOrder::Imported(Series { level: Level::L1, question: Question::Size });
    for (impossible, why) in [
        (Old { kernel: Kernel::Disturb, ..chase.clone() }, "a disturbance has a partner"),
        (Old { partner: Some(partner), ..chase.clone() }, "only a disturbance has a partner"),
        (Old { kernel: Kernel::PerTwoLoads, ..chase.clone() }, "pairs of loads are timed straight on"),
        (Old { kernel: Kernel::Warp, ..chase.clone() }, "an element for each lane"),
        (Old { kernel: Kernel::Pattern, ..chase.clone() }, "needs a pattern"),
        (Old { kernel: Kernel::Imported, ..chase.clone() }, "need a series"),
        (Old { order: lanes(WARP, None), ..chase.clone() }, "no chain"),
        (Old { order: series, ..chase.clone() }, "no chain"),
        (Old { kernel: Kernel::Lap, ..sums }, "no chain"),
        (Old { order: lanes(31, None), ..warp.clone() }, "31 elements for the 32 lanes"),
        (Old { order: lanes(WARP, Some(Bytes(16))), ..warp.clone() }, "4 or 8 B wide"),
        (Old { stride: Bytes(12), ..warp.clone() }, "4, 8 or 16 B"),
        (Old { path: LoadPath::GlobalCa, ..warp.clone() }, "from shared memory"),
    ] {
        let recording = recording(3, [chase.clone(), impossible]);
        let [(2, said)] = &recording.impossible[..] else { panic!("{why}: {:?}", recording.impossible) };
        assert!(said.contains(why), "{said}");
        assert_eq!(recording.entries.len(), 1);
        let warnings = recording.run_info().warnings;
        assert!(warnings[0].contains("experiment 2 of the recording is left out") && warnings[0].contains(why));
    }
}

#[test]
fn a_committed_file_of_version_2_is_read() {
    let committed = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings/2026-11-21-h200-evidence.strata");
    assert_eq!(std::fs::read(&committed).unwrap()[8..10], 2u16.to_le_bytes(), "one that version 2 wrote");
    let recording = Recording::read(&committed).unwrap();
    assert!(recording.asked.is_none() && recording.end.is_some() && !recording.entries.is_empty());
    assert!(recording.impossible.is_empty());
}
