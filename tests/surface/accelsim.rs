//! `--format accelsim`: every line is one that GPGPU-Sim's parsers take, and values are those of the findings.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use gpu_strata::{Exchange, Side};
use strata_model::attribute::{INSTANCES_PER_SM, LATENCY_CYCLES, NOMINAL_SIZE, SETS, SIZE, WAYS, WRITE_POLICY, Ways};
use strata_model::topology::{ElementName, Finding, Topology};
use strata_model::units::Bytes;

use crate::command::{recording, strata};

/// Words with which the comment of an option begins.
const SOURCES: [&str; 4] = ["measured", "driver", "derived", "default"];

/// An option: its value, and the comment above it.
#[derive(Debug)]
struct Setting {
    value: String,
    source: String,
    comment: String,
}

/// What a file says, by option. Each option stands once, below a comment that says where its value is from.
fn parsed(text: &str) -> BTreeMap<String, Setting> {
    let mut all = BTreeMap::new();
    let mut comment = Vec::new();
    assert!(text.ends_with('\n') && text.is_ascii(), "{text}");
    for line in text.lines() {
        if let Some(words) = line.strip_prefix("# ") {
            comment.push(words);
        } else if line.is_empty() {
            comment.clear();
        } else {
            let fields: Vec<&str> = line.split(' ').collect();
            let [option, value] = fields[..] else { panic!("no option and value: {line}") };
            assert!(option.starts_with("-gpgpu_") || option == "-dram_latency", "{line}");
            let source = comment[0].split(':').next().unwrap();
            assert!(SOURCES.contains(&source), "{line}: {comment:?}");
            let setting = Setting { value: value.into(), source: source.into(), comment: comment.join("\n") };
            assert!(all.insert(option.to_owned(), setting).is_none(), "{option} stands there twice");
        }
    }
    all
}

/// A cache string, as `cache_config::init` reads it and refuses it.
#[derive(Debug, PartialEq)]
struct Cache {
    kind: char,
    sets: u64,
    line: u64,
    ways: u64,
    letters: [char; 5],
}

impl Cache {
    fn read(text: &str) -> Self {
        let parts: Vec<Vec<&str>> = text.split(',').map(|part| part.split(':').collect()).collect();
        let letter = |field: &str, of: &str| match field.chars().collect::<Vec<_>>()[..] {
            [letter] if of.contains(letter) => letter,
            _ => panic!("{field} of {text}"),
        };
        let number = |field: &str| field.parse::<u64>().unwrap_or_else(|_| panic!("{field} of {text}"));
        let [kind, sets, line, ways] = parts[0][..] else { panic!("{text}") };
        let [replacement, write, allocation, write_allocation, index] = parts[1][..] else { panic!("{text}") };
        let [mshr, entries, merged] = parts[2][..] else { panic!("{text}") };
        let mshr = letter(mshr, "FTAS");
        assert!(number(entries) > 0 && number(merged) > 0, "{text}");
        assert!(matches!(parts[3].len(), 1 | 2) && parts[3].iter().all(|field| field.parse::<u64>().is_ok()), "{text}");
        assert!(!"FT".contains(mshr) || parts[3].len() == 2, "a FIFO of texture needs its entries: {text}");
        let width = parts.get(4).map_or(0, |width| number(width[0]));
        let cache = Cache {
            kind: letter(kind, "NS"),
            sets: number(sets),
            line: number(line),
            ways: number(ways),
            letters: [
                letter(replacement, "LF"),
                letter(write, "RBTEL"),
                letter(allocation, "mfs"),
                letter(write_allocation, "NWFL"),
                letter(index, "HPCLX"),
            ],
        };
        let [_, write, allocation, write_allocation, index] = cache.letters;
        assert!(cache.sets.is_power_of_two() && cache.line.is_power_of_two() && cache.ways > 0, "{text}");
        assert!(cache.kind == 'N' || cache.line == 4 * 32, "sectors of 32 B, four of a line: {text}");
        assert!(allocation == 'm' || write != 'B', "write-back on a fill: {text}");
        assert!(allocation == 'm' || !"FL".contains(write_allocation), "a store allocates on a fill: {text}");
        assert!(index != 'P' || [16, 32, 64].contains(&cache.sets), "{text}");
        assert!(index != 'H' || [32, 64].contains(&cache.sets), "{text}");
        assert!(width == 0 || cache.line.is_multiple_of(width), "{text}");
        cache
    }

    fn bytes(&self) -> u64 {
        self.sets * self.line * self.ways
    }
}

/// A whole number as a value.
fn number(settings: &BTreeMap<String, Setting>, option: &str) -> u64 {
    settings[option].value.parse().unwrap_or_else(|_| panic!("{option} {:?}", settings[option]))
}

fn discovery(path: impl Into<PathBuf>) -> Topology {
    Side::File(path.into()).discovery().unwrap()
}

fn machine(name: &str) -> Topology {
    discovery(format!("tests/surface/report/machines/{name}.json"))
}

fn written(topology: &Topology) -> BTreeMap<String, Setting> {
    let settings = parsed(&Exchange::Accelsim.write(topology).unwrap());
    for (option, setting) in &settings {
        match option.as_str() {
            cache if cache.contains("cache:") => drop(Cache::read(&setting.value)),
            "-gpgpu_clock_domains" => {
                let all: Vec<f64> = setting.value.split(':').map(|clock| clock.parse().unwrap()).collect();
                assert!(all.len() == 4 && all.iter().all(|mhz| *mhz > 0.0), "{setting:?}");
            }
            "-gpgpu_shader_core_pipeline" => {
                assert_eq!(setting.value.split(':').filter(|field| field.parse::<u32>().is_ok()).count(), 2);
            }
            "-gpgpu_shmem_option" => {
                let all: Vec<u64> = setting.value.split(',').map(|kib| kib.parse().unwrap()).collect();
                assert!(all.is_sorted(), "{setting:?}");
                assert!(number(&settings, "-gpgpu_unified_l1d_size") > *all.last().unwrap(), "{setting:?}");
            }
            _ => drop(number(&settings, option)),
        }
    }
    if let Some(unified) = settings.get("-gpgpu_unified_l1d_size") {
        let least = Cache::read(&settings["-gpgpu_cache:dl1"].value).bytes();
        assert!((unified.value.parse::<u64>().unwrap() << 10).is_multiple_of(least), "{unified:?}");
    }
    // All slices together are the L2.
    let l2 = &settings["-gpgpu_cache:dl2"];
    if l2.source != "default" {
        let slices = number(&settings, "-gpgpu_n_mem") * number(&settings, "-gpgpu_n_sub_partition_per_mchannel");
        assert_eq!(slices * Cache::read(&l2.value).bytes(), topology.device.l2_size, "{l2:?}");
    }
    settings
}

/// Results of all simulated machines, and of recordings.
fn results() -> Vec<PathBuf> {
    let mut all = Vec::new();
    for folder in ["tests/surface/report/machines", "recordings"] {
        let files = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).unwrap();
        all.extend(files.map(|file| file.unwrap().path()).filter(|path| path.extension().is_some_and(|e| e == "json")));
    }
    all.retain(|path| Side::File(path.clone()).discovery().is_ok());
    assert!(all.len() > 13, "{all:?}");
    all
}

#[test]
fn every_result_makes_options_that_the_simulator_takes() {
    for path in results() {
        let settings = written(&discovery(&path));
        assert!(settings.len() > 20, "{}: {}", path.display(), settings.len());
        let known = settings.values().filter(|setting| setting.source != "default").count();
        assert!(known > 10, "{}: {known}", path.display());
    }
}

#[test]
fn values_are_those_of_the_findings() {
    let settings = written(&machine("k20c"));
    let is = |option: &str, value: &str| assert_eq!(settings[option].value, value, "{:?}", settings[option]);
    is("-gpgpu_n_clusters", "13");
    is("-gpgpu_shader_core_pipeline", "2048:32");
    is("-gpgpu_l1_latency", "64");
    is("-gpgpu_smem_latency", "47");
    // 223 of the L2 less 64, and 339 of DRAM less 223.
    is("-gpgpu_l2_rop_latency", "159");
    is("-dram_latency", "116");
    is("-gpgpu_cache:dl1", "N:64:128:6,L:L:s:N:L,A:256:8,16:0,32");
    is("-gpgpu_const_cache:l1", "N:8:64:4,L:R:f:N:L,S:2:64,4");
    // 320 bits are ten controllers of 32, with two slices of 64 KiB each.
    is("-gpgpu_n_mem", "10");
    is("-gpgpu_cache:dl2", "S:32:128:16,L:B:m:L:P,A:256:64,16:0,32");
    assert_eq!(settings["-gpgpu_l1_latency"].source, "measured");
    assert!(
        settings["-gpgpu_l1_latency"]
            .comment
            .contains("l1.latency.cycles = 64.0 cycles (64 to 64, level 0.95, measured)")
    );
    assert!(settings["-gpgpu_cache:il1"].comment.contains("default: the value of SM3_KEPLER_TITAN"), "{settings:?}");
}

/// The geometry of the L2 that the shipped configurations have of the same GPUs.
#[test]
fn an_l2_has_the_geometry_that_experts_gave_it() {
    for (name, controllers, geometry) in
        [("v100", 32, "S:32:128:24,"), ("a100", 40, "S:128:128:16,"), ("h200", 48, "S:256:128:20,")]
    {
        let settings = written(&machine(name));
        let l2 = &settings["-gpgpu_cache:dl2"];
        assert!(l2.source == "derived" && l2.value.starts_with(geometry), "{name}: {l2:?}");
        assert_eq!(number(&settings, "-gpgpu_n_mem"), controllers, "{name}");
    }
}

#[test]
fn the_memory_of_l1_and_shared_memory_is_one() {
    for (name, kib) in [("v100", 128), ("a100", 192), ("h200", 256)] {
        assert_eq!(number(&written(&machine(name)), "-gpgpu_unified_l1d_size"), kib, "{name}");
    }
    let h200 = written(&discovery("recordings/2026-11-25-h200-bandwidth.json"));
    assert_eq!(h200["-gpgpu_shmem_option"].value, "8,16,32,64,100,132,164,196,228");
    assert_eq!(h200["-gpgpu_clock_domains"].value, "1980.0:1980.0:1980.0:3201.0");
}

#[test]
fn what_is_unknown_is_a_default_that_says_so() {
    let mut topology = machine("k20c");
    topology.elements.get_mut(&ElementName::L1).unwrap().set(LATENCY_CYCLES, Finding::unknown("nobody\nlooked"));
    topology.elements.remove(&ElementName::Shared);
    topology.device.multiprocessors = 0;
    topology.device.memory_bus_bits = 0;
    let settings = written(&topology);
    let is = |option: &str, value: &str, why: &str| {
        let setting = &settings[option];
        assert_eq!((setting.value.as_str(), setting.source.as_str()), (value, "default"), "{option}");
        assert!(
            setting.comment.contains("the value of SM3_KEPLER_TITAN; ") && setting.comment.contains(why),
            "{setting:?}"
        );
    };
    is("-gpgpu_l1_latency", "82", "l1.latency.cycles is unknown: nobody looked");
    is("-gpgpu_l2_rop_latency", "120", "l1.latency.cycles is unknown");
    is("-gpgpu_smem_latency", "24", "shared.latency.cycles is not in the result");
    is("-gpgpu_n_mem", "12", "the driver does not tell the width of the memory bus");
    assert!(!settings.contains_key("-gpgpu_n_clusters"));
    // What is known of the rest stays.
    assert_eq!(settings["-dram_latency"].source, "derived");
}

#[test]
fn policies_become_letters() {
    let mut topology = machine("k20c");
    for (policy, letters) in [
        ("allocates", ['L', 'T', 'm', 'L', 'L']),
        ("updates", ['L', 'T', 's', 'N', 'L']),
        ("evicts", ['L', 'E', 's', 'N', 'L']),
    ] {
        topology
            .elements
            .get_mut(&ElementName::L1)
            .unwrap()
            .set(WRITE_POLICY, Finding::measured(policy.to_owned(), "by hand"));
        assert_eq!(Cache::read(&written(&topology)["-gpgpu_cache:dl1"].value).letters, letters, "{policy}");
    }
}

/// Nothing in a result makes an option of its own or stops the program.
#[test]
fn odd_results_make_no_odd_options() {
    let mut topology = machine("a100");
    topology.device.name = "GPU\n-gpgpu_n_mem 1\n".into();
    let l1 = topology.elements.get_mut(&ElementName::L1).unwrap();
    l1.set(SIZE, Finding::measured(Bytes(u64::MAX), "by hand"));
    l1.set(SETS, Finding::measured(u64::MAX, "by hand"));
    l1.set(WAYS, Finding::measured(Ways::Equal(0), "by hand"));
    l1.set(INSTANCES_PER_SM, Finding::unknown("-gpgpu_n_mem 1"));
    let l2 = topology.elements.get_mut(&ElementName::L2).unwrap();
    l2.set(NOMINAL_SIZE, Finding::measured(Bytes(12_345), "by hand"));
    let constant = topology.elements.get_mut(&ElementName::ConstantL1).unwrap();
    constant.set(SETS, Finding::measured(7, "by hand"));
    let text = Exchange::Accelsim.write(&topology).unwrap();
    let settings = parsed(&text);
    assert_eq!(settings["-gpgpu_n_mem"].source, "default", "{text}");
    assert_eq!(settings["-gpgpu_cache:dl2"].source, "default", "{text}");
    let constant = &settings["-gpgpu_const_cache:l1"];
    assert!(constant.source == "default" && constant.comment.contains("cannot have 7 sets"), "{constant:?}");
}

#[test]
fn a_replay_writes_the_options() {
    let run = strata(&["replay", recording().to_str().unwrap(), "--format", "accelsim"]);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    let settings = parsed(&run.stdout);
    assert_eq!(settings["-gpgpu_l1_latency"].value, "32");
    assert!(run.stdout.contains("configs/tested-cfgs/SM90_H200/gpgpusim.config"), "{}", run.stdout);
}
