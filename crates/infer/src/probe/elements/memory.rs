//! Memories and what SMs share: shared and local memory, the L2, DRAM, host memory.

use super::super::latency::{self, Setting};
use super::super::levels::HitMiss;
use super::super::{Gap, Notebook, banks, dram, l2, partitions};
use super::{APART, alike, blurred, fetch_finding, line_finding, small};
use strata_model::experiment::{Experiment, Kernel, LoadPath, Order, Walk};
use strata_model::topology::{Element, Finding};
use strata_model::units::Bytes;

pub(super) fn shared(notebook: &Notebook) -> Element {
    let facts = notebook.facts();
    let setting = Setting { sms: u32::MAX, ..Setting::small(LoadPath::Shared) };
    let block = facts.shared_per_block_optin.unwrap_or(facts.shared_per_block);
    Element {
        size: notebook.attribute(|| {
            Ok(Finding::from_driver(facts.shared_per_multiprocessor, "shared memory of a multiprocessor")
                .unit("B")
                .note(format!("of which a block may have {}", Bytes(block))))
        }),
        latency: latency::findings(
            notebook,
            || latency::measure(notebook, &setting),
            "whole-lap chase by ld.shared, 2n against n loads, every SM at once",
        ),
        banks: notebook.attribute(|| banks::banks(notebook)),
        bank_width: notebook.attribute(|| banks::bank_width(notebook)),
        bank_modes: if facts.compute_capability.0 == 3 { notebook.attribute(|| banks::modes(notebook)) } else { None },
        conflict_cycles: notebook.attribute(|| banks::conflict_cycles(notebook)),
        broadcast: notebook.attribute(|| banks::broadcast(notebook)),
        padding: notebook.attribute(|| banks::padding(notebook)),
        bank_curve: notebook.attribute(|| banks::curve(notebook)),
        ..Element::default()
    }
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
    Element {
        cached: notebook.attribute(|| {
            let local = Experiment {
                order: Order::Random,
                warm_laps: 2,
                walk: Walk::Straight,
                timed_loads: 256,
                ..Experiment::chase(Kernel::PerLoad, LoadPath::Local, Bytes(512), Bytes(8))
            };
            let sheets = notebook.read(&[local, small(LoadPath::GlobalCg)])?;
            let method = "latency of a small footprint by ld.local against ld.global.cg";
            match HitMiss::learn(sheets[0].latencies(), &[sheets[1].latencies()]) {
                Ok(l) => Ok(Finding::measured(true, method).note(format!(
                    "median {:.0} against {:.0} cycles a load, timing overhead included",
                    l.hit, l.miss
                ))),
                Err(_) if alike(&sheets[0], &sheets[1]) => {
                    Ok(Finding::measured(false, method).note("the two are alike"))
                }
                Err(_) => blurred(LoadPath::Local),
            }
        }),
        latency: latency::findings(
            notebook,
            || latency::measure(notebook, &setting),
            "whole-lap chase by ld.local, 2n against n loads, every SM at once",
        ),
        ..Element::default()
    }
}

pub(super) fn l2(notebook: &Notebook) -> Element {
    let facts = notebook.facts();
    Element {
        size: notebook.size(|| l2::size(notebook)),
        nominal_size: notebook.attribute(|| Ok(Finding::from_driver(facts.l2_size, "L2 size").unit("B"))),
        conflicts: notebook.attribute(|| {
            let found = l2::capacity(notebook)?;
            let share = found.conflicts.iter().copied().fold(0.0, f64::max);
            Ok(Finding::measured(
                (share * 1e4).round() / 1e4,
                "largest share of a sample that misses below the usable capacity, over allocations",
            ))
        }),
        staircase: notebook.attribute(|| Ok(l2::capacity(notebook)?.staircase())),
        line_size: notebook.attribute(|| line_finding(l2::line_size(notebook)?)),
        fetch_granularity: notebook.attribute(|| fetch_finding(l2::fetch_granularity(notebook)?)),
        latency: latency::findings(
            notebook,
            || latency::measure(notebook, &l2::setting(notebook)),
            "whole-lap chase by ld.global.cg, 2n against n loads, one SM at a time",
        ),
        miss_penalty: notebook.attribute(|| {
            let dram = dram::dram(notebook)?;
            let hit = latency::measure(notebook, &l2::setting(notebook))?;
            let penalty = dram.measured.cycles - hit.cycles;
            Ok(Finding::derived((penalty.0 * 10.0).round() / 10.0, "DRAM latency less L2 latency").unit("cycles"))
        }),
        sets: unknown_inside(notebook),
        ways: unknown_inside(notebook),
        replacement: unknown_inside(notebook),
        partitions: notebook.attribute(|| Ok(partitions::partitions(notebook)?.count())),
        near_latency: notebook.attribute(|| Ok(partitions::partitions(notebook)?.near())),
        far_latency: notebook.attribute(|| Ok(partitions::partitions(notebook)?.far()?)),
        sm_map: notebook.attribute(|| Ok(partitions::partitions(notebook)?.map())),
        ..Element::default()
    }
}

/// Why nothing is said of what is inside an L2.
fn unknown_inside(notebook: &Notebook) -> Option<Finding> {
    notebook.attribute(|| {
        Gap::unknown(
            "an L2 is indexed by physical addresses, of which a program knows those within a page, 2 MiB: which lines share a set \
             beyond that cannot be told from where the driver put the pages",
        )
    })
}

pub(super) fn dram(notebook: &Notebook) -> Element {
    let facts = notebook.facts();
    let footprint = dram::dram(notebook).map(|d| d.footprint);
    let method = match footprint {
        Ok(bytes) => format!(
            "per-load chase by ld.global.cg over {bytes} after a flush of the L2, random in a 2 MiB page, pages in turn; \
             first load of a page left out, timing overhead taken off"
        ),
        Err(_) => "per-load chase by ld.global.cg after a flush of the L2".to_owned(),
    };
    Element {
        size: notebook.attribute(|| {
            Ok(Finding::from_driver(facts.total_memory, "device memory")
                .unit("B")
                .note(format!("{} were free at the start", Bytes(facts.free_memory))))
        }),
        latency: latency::findings(notebook, || Ok(dram::dram(notebook)?.measured), &method),
        ..Element::default()
    }
}

pub(super) fn host(notebook: &Notebook) -> Element {
    let setting = Setting {
        path: LoadPath::Host,
        footprint: Bytes::kib(4),
        stride: APART,
        shared: true,
        allocations: 1,
        sms: notebook.effort().choose(1, 4, 8),
    };
    Element {
        latency: latency::findings(
            notebook,
            || latency::measure(notebook, &setting),
            "whole-lap chase by ld.volatile.global over one pinned page of host memory, one SM at a time",
        ),
        ..Element::default()
    }
}
