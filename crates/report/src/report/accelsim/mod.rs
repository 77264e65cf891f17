//! A discovery as options of Accel-Sim (GPGPU-Sim 4.x), to append to one of its shipped configurations.
//!
//! Above each option stands where its value is from. What was not found has the value of the shipped configuration, which is named.
//! How latencies follow from what was measured is the rule of Accel-Sim's own tuner (`util/tuner`): each level is what its loads
//! take longer than those of the level before.

mod base;
mod cache;
mod caches;
mod page;

use strata_model::attribute::{BANKS, GPCS, LATENCY_CYCLES, PARTITIONS};
use strata_model::topology::{ElementName, Topology};

use page::Page;

/// Fewest cycles that the simulator takes for an L1 or a further level, and for shared memory.
const LEAST_CYCLES: f64 = 1.0;
const LEAST_SHARED_CYCLES: f64 = 2.0;
/// kHz in a MHz.
const KHZ: f64 = 1000.0;
/// Transfers of a double-data-rate bus for each tick of the clock that the driver states.
const DOUBLE_RATE: f64 = 2.0;

/// The options, as text with a newline at its end.
pub fn accelsim(topology: &Topology) -> String {
    let mut page = Page::new(topology);
    page.head();
    processors(&mut page);
    caches::l1(&mut page);
    shared(&mut page);
    caches::l2(&mut page);
    caches::constant(&mut page);
    caches::instructions(&mut page);
    latencies(&mut page);
    clocks(&mut page);
    page.text
}

fn processors(page: &mut Page<'_>) {
    let (base, device) = (page.base, &page.topology.device);
    let (major, minor) = device.compute_capability;
    page.driver("-gpgpu_compute_capability_major", major, "the compute capability");
    page.driver("-gpgpu_compute_capability_minor", minor, "the compute capability");
    match device.multiprocessors {
        0 => {}
        sms => {
            page.driver("-gpgpu_n_clusters", sms, "SMs; a cluster of the simulator is one SM here");
            page.derived("-gpgpu_n_cores_per_cluster", 1, &["all SMs are clusters of their own".into()]);
            if let Ok(found) = page.found(ElementName::Die, GPCS) {
                page.note(&format!("{}, which the interconnect of the simulator does not know", found.words));
            }
        }
    }
    page.fact("-gpgpu_shader_registers", device.registers_per_multiprocessor, base.registers, "registers of an SM");
    page.stated("-gpgpu_registers_per_block", device.registers_per_block, "registers of a block");
    match (device.max_threads_per_multiprocessor, device.warp_size) {
        (0, _) | (_, 0) => page.default(
            "-gpgpu_shader_core_pipeline",
            format!("{}:32", base.threads),
            "the driver does not tell the threads of an SM",
        ),
        (threads, warp) => page.driver(
            "-gpgpu_shader_core_pipeline",
            format!("{threads}:{warp}"),
            "most threads of an SM, and threads of a warp",
        ),
    }
    page.fact(
        "-gpgpu_shader_cta",
        device.max_blocks_per_multiprocessor.unwrap_or(0),
        base.blocks,
        "most blocks of an SM",
    );
}

fn shared(page: &mut Page<'_>) {
    let (base, device) = (page.base, &page.topology.device);
    for option in ["-gpgpu_shmem_size", "-gpgpu_shmem_sizeDefault"] {
        page.fact(option, device.shared_per_multiprocessor, base.shared, "most bytes of shared memory of an SM");
    }
    let of_a_block = "bytes of shared memory of a block that does not ask for more";
    page.stated("-gpgpu_shmem_per_block", device.shared_per_block, of_a_block);
    match page.found(ElementName::Shared, BANKS) {
        Ok(found) => page.set(&found, "-gpgpu_shmem_num_banks", found.number, &[]),
        Err(why) => page.default("-gpgpu_shmem_num_banks", 32, &why),
    }
}

fn latencies<'t>(page: &mut Page<'t>) {
    let base = page.base;
    let rounded = |cycles: f64, least: f64| cycles.round().max(least);
    let latency = |page: &Page<'t>, name| page.found(name, LATENCY_CYCLES);
    let (l1, l2) = (latency(page, ElementName::L1), latency(page, ElementName::L2));
    let whole = "rounded to whole cycles. Assumption: all of the measured latency is the cache's. The simulator adds its \
                 pipeline (issue, operands, write back), so that its loads take some cycles longer";
    match &l1 {
        Ok(found) => page.set(found, "-gpgpu_l1_latency", rounded(found.number, LEAST_CYCLES), &[whole.into()]),
        Err(why) => page.default("-gpgpu_l1_latency", base.l1_latency, why),
    }
    match latency(page, ElementName::Shared) {
        Ok(found) => {
            let cycles = rounded(found.number, LEAST_SHARED_CYCLES);
            page.set(&found, "-gpgpu_smem_latency", cycles, &[whole.replace("the cache's", "the memory's")]);
        }
        Err(why) => page.default("-gpgpu_smem_latency", base.shared_latency, &why),
    }
    match (&l1, &l2) {
        (Ok(l1), Ok(l2)) => {
            let mut notes = vec![
                format!("{} less {}, {}", l2.words, l1.words, l2.less(l1)),
                "assumption: a load that misses the L1 has its latency before it; the interconnect is in this number, and the \
                 simulator adds its own"
                    .into(),
            ];
            if let Ok(parts) = page.found(ElementName::L2, PARTITIONS)
                && parts.number > 1.0
            {
                notes.push("lines of the other partition take longer, which no option here says".into());
            }
            page.derived("-gpgpu_l2_rop_latency", rounded(l2.number - l1.number, LEAST_CYCLES), &notes);
        }
        (Err(why), _) | (_, Err(why)) => page.default("-gpgpu_l2_rop_latency", base.rop_latency, why),
    }
    match (&l2, &latency(page, ElementName::Dram)) {
        (Ok(l2), Ok(dram)) => {
            let notes = [
                format!("{} less {}, {}", dram.words, l2.words, dram.less(l2)),
                "assumption: all of the difference is this option's. The simulator adds the timing of its DRAM (rows, columns, queues) \
                 unless it has -gpgpu_simple_dram_model 1"
                    .into(),
            ];
            page.derived("-dram_latency", rounded(dram.number - l2.number, LEAST_CYCLES), &notes);
        }
        (Err(why), _) | (_, Err(why)) => page.default("-dram_latency", base.dram_latency, why),
    }
}

/// Core, interconnect, L2 and DRAM, in MHz.
fn clocks(page: &mut Page<'_>) {
    let (base, device) = (page.base, &page.topology.device);
    let measured = page.topology.run.measured_clock_mhz.map(|(low, high)| (low + high) / 2.0).filter(|mhz| *mhz > 0.0);
    let stated = Some(f64::from(device.clock_khz) / KHZ).filter(|mhz| *mhz > 0.0);
    let Some(core) = measured.or(stated) else {
        page.default("-gpgpu_clock_domains", base.clock_domains, "neither the run nor the driver tells the SM clock");
        return;
    };
    let core_is =
        if measured.is_some() { "SM clock: measured in this run" } else { "SM clock: its peak, from the driver" };
    let of_base = base.clock_domains.rsplit(':').next().unwrap_or_default();
    let (dram, dram_is) = match device.memory_clock_khz {
        0 => (of_base.to_owned(), format!("DRAM clock: default of {}; the driver does not tell it", base.name)),
        khz => {
            let command = f64::from(khz) / KHZ * DOUBLE_RATE / f64::from(base.data_command_ratio);
            let ratio = base.data_command_ratio;
            (
                format!("{command:.1}"),
                format!(
                    "DRAM clock: twice the driver's {} MHz by -dram_data_command_freq_ratio {ratio}, which {} has",
                    f64::from(khz) / KHZ,
                    base.name
                ),
            )
        }
    };
    let notes = [
        core_is.to_owned(),
        "assumption: the interconnect and the L2 have the clock of the SMs, in whose cycles all latencies here are"
            .into(),
        dram_is,
    ];
    page.derived("-gpgpu_clock_domains", format!("{core:.1}:{core:.1}:{core:.1}:{dram}"), &notes);
}
