//! `--format hwloc`: hwloc itself loads what is written, and draws it.
//!
//! Without hwloc the tests say so and end; `.ci/run` installs it and sets `STRATA_NEEDS_HWLOC`, so that there they cannot.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use strata_gpu::DeviceFacts;
use strata_model::attribute::{
    CACHED, INSTANCES_PER_SM, LATENCY_CYCLES, LATENCY_NS, LINE_SIZE, PARTITIONS, READ_BANDWIDTH, SIZE, SM_MAP, SmMap,
    SmPlace,
};
use strata_model::topology::{Element, ElementName, Finding, RunInfo, SCHEMA, Topology};
use strata_model::units::{Bytes, BytesPerSecond, Cycles, Nanoseconds};
use strata_report::report;
use strata_sim::machine;
use tempfile::TempDir;

/// The program that draws.
const LSTOPO: &str = "lstopo-no-graphics";

/// Whether hwloc is there.
fn hwloc_is_there() -> bool {
    let there = Command::new(LSTOPO).arg("--version").output().is_ok_and(|output| output.status.success());
    if !there {
        assert!(std::env::var_os("STRATA_NEEDS_HWLOC").is_none(), "{LSTOPO} is not there");
        eprintln!("SKIPPED: {LSTOPO} is not there; Debian's package hwloc-nox has it");
    }
    there
}

/// What `lstopo` makes of a file, without a word on standard error.
fn draw(file: &Path, arguments: &[&str]) -> String {
    let Output { status, stdout, stderr } =
        Command::new(LSTOPO).arg("-i").arg(file).args(arguments).output().expect("it was there");
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success() && stderr.is_empty(), "{}: {stderr}", file.display());
    stdout.into_owned()
}

fn written(dir: &TempDir, topology: &Topology) -> PathBuf {
    let file = dir.path().join("gpu.xml");
    fs::write(&file, report::hwloc(topology).unwrap()).unwrap();
    file
}

fn bytes(value: u64) -> Finding<Bytes> {
    Finding::measured(Bytes(value), "by hand").range(value as f64, value as f64)
}

/// How many objects of a kind hwloc-calc counts.
#[track_caller]
fn calc(file: &Path, kind: &str) -> usize {
    let done = Command::new("hwloc-calc").arg("-i").arg(file).args(["-N", kind, "all"]).output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    said.trim().parse().unwrap_or_else(|_| panic!("{said}{}", String::from_utf8_lossy(&done.stderr)))
}

/// A GPU of this many SMs with so many caches each, in so many partitions of the L2.
fn gpu(name: &str, sms: u32, instances: u64, partitions: u64) -> Topology {
    let l1 = Element::default()
        .with(CACHED, Finding::measured(true, "by hand"))
        .with(SIZE, bytes(48 << 10))
        .with(LINE_SIZE, bytes(128))
        .with(INSTANCES_PER_SM, Finding::measured(instances, "by hand"))
        .with(LATENCY_CYCLES, Finding::measured(Cycles(32.5), "by hand").interval(32.0, 33.0, 0.95))
        .with(LATENCY_NS, Finding::unknown("no clock"));
    let place = |sm: u32| SmPlace {
        sm,
        partition: Some(sm % partitions as u32),
        group: Some(0),
        tpc: None,
        gpc: None,
        latency: Vec::new(),
    };
    let l2 = Element::default()
        .with(SIZE, bytes(3 << 20))
        .with(LINE_SIZE, bytes(128))
        .with(PARTITIONS, Finding::measured(partitions, "by hand"))
        .with(SM_MAP, Finding::measured(SmMap((0..sms).map(place).collect()), "by hand"));
    Topology {
        schema: SCHEMA.into(),
        device: DeviceFacts {
            name: name.into(),
            multiprocessors: sms,
            total_memory: 2 << 30,
            l2_size: 4 << 20,
            ..DeviceFacts::default()
        },
        run: RunInfo::default(),
        elements: BTreeMap::from([(ElementName::L1, l1), (ElementName::L2, l2)]),
        replayed_from: None,
    }
}

/// Lines of the console's drawing that begin, indentation aside, with this.
fn count(drawing: &str, object: &str) -> usize {
    drawing.lines().filter(|line| line.trim_start().starts_with(object)).count()
}

#[test]
fn every_sm_and_every_cache_is_drawn() {
    if !hwloc_is_there() {
        return;
    }
    let dir = TempDir::new().unwrap();
    for (sms, instances, partitions) in [(1, 1, 1), (13, 1, 1), (30, 2, 1), (8, 1, 2), (40, 4, 3)] {
        let file = written(&dir, &gpu("<G&\"PU>\u{7}", sms, instances, partitions));
        let drawing = draw(&file, &["--of", "console", "--no-collapse"]);
        let units = sms as usize * instances as usize;
        assert_eq!(drawing.matches("PU L#").count(), units, "{drawing}");
        assert_eq!(drawing.matches("L1d(").count(), units, "{drawing}");
        assert_eq!((drawing.matches("L2 L#").count(), drawing.matches("NUMANode").count()), (1, 1), "{drawing}");
        assert!(drawing.contains("(48KB)") && drawing.contains("(3072KB)"), "{drawing}");
        let groups = if partitions > 1 { partitions as usize } else { 0 };
        assert_eq!(drawing.matches("L2 partition").count(), groups, "{drawing}");
        // A core is an SM, and all partitions are one level.
        assert_eq!(calc(&file, "Core"), sms as usize);
        assert_eq!(if groups > 0 { calc(&file, "Group") } else { 0 }, groups);
        assert!(draw(&file, &["--of", "svg"]).contains("<svg"));
        let all = draw(&file, &["--of", "console", "-v", "--no-collapse"]);
        assert!(all.contains("32.5 cycles (32 to 33, level 0.95, measured)"), "{all}");
        assert!(count(&all, "Machine") == 1 && all.contains("<G&\"PU> "), "{all}");
    }
}

#[test]
fn a_cache_of_unknown_size_is_not_drawn() {
    if !hwloc_is_there() {
        return;
    }
    let dir = TempDir::new().unwrap();
    let mut topology = gpu("unknown", 4, 1, 1);
    let l1 = topology.elements.get_mut(&ElementName::L1).unwrap();
    l1.set(SIZE, Finding::unknown("the search did not converge"));
    let drawing = draw(&written(&dir, &topology), &["--of", "console", "--no-collapse"]);
    assert_eq!((drawing.matches("L1d(").count(), drawing.matches("PU L#").count()), (0, 4), "{drawing}");
    topology.elements.insert(ElementName::ReadOnly, Element::default().with(SIZE, bytes(48 << 10)));
    let drawing = draw(&written(&dir, &topology), &["--of", "console", "--no-collapse"]);
    assert_eq!(drawing.matches("L1d(Read-only)").count(), 4, "{drawing}");
}

/// hwloc gives the bandwidth and latency of the memory to programs that ask for them.
#[test]
fn memory_has_the_attributes_that_hwloc_knows() {
    if !hwloc_is_there() {
        return;
    }
    let dir = TempDir::new().unwrap();
    let mut topology = gpu("fast", 4, 1, 1);
    let file = written(&dir, &topology);
    assert!(!draw(&file, &["--memattrs"]).contains("from cpuset"), "nothing is said of what is not known");
    let dram = Element::default()
        .with(READ_BANDWIDTH, Finding::measured(BytesPerSecond(4.6e12), "by hand").interval(4.57e12, 4.63e12, 0.95))
        .with(LATENCY_NS, Finding::measured(Nanoseconds(324.6), "by hand"));
    topology.elements.insert(ElementName::Dram, dram);
    let file = written(&dir, &topology);
    let said = draw(&file, &["--memattrs"]);
    // In MiB a second and whole nanoseconds.
    assert_eq!(said.matches("= 4386902 from cpuset 0x0000000f").count(), 2, "{said}");
    assert_eq!(said.matches("= 325 from cpuset 0x0000000f").count(), 2, "{said}");
    let all = draw(&file, &["--of", "console", "-v"]);
    assert!(all.contains("4600000000000.0 B/s (4570000000000 to 4630000000000, level 0.95, measured)"), "{all}");
}

#[test]
fn recordings_are_drawn() {
    if !hwloc_is_there() {
        return;
    }
    let dir = TempDir::new().unwrap();
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings");
    let mut drawn = 0;
    for file in fs::read_dir(recordings).unwrap().map(|entry| entry.unwrap().path()) {
        let text =
            if file.extension().is_some_and(|e| e == "json") { fs::read_to_string(&file).unwrap() } else { continue };
        let Ok(topology) = serde_json::from_str::<Topology>(&text) else { continue };
        let drawing = draw(&written(&dir, &topology), &["--of", "console", "--no-collapse"]);
        let sms = topology.device.multiprocessors as usize;
        assert!(drawing.matches("PU L#").count().is_multiple_of(sms), "{drawing}");
        // An H200 has 27.2 to 27.6 MiB in each half of 60 MiB, an H100 23.4 to 24.2 in each half of 50.
        let sizes = if topology.device.name.contains("H100") { ["(23MB)", "(24MB)"] } else { ["(27MB)", "(28MB)"] };
        let halves: usize = sizes.iter().map(|size| drawing.matches(size).count()).sum();
        let partitions = [halves, drawing.matches("L2 partition").count()];
        assert_eq!((calc(&written(&dir, &topology), "L2"), partitions), (2, [2, 2]), "{drawing}");
        drawn += 1;
    }
    assert!(drawn > 0, "no recording was found");
}

#[test]
fn simulated_machines_are_drawn() {
    if !hwloc_is_there() {
        return;
    }
    let dir = TempDir::new().unwrap();
    for name in machine::names() {
        // The quickest of all elements: what a driver says of every machine and no cache that was found.
        let file = dir.path().join("machine.xml");
        let arguments =
            ["discover", "--quiet", "--effort", "quick", "--only", "shared", "--format", "hwloc", "--device"];
        let mut strata = assert_cmd::Command::cargo_bin("strata").unwrap();
        strata.args(arguments).arg(format!("sim:{name}")).arg("--output").arg(&file).assert().success();
        let sms = machine::Machine::named(name).unwrap().spec.device.multiprocessors.get() as usize;
        let drawing = draw(&file, &["--of", "console", "--no-collapse"]);
        assert_eq!(drawing.matches("PU L#").count(), sms, "{name}: {drawing}");
    }
}
