//! The host and the board of a run in words, for all reports.

use std::collections::BTreeMap;

use strata_model::facts::{BoardFacts, HostFacts, RemappedRows};
use strata_model::topology::RunInfo;
use strata_model::units::Bytes;

/// The title of the section.
pub(super) const TITLE: &str = "Host and board";

/// What is known of host and board; nothing of a run that has neither.
pub(super) fn lines(run: &RunInfo) -> Vec<String> {
    let host = run.host.iter().map(|facts| format!("host: {}", host(facts)));
    host.chain(run.board.iter().flat_map(board)).collect()
}

/// The host on one line.
pub(crate) fn host(host: &HostFacts) -> String {
    let count = |number: Option<u32>, one: &str, several: &str| {
        number.map(|number| format!("{number} {}", if number == 1 { one } else { several }))
    };
    let counts = [
        count(host.sockets, "socket", "sockets"),
        count(host.cores, "core", "cores"),
        count(host.threads, "thread", "threads"),
    ];
    let cpu = [Some(host.cpu.clone().unwrap_or_else(|| "unknown CPU".into()))].into_iter().chain(counts);
    let cpu = cpu.flatten().collect::<Vec<_>>().join(", ");
    let memory = host.memory.map(|memory| format!("{} of memory", Bytes(memory)));
    let system = [host.os.as_ref(), host.kernel.as_ref(), Some(&host.architecture)];
    let system = system.into_iter().flatten().filter(|text| !text.is_empty()).cloned().collect::<Vec<_>>().join(", ");
    [Some(cpu), memory, Some(system)]
        .into_iter()
        .flatten()
        .filter(|text| !text.is_empty())
        .collect::<Vec<_>>()
        .join("; ")
}

/// The board on a few lines: what it is and its link, how it is set, the state of its memory, what NVML does not tell.
fn board(board: &BoardFacts) -> Vec<String> {
    let lines = [("board", link(board)), ("modes and limits", modes(board)), ("memory errors", errors(board))];
    let lines = lines.into_iter().filter(|(_, parts)| !parts.is_empty());
    let lines = lines.map(|(what, parts)| format!("{what}: {}", parts.join("; ")));
    lines.chain(unavailable(board)).collect()
}

fn link(board: &BoardFacts) -> Vec<String> {
    let most = |now: Option<u32>, most: Option<u32>| match (now, most) {
        (Some(now), Some(most)) => Some(format!("{now} of {most}")),
        (Some(now), None) => Some(now.to_string()),
        (None, most) => most.map(|most| format!("at most {most}")),
    };
    let traffic = [(board.pcie_received_bytes_per_s, "received"), (board.pcie_sent_bytes_per_s, "sent")];
    let traffic = traffic.into_iter().filter_map(|(rate, way)| rate.map(|rate| format!("{} {way}", per_second(rate))));
    let traffic = traffic.collect::<Vec<_>>().join(", ");
    [
        board.architecture.as_ref().map(|architecture| format!("architecture {architecture}")),
        board.cores.map(|cores| format!("{cores} cores")),
        most(board.pcie_generation, board.pcie_max_generation)
            .map(|generation| format!("PCIe generation {generation}")),
        most(board.pcie_width, board.pcie_max_width).map(|width| format!("PCIe lanes {width}")),
        (!traffic.is_empty()).then(|| format!("PCIe after the last measurement: {traffic}")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn modes(board: &BoardFacts) -> Vec<String> {
    let mode = |name: &String| name.replace('_', " ");
    let clocks = [
        board.applications_graphics_clock_mhz.map(|mhz| format!("graphics {mhz} MHz")),
        board.applications_memory_clock_mhz.map(|mhz| format!("memory {mhz} MHz")),
    ];
    let clocks = clocks.into_iter().flatten().collect::<Vec<_>>().join(", ");
    [
        board.persistence_mode.map(|on| format!("persistence mode {}", if on { "on" } else { "off" })),
        board.compute_mode.as_ref().map(|name| format!("compute mode {}", mode(name))),
        board.operation_mode.as_ref().map(|name| format!("operation mode {}", mode(name))),
        (!clocks.is_empty()).then(|| format!("applications clocks {clocks}")),
        board.power_limit_w.map(|watts| format!("power limit {watts} W")),
        board.fan_percent.map(|percent| format!("fan {percent} %")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn errors(board: &BoardFacts) -> Vec<String> {
    let two = |numbers: [Option<u64>; 2], words: [&str; 2]| {
        let known = numbers.into_iter().zip(words).filter_map(|(n, word)| n.map(|n| format!("{n} {word}")));
        let known = known.collect::<Vec<_>>().join(", ");
        (!known.is_empty()).then_some(known)
    };
    let kinds = ["corrected", "uncorrected"];
    let pages = [board.retired_pages_single_bit, board.retired_pages_double_bit].map(|count| count.map(u64::from));
    [
        two([board.ecc_volatile_corrected, board.ecc_volatile_uncorrected], kinds)
            .map(|counts| format!("{counts} since the driver was loaded")),
        two([board.ecc_aggregate_corrected, board.ecc_aggregate_uncorrected], kinds)
            .map(|counts| format!("{counts} in the life of the board")),
        two(pages, ["for single-bit errors", "for double-bit errors"]).map(|counts| format!("retired pages {counts}")),
        board.remapped_rows.map(remapped),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn remapped(rows: RemappedRows) -> String {
    let pending = if rows.pending { ", one waits for a reset" } else { "" };
    let failed = if rows.failed { ", one could not be remapped" } else { "" };
    let RemappedRows { corrected, uncorrected, .. } = rows;
    format!("remapped rows {corrected} for corrected errors, {uncorrected} for uncorrected errors{pending}{failed}")
}

/// What NVML does not tell, under each reason.
fn unavailable(board: &BoardFacts) -> Option<String> {
    let mut reasons: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (key, reason) in &board.unavailable {
        reasons.entry(reason).or_default().push(in_words(key));
    }
    let reasons = reasons.into_iter().map(|(reason, keys)| format!("{} ({reason})", keys.join(", ")));
    let reasons = reasons.collect::<Vec<_>>().join("; ");
    (!reasons.is_empty()).then(|| format!("not available: {reasons}"))
}

/// What a key stands for, without its unit.
fn in_words(key: &str) -> String {
    let name = ["_percent", "_mhz", "_w", "_bytes_per_s"].into_iter().find_map(|unit| key.strip_suffix(unit));
    let name = name.unwrap_or(key).replace('_', " ");
    name.replace("ecc ", "ECC ").replace("pcie ", "PCIe ")
}

/// A rate, in MB/s below a gigabyte.
fn per_second(rate: u64) -> String {
    match rate {
        0..1_000_000_000 => format!("{:.1} MB/s", rate as f64 / 1e6),
        _ => format!("{:.2} GB/s", rate as f64 / 1e9),
    }
}
