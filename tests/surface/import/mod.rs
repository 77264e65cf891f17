//! Timings of another tool: files of our own making in its format, whose caches are known, and, where they lie beside the
//! checkout, the raw timings of four real GPUs.

mod doubtful;

use crate::published;
use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde_json::Value;

/// A set-associative cache with least-recently-used replacement, in sectors.
struct Cache {
    line: u64,
    sector: u64,
    sets: u64,
    ways: usize,
    /// Each set's lines with the sectors that are there, the latest last.
    content: Vec<Vec<(u64, u64)>>,
}

impl Cache {
    fn new(line: u64, sector: u64, sets: u64, ways: usize) -> Self {
        Cache { line, sector, sets, ways, content: vec![Vec::new(); sets as usize] }
    }

    fn size(&self) -> u64 {
        self.line * self.sets * self.ways as u64
    }

    /// Whether the address hits.
    fn load(&mut self, address: u64) -> bool {
        let (line, sector) = (address / self.line, 1 << (address % self.line / self.sector));
        let set = &mut self.content[(line % self.sets) as usize];
        let there = set.iter().position(|(l, _)| *l == line).map(|at| set.remove(at).1);
        if there.is_none() && set.len() == self.ways {
            set.remove(0);
        }
        set.push((line, there.unwrap_or(0) | sector));
        there.is_some_and(|sectors| sectors & sector != 0)
    }

    /// Latencies of the first loads of the last of `laps` laps.
    fn chase(&mut self, footprint: u64, stride: u64, laps: u32, (hit, miss): (u32, u32)) -> Vec<u32> {
        self.content = vec![Vec::new(); self.sets as usize];
        let mut last = Vec::new();
        for _ in 0..laps {
            last = (0..footprint / stride).map(|i| if self.load(i * stride) { hit } else { miss }).collect();
        }
        last.truncate(255);
        last
    }
}

fn row(keys: &[u64], latencies: &[u32]) -> String {
    let cells = keys.iter().map(u64::to_string).chain(latencies.iter().map(u32::to_string));
    cells.collect::<Vec<_>>().join(",") + "\n"
}

/// Writes the four files about an L1; the size file and the fetch file by kernels that take 30 and 7 cycles more.
fn write(folder: &Path, name: &dyn Fn(&str) -> String, cache: &mut Cache) {
    let (size, sector) = (cache.size(), cache.sector);
    let step = 8 * sector;
    let mut sizes = String::new();
    for footprint in (size / 2..=2 * size).step_by(step as usize) {
        sizes += &row(&[footprint], &cache.chase(footprint, sector, 2, (70, 250)));
    }
    let mut fetches = String::new();
    for stride in (4..=256).step_by(4) {
        fetches += &row(&[stride], &cache.chase(64 * stride, stride, 1, (47, 227)));
    }
    let mut lines = String::new();
    for stride in (16..=272).step_by(16) {
        for footprint in (size * 3 / 4..size * 3 / 2).step_by((size / 12) as usize) {
            lines += &row(&[stride, footprint], &cache.chase(footprint, stride, 2, (70, 250)));
        }
    }
    let latencies = "40\n".repeat(255);
    for (what, text) in
        [("L1 Size", sizes), ("L1 Fetch Granularity", fetches), ("L1 Line Size", lines), ("L1 Latency", latencies)]
    {
        fs::write(folder.join(name(what)), text).unwrap();
    }
}

fn strata() -> Command {
    Command::cargo_bin("strata").unwrap()
}

/// Imports a folder and gives the report of what it shows.
fn report(folder: &Path) -> Value {
    let recording = tempfile::tempdir().unwrap();
    let file = recording.path().join("imported.strata");
    strata().args(["import", "mt4g"]).arg(folder).arg("--output").arg(&file).assert().success();
    let output = strata().arg("replay").arg(&file).args(["--format", "json"]).assert().success();
    let report = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    published::conforms(&report);
    serde_json::from_str(&report).unwrap()
}

fn value<'a>(report: &'a Value, element: &str, attribute: &str) -> &'a Value {
    &report["elements"][element][attribute]["value"]
}

#[test]
fn a_known_cache_is_found_in_its_timings() {
    for (line, sector, sets, ways) in [(128, 32, 16, 4), (64, 64, 8, 4), (128, 128, 64, 8), (128, 32, 4, 48)] {
        let folder = tempfile::tempdir().unwrap();
        let mut cache = Cache::new(line, sector, sets, ways);
        write(folder.path(), &|what| format!("Some GPU 12GB - {what}.txt"), &mut cache);
        let report = report(folder.path());
        assert_eq!(value(&report, "l1", "size"), cache.size());
        assert_eq!(value(&report, "l1", "line_size"), line);
        assert_eq!(value(&report, "l1", "fetch_granularity"), sector);
        assert_eq!(value(&report, "l1", "miss_penalty"), 180.0);
        let cycles = &report["elements"]["l1"]["latency"]["cycles"];
        assert_eq!((&cycles["value"], &cycles["high"]), (&40.0.into(), &40.0.into()), "an upper bound");
        assert!(cycles.get("low").is_none(), "{cycles}");
        let note = cycles["note"].as_str().unwrap();
        assert!(note.contains("added at least 30 cycles there"), "{note}");
        assert_eq!(report["run"]["backend"], "mt4g");
        assert_eq!(report["device"]["name"], "Some GPU 12GB");
        assert!(report["device"]["multiprocessors"].is_null(), "nobody said how many");
        assert_eq!(report["run"]["started"], Value::Null, "nobody said when");
    }
}

#[test]
fn newer_names_and_a_summary_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let timings = folder.path().join("X100");
    fs::create_dir(&timings).unwrap();
    let named = |what: &str| format!("X100__{}.txt", what.replace(' ', "_"));
    write(&timings, &named, &mut Cache::new(128, 32, 16, 4));
    fs::write(timings.join("notes.txt"), "not about timings").unwrap();
    let summary = r#"{"general": {"name": "Vendor X100", "vendor": "NVIDIA", "computeCapability": {"major": 8, "minor": 6},
        "newKey": []}, "compute": {"multiProcessorCount": 84}, "memory": {"l2": {"size": {"unit": "bytes", "value": 6291456}}},
        "meta": {"timestamp": "2025-01-01T00:00:00Z"}}"#;
    fs::write(folder.path().join("X100.json"), summary).unwrap();
    let report = report(&timings);
    assert_eq!(report["device"]["name"], "Vendor X100");
    assert_eq!(report["device"]["multiprocessors"], 84);
    assert_eq!(report["device"]["l2_size"], 6_291_456);
    assert_eq!(report["run"]["started"], "2025-01-01T00:00:00Z");
    assert_eq!(value(&report, "l1", "size"), 8192);
    let warnings = report["run"]["warnings"].to_string();
    assert!(warnings.contains("ignored files with unknown names: notes.txt"), "{warnings}");
}

#[test]
fn a_time_that_is_no_date_is_unknown() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &|what| format!("X100 - {what}.txt"), &mut Cache::new(128, 32, 16, 4));
    fs::write(folder.path().join("X100.json"), r#"{"meta": {"timestamp": "last Tuesday"}}"#).unwrap();
    let report = report(folder.path());
    assert_eq!(report["run"]["started"], Value::Null);
    let warnings = report["run"]["warnings"].to_string();
    assert!(warnings.contains("taken at `last Tuesday`; that is no date in UTC"), "{warnings}");
}

#[test]
fn what_the_timings_do_not_show_has_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let rows: String = (1..40).map(|i| row(&[1024 * i], &[30; 60])).collect();
    fs::write(folder.path().join("G - L1 Size.txt"), rows).unwrap();
    fs::write(folder.path().join("G - Constant L1 Latency.txt"), "75\n".repeat(20)).unwrap();
    let rows: String = (32..60).map(|i| row(&[1024 * i], &[14])).collect();
    fs::write(folder.path().join("G - Constant L1.5 Size.txt"), rows).unwrap();
    let report = report(folder.path());
    let reason = |element: &str, attribute: &str| {
        let finding = &report["elements"][element][attribute];
        assert!(finding["value"].is_null(), "{finding}");
        finding["reason"].as_str().unwrap().to_owned()
    };
    assert_eq!(report["elements"]["l1"]["size"]["low"], 39.0 * 1024.0);
    assert!(reason("l1", "size").starts_with("more than 39 KiB"));
    assert!(reason("l1", "line_size").contains("no series for the line size of the L1"));
    assert!(reason("constant_l15", "size").contains("something before it answered them"));
}

/// Imports and fails; gives what it says.
fn refusal(folder: &Path) -> String {
    let out = tempfile::tempdir().unwrap();
    let file = out.path().join("x.strata");
    let output = strata().args(["import", "mt4g"]).arg(folder).arg("--output").arg(&file).assert().code(2);
    assert!(!file.exists(), "nothing was imported, so there is no recording");
    String::from_utf8(output.get_output().stderr.clone()).unwrap()
}

#[test]
fn bad_input_is_refused_with_file_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    assert!(refusal(&path("absent")).contains("cannot read"));
    assert!(refusal(folder.path()).contains("contains no timings of MT4G"));
    fs::create_dir(path("Some GPU")).unwrap();
    fs::write(path("Some GPU/Some GPU - L1 Size.txt"), "letters,and,more\n").unwrap();
    assert!(refusal(folder.path()).contains("give one of the folders in it: `"));
    let said = refusal(&path("Some GPU"));
    assert!(said.contains("L1 Size.txt`, line 1: `letters` is not a number of bytes"), "{said}");

    fs::write(path("Some GPU/Some GPU - L1 Size.txt"), "1024,30\n").unwrap();
    fs::write(path("Some GPU/Some GPU__L1_Size.txt"), "1024,30\n").unwrap();
    assert!(refusal(&path("Some GPU")).contains("both contain the size of the L1"));
    fs::remove_file(path("Some GPU/Some GPU__L1_Size.txt")).unwrap();
    fs::write(path("Some GPU/Other - L1 Size.txt"), "1024,30\n").unwrap();
    assert!(refusal(&path("Some GPU")).contains("more than one GPU (Other, Some GPU)"));
    fs::remove_file(path("Some GPU/Other - L1 Size.txt")).unwrap();

    fs::write(path("Some GPU.json"), "{\n  \"general\": {\"name\": 7}}").unwrap();
    let said = refusal(&path("Some GPU"));
    assert!(said.contains("Some GPU.json`, line 2, column") && said.contains("invalid type"), "{said}");
    fs::write(path("Some GPU.json"), "no JSON").unwrap();
    assert!(refusal(&path("Some GPU")).contains("line 1, column"));
    fs::remove_file(path("Some GPU.json")).unwrap();

    fs::write(path("Some GPU/Some GPU - L1 Size.txt"), "1,".repeat(5 << 20)).unwrap();
    assert!(refusal(&path("Some GPU")).contains("line 1: the line is longer than"));
}

#[test]
fn imported_timings_cannot_be_run_again() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("G - L1 Size.txt"), "1024,30\n2048,31\n").unwrap();
    let file = folder.path().join("g.strata");
    strata().args(["import", "mt4g"]).arg(folder.path()).arg("--output").arg(&file).assert().success();
    let output = strata().arg("measure").arg(&file).args(["--device", "sim:k20c"]).assert().failure();
    let said = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    assert_eq!(said.matches("failed: these timings come from another tool").count(), 2, "{said}");
}

/// The raw timings of real GPUs, where they are.
fn real() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/mt4g-results");
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("SKIPPED: the raw timings of real GPUs are not at {}", folder.display());
    None
}

/// What the raw timings of a GPU show: element, size, line, granularity of fetching (0: unknown).
type Shown = (&'static str, u64, u64, u64);

/// As docs/evidence/imported.md has it.
const REAL: [(&str, &[Shown]); 4] = [
    (
        "Quadro P6000",
        &[
            ("l1", 24576, 128, 32),
            ("texture", 24576, 128, 32),
            ("read_only", 24576, 128, 32),
            ("constant_l1", 2048, 64, 64),
            ("constant_l15", 31488, 256, 256),
            ("l2", 2_947_584, 128, 0),
        ],
    ),
    (
        "Tesla V100-PCIE-16GB",
        &[
            ("l1", 117_760, 128, 32),
            ("texture", 115_712, 128, 32),
            ("read_only", 117_760, 128, 32),
            ("constant_l1", 2048, 64, 64),
            ("constant_l15", 0, 0, 256),
            ("l2", 6_307_328, 128, 0),
        ],
    ),
    (
        "NVIDIA A100-PCIE-40GB",
        &[
            ("l1", 174_592, 128, 32),
            ("texture", 173_056, 128, 32),
            ("read_only", 174_592, 128, 32),
            ("constant_l1", 2048, 64, 64),
            ("constant_l15", 0, 0, 256),
            ("l2", 19_458_816, 0, 64),
        ],
    ),
    ("AMD Instinct MI210", &[("l1", 16384, 64, 64), ("scalar_l1", 15488, 64, 64), ("l2", 0, 0, 64)]),
];

#[test]
fn the_raw_timings_of_real_gpus_show_what_the_documents_say() {
    let Some(real) = real() else { return };
    for (gpu, elements) in REAL {
        let report = report(&real.join(gpu));
        assert_eq!(report["device"]["name"], gpu);
        for &(element, size, line, fetch) in elements {
            for (attribute, expected) in [("size", size), ("line_size", line), ("fetch_granularity", fetch)] {
                let found = value(&report, element, attribute).as_u64().unwrap_or(0);
                assert_eq!(found, expected, "{gpu}: {attribute} of {element}");
            }
        }
    }
}
