//! `--prometheus` and `--nfd`: the files are what their readers take, of every result, and nothing is lost for them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use gpu_strata::{Exchange, Expiry, Side};
use serde_json::{Map, Value as Json, json};
use strata_model::attribute::{Attribute, Kind, SIZE};
use strata_model::topology::{ElementName, Topology};
use tempfile::TempDir;

use crate::command::{characterization, recording, refused, strata};

/// A committed result of an H200, and when it was measured.
const H200: &str = "recordings/2026-11-25-h200-bandwidth.json";
/// A discovery that takes little time.
const SHORT: [&str; 6] = ["discover", "--device", "sim:k20c", "--only", "shared", "--quiet"];

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Values of series, by the name of the metric with its labels.
type Series = BTreeMap<(String, BTreeMap<String, String>), f64>;

/// Reads the exposition format as Prometheus does: HELP and TYPE once and before the series, which stand together; no series
/// twice, and no time.
fn exposed(text: &str) -> Series {
    let is_name = |name: &str| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let (mut series, mut described, mut typed) = (Series::new(), BTreeSet::new(), BTreeSet::new());
    let mut metric = String::new();
    assert!(text.ends_with('\n'));
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap();
            assert!(described.insert(name.to_owned()) && !help.is_empty(), "{line}");
            metric = name.to_owned();
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            assert_eq!(rest, format!("{metric} gauge"));
            assert!(typed.insert(metric.clone()), "{line}");
        } else {
            let (name, rest) = line.split_once('{').unwrap();
            assert!(is_name(name) && name == metric && typed.contains(name), "{line}");
            let (labels, value) = labels(rest);
            assert!(labels.keys().all(|key| is_name(key)), "{line}");
            let value = value.strip_prefix(' ').unwrap();
            assert!(!value.contains(' '), "a time: {line}");
            assert!(series.insert((name.to_owned(), labels), value.parse().unwrap()).is_none(), "twice: {line}");
        }
    }
    assert_eq!(described, typed);
    assert!(described.iter().all(|name| name.starts_with("strata_")));
    series
}

/// The labels up to the closing brace, without their escapes, and what follows it.
fn labels(text: &str) -> (BTreeMap<String, String>, &str) {
    let mut labels = BTreeMap::new();
    let mut rest = text;
    while !rest.starts_with('}') {
        let (key, after) = rest.split_once("=\"").unwrap();
        let mut value = String::new();
        let mut letters = after.char_indices();
        let end = loop {
            match letters.next().unwrap() {
                (at, '"') => break at,
                (_, '\\') => value.push(match letters.next().unwrap().1 {
                    'n' => '\n',
                    same @ ('\\' | '"') => same,
                    other => panic!("no escape: \\{other}"),
                }),
                (_, c) => value.push(c),
            }
        };
        assert!(labels.insert(key.to_owned(), value).is_none(), "{text}");
        rest = after[end + 1..].trim_start_matches(',');
    }
    (labels, &rest[1..])
}

/// The value of the one series with these labels, or `None`.
fn value(series: &Series, name: &str, element: &str) -> Option<f64> {
    let mut all = series.iter().filter(|((metric, labels), _)| metric == name && labels["element"] == element);
    let found = all.next().map(|(_, value)| *value);
    assert!(all.next().is_none(), "{name} {element}");
    found
}

/// Features by name, with whether they are labels: what Node Feature Discovery reads, and no more than that of each.
fn features(text: &str) -> BTreeMap<String, (String, bool)> {
    let mut all = BTreeMap::new();
    let mut is_label = true;
    assert!(text.ends_with('\n') && text.len() <= 1 << 16);
    for line in text.lines() {
        if line.starts_with('#') {
            is_label = line != "# +no-label";
            continue;
        }
        let (name, value) = line.split_once('=').unwrap();
        let ends = |text: &str| {
            text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.ends_with(|c: char| c.is_ascii_alphanumeric())
        };
        let legal = |text: &str| ends(text) && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        let short = name.strip_prefix("strata.dev/").unwrap();
        assert!(legal(short) && legal(value) && value.len() <= 63 && (short.len() <= 63 || !is_label), "{line}");
        assert!(all.insert(short.to_owned(), (value.to_owned(), is_label)).is_none(), "twice: {line}");
        is_label = true;
    }
    all
}

fn discovery(path: &str) -> Topology {
    Side::File(path.into()).discovery().unwrap()
}

fn metrics(topology: &Topology) -> Series {
    exposed(&Exchange::Prometheus.write(topology).unwrap())
}

fn labelled(topology: &Topology) -> BTreeMap<String, (String, bool)> {
    features(&Exchange::Nfd { expiry: Expiry::NEVER }.write(topology).unwrap())
}

/// A result that knows a number for every attribute that may have one, of every element.
fn everything() -> (Topology, usize) {
    let mut element = Map::new();
    let mut count = 0;
    for attribute in Attribute::ALL {
        let number = match attribute.kind() {
            Kind::Number if attribute.unit().contains(' ') => continue,
            Kind::Bytes | Kind::Count | Kind::Ways => json!(9_000_000_000_000_000u64),
            Kind::Cycles
            | Kind::Nanoseconds
            | Kind::Number
            | Kind::Rate
            | Kind::ClockRate
            | Kind::OperationRate
            | Kind::OperationClockRate => json!(1234.5),
            _ => continue,
        };
        count += 1;
        let finding = json!({ "value": number, "low": 1.0, "high": 9e15, "source": "measured", "method": "by hand" });
        match attribute.path() {
            (field, None) => element.insert(field.into(), finding),
            (field, Some(within)) => {
                let object = element.entry(field).or_insert_with(|| json!({}));
                object.as_object_mut().unwrap().insert(within.into(), finding)
            }
        };
    }
    let mut result: Json = serde_json::from_str(&fs::read_to_string(H200).unwrap()).unwrap();
    result["elements"] =
        ElementName::ALL.iter().map(|name| (name.key().to_owned(), Json::from(element.clone()))).collect();
    (serde_json::from_value(result).unwrap(), count)
}

#[test]
fn every_result_makes_files_that_can_be_read() {
    for file in fs::read_dir("tests/surface/report/machines").unwrap() {
        let topology = discovery(text(&file.unwrap().path()));
        assert!(metrics(&topology).len() > 50 && labelled(&topology).len() > 30);
    }
}

/// No two attributes have one name, and a file for Kubernetes is never longer than what is read.
#[test]
fn every_attribute_has_names_of_its_own() {
    let (topology, count) = everything();
    let of_elements = metrics(&topology).keys().filter(|(_, labels)| labels.contains_key("element")).count();
    assert_eq!(of_elements, 3 * count * ElementName::ALL.len());
    let features = labelled(&topology);
    assert!(features.len() > 500, "{}", features.len());
}

#[test]
fn metrics_are_the_findings_in_base_units() {
    let topology = discovery(H200);
    let series = metrics(&topology);
    let is = |name: &str, element: &str, expected: Option<f64>| {
        let found = value(&series, name, element);
        let near = match (found, expected) {
            (Some(found), Some(expected)) => (found - expected).abs() <= 1e-9 * expected.abs(),
            (found, expected) => found == expected,
        };
        assert!(near, "{name} {element}: {found:?}, not {expected:?}");
    };
    is("strata_size_bytes", "l1", Some(246_784.0));
    is("strata_size_low_bytes", "l1", Some(220_672.0));
    is("strata_size_high_bytes", "l1", Some(246_784.0));
    is("strata_latency_cycles", "l2", topology.l2().number(Attribute::LatencyCycles));
    is("strata_latency_seconds", "l2", topology.l2().number(Attribute::LatencyNs).map(|ns| ns * 1e-9));
    is("strata_read_bandwidth_bytes_per_second", "dram", topology.dram().number(Attribute::ReadBandwidth));
    is("strata_read_bandwidth_per_sm_bytes_per_cycle", "dram", topology.dram().number(Attribute::ReadBandwidthPerSm));
    is("strata_conflict_cycles", "shared", Some(2.0));
    is("strata_sets", "l1", None);
    let findings: f64 = series.iter().filter(|((name, _), _)| name == "strata_findings").map(|(_, count)| count).sum();
    assert_eq!(findings as usize, topology.elements.values().map(|element| element.findings().count()).sum::<usize>());
    // Of what is unknown there may be a bound.
    let v100 = metrics(&discovery("tests/surface/report/machines/v100.json"));
    assert_eq!(value(&v100, "strata_size_bytes", "constant_l15"), None);
    assert_eq!(value(&v100, "strata_size_low_bytes", "constant_l15"), Some(65_536.0));
    // The labels are those of the DCGM exporter.
    for (name, labels) in series.keys() {
        assert_eq!(labels["UUID"], "GPU-ec042390-98d0-c527-9c2e-43786be48c15", "{name}");
        assert_eq!((labels["pci_bus_id"].as_str(), labels["modelName"].as_str()), ("00000000:00:06.0", "NVIDIA H200"));
    }
    let start = series.iter().find(|((name, _), _)| name == "strata_run_start_timestamp_seconds").unwrap();
    assert_eq!(*start.1, 1_795_569_676.0);
}

#[test]
fn names_from_outside_are_escaped() {
    let mut topology = discovery(H200);
    topology.device.name = "a \"b\" \\ c\n# TYPE d gauge".into();
    topology.device.uuid = Some("\\".into());
    let series = metrics(&topology);
    let ((_, labels), _) = series.iter().next().unwrap();
    assert_eq!((labels["modelName"].as_str(), labels["UUID"].as_str()), (topology.device.name.as_str(), "\\"));
    let features = labelled(&topology);
    assert_eq!(features["gpu.model"], ("a--b----c---TYPE-d-gauge".into(), true));
    topology.device.name = format!("_{}.", "x".repeat(62));
    assert_eq!(labelled(&topology)["gpu.model"].0, "x".repeat(62));
    topology.device.name = "\u{e9}\n".into();
    assert!(!labelled(&topology).contains_key("gpu.model"));
}

#[test]
fn features_are_whole_numbers() {
    let features = labelled(&discovery(H200));
    for (name, value, is_label) in [
        ("gpu.model", "NVIDIA-H200", true),
        ("gpu.sms", "132", true),
        ("gpu.simulated", "false", true),
        ("l1.size-bytes", "246784", true),
        ("l2.partitions", "2", true),
        ("l2.near_latency-cycles", "291", true),
        ("l2.latency-ns", "142", true),
        ("l2.latency-cycles", "282", false),
        ("l1.line_size-bytes", "128", true),
        ("shared.conflict-cycles", "2", false),
    ] {
        assert_eq!(features.get(name), Some(&(value.to_owned(), is_label)), "{name}");
    }
    // Bytes a cycle would lose what they say.
    assert!(!features.keys().any(|name| name.contains("clk") || name.contains("per-cycle")), "{features:?}");
    let labels = features.values().filter(|(_, is_label)| *is_label).count();
    assert!((10..30).contains(&labels), "{labels}");
}

#[test]
fn features_expire_after_the_measurement() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("strata");
    let expiry = |more: &[&str]| {
        let run = strata(&[&["export", H200, "--nfd", text(&file)], more].concat());
        assert_eq!(run.status, Some(0), "{}", run.stderr);
        let text = fs::read_to_string(&file).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("# +expiry-time=").map(str::to_owned));
        (line, run.stderr.contains("have expired"))
    };
    // It was measured on 2026-11-25T01:21:16Z.
    assert_eq!(expiry(&[]).0.as_deref(), Some("2026-12-25T01:21:16Z"));
    assert_eq!(expiry(&["--nfd-expiry", "12h"]), (Some("2026-11-25T13:21:16Z".into()), true));
    assert_eq!(expiry(&["--nfd-expiry", "never"]), (None, false));
    assert!(!expiry(&["--nfd-expiry", "12h", "--quiet"]).1);
    for wrong in ["0s", "soon", "12"] {
        refused(&["export", H200, "--nfd", text(&file), "--nfd-expiry", wrong], &["such as 12h or 30d, or never"]);
    }
}

#[test]
fn a_run_its_replay_and_its_result_give_the_same_files() {
    let dir = TempDir::new().unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (run, result) = (at("run.strata"), at("run.json"));
    let mut all = BTreeSet::new();
    let mut written = |arguments: &[&str]| {
        let (prom, nfd) = (at("strata.prom"), at("strata"));
        let done = strata(&[arguments, &["--prometheus", &prom, "--nfd", &nfd]].concat());
        assert_eq!(done.status, Some(0), "{arguments:?}: {}", done.stderr);
        let both = [prom, nfd].map(|path| fs::read_to_string(path).unwrap());
        assert!(exposed(&both[0]).len() > 10 && features(&both[1]).contains_key("shared.latency-ns"));
        all.insert(both);
    };
    written(&[&SHORT[..], &["--record", &run, "--format", "json", "--output", &result]].concat());
    written(&["replay", &run]);
    written(&["export", &run]);
    written(&["export", &result]);
    written(&["export", &run, "--csv", &at("csv")]);
    assert_eq!(all.len(), 1, "{all:#?}");
    // Nothing else is left.
    let names: BTreeSet<String> =
        fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(names, ["csv", "run.json", "run.strata", "strata", "strata.prom"].map(str::to_owned).into());
}

#[test]
fn no_file_is_lost_for_another() {
    let dir = TempDir::new().unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (run, new, old) = (at("run.strata"), at("new"), at("old"));
    fs::copy(recording(), &run).unwrap();
    fs::write(&old, "former").unwrap();
    let costs = characterization();
    for option in ["--prometheus", "--nfd"] {
        refused(&["replay", &run, option, &run], &["is read by this command", option]);
        refused(&["export", &run, option, &run], &["is read by this command", option]);
        refused(&["replay", &run, "--output", &new, option, &new], &["both name", "--output", option]);
        refused(&[&SHORT[..], &["--record", &new, option, &new]].concat(), &["both name", "--record", option]);
        refused(&["replay", &run, option, "/nonexistent/file"], &["/nonexistent/file", option]);
        refused(&["discover", option, "/nonexistent/file"], &["/nonexistent/file", option]);
        refused(&["replay", text(&costs), option, &old], &["of a discovery"]);
        refused(&["export", text(&costs), option, &old], &["of a discovery"]);
        refused(&["export", "recordings/2026-11-22-h200-characterize.json", option, &old], &["only a discovery"]);
        refused(&["export", "README.md", option, &old], &["README.md"]);
        refused(&["export", text(&costs), "--csv", &at("csv"), option, &old], &["of a discovery"]);
        // No device: what was there stays.
        assert_eq!(strata(&["discover", option, &old]).status, Some(3));
        assert_eq!(strata(&["discover", option, &new]).status, Some(3));
        // A full disk costs the file alone.
        let report = at("report.txt");
        let other = if option == "--nfd" { "--prometheus" } else { "--nfd" };
        let done = strata(&["replay", &run, "--output", &report, option, "/dev/full", other, &at("other")]);
        assert_eq!(done.status, Some(1));
        assert!(done.stderr.contains("/dev/full") && done.stderr.contains("No space left"), "{}", done.stderr);
        for path in [report, at("other")] {
            assert!(fs::metadata(&path).unwrap().len() > 100, "{path}");
            fs::remove_file(path).unwrap();
        }
    }
    refused(&["replay", &run, "--nfd", &new, "--prometheus", &new], &["both name", "--prometheus", "--nfd"]);
    refused(&["replay", &run, "--prometheus", "-"], &["both name standard output"]);
    assert_eq!(fs::read_to_string(&old).unwrap(), "former");
    assert_eq!(fs::read(&run).unwrap(), fs::read(recording()).unwrap());
    assert!(!Path::new(&new).exists());
    // A report that cannot be written costs no other file.
    let done = strata(&["replay", &run, "--output", "/dev/full", "--prometheus", &new]);
    assert_eq!(done.status, Some(1));
    exposed(&fs::read_to_string(&new).unwrap());
}

/// What is left of a recording is written, and the status says that it is not all.
#[test]
fn a_recording_that_was_cut_makes_files_of_the_rest() {
    let dir = TempDir::new().unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (cut, nfd, prom) = (at("cut.strata"), at("strata"), at("strata.prom"));
    let whole = fs::read(recording()).unwrap();
    fs::write(&cut, &whole[..whole.len() * 2 / 3]).unwrap();
    let read = || [&nfd, &prom].map(|path| fs::read_to_string(path).unwrap());
    let mut all = BTreeSet::new();
    for command in ["export", "replay"] {
        let run = strata(&[command, &cut, "--nfd", &nfd, "--prometheus", &prom]);
        assert_eq!(run.status, Some(4), "{}", run.stderr);
        assert!(run.stderr.contains("ends early"), "{}", run.stderr);
        assert!(features(&read()[0]).contains_key("l1.size-bytes") && !exposed(&read()[1]).is_empty());
        all.insert(read());
    }
    assert_eq!(all.len(), 1);
}

#[test]
fn a_gpu_of_several_has_its_number() {
    let topology = discovery(H200);
    let series = exposed(&strata_report::report::prometheus(&[(Some(3), &topology)]));
    assert!(series.keys().all(|(_, labels)| labels["gpu"] == "3"));
    let features = features(&strata_report::report::nfd(&[(Some(3), &topology)], Expiry::NEVER));
    assert!(features.keys().all(|name| name.starts_with("gpu-3.")), "{features:?}");
    assert_eq!(features["gpu-3.l1.size-bytes"].0, topology.l1().number(SIZE).unwrap().to_string());
}
