//! Bandwidth in words: a line for each memory of which it was measured.

use std::fmt::Display;
use strata_model::attribute::{
    ATOMIC_THROUGHPUT, ATOMIC_THROUGHPUT_AGGREGATED, ATOMIC_THROUGHPUT_AGGREGATED_PER_SM,
    ATOMIC_THROUGHPUT_ONE_ADDRESS, ATOMIC_THROUGHPUT_ONE_ADDRESS_PER_SM, ATOMIC_THROUGHPUT_ONE_LINE,
    ATOMIC_THROUGHPUT_ONE_LINE_PER_SM, ATOMIC_THROUGHPUT_PER_SM, BOTH_WAYS_BANDWIDTH, BULK_COPY_BANDWIDTH,
    BULK_COPY_DRAM_BANDWIDTH, BYTES_IN_FLIGHT, COPY_BANDWIDTH, CP_ASYNC_BANDWIDTH, CP_ASYNC_DRAM_BANDWIDTH,
    DEVICE_TO_HOST_BANDWIDTH, EFFECTIVE_SIZE, FAR_LOADED_LATENCY, FAR_READ_BANDWIDTH, FAR_WRITE_BANDWIDTH,
    FROM_PEER_BANDWIDTH, HOST_TO_DEVICE_BANDWIDTH, Key, LATENCY_DOUBLES_AT, LOADED_LATENCY, MULTICAST_BANDWIDTH,
    NEAR_LOADED_LATENCY, NEAR_READ_BANDWIDTH, NEAR_WRITE_BANDWIDTH, OUTSTANDING_LOADS, READ_BANDWIDTH,
    READ_BANDWIDTH_PER_SM, SATURATING_SMS, TO_PEER_BANDWIDTH, TRIAD_BANDWIDTH, Typed, WRITE_BANDWIDTH,
};
use strata_model::topology::{Element, Topology};

/// Stands above the lines.
pub(super) const TITLE: &str = "Bandwidth of all SMs together";

/// A line for each memory that has a bandwidth.
pub(super) fn lines(topology: &Topology) -> Vec<String> {
    topology
        .elements
        .iter()
        .filter_map(|(name, element)| Some(format!("{}: {}", name.title(), line(element)?)))
        .collect()
}

fn line(element: &Element) -> Option<String> {
    let kinds =
        [("read", READ_BANDWIDTH), ("write", WRITE_BANDWIDTH), ("copy", COPY_BANDWIDTH), ("triad", TRIAD_BANDWIDTH)];
    let known = |(kind, key)| Some(format!("{kind} {}", element.get(key)?));
    let rates: Vec<String> = kinds.into_iter().filter_map(known).collect();
    let mut clauses = Vec::new();
    if !rates.is_empty() {
        clauses.push(moved(element, &rates.join(", ")));
    }
    if let Some(loads) = element.get(OUTSTANDING_LOADS) {
        clauses.push(format!("an SM has up to {loads} loads of its warps under way past it"));
    }
    let copies = [
        ("to the device", HOST_TO_DEVICE_BANDWIDTH),
        ("to the host", DEVICE_TO_HOST_BANDWIDTH),
        ("from the other GPU", FROM_PEER_BANDWIDTH),
        ("to the other GPU", TO_PEER_BANDWIDTH),
        ("both ways", BOTH_WAYS_BANDWIDTH),
    ];
    let copies: Vec<String> = copies.into_iter().filter_map(known).collect();
    if !copies.is_empty() {
        clauses.push(format!("copy engines {}", copies.join(", ")));
    }
    let asynchronous = [
        ("bulk copies from the L2", BULK_COPY_BANDWIDTH),
        ("multicast in clusters of two", MULTICAST_BANDWIDTH),
        ("bulk copies from DRAM", BULK_COPY_DRAM_BANDWIDTH),
        ("cp.async from the L2", CP_ASYNC_BANDWIDTH),
        ("cp.async from DRAM", CP_ASYNC_DRAM_BANDWIDTH),
    ];
    let asynchronous: Vec<String> = asynchronous.into_iter().filter_map(known).collect();
    if !asynchronous.is_empty() {
        clauses.push(asynchronous.join(", "));
    }
    let of_all =
        [ATOMIC_THROUGHPUT, ATOMIC_THROUGHPUT_ONE_LINE, ATOMIC_THROUGHPUT_ONE_ADDRESS, ATOMIC_THROUGHPUT_AGGREGATED];
    let of_an_sm = [
        ATOMIC_THROUGHPUT_PER_SM,
        ATOMIC_THROUGHPUT_ONE_LINE_PER_SM,
        ATOMIC_THROUGHPUT_ONE_ADDRESS_PER_SM,
        ATOMIC_THROUGHPUT_AGGREGATED_PER_SM,
    ];
    for (who, atomics) in [("atomics", atomics(element, of_all)), ("atomics of an SM", atomics(element, of_an_sm))] {
        if !atomics.is_empty() {
            clauses.push(format!("{who} {}", atomics.join(", ")));
        }
    }
    (!clauses.is_empty()).then(|| clauses.join("; "))
}

/// What the SMs move, at these rates, and what it takes.
fn moved(element: &Element, rates: &str) -> String {
    let mut line = rates.to_owned();
    if let Some(each) = element.get(READ_BANDWIDTH_PER_SM) {
        line.push_str(&format!("; an SM reads {each}"));
    }
    if let Some(bytes) = element.get(BYTES_IN_FLIGHT) {
        line.push_str(&format!(", nine tenths of it with {bytes} in flight"));
    }
    if let Some(sms) = element.get(SATURATING_SMS) {
        line.push_str(&format!("; {sms} SMs together read nine tenths of what all do"));
    }
    if let Some(bytes) = element.get(EFFECTIVE_SIZE) {
        line.push_str(&format!("; up to {bytes} are read that fast"));
    }
    if let Some(cycles) = element.get(LOADED_LATENCY) {
        line.push_str(&format!("; while half as much is read, a load takes {cycles}"));
    }
    if let Some(rate) = element.get(LATENCY_DOUBLES_AT) {
        line.push_str(&format!(", and twice its latency at {rate}"));
    }
    line.push_str(&by_partition(element));
    line
}

/// What is known of lines that are at home in the SM's own partition of the L2, and of others.
fn by_partition(element: &Element) -> String {
    fn both<T: Typed + Display>(element: &Element, what: &str, near: Key<T>, far: Key<T>) -> Option<String> {
        Some(format!("; {what} {}, far ones {}", element.get(near)?, element.get(far)?))
    }
    let reads = both(element, "near lines are read at", NEAR_READ_BANDWIDTH, FAR_READ_BANDWIDTH);
    let writes = both(element, "near lines are written at", NEAR_WRITE_BANDWIDTH, FAR_WRITE_BANDWIDTH);
    let loads =
        both(element, "while half as much is read, loads of near lines take", NEAR_LOADED_LATENCY, FAR_LOADED_LATENCY);
    [reads, writes, loads].into_iter().flatten().collect()
}

/// What is known of atomics: with a word of each thread, on one line, on one address, and summed up by warps before.
fn atomics<T: Typed + Display>(element: &Element, keys: [Key<T>; 4]) -> Vec<String> {
    let wheres = ["", "on one line ", "on one address ", "on one address summed up by warps "];
    let known = |(key, at)| Some(format!("{at}{}", element.get(key)?));
    keys.into_iter().zip(wheres).filter_map(known).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_model::topology::Finding;
    use strata_model::units::{Bytes, BytesPerClock, BytesPerSecond, Cycles, OperationsPerClock, OperationsPerSecond};

    #[test]
    fn outstanding_loads_are_said_without_bandwidth() {
        let element = Element::default().with(OUTSTANDING_LOADS, Finding::measured(508, "x"));
        assert_eq!(line(&element).unwrap(), "an SM has up to 508 loads of its warps under way past it");
    }

    #[test]
    fn asynchronous_copies_are_said_by_where_they_come_from() {
        let element = Element::default()
            .with(BULK_COPY_BANDWIDTH, Finding::measured(BytesPerSecond(9.67e12), "x"))
            .with(BULK_COPY_DRAM_BANDWIDTH, Finding::measured(BytesPerSecond(4.62e12), "x"));
        assert_eq!(line(&element).unwrap(), "bulk copies from the L2 9.670 TB/s, bulk copies from DRAM 4.620 TB/s");
    }

    #[test]
    fn atomics_are_said_without_bandwidth() {
        let atomics = Finding::measured(OperationsPerSecond(2.2e12), "x");
        assert_eq!(line(&Element::default().with(ATOMIC_THROUGHPUT, atomics)).unwrap(), "atomics 2.200 Top/s");
    }

    #[test]
    fn a_memory_is_a_line_and_one_without_rates_is_none() {
        let element = Element::default()
            .with(READ_BANDWIDTH, Finding::measured(BytesPerSecond(4.642e12), "x"))
            .with(WRITE_BANDWIDTH, Finding::unknown("x"))
            .with(COPY_BANDWIDTH, Finding::measured(BytesPerSecond(4.153e12), "x"))
            .with(READ_BANDWIDTH_PER_SM, Finding::measured(BytesPerClock(18.0), "x"))
            .with(BYTES_IN_FLIGHT, Finding::measured(Bytes::kib(16), "x"))
            .with(SATURATING_SMS, Finding::measured(39, "x"))
            .with(EFFECTIVE_SIZE, Finding::measured(Bytes::mib(45), "x"))
            .with(LOADED_LATENCY, Finding::measured(Cycles(740.0), "x"))
            .with(LATENCY_DOUBLES_AT, Finding::measured(BytesPerSecond(4.1e12), "x"))
            .with(HOST_TO_DEVICE_BANDWIDTH, Finding::measured(BytesPerSecond(5.5e10), "x"))
            .with(BOTH_WAYS_BANDWIDTH, Finding::measured(BytesPerSecond(9.8e10), "x"))
            .with(ATOMIC_THROUGHPUT, Finding::measured(OperationsPerSecond(2.2e12), "x"))
            .with(ATOMIC_THROUGHPUT_ONE_LINE, Finding::unknown("x"))
            .with(ATOMIC_THROUGHPUT_ONE_ADDRESS, Finding::measured(OperationsPerSecond(1.25e9), "x"))
            .with(ATOMIC_THROUGHPUT_AGGREGATED_PER_SM, Finding::measured(OperationsPerClock(16.0), "x"));
        assert_eq!(
            line(&element).unwrap(),
            "read 4.642 TB/s, copy 4.153 TB/s; an SM reads 18.0 B/clk, nine tenths of it with 16 KiB in flight; 39 SMs together \
             read nine tenths of what all do; up to 45 MiB are read that fast; while half as much is read, a load takes 740.0 cycles, \
             and twice its latency at 4.100 TB/s; copy engines to the device 55.00 GB/s, both ways 98.00 GB/s; \
             atomics 2.200 Top/s, on one address 1.250 Gop/s; atomics of an SM on one address summed up by warps 16.00 op/clk"
        );
        assert_eq!(line(&Element::default()), None);
    }
}
