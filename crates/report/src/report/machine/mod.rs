//! A discovered GPU as a machine file, which `--device sim:FILE.toml` simulates.
//!
//! Mechanism is made of findings: what was found is taken as it is and names the run that it is from; what was not found is a
//! stated default, whose source begins with `assumed`. Nothing here knows a GPU. The format is that of `machines/*.toml`; its
//! types are the simulator's, which reports do not know, so that what is written here is text that the simulator's own checks
//! read (`tests/simulated/round_trip.rs`).

mod atomics;
mod caches;
mod clusters;
mod configurations;
mod found;
mod instructions;
mod kept;
mod l2;
mod paths;
mod structure;
mod table;
mod translation;

use found::{Found, Sourced, assumed};
pub(crate) use table::comment;

use table::Table;

use strata_model::attribute::{Attribute, BANK_MODES, PADDING, SATURATING_SMS};
use strata_model::topology::{BANDWIDTH_BY_SMS, ElementName, Topology};
use strata_model::units::Bytes;

/// The format that is written.
const SCHEMA: &str = "strata/machine/1";
/// Threads of a block and of an SM, blocks of an SM, where a driver does not say: those of the most common compute
/// capabilities.
const BLOCKS_PER_SM: u64 = 32;
/// Step of the global timer in nanoseconds, by the first compute capability from which it holds. No experiment asks for it.
const TIMER_STEP_NS: [(u32, u64); 2] = [(7, 32), (0, 1000)];
/// Bits of a memory channel, from which their number follows.
const CHANNEL_BITS: u64 = 64;
/// Cycles for which a transfer occupies a channel.
const CHANNEL_CYCLES: u64 = 1;
/// Cycles of a load from pinned host memory: the order of a microsecond.
const HOST_CYCLES: u64 = 1000;
/// Cycles of a load from shared memory, the width and number of its banks in bytes, and what a further row costs.
const SHARED_CYCLES: u64 = 30;
const BANKS: u64 = 32;
const BANK_BYTES: u64 = 4;
const CONFLICT_CYCLES: u64 = 2;

/// The machine file of a discovered GPU.
pub fn machine(topology: &Topology) -> String {
    let found = Found::new(topology);
    let caches = caches::Caches::of(&found);
    let mut text = head(&found);
    for table in [device(&found), clock(&found)] {
        text.push_str(&table.render());
    }
    if let Some(table) = pipeline(&found) {
        text.push_str(&table.render());
    }
    text.push_str(caches.render());
    text.push_str(&instructions::render(&found));
    text.push_str(&translation::render(&found));
    text.push_str(&shared(&found).render());
    text.push_str(&memory(&found).render());
    text.push_str(&paths::render(&found, &caches));
    text.push_str(&unknowns(&found));
    text.push_str(&reported(&found));
    text
}

fn head(found: &Found) -> String {
    let lines = [
        format!("Written by strata {} from {}.", env!("CARGO_PKG_VERSION"), found.run),
        "A source says `measured`, `driver` or `derived` and of which finding; `assumed` is what discovery does not know. \
         Curves (misses by footprint, latency by stride, the latency spectrum) are not written: they follow from mechanism."
            .into(),
        "No noise is modelled: what disturbed the run's loads is in the findings' intervals.".into(),
    ];
    let simulated = found.topology.run.simulated.then(|| "SIMULATED: no hardware was measured.".to_owned());
    let head: String = simulated.into_iter().chain(lines).map(|line| comment(&line)).collect();
    format!("{head}\nschema = \"{SCHEMA}\"\n")
}

fn device(found: &Found) -> Table {
    let facts = &found.topology.device;
    let driver = |value: u64, what: &str| Sourced::new(value, found.driver(what));
    let mut table = Table::new("device", "Facts of the device from the driver.");
    table.put("name", Sourced::new(facts.name.as_str(), found.driver("name")));
    let (major, minor) = facts.compute_capability;
    table.put("chip", Sourced::new("chip not known", assumed("the driver does not name it")));
    table.put("compute_capability", Sourced::new(format!("{major}.{minor}"), found.driver("compute capability")));
    table.put("multiprocessors", driver(facts.multiprocessors.into(), "SMs"));
    if let Some(cores) = facts.cores_per_multiprocessor {
        let source = found.driver("cores of an SM, a table by compute capability");
        table.put("cores_per_multiprocessor", Sourced::new(u64::from(cores), source));
    }
    table.put("max_threads_per_block", driver(facts.max_threads_per_block.into(), "threads of a block"));
    table
        .put("max_threads_per_multiprocessor", driver(facts.max_threads_per_multiprocessor.into(), "threads of an SM"));
    table.put(
        "max_blocks_per_multiprocessor",
        match facts.max_blocks_per_multiprocessor {
            Some(blocks) => driver(blocks.into(), "blocks of an SM"),
            None => Sourced::new(BLOCKS_PER_SM, assumed("this driver does not report it")),
        },
    );
    table.put("registers_per_multiprocessor", driver(facts.registers_per_multiprocessor.into(), "registers of an SM"));
    table.put("memory", driver(facts.total_memory, "device memory"));
    table.put("l2", driver(facts.l2_size, "L2 size"));
    table.put("memory_clock_mhz", driver((u64::from(facts.memory_clock_khz) / 1000).max(1), "memory clock"));
    table.put("memory_bus_bits", driver(u64::from(facts.memory_bus_bits).max(8), "memory bus"));
    clusters::device(found, &mut table);
    table
}

fn clock(found: &Found) -> Table {
    let facts = &found.topology.device;
    let mut table = Table::new("clock", "");
    table.put("mhz", megahertz(found));
    let step = TIMER_STEP_NS.iter().find(|(major, _)| facts.compute_capability.0 >= *major).map_or(1000, |(_, ns)| *ns);
    table.put("timer_step_ns", Sourced::new(step, assumed("no experiment asks for the global timer's step")));
    table
}

/// The SM clock.
fn megahertz(found: &Found) -> Sourced<u64> {
    match found.topology.run.measured_clock_mhz {
        Some((low, high)) => {
            let source = format!("measured: SM clock of {}, {low} to {high} MHz", found.run);
            Sourced::new(((low + high) / 2.0).round().max(1.0) as u64, source)
        }
        None => Sourced::new((u64::from(found.topology.device.clock_khz) / 1000).max(1), found.driver("peak SM clock")),
    }
}

fn shared(found: &Found) -> Table {
    let facts = &found.topology.device;
    let mut table = Table::new("shared", "");
    table.put("per_block", Sourced::new(facts.shared_per_block, found.driver("shared memory of a block")));
    if let Some(bytes) = facts.shared_per_block_optin {
        table.put("per_block_optin", Sourced::new(bytes, found.driver("shared memory of a block on request")));
    }
    let most = facts.shared_per_multiprocessor.max(facts.shared_per_block);
    table.put("per_multiprocessor", Sourced::new(most, found.driver("shared memory of an SM")));
    if let Some(bytes) = facts.shared_reserved_per_block {
        table.put("reserved_per_block", Sourced::new(bytes, found.driver("shared memory kept for each block")));
    }
    let element = ElementName::Shared;
    table.put("cycles", found.cycles(element, Attribute::LatencyCycles, SHARED_CYCLES));
    table.put("banks", found.whole(element, Attribute::Banks).unwrap_or_else(|| assumed_whole(BANKS)));
    table.put("bank_width", found.whole(element, Attribute::BankWidth).unwrap_or_else(|| assumed_whole(BANK_BYTES)));
    if let Some(modes) = bank_modes(found) {
        table.put("modes", modes);
    }
    table.put("conflict", found.cycles(element, Attribute::ConflictCycles, CONFLICT_CYCLES));
    if let Some(bandwidth) = found.rate(element, Attribute::ReadBandwidthPerSm, 1.0) {
        table.put("bandwidth", bandwidth);
    }
    clusters::shared(found, &mut table);
    atomics::shared(found, &mut table);
    table
}

/// What an SM has of its own on the way to the L2, and what its atomics there cost.
fn pipeline(found: &Found) -> Option<Table> {
    let mut table = Table::new("pipeline", "");
    if let Some(alone) = alone(found) {
        let how = format!("{}.{}, bandwidth of one SM alone", ElementName::L2, Attribute::SaturatingSms);
        table.put("delivery", Sourced::new((alone * 100.0).round() / 100.0, found.derived(&how)));
    }
    clusters::pipeline(found, &mut table);
    atomics::global(found, 1e6 * megahertz(found).value as f64, &mut table);
    (!table.is_empty()).then_some(table)
}

/// The bytes a cycle that an SM reads from the L2 while the others are idle.
fn alone(found: &Found) -> Option<f64> {
    let series = &found.known(ElementName::L2, SATURATING_SMS)?.series;
    Some(series.get(BANDWIDTH_BY_SMS)?.iter().find(|point| point.x == 1.0)?.value)
}

fn assumed_whole(value: u64) -> Sourced<u64> {
    Sourced::new(value, assumed("it was not found; the most common one"))
}

/// Modes of the banks, the driver's own choice first: that is the mode in which padding was first looked for.
fn bank_modes(found: &Found) -> Option<Sourced<Vec<u64>>> {
    let element = ElementName::Shared;
    let finding = found.known(element, BANK_MODES)?;
    let own = found.get(element, PADDING).and_then(|padding| padding.0.first()?.mode);
    let mut all = found.get(element, BANK_MODES)?.0.clone();
    all.sort_by_key(|mode| Some(*mode) != own);
    let all = all.into_iter().map(|Bytes(mode)| mode).collect();
    Some(Sourced::new(all, found.source(element, &[Attribute::BankModes], finding)))
}

fn memory(found: &Found) -> Table {
    let mut table = Table::new("memory", "");
    match found.rate_of_all(ElementName::Dram, Attribute::ReadBandwidthPerSm) {
        Some(bandwidth) => {
            table.put("bandwidth", bandwidth);
            table.put("port", Sourced::new(0, assumed("`bandwidth` is that of all channels together")));
        }
        None => table.put("port", Sourced::new(CHANNEL_CYCLES, assumed("the bandwidth was not found"))),
    }
    let channels = u64::from(found.topology.device.memory_bus_bits) / CHANNEL_BITS;
    table.put(
        "channels",
        Sourced::new(channels.clamp(1, 256), assumed("channels of 64 bits on the driver's bus width")),
    );
    table.put("host_cycles", found.cycles(ElementName::Host, Attribute::LatencyCycles, HOST_CYCLES));
    if let Some(bandwidth) = found.rate_of_all(ElementName::Host, Attribute::ReadBandwidthPerSm) {
        table.put("host_bandwidth", bandwidth);
    }
    table
}

/// What was not found, as comments.
fn unknowns(found: &Found) -> String {
    let mut text = String::from("\n# Not found:\n");
    for (name, element) in &found.topology.elements {
        for (attribute, finding) in element.reported().filter(|(_, finding)| !finding.is_known()) {
            let reason = finding.reason.as_deref().unwrap_or("no reason was given");
            text.push_str(&comment(&format!("{name}.{attribute}: {reason}")));
        }
    }
    text
}

/// What was found, with its interval, beside what is made of it.
fn reported(found: &Found) -> String {
    let mut text = String::new();
    for (name, element) in &found.topology.elements {
        for (attribute, finding) in element.reported() {
            let (Some(value), Some(_)) = (finding.number(), &finding.source) else { continue };
            let unit = finding.unit.as_deref().unwrap_or_default();
            let shown = |x: f64| {
                if unit == "B" { Bytes(x as u64).to_string() } else { format!("{x} {unit}").trim_end().into() }
            };
            let interval = match (finding.low, finding.high) {
                (Some(low), Some(high)) if low != high => format!(", {} to {}", shown(low), shown(high)),
                _ => String::new(),
            };
            let mut one = Table::list("reported");
            one.plain("what", format!("{name}.{}", attribute.key().replace(".cycles", "")));
            one.plain("value", shown(value) + &interval);
            one.plain("source", found.source(*name, &[attribute], finding));
            text.push_str(&one.render());
        }
    }
    text
}
