//! A Tesla K20c with the last driver that knows it, branch 470 of CUDA 11.4: what that driver does not have is not needed, and what
//! the GPU has is found.

use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use super::{library, texts, with_driver};

/// Elements that are compared: each kind of load, and the banks.
const ELEMENTS: &str = "l1,texture,read_only,constant_l1,shared,l2";

fn discovered(command: impl FnOnce(Command) -> Command, device: &str) -> Value {
    let folder = TempDir::new().unwrap();
    let mut strata = Command::new(env!("CARGO_BIN_EXE_strata"));
    strata
        .args(["discover", "--effort", "quick", "--format", "json", "--quiet", "--only", ELEMENTS, "--device", device]);
    strata.env("STRATA_LOCK_DIR", folder.path());
    let done = command(strata).output().expect("the program runs");
    let (stdout, stderr) = texts(&done);
    serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{stdout}{stderr}"))
}

#[test]
fn a_kepler_gpu_is_discovered_through_the_driver_as_in_the_simulator() {
    let real = discovered(|command| with_driver(command, &library(Some("executes")), "kepler"), "cuda:0");
    let simulated = discovered(|command| command, "sim:k20c");
    assert_eq!(real["device"]["compute_capability"], serde_json::json!([3, 5]));
    let mut known = 0;
    for element in ELEMENTS.split(',') {
        for (attribute, finding) in simulated["elements"][element].as_object().expect("it was asked for") {
            let told = &real["elements"][element][attribute];
            // Latencies and the like vary with the place of allocations; what is counted does not.
            let counted = ["size", "line_size", "fetch_granularity", "bank_width", "banks", "cached"];
            if counted.contains(&attribute.as_str()) {
                assert_eq!(told["value"], finding["value"], "{element}.{attribute}: {told} and {finding}");
                known += u32::from(!finding["value"].is_null());
            }
        }
    }
    assert!(known >= 10, "only {known} values are known");
}
