//! What discovery found of the simulated machines, kept, so that reports of all of them can be looked at within a second.
//!
//! `UPDATE_MACHINES=1 cargo test --release --test surface machines` discovers them anew (quick effort, seed 1; a quarter of an hour).
//! They are material for reports: whether discovery still finds the same is for `tests/simulated/recovery.rs`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use strata_model::topology::Topology;
use strata_sim::machine;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/surface/report/machines/{name}.json"))
}

/// What was found of every machine that comes with strata, by its name.
pub fn found() -> BTreeMap<&'static str, Topology> {
    let read = |name| {
        let text = fs::read_to_string(path(name)).unwrap_or_else(|_| panic!("UPDATE_MACHINES=1 discovers sim:{name}"));
        (name, serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}")))
    };
    machine::names().map(read).collect()
}

#[test]
fn every_machine_is_kept() {
    if std::env::var_os("UPDATE_MACHINES").is_some() {
        for name in machine::names() {
            let mut command = Command::new(env!("CARGO_BIN_EXE_strata"));
            command.args(["discover", "--effort", "quick", "--format", "json", "--quiet", "--device"]);
            let done = command.arg(format!("sim:{name}")).output().unwrap();
            assert!(done.status.success(), "{name}: {}", String::from_utf8_lossy(&done.stderr));
            fs::write(path(name), kept(serde_json::from_slice(&done.stdout).unwrap())).unwrap();
        }
    }
    for (name, topology) in found() {
        assert!(topology.run.simulated && !topology.elements.is_empty(), "{name}");
    }
}

/// A result without what differs from run to run and what no report for people says: a line for each finding.
fn kept(mut result: Value) -> String {
    result["run"]["started"] = "2026-11-21T00:00:00Z".into();
    result["run"]["duration_s"] = 1.0.into();
    let elements = result["elements"].take();
    let mut out = String::from("{\n");
    for (key, value) in result.as_object().unwrap().iter().filter(|(key, _)| *key != "elements") {
        writeln!(out, "\"{key}\": {value},").unwrap();
    }
    let attributes = |element: &Value| {
        let mut element = element.clone();
        forget_experiments(&mut element);
        let lines = element.as_object().unwrap().iter().map(|(key, value)| format!("  \"{key}\": {value}"));
        lines.collect::<Vec<_>>().join(",\n")
    };
    let elements = elements.as_object().unwrap().iter();
    let elements = elements.map(|(key, element)| format!("\"{key}\": {{\n{}\n}}", attributes(element)));
    out + "\"elements\": {\n" + &elements.collect::<Vec<_>>().join(",\n") + "\n}\n}\n"
}

fn forget_experiments(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.shift_remove("experiments");
            fields.values_mut().for_each(forget_experiments);
        }
        Value::Array(all) => all.iter_mut().for_each(forget_experiments),
        _ => {}
    }
}
