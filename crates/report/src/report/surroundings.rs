//! The host and the board of a run in words, for all reports.

use super::text::by_reason;
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
    let count = |number: Option<u32>, what: &str| {
        number.map(|number| format!("{number} {what}{}", if number == 1 { "" } else { "s" }))
    };
    let cpu = host.cpu.clone().unwrap_or_else(|| "unknown CPU".into());
    let counts = [count(host.sockets, "socket"), count(host.cores, "core"), count(host.threads, "thread")];
    let memory = host.memory.map(|memory| format!("{} of memory", Bytes(memory)));
    let architecture = Some(host.architecture.clone()).filter(|name| !name.is_empty());
    let system = joined(&[host.os.clone(), host.kernel.clone(), architecture], ", ");
    let [sockets, cores, threads] = counts;
    joined(&[joined(&[Some(cpu), sockets, cores, threads], ", "), memory, system], "; ").unwrap_or_default()
}

/// The board on a few lines: what it is and its link, how it is set, the state of its memory, what NVML does not tell.
fn board(board: &BoardFacts) -> Vec<String> {
    let lines = [
        ("board", link(board)),
        ("modes and limits", modes(board)),
        ("memory errors", errors(board)),
        ("not available", unavailable(board)),
    ];
    lines.into_iter().filter_map(|(what, line)| line.map(|line| format!("{what}: {line}"))).collect()
}

/// The parts that are known; nothing if none is.
fn joined(parts: &[Option<String>], between: &str) -> Option<String> {
    let known: Vec<&str> = parts.iter().flatten().map(String::as_str).collect();
    (!known.is_empty()).then(|| known.join(between))
}

/// A number between words, if it is known.
fn number(before: &str, number: Option<u64>, after: &str) -> Option<String> {
    number.map(|number| format!("{before}{number}{after}"))
}

fn link(board: &BoardFacts) -> Option<String> {
    let most = |what: &str, now: Option<u32>, most: Option<u32>| match (now, most) {
        (Some(now), Some(most)) => Some(format!("{what} {now} of {most}")),
        (Some(now), None) => Some(format!("{what} {now}")),
        (None, most) => most.map(|most| format!("{what} at most {most}")),
    };
    let rate = |rate: Option<u64>, way: &str| rate.map(|rate| format!("{} {way}", per_second(rate)));
    let traffic = [rate(board.pcie_received_bytes_per_s, "received"), rate(board.pcie_sent_bytes_per_s, "sent")];
    let parts = [
        board.architecture.as_ref().map(|architecture| format!("architecture {architecture}")),
        number("", board.cores.map(u64::from), " cores"),
        most("PCIe generation", board.pcie_generation, board.pcie_max_generation),
        most("PCIe lanes", board.pcie_width, board.pcie_max_width),
        joined(&traffic, ", ").map(|traffic| format!("PCIe after the last measurement: {traffic}")),
    ];
    joined(&parts, "; ")
}

fn modes(board: &BoardFacts) -> Option<String> {
    let mode =
        |what: &str, mode: &Option<String>| mode.as_ref().map(|mode| format!("{what} mode {}", mode.replace('_', " ")));
    let clocks = [
        number("graphics ", board.applications_graphics_clock_mhz.map(u64::from), " MHz"),
        number("memory ", board.applications_memory_clock_mhz.map(u64::from), " MHz"),
    ];
    let parts = [
        board.persistence_mode.map(|on| format!("persistence mode {}", if on { "on" } else { "off" })),
        mode("compute", &board.compute_mode),
        mode("operation", &board.operation_mode),
        joined(&clocks, ", ").map(|clocks| format!("applications clocks {clocks}")),
        board.power_limit_w.map(|watts| format!("power limit {watts} W")),
        number("fan ", board.fan_percent.map(u64::from), " %"),
    ];
    joined(&parts, "; ")
}

fn errors(board: &BoardFacts) -> Option<String> {
    let ecc = |corrected: Option<u64>, uncorrected: Option<u64>, when: &str| {
        let counts = joined(&[number("", corrected, " corrected"), number("", uncorrected, " uncorrected")], ", ");
        counts.map(|counts| format!("{counts} {when}"))
    };
    let pages = [
        number("", board.retired_pages_single_bit.map(u64::from), " for single-bit errors"),
        number("", board.retired_pages_double_bit.map(u64::from), " for double-bit errors"),
    ];
    let parts = [
        ecc(board.ecc_volatile_corrected, board.ecc_volatile_uncorrected, "since the driver was loaded"),
        ecc(board.ecc_aggregate_corrected, board.ecc_aggregate_uncorrected, "in the life of the board"),
        joined(&pages, ", ").map(|pages| format!("retired pages {pages}")),
        board.remapped_rows.map(remapped),
    ];
    joined(&parts, "; ")
}

fn remapped(rows: RemappedRows) -> String {
    let pending = if rows.pending { ", one waits for a reset" } else { "" };
    let failed = if rows.failed { ", one could not be remapped" } else { "" };
    let RemappedRows { corrected, uncorrected, .. } = rows;
    format!("remapped rows {corrected} for corrected errors, {uncorrected} for uncorrected errors{pending}{failed}")
}

/// What NVML does not tell, under each reason.
fn unavailable(board: &BoardFacts) -> Option<String> {
    let reasons = by_reason(board.unavailable.iter().map(|missing| (in_words(&missing.key), missing.reason.clone())));
    let reasons: Vec<_> = reasons.into_iter().map(|(keys, reason)| Some(format!("{keys} ({reason})"))).collect();
    joined(&reasons, "; ")
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
