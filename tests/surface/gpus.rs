//! `strata discover` of several GPUs at the same time.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::command::{Run, refused, strata};
use crate::published;

const ONLY: [&str; 4] = ["--effort", "quick", "--only", "constant_l1.size,l1.latency"];

fn discover(devices: &str, more: &[&str]) -> Run {
    strata(&[&["discover", "--device", devices], &ONLY[..], more].concat())
}

fn json_of(run: &Run) -> Value {
    published::conforms(&run.stdout);
    serde_json::from_str(&run.stdout).unwrap()
}

#[test]
fn each_is_found_as_if_it_were_alone() {
    let devices = ["sim:k20c", "sim:p6000", "sim:k20c"];
    let node = discover(&devices.join(","), &["--format", "json"]);
    assert_eq!(node.status, Some(0), "{}", node.stderr);
    let node = json_of(&node);
    assert_eq!((&node["schema"], &node["together"]), (&json!("strata/node/1"), &json!(true)));
    let gpus = node["gpus"].as_array().unwrap();
    assert_eq!(gpus.iter().map(|gpu| gpu["device"].as_str().unwrap()).collect::<Vec<_>>(), devices);
    for (gpu, device) in gpus.iter().zip(devices) {
        let alone = json_of(&discover(device, &["--format", "json"]));
        assert_eq!(gpu["topology"]["elements"], alone["elements"], "{device}");
        assert_eq!(gpu["topology"]["device"], alone["device"], "{device}");
    }
}

#[test]
fn a_text_has_a_row_for_each_and_a_file_the_reports() {
    let dir = TempDir::new().unwrap();
    let devices = "sim:k20c, sim:p6000";
    let short = discover(devices, &[]);
    assert_eq!(short.status, Some(0), "{}", short.stderr);
    let lines: Vec<&str> = short.stdout.lines().collect();
    assert_eq!(
        lines[..2],
        ["SIMULATED: no hardware was measured.", "1 x Tesla K20c, 1 x Quadro P6000, measured at the same time"]
    );
    for device in ["sim:k20c", "sim:p6000"] {
        assert_eq!(lines.iter().filter(|line| line.starts_with(device)).count(), 1, "{}", short.stdout);
    }
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{}", short.stdout);
    let file = dir.path().join("node.txt");
    let whole = discover(devices, &["--output", file.to_str().unwrap()]);
    assert_eq!((whole.status, whole.stdout.as_str()), (Some(0), ""), "{}", whole.stderr);
    let whole = fs::read_to_string(file).unwrap();
    assert!(whole.contains("\n## sim:k20c\n") && whole.contains("\n## sim:p6000\n"), "{whole}");
    assert_eq!(whole.matches("Intervals and sources").count(), 2, "{whole}");
}

#[test]
fn a_page_and_markdown_show_the_values_beside_each_other() {
    let dir = TempDir::new().unwrap();
    let devices = "sim:k20c,sim:p6000,sim:nowhere.toml";
    let page = discover(devices, &["--format", "html"]);
    assert_eq!(page.status, Some(4), "{}", page.stderr);
    let table = page.stdout.split("id=\"all-values\"").nth(1).unwrap();
    let row = table.split("<tr id=").find(|row| row.contains(">l1 latency.cycles<")).unwrap();
    assert!(row.starts_with("\"different.") && row.contains(">64 cycles [63.99 to 64.01]<"), "{row}");
    // Nobody can say which of two values stands apart.
    assert!(!page.stdout.contains("outlier\"") && !page.stdout.contains("marks an outlier"), "{}", page.stdout);
    assert!(page.stdout.contains("SIMULATED") && page.stdout.contains("sim:nowhere.toml: "), "{}", page.stdout);

    let file = dir.path().join("node.md");
    let run = discover(devices, &["--format", "markdown", "--output", file.to_str().unwrap()]);
    assert_eq!(run.status, Some(4), "{}", run.stderr);
    let whole = fs::read_to_string(&file).unwrap();
    assert!(whole.starts_with("**SIMULATED: no hardware was measured.**\n\n# Memory hierarchies of "), "{whole}");
    assert!(whole.contains("\n## Different\n\n| what | sim:k20c | sim:p6000 |\n"), "{whole}");
    assert!(whole.contains("\n## Not measured\n\n- sim:nowhere.toml: "), "{whole}");
    // It has no pictures, so it leaves no folder for them.
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);

    let alone = discover("sim:k20c,sim:nowhere.toml", &["--format", "markdown"]);
    assert!(alone.stdout.contains("\n## Values\n\n| what | sim:k20c |\n"), "{}", alone.stdout);
    assert!(!alone.stdout.contains("differ"), "{}", alone.stdout);

    // The same simulated GPU twice: each has its column.
    let twice = discover("sim:k20c,sim:k20c", &["--format", "markdown"]);
    assert!(twice.stdout.contains("\n## The same\n\n| what | sim:k20c#0 | sim:k20c#1 |\n"), "{}", twice.stdout);
    assert!(twice.stdout.contains("\n| sim:k20c#1 | - | - | - |"), "{}", twice.stdout);
}

#[test]
fn one_that_cannot_be_measured_does_not_lose_the_others() {
    let some = discover("sim:k20c,sim:nowhere.toml", &["--format", "json"]);
    assert_eq!(some.status, Some(4), "{}", some.stderr);
    let node = json_of(&some);
    assert!(node["gpus"][0]["topology"]["elements"]["l1"].is_object());
    let failure = node["gpus"][1]["failure"].as_str().unwrap();
    assert!(failure.contains("nowhere.toml") && node["gpus"][1].get("topology").is_none(), "{failure}");
    let none = discover("sim:nowhere.toml,sim:nor-here.toml", &[]);
    assert_eq!((none.status, none.stdout.as_str()), (Some(2), ""), "{}", none.stderr);
    assert!(none.stderr.contains("nowhere.toml"), "{}", none.stderr);
    let no_driver = discover("all", &[]);
    assert_eq!((no_driver.status, no_driver.stdout.as_str()), (Some(3), ""), "{}", no_driver.stderr);
}

#[test]
fn each_has_a_recording() {
    let dir = TempDir::new().unwrap();
    let folder = dir.path().join("new");
    let node = discover("sim:k20c,sim:k20c", &["--record", folder.to_str().unwrap(), "--format", "json"]);
    assert_eq!(node.status, Some(0), "{}", node.stderr);
    let node = json_of(&node);
    for number in 0..2 {
        let files: Vec<PathBuf> =
            fs::read_dir(folder.join(number.to_string())).unwrap().map(|file| file.unwrap().path()).collect();
        let [file] = &files[..] else { panic!("{files:?}") };
        let again = json_of(&strata(&["replay", file.to_str().unwrap(), "--format", "json"]));
        assert_eq!(again["elements"], node["gpus"][number]["topology"]["elements"]);
    }
}

#[test]
fn what_cannot_be_for_several_is_refused() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("there.strata");
    fs::write(&file, "kept").unwrap();
    let there = file.to_str().unwrap();
    refused(&["characterize", "--device", "all"], &["--device", "only `strata discover`"]);
    refused(&["discover", "--device", "sim:k20c,K20"], &["unknown device `K20`"]);
    refused(&["discover", "--device", "sim:k20c,"], &["unknown device ``"]);
    refused(&["discover", "--device", "sim:k20c,sim:p6000", "--format", "hwloc"], &["are of one GPU"]);
    refused(&["discover", "--device", "sim:k20c,sim:p6000", "--record", there], &["give a folder"]);
    refused(&["discover", "--device", &format!("sim:k20c,sim:{there}"), "--output", there], &["would be lost"]);
    assert_eq!(fs::read_to_string(file).unwrap(), "kept");
}

#[test]
fn metrics_and_features_name_the_gpu() {
    let dir = TempDir::new().unwrap();
    let [metrics, features] = ["strata.prom", "strata"].map(|name| dir.path().join(name));
    let files = ["--prometheus", metrics.to_str().unwrap(), "--nfd", features.to_str().unwrap()];
    let run = discover("sim:k20c,sim:p6000", &files);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    let metrics = fs::read_to_string(metrics).unwrap();
    let sizes = metrics.lines().filter(|line| line.starts_with("strata_size_bytes{"));
    let constant: Vec<&str> = sizes.filter(|line| line.contains("element=\"constant_l1\"")).collect();
    let [k20c, p6000] = &constant[..] else { panic!("{metrics}") };
    assert!(k20c.starts_with("strata_size_bytes{gpu=\"0\",modelName=\"Tesla K20c\""), "{k20c}");
    assert!(p6000.starts_with("strata_size_bytes{gpu=\"1\",modelName=\"Quadro P6000\""), "{p6000}");
    assert_eq!(metrics.matches("# TYPE strata_size_bytes gauge\n").count(), 1);
    let features = fs::read_to_string(features).unwrap();
    for (gpu, model) in [("gpu-0", "Tesla-K20c"), ("gpu-1", "Quadro-P6000")] {
        assert!(features.contains(&format!("\nstrata.dev/{gpu}.gpu.model={model}\n")), "{features}");
    }
    assert_eq!(features.matches("# +expiry-time=").count(), 1);
}

/// A file of several GPUs counts as a result of each, wherever results are compared.
#[test]
fn a_node_is_several_results() {
    let dir = TempDir::new().unwrap();
    let [two, three, policy] = ["two.json", "three.json", "policy.toml"].map(|name| dir.path().join(name));
    let [two, three, policy] = [&two, &three, &policy].map(|path| path.to_str().unwrap());
    for (devices, file) in [("sim:k20c,sim:p6000", two), ("sim:k20c,sim:k20c,sim:k20c", three)] {
        assert_eq!(discover(devices, &["--format", "json", "--output", file]).status, Some(0));
    }
    let differ = strata(&["compare", two]);
    assert_eq!(differ.status, Some(1), "{}", differ.stderr);
    assert!(differ.stdout.contains("two.json, sim:p6000"), "{}", differ.stdout);
    let same = strata(&["compare", three, "--format", "json"]);
    assert_eq!(same.status, Some(0), "{}", same.stderr);
    assert_eq!(json_of(&same)["schema"], json!("strata/comparison-of-several/1"));
    assert_eq!(strata(&["compare", two, three]).status, Some(1));
    // Simulated GPUs of one seed are one run.
    refused(&["compare", three, "--write-policy", policy], &["three.json, sim:k20c", "the same run"]);
    let fleet = strata(&["fleet", two, three, "--format", "json"]);
    let fleet: Value = serde_json::from_str(&fleet.stdout).unwrap();
    let results: u64 = fleet["products"].as_array().unwrap().iter().map(|of| of["results"].as_u64().unwrap()).sum();
    assert!(results >= 2, "{fleet}");
    // Where one GPU is wanted, a node is refused.
    refused(&["l1", two, "--threads", "128"], &["is of several GPUs"]);
}
