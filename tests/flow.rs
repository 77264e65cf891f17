//! The direction of the data: a module imports only what lies above it in the picture of `src/lib.rs`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What each module may import of the others. `gpu` itself is the seam with its plain facts; `gpu::cuda` is below it.
fn allowed() -> BTreeMap<&'static str, &'static [&'static str]> {
    BTreeMap::from([
        ("units", &[] as &[&str]),
        ("analysis", &[]),
        ("pattern", &["units"]),
        ("imported", &[]),
        ("effort", &[]),
        ("experiment", &["imported", "pattern", "units"]),
        ("samples", &[]),
        ("order", &["experiment", "units"]),
        ("source", &["experiment", "samples"]),
        ("evidence", &["experiment", "samples"]),
        ("gpu", &["units"]),
        ("kernels", &["experiment", "pattern", "samples", "units"]),
        ("topology", &["gpu::facts"]),
        ("characterization", &["topology", "gpu::facts"]),
        ("bench", &["experiment", "pattern", "samples", "source", "order", "kernels", "gpu", "units"]),
        (
            "recording",
            &["experiment", "samples", "source", "order", "gpu::facts", "topology", "characterization", "units"],
        ),
        ("session", &["bench", "recording", "experiment", "gpu::facts", "samples", "source", "topology"]),
        (
            "probe",
            &[
                "analysis",
                "effort",
                "evidence",
                "experiment",
                "imported",
                "pattern",
                "samples",
                "order",
                "gpu::facts",
                "topology",
                "units",
            ],
        ),
        ("asking", &["probe", "source"]),
        (
            "discover",
            &["asking", "probe", "source", "evidence", "experiment", "samples", "gpu::facts", "topology", "units"],
        ),
        (
            "characterize",
            &[
                "asking",
                "analysis",
                "characterization",
                "experiment",
                "pattern",
                "probe",
                "samples",
                "source",
                "gpu::facts",
                "topology",
                "units",
            ],
        ),
        ("import", &["imported", "experiment", "samples", "gpu::facts", "topology", "units"]),
        ("reference", &["characterization", "topology"]),
        ("compare", &["characterization", "gpu::facts", "imported", "reference", "topology"]),
        ("export", &["recording", "experiment", "samples", "order", "units"]),
        (
            "report",
            &[
                "asking",
                "discover",
                "characterize",
                "topology",
                "characterization",
                "compare",
                "gpu::facts",
                "evidence",
                "experiment",
                "imported",
                "pattern",
                "samples",
                "bench",
                "analysis",
                "units",
            ],
        ),
    ])
}

/// Names of the seam's plain facts, which any module may hold.
const FACTS: [&str; 6] = ["DeviceFacts", "Listed", "Mig", "OtherProcesses", "Telemetry", "facts"];

fn sources(dir: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|e| e == "rs") {
            into.push(path);
        }
    }
}

/// Modules that a line names by `crate::…`, with the facts of `gpu` told apart.
fn imported(text: &str) -> Vec<String> {
    // What tests of a module use does not flow.
    let code = text.split("#[cfg(test)]").next().unwrap_or(text);
    let code: String = code.lines().filter(|l| !l.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    code.match_indices("crate::")
        .map(|(at, _)| {
            let rest = &code[at + "crate::".len()..];
            let end = rest.find(';').unwrap_or(rest.len());
            let module: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let items = &rest[module.len()..end.min(rest.len())];
            if module == "gpu" {
                let names: Vec<&str> =
                    items.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|n| !n.is_empty()).collect();
                if !names.is_empty() && names.iter().all(|n| FACTS.contains(n)) {
                    return "gpu::facts".to_owned();
                }
            }
            module
        })
        .collect()
}

#[test]
fn imports_follow_the_flow() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let allowed = allowed();
    let mut checked = 0;
    let mut against = Vec::new();
    for file in files {
        let relative = file.strip_prefix(&root).unwrap();
        let first = relative.components().next().unwrap().as_os_str().to_string_lossy();
        let module = first.trim_end_matches(".rs").to_owned();
        if ["lib", "main", "cli", "commands"].contains(&module.as_str()) {
            continue;
        }
        let may = allowed.get(module.as_str()).unwrap_or_else(|| panic!("`{module}` has no place in the flow"));
        for import in imported(&fs::read_to_string(&file).unwrap()) {
            checked += 1;
            let own = import.split("::").next() == Some(module.as_str());
            if !own && !may.contains(&import.as_str()) {
                against.push(format!("{} imports {import}", relative.display()));
            }
        }
    }
    assert!(checked > 50, "only {checked} imports were seen: the reader of this test is broken");
    assert!(against.is_empty(), "against the flow:\n{}", against.join("\n"));
}

#[test]
fn an_import_against_the_flow_is_seen() {
    assert_eq!(imported("use crate::gpu::DeviceFacts;"), ["gpu::facts"]);
    assert_eq!(imported("use crate::gpu::{DeviceFacts, Gpu};"), ["gpu"]);
    assert_eq!(imported("use crate::gpu::cuda::Cuda;"), ["gpu"]);
    assert_eq!(imported("fn f() { crate::report::text(x); }"), ["report"]);
}

#[test]
fn the_library_never_prints() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    for file in files {
        let relative = file.strip_prefix(&root).unwrap();
        if relative.starts_with("commands") || relative.starts_with("main.rs") || relative.starts_with("cli.rs") {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        for word in ["println!", "print!(", "dbg!("] {
            assert!(!text.contains(word), "{} prints", relative.display());
        }
    }
}
