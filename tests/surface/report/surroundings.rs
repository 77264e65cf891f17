//! The host and the board in the reports of both kinds of runs.

use strata_model::facts::{BoardFacts, HostFacts, RemappedRows, Unavailable};

use super::*;

fn missing(key: &str, reason: &str) -> Unavailable {
    Unavailable { key: key.into(), reason: reason.into() }
}

/// A host and a board that say nearly everything.
fn told(run: RunInfo) -> RunInfo {
    let host = HostFacts {
        cpu: Some("Intel(R) Xeon(R) Platinum 8480+".into()),
        sockets: Some(2),
        cores: Some(112),
        threads: Some(224),
        memory: Some(2 << 40),
        os: Some("Ubuntu 24.04.1 LTS".into()),
        kernel: Some("Linux 6.8.0-45-generic".into()),
        architecture: "x86_64".into(),
    };
    let board = BoardFacts {
        architecture: Some("Hopper".into()),
        cores: Some(16896),
        pcie_generation: Some(4),
        pcie_max_generation: Some(5),
        pcie_width: Some(16),
        pcie_max_width: Some(16),
        pcie_received_bytes_per_s: Some(2_550_000),
        pcie_sent_bytes_per_s: Some(12_345_678_000),
        persistence_mode: Some(true),
        compute_mode: Some("exclusive_process".into()),
        applications_graphics_clock_mhz: Some(1980),
        applications_memory_clock_mhz: Some(3201),
        power_limit_w: Some(700.0),
        ecc_volatile_corrected: Some(1),
        ecc_volatile_uncorrected: Some(2),
        ecc_aggregate_corrected: Some(3),
        ecc_aggregate_uncorrected: Some(4),
        remapped_rows: Some(RemappedRows { corrected: 5, uncorrected: 6, pending: true, failed: true }),
        unavailable: [
            ("fan_percent", "no fan"),
            ("operation_mode", "not supported"),
            ("retired_pages_double_bit", "not supported"),
            ("retired_pages_single_bit", "not supported"),
        ]
        .map(|(key, reason)| missing(key, reason))
        .into(),
        ..BoardFacts::default()
    };
    RunInfo { host: Some(host), board: Some(board), ..run }
}

/// What a reader sees of it.
const LINES: [&str; 5] = [
    "host: Intel(R) Xeon(R) Platinum 8480+, 2 sockets, 112 cores, 224 threads; 2048 GiB of memory; Ubuntu 24.04.1 LTS, Linux \
     6.8.0-45-generic, x86_64",
    "board: architecture Hopper; 16896 cores; PCIe generation 4 of 5; PCIe lanes 16 of 16; PCIe after the last measurement: \
     2.5 MB/s received, 12.35 GB/s sent",
    "modes and limits: persistence mode on; compute mode exclusive process; applications clocks graphics 1980 MHz, memory \
     3201 MHz; power limit 700 W",
    "memory errors: 1 corrected, 2 uncorrected since the driver was loaded; 3 corrected, 4 uncorrected in the life of the \
     board; remapped rows 5 for corrected errors, 6 for uncorrected errors, one waits for a reset, one could not be remapped",
    "not available: fan (no fan); operation mode, retired pages double bit, retired pages single bit (not supported)",
];

/// Every report of a discovery and of a characterization with this run: texts, Markdown, pages.
fn reports(change: impl Fn(RunInfo) -> RunInfo) -> [String; 6] {
    let mut topology = topology::small("Tesla K20c", false);
    topology.run = change(topology.run);
    let mut costs = characterization::small("Tesla K20c", false);
    costs.run = change(costs.run);
    [
        report::text(&topology, &Terminal::PAPER, report::Extent::Details),
        report::characterization::text(&costs, &Terminal::PAPER, report::Extent::Details),
        report::markdown(&topology, Pictures::Embedded).text,
        report::characterization::markdown(&costs, Pictures::Embedded).text,
        report::html(&topology, &topology::evidence()).unwrap(),
        report::characterization::html(&costs).unwrap(),
    ]
}

/// A text without line breaks, indentation, and what Markdown and HTML escape.
fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('\\', "").replace("&#x2f;", "/")
}

#[test]
fn every_report_tells_of_host_and_board() {
    for text in reports(told) {
        if text.starts_with("<!") {
            well_formed(&text);
        }
        let text = on_one_line(&text);
        for line in LINES {
            assert!(text.contains(line), "no {line:?} in a report of {} bytes", text.len());
        }
        assert_eq!(text.matches("Host and board").count(), 1);
    }
}

#[test]
fn what_is_not_known_takes_no_place() {
    for text in reports(|run| run) {
        assert!(!text.contains("Host and board"), "{text}");
    }
    let host = HostFacts { threads: Some(1), architecture: "aarch64".into(), ..HostFacts::default() };
    for text in reports(|run| RunInfo { host: Some(host.clone()), ..run }).map(|text| on_one_line(&text)) {
        assert!(text.contains("host: unknown CPU, 1 thread; aarch64") && !text.contains("board:"), "{text}");
    }
    let board = BoardFacts { pcie_max_width: Some(16), fan_percent: Some(30), ..BoardFacts::default() };
    for text in reports(|run| RunInfo { board: Some(board.clone()), ..run }).map(|text| on_one_line(&text)) {
        assert!(text.contains("board: PCIe lanes at most 16") && text.contains("modes and limits: fan 30 %"), "{text}");
        assert!(!text.contains("memory errors") && !text.contains("not available:"), "{text}");
    }
    let keys = ["ecc_volatile_corrected", "pcie_sent_bytes_per_s", "power_limit_w"];
    let unavailable = keys.map(|key| missing(key, "no permission")).into();
    let board = BoardFacts { unavailable, ..BoardFacts::default() };
    for text in reports(|run| RunInfo { board: Some(board.clone()), ..run }).map(|text| on_one_line(&text)) {
        let line = "not available: ECC volatile corrected, PCIe sent, power limit (no permission)";
        assert!(text.contains(line) && !text.contains("board:"), "{text}");
    }
}

#[test]
fn a_host_that_means_mischief_is_text() {
    let host = HostFacts { cpu: Some(MISCHIEF.into()), os: Some(MISCHIEF.into()), ..HostFacts::default() };
    let unavailable = vec![missing(MISCHIEF, MISCHIEF)];
    let board = BoardFacts { architecture: Some(MISCHIEF.into()), unavailable, ..BoardFacts::default() };
    let [.., topology, costs] = reports(|run| RunInfo { host: Some(host.clone()), board: Some(board.clone()), ..run });
    for page in [topology, costs] {
        well_formed(&page);
        self_contained(&page);
    }
}
