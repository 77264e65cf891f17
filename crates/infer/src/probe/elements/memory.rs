//! The memories and the L2: shared and local memory, the L2, DRAM, host memory.

use super::super::latency::{self, Setting};
use super::super::throughput::{self, Level, Limit};
use super::super::{
    Gap, Notebook, Settle, banks, dram, l2, near_far, partition_hash, partitions, residency, slices, write_back,
};
use super::{APART, alike, blurred, fetch_finding, line_finding, nearer, small};
use crate::analysis::robust::tenths;
use strata_model::attribute::{
    BANK_CURVE, BANK_MODES, BANK_WIDTH, BANKS, BROADCAST, CACHED, CONFLICT_CYCLES, CONFLICTS, FAR_LATENCY,
    FETCH_BY_HINT, FETCH_GRANULARITY, HINTS, Key, LATENCY_CYCLES, LINE_SIZE, MISS_PENALTY, NEAR_LATENCY, NOMINAL_SIZE,
    PADDING, PARTITION_HASH, PARTITIONS, REPLACEMENT, SETS, SIZE, SLICE_HASH, SLICES, SM_MAP, STAIRCASE, Typed, WAYS,
    WRITE_BACK, WRITE_POLICY,
};
use strata_model::experiment::{BEYOND_L2, Chase, LoadPath, Order, Timing, Traffic};
use strata_model::topology::{Element, Entry, Finding};
use strata_model::units::{Bytes, BytesPerClock, BytesPerSecond, Cycles, MIB};

/// Bytes of shared memory of a block through which a stream goes: as many blocks as an SM holds have room for it on every device.
const STREAMED: Bytes = Bytes::kib(8);
/// Footprints of streams through the device's memories are multiples of this.
const PIECE: Bytes = Bytes::kib(64);
/// Part of the L2's usable capacity that a stream through it goes over at most. Runs of a GPU differ in that capacity by a few per
/// cent, and must agree in the power of two that is inside: with seven tenths an H100 had 8 MiB in two runs and 16 in three.
const INSIDE: (u64, u64) = (3, 4);
/// Pinned memory that SMs stream through: more than crosses the bus in the time of a launch.
const ON_HOST: Bytes = Bytes::mib(32);
/// Least and most cycles in which streams of memory empty the L2 of what was there: those of an H200, and nearly three times those of the GPU with the
/// largest L2 beside its bus (GeForce RTX 4090, 750,000).
const EMPTIED: (u32, u32) = (100_000, 2_000_000);
/// How often they go over as much as the L2 holds, at the rate of the bus.
const OVER: f64 = 4.0;

pub(super) fn shared(notebook: &Notebook) -> Element {
    let facts = notebook.facts();
    let setting = Setting { sms: u32::MAX, ..Setting::small(LoadPath::Shared) };
    let block = facts.shared_per_block_optin.unwrap_or(facts.shared_per_block);
    let size = Finding::from_driver(Bytes(facts.shared_per_multiprocessor), "shared memory of a multiprocessor")
        .note(format!("a block can use {} of it", Bytes(block)));
    let latency = latency::finding(
        notebook,
        || latency::in_loop(notebook, &setting),
        "whole-lap chase by ld.shared, difference of 2n and n loads, on all SMs at once",
    );
    let has_modes = facts.compute_capability.0 == 3;
    Element::from([notebook.attribute(SIZE, || Ok(size))])
        .and([latency])
        .and([
            notebook.attribute(BANKS, || banks::banks(notebook)),
            notebook.attribute(BANK_WIDTH, || banks::bank_width(notebook)),
        ])
        .and(has_modes.then(|| notebook.attribute(BANK_MODES, || banks::modes(notebook))))
        .and([
            notebook.attribute(CONFLICT_CYCLES, || banks::conflict_cycles(notebook)),
            notebook.attribute(BROADCAST, || banks::broadcast(notebook)),
            notebook.attribute(PADDING, || banks::padding(notebook)),
            notebook.attribute(BANK_CURVE, || banks::curve(notebook)),
        ])
        .and(throughput::entries(notebook, &[Traffic::Read], all_banks(notebook), |_| Ok(in_shared())))
        .and(throughput::atomics::of_shared(notebook))
}

/// What all banks of shared memory give in a cycle, once they are known; nothing, where they are not asked for.
fn all_banks(notebook: &Notebook) -> Option<Limit> {
    if !notebook.asks(BANKS) || !notebook.asks(BANK_WIDTH) {
        return None;
    }
    let (banks, width) = (banks::banks(notebook).ok()?.value?, banks::bank_width(notebook).ok()?.value?);
    Some(Limit::EachSm(BytesPerClock((banks * width.0) as f64), format!("{banks} banks of {width}")))
}

/// How shared memory is streamed through.
pub(super) fn in_shared() -> Level {
    Level::own(LoadPath::Shared, STREAMED)
}

pub(super) fn local(notebook: &Notebook) -> Element {
    let setting = Setting {
        path: LoadPath::Local,
        footprint: Bytes(512),
        stride: Bytes(8),
        shared: false,
        allocations: 1,
        sms: u32::MAX,
    };
    let cached = notebook.attribute(CACHED, || {
        let local = Chase {
            order: Order::Random,
            warm_laps: 2,
            timing: Timing::straight(256),
            ..Chase::each_load(LoadPath::Local, Bytes(512), Bytes(8))
        };
        let measurements = notebook.read(&[local, small(LoadPath::GlobalCg)])?;
        let method = "latency of a small footprint by ld.local compared with ld.global.cg";
        match nearer(&measurements[0], &measurements[1]) {
            Some(l) => Ok(Finding::measured(true, method)
                .note(format!("median {:.0} and {:.0} cycles per load, including the timing overhead", l.hit, l.miss))),
            None if alike(&measurements[0], &measurements[1]) => {
                Ok(Finding::measured(false, method).note("the two are equal"))
            }
            None => blurred(LoadPath::Local),
        }
    });
    Element::from([cached]).and([latency::finding(
        notebook,
        || latency::measure(notebook, &setting),
        "whole-lap chase by ld.local, difference of 2n and n loads, on all SMs at once",
    )])
}

pub(super) fn l2(notebook: &Notebook) -> Element {
    let facts = notebook.facts();
    Element::from([
        notebook.size(SIZE, || l2::size(notebook)),
        notebook.attribute(NOMINAL_SIZE, || Ok(Finding::from_driver(Bytes(facts.l2_size), "L2 size"))),
        notebook.attribute(CONFLICTS, || {
            let found = l2::capacity(notebook)?;
            let share = found.conflicts.iter().copied().fold(0.0, f64::max);
            Ok(Finding::measured(
                (share * 1e4).round() / 1e4,
                "highest miss rate of a sample below the usable capacity, over all allocations",
            ))
        }),
        notebook.attribute(STAIRCASE, || Ok(l2::capacity(notebook)?.stairs.staircase())),
        notebook.attribute(LINE_SIZE, || line_finding(l2::line_size(notebook)?)),
        notebook.attribute(FETCH_GRANULARITY, || fetch_finding(l2::fetch_granularity(notebook)?)),
    ])
    .and([latency::finding(
        notebook,
        || latency::measure(notebook, &l2::setting(notebook)?),
        "whole-lap chase by ld.global.cg, difference of 2n and n loads, one SM at a time",
    )])
    .and([
        notebook.attribute(MISS_PENALTY, || {
            let dram = dram::dram(notebook)?;
            let hit = latency::measure(notebook, &l2::setting(notebook)?)?;
            Ok(difference(&dram.measured, &hit))
        }),
        unknown_inside(notebook, SETS),
        unknown_inside(notebook, WAYS),
        unknown_inside(notebook, REPLACEMENT),
        notebook.attribute(WRITE_POLICY, || residency::write_policy(notebook, &for_residency(notebook)?)),
        notebook.attribute(WRITE_BACK, || write_back::write_back(notebook, &for_residency(notebook)?)),
        notebook.attribute(HINTS, || residency::hints(notebook, &for_residency(notebook)?)),
        notebook.attribute(PARTITIONS, || Ok(partitions::partitions(notebook)?.count())),
        notebook.attribute(NEAR_LATENCY, || Ok(partitions::partitions(notebook)?.near())),
        notebook.attribute(FAR_LATENCY, || Ok(partitions::partitions(notebook)?.far()?)),
        notebook.attribute(SM_MAP, || Ok(partitions::partitions(notebook)?.map())),
        notebook.attribute(PARTITION_HASH, || partition_hash::hash(notebook)),
        notebook.attribute(SLICES, || Ok(slices::slices(notebook)?.count())),
        notebook.attribute(SLICE_HASH, || slices::hash(notebook)),
    ])
    .and((notebook.facts().compute_capability >= residency::PREFETCH_SIZES).then(|| {
        notebook.attribute(FETCH_BY_HINT, || {
            let fetch = l2::fetch_granularity(notebook).settled()?;
            residency::fetch_by_hint(notebook, &for_residency(notebook)?, fetch.ok().map(|fetch| fetch.granularity))
        })
    }))
    .and(throughput::entries(notebook, &[Traffic::Read, Traffic::Write], None, |traffic| in_l2(notebook, traffic)))
    .and(throughput::of_many(notebook, true, || in_l2(notebook, Traffic::Read)))
    .and(throughput::under_load(notebook, true, &[Traffic::Read, Traffic::Write], |traffic| in_l2(notebook, traffic)))
    .and(throughput::sides::entries(notebook, true, |traffic| in_l2(notebook, traffic)))
    .and(throughput::atomics::of_l2(notebook))
}

/// What residency needs of the L2.
fn for_residency(notebook: &Notebook) -> Result<residency::Asked, Gap> {
    let (path, nominal) = (LoadPath::GlobalCg, Bytes(notebook.facts().l2_size));
    // How much stays of what is read need not be known exactly.
    let (capacity, highest) = match l2::capacity(notebook).settled()? {
        Ok(capacity) => (capacity.usable, capacity.highest),
        Err(_) => (nominal, nominal),
    };
    let all = Bytes(2 * nominal.max(highest).0);
    Ok(residency::Asked { path, capacity, line: l2::line_size(notebook)?, all })
}

/// How the L2 is streamed through.
pub(super) fn in_l2(notebook: &Notebook, traffic: Traffic) -> Result<Level, Gap> {
    // The rate depends on the footprint, which must be the same in all runs of a GPU.
    let inside = (l2::capacity(notebook)?.lowest * INSIDE.0 / INSIDE.1).0.max(PIECE.0);
    Ok(Level::shared(traffic, Bytes(1 << inside.ilog2())))
}

/// What one latency is longer than another, with the interval that follows from those of the two.
fn difference(longer: &latency::Measured, shorter: &latency::Measured) -> Finding<Cycles> {
    let penalty = longer.cycles.0 - shorter.cycles.0;
    let below = (longer.cycles.0 - longer.interval.0).hypot(shorter.interval.1 - shorter.cycles.0);
    let above = (longer.interval.1 - longer.cycles.0).hypot(shorter.cycles.0 - shorter.interval.0);
    Finding::derived(Cycles(tenths(penalty)), "DRAM latency minus L2 latency").interval(
        tenths(penalty - below),
        tenths(penalty + above),
        latency::LEVEL,
    )
}

/// What the bus of the device's memory carries at most, in bytes a second, where the driver says its width and clock: two transfers a
/// cycle.
fn bus(notebook: &Notebook) -> Option<Limit> {
    let facts = notebook.facts();
    let limit = 2.0 * 1e3 * f64::from(facts.memory_clock_khz) * f64::from(facts.memory_bus_bits) / 8.0;
    (limit > 0.0).then_some(Limit::Together(BytesPerSecond(limit), "what the bus carries by its width and clock"))
}

/// Why nothing is said of what is inside an L2.
fn unknown_inside<T: Typed>(notebook: &Notebook, key: Key<T>) -> Option<Entry> {
    notebook.attribute(key, || {
        Gap::unknown(
            "the L2 is indexed by physical addresses, and a program knows only those within a 2 MiB page; which lines \
             of different pages share a set depends on where the driver put the pages",
        )
    })
}

pub(super) fn dram(notebook: &Notebook) -> Element {
    let facts = notebook.facts();
    let size = Finding::from_driver(Bytes(facts.total_memory), "device memory")
        .note(format!("{} were free at the start", Bytes(facts.free_memory)));
    let side = |measured: &latency::Measured| {
        let method = format!(
            "per-load chase by ld.global.cg after an L2 flush, over random lines whose partition of the L2 is known, in 2 MiB pages, \
             {COLD}"
        );
        latency::stated(measured, &method)
    };
    Element::from([notebook.attribute(SIZE, || Ok(size)), dram_latency(notebook)])
        .and([
            notebook.attribute(NEAR_LATENCY, || Ok(side(&near_far::near_far(notebook)?.near))),
            notebook.attribute(FAR_LATENCY, || Ok(side(&near_far::near_far(notebook)?.far))),
        ])
        .and(throughput::entries(notebook, &Traffic::ALL, bus(notebook), |traffic| in_dram(notebook, traffic)))
        .and(throughput::of_many(notebook, false, || in_dram(notebook, Traffic::Read)))
        .and(throughput::under_load(notebook, false, &[Traffic::Read, Traffic::Write, Traffic::Copy], |traffic| {
            in_dram(notebook, traffic)
        }))
        .and(throughput::sides::entries(notebook, false, |traffic| in_dram(notebook, traffic)))
        .and(throughput::at_random::entries(notebook))
}

/// What is assumed of cold loads of memory, and what is left out.
const COLD: &str = "which a TLB entry is assumed to map at least; without the first load of each page and without the timing overhead; a \
     cache behind the L2 would answer instead, if the flush leaves the lines there";

/// The latency of DRAM, with what the loads went over as its method.
fn dram_latency(notebook: &Notebook) -> Option<Entry> {
    if !notebook.asks(LATENCY_CYCLES) {
        return None;
    }
    let as_hits = |share: f64| {
        format!(
            "; {:.0} % of the loads are as fast as hits of the L2 and left out, and if they are from a nearer part of the memory, \
             the mean is at the lower end of the interval",
            share * 100.0
        )
    };
    let method = match dram::dram(notebook) {
        Ok(found) => format!(
            "per-load chase by ld.global.cg over {} after an L2 flush: random lines in each 2 MiB page, page after page, {COLD}{}",
            found.footprint,
            found.as_hits.map(as_hits).unwrap_or_default()
        ),
        Err(_) => "per-load chase by ld.global.cg after a flush of the L2".to_owned(),
    };
    latency::finding(notebook, || Ok(dram::dram(notebook)?.measured), &method)
}

/// Cycles in which the bus carries as much as the L2 holds several times, and memory that gives half of that twice; the least of
/// [`EMPTIED`] where its width or a clock is not known.
fn emptied(notebook: &Notebook) -> u32 {
    let facts = notebook.facts();
    match bus(notebook) {
        Some(Limit::Together(bus, _)) if facts.clock_khz > 0 => {
            let cycles = OVER * facts.l2_size as f64 / bus.0 * 1e3 * f64::from(facts.clock_khz);
            (cycles as u32).clamp(EMPTIED.0, EMPTIED.1)
        }
        _ => EMPTIED.0,
    }
}

/// How the device's memory is streamed through.
pub(super) fn in_dram(notebook: &Notebook, traffic: Traffic) -> Result<Level, Gap> {
    let facts = notebook.facts();
    let wanted = Bytes(facts.l2_size.max(MIB) * BEYOND_L2).round_up(PIECE);
    let most = Bytes(facts.free_memory / 8).round_down(PIECE);
    if most.0 < 2 * facts.l2_size {
        return Gap::unknown(format!("an array of {most}, an eighth of what is free, would stay in the L2"));
    }
    Level::beyond(traffic, wanted, most, emptied(notebook)).as_recorded(notebook)
}

/// Share by which a load from the host may take longer or shorter in another process than at all places of this one. Of twelve processes
/// of an H200 (GPU-c25eb696) one had a median of 2375 cycles and the others 2217 to 2339, each of them over 16 places.
const OTHER_HOST: f64 = 0.015;

pub(super) fn host(notebook: &Notebook) -> Element {
    let setting = Setting {
        path: LoadPath::Host,
        footprint: Bytes::kib(4),
        stride: APART,
        shared: true,
        // How far a page of host memory is depends on the page and on the SM's side of the GPU, by a tenth each.
        allocations: notebook.effort().choose(3, 4, 8),
        sms: notebook.effort().choose(2, 4, 8),
    };
    Element::from([latency::finding(
        notebook,
        || Ok(latency::measure(notebook, &setting)?.in_another_process(OTHER_HOST)),
        "whole-lap chase by ld.volatile.global over pinned pages of host memory, one SM at a time",
    )])
    .and(throughput::entries(notebook, &[Traffic::Read, Traffic::Write], None, |traffic| {
        Ok(Level::host(traffic, ON_HOST))
    }))
    .and(throughput::transfer::entries(notebook))
}
