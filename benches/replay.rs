//! What a replay costs: reading a recording, and inferring everything from it.

use std::path::PathBuf;

use divan::Bencher;
use strata_infer::discover::{Request, discover};
use strata_infer::probe::Effort;
use strata_recording::Recording;

fn main() {
    divan::main();
}

/// The newest committed recording of a discovery.
fn recording() -> PathBuf {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings");
    let entries = std::fs::read_dir(dir).expect("recordings/ lies in the repository");
    let discoveries = entries.flatten().map(|e| e.path()).filter(|p| p.with_extension("json").exists());
    discoveries.filter(|p| p.extension().is_some_and(|e| e == "strata")).max().expect("a recording with reports")
}

#[divan::bench]
fn read(bencher: Bencher) {
    let path = recording();
    bencher.bench(|| Recording::read(&path).expect("a sound recording"));
}

#[divan::bench]
fn infer(bencher: Bencher) {
    let recording = Recording::read(&recording()).expect("a sound recording");
    let run = recording.run_info();
    let question = Request {
        only: vec![],
        effort: Effort::from_name(&run.effort).expect("a known effort"),
        seed: run.seed,
        bandwidth: false,
        atomics: false,
    };
    bencher.bench(|| discover(&mut &recording, &recording.header.device, &question, &mut |_| {}));
}
