//! `strata figures`: the figures of a paper for the GPUs of results.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use gpu_strata::{Device, Effort, Options, Side};
use strata_model::characterization::{PartName, Suite};
use tempfile::TempDir;

fn figures(arguments: &[&Path]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_strata"));
    command.arg("figures").args(arguments).env("STRATA_CUDA_LIBRARY", "/nonexistent/libcuda.so.1");
    command.output().expect("the binary runs")
}

fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings/2026-11-22-h200-characterize.strata")
}

#[test]
fn a_recording_gives_every_figure_of_the_paper() {
    let dir = TempDir::new().unwrap();
    let target = dir.path().join("new/figures");
    let run = figures(&[&target, &recorded()]);
    assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stderr));
    let page = fs::read_to_string(target.join("figures.md")).unwrap();
    let mut pictures: Vec<String> = fs::read_dir(&target)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".svg"))
        .collect();
    pictures.sort();
    let h200 = ["06-to-09", "11-to-14", "15-to-18"].map(|numbers| format!("fuchs-{numbers}-nvidia-h200.svg"));
    let expected: Vec<String> = (2..=5).map(|n| format!("fuchs-{n:02}.svg")).chain(h200).collect();
    assert_eq!(pictures, expected);
    for picture in &pictures {
        assert!(page.contains(&format!("](./{picture})")), "the page has {picture}");
        assert!(fs::read_to_string(target.join(picture)).unwrap().starts_with("<svg"));
    }
    // The clock was measured, so the figures are in nanoseconds: 26 cycles at 1.98 GHz.
    assert!(page.contains("ns per load, including the clock reads from 13.2 to 13.2."), "{page}");
    assert!(
        page.contains("NVIDIA H200, texture_steps: 32, 64") || page.contains("NVIDIA H200, texture\\_steps: 32, 64")
    );
}

#[test]
fn gpus_share_a_figure_where_the_paper_has_them_together() {
    let suite = Suite { parts: vec![PartName::Locality], ..Suite::default() };
    let results = ["k20c", "k20c", "840m"].map(|name| {
        let mut machine = Device::open(&format!("sim:{name}")).expect("it comes with strata");
        let found = machine.characterize(&suite, Options::effort(Effort::Quick)).expect("it is characterized");
        Side::Answer(Box::new(found.into()), name.into())
    });
    let page = gpu_strata::figures(results.into()).unwrap();
    let together = page.pictures.iter().find(|picture| picture.name == "fuchs-04.svg").expect("constants are cached");
    for gpu in ["Tesla K20c, simulated", "Tesla K20c, simulated (2)", "GeForce 840M, simulated"] {
        assert!(together.svg.contains(&format!(">{gpu}<")), "a line of {gpu}");
    }
    assert!(page.text.contains("Tesla K20c, simulated: synchronization was not measured"));
}

#[test]
fn what_is_no_characterization_is_refused() {
    let dir = TempDir::new().unwrap();
    let discovery = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings/2026-11-22-h200.json");
    let missing = dir.path().join("none.json");
    for (file, words) in
        [(&discovery, "is no characterization; give results of `strata characterize`"), (&missing, "none.json")]
    {
        let target = dir.path().join("figures");
        let run = figures(&[&target, file]);
        let said = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(2), "{said}");
        assert!(said.contains(words) && !target.exists(), "{said}");
    }
}
