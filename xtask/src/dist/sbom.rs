//! The components of `strata` and its Python module, as JSON of CycloneDX 1.5.

use std::collections::HashMap;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::licences::{self, Metadata, Package};

/// The package whose version is that of the release.
const PROGRAM: &str = "strata";
/// Where a copy of uPlot says its version.
const UPLOT: &str = include_str!("../../../crates/report/src/report/templates/vendor/uPlot.iife.min.js");

/// What is read of `Cargo.lock`.
#[derive(Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(Deserialize)]
struct Locked {
    name: String,
    version: String,
    checksum: Option<String>,
}

/// The version of the release.
pub fn version(metadata: &Metadata) -> Result<&str> {
    let program = metadata.packages.iter().find(|package| package.name == PROGRAM && package.source.is_none());
    program.map(|package| package.version.as_str()).context("there is no package strata")
}

/// The list; `lock` is the text of `Cargo.lock`.
pub fn bill(metadata: &Metadata, lock: &str) -> Result<String> {
    let lock: Lock = toml::from_str(lock).context("Cargo.lock is of another form")?;
    let checksums: HashMap<(&str, &str), &str> =
        lock.package.iter().filter_map(|l| Some(((&*l.name, &*l.version), l.checksum.as_deref()?))).collect();
    let linked: Vec<&Package> = licences::linked(metadata).into_iter().filter(|p| p.source.is_some()).collect();
    let crates = linked.iter().map(|package| {
        let mut component = component("library", &package.name, &package.version, package.license.as_deref());
        component["purl"] = purl(package).into();
        component["bom-ref"] = purl(package).into();
        if let Some(checksum) = checksums.get(&(&*package.name, &*package.version)) {
            component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
        }
        component
    });
    let components: Vec<Value> = crates.chain(others(&linked)?).collect();
    let mut program = component("application", PROGRAM, version(metadata)?, Some("MIT OR Apache-2.0"));
    program["bom-ref"] = PROGRAM.into();
    let document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": program },
        "components": components,
    });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

/// What no crate's name tells: a library in C, and one in JavaScript.
fn others(linked: &[&Package]) -> Result<[Value; 2]> {
    let zstd = linked.iter().find(|package| package.name == "zstd-sys").context("zstd is no longer linked")?;
    let (_, zstd) = zstd.version.split_once("+zstd.").context("zstd-sys no longer says the version of zstd")?;
    let uplot =
        UPLOT.split_once("uPlot (v").and_then(|(_, rest)| rest.split_once(')')).context("uPlot has no version")?.0;
    Ok([component("library", "zstd", zstd, Some("BSD-3-Clause")), component("library", "uPlot", uplot, Some("MIT"))])
}

fn component(kind: &str, name: &str, version: &str, license: Option<&str>) -> Value {
    let mut component = json!({ "type": kind, "name": name, "version": version });
    if let Some(license) = license {
        // Older crates write a slash for OR.
        component["licenses"] = json!([{ "expression": license.replace('/', " OR ") }]);
    }
    component
}

/// The name of a crate that is the same everywhere.
fn purl(package: &Package) -> String {
    format!("pkg:cargo/{}@{}", package.name, package.version.replace('+', "%2B"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_every_linked_crate_with_licence_and_checksum() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the repository");
        let metadata = licences::metadata(root).expect("cargo tells");
        let lock = std::fs::read_to_string(root.join("Cargo.lock")).expect("it is there");
        let bill: Value = serde_json::from_str(&bill(&metadata, &lock).expect("it is made")).expect("it is JSON");
        let components = bill["components"].as_array().expect("there are components");
        let names: Vec<&str> = components.iter().filter_map(|c| c["name"].as_str()).collect();
        for name in ["clap", "pyo3", "zstd-sys", "zstd", "uPlot"] {
            assert!(names.contains(&name), "{name} is missing");
        }
        // A tool of tests is not linked.
        assert!(!names.contains(&"proptest"));
        assert!(components.iter().all(|c| c["licenses"][0]["expression"].is_string()));
        let crates = components.iter().filter(|c| c["purl"].is_string());
        assert!(crates.clone().count() > 50);
        assert!(crates.clone().all(|c| c["hashes"][0]["content"].as_str().is_some_and(|hash| hash.len() == 64)));
    }
}
