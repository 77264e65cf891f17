//! `cargo xtask licences`: whether every dependency has a licence that this project can live with, and the list of those in
//! `strata` and its Python module.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use spdx::{Expression, ParseMode};

/// Licences that let anyone use `strata` under its own.
const ALLOWED: [&str; 11] = [
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "MPL-2.0",
    "Unicode-3.0",
    "Zlib",
];
/// The platform that is built for; others need more crates, which nobody has downloaded.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";
/// The crate of the Python module, which is in the list, too.
const PYTHON: &str = "strata-python";
/// Where the list is.
const LIST: &str = "THIRD-PARTY.md";
/// What the list begins with; what no crate brings is said here.
const HEAD: &str = "\
# Code of others

`strata` and its Python module are linked with these crates. They also hold uPlot (MIT, <https://github.com/leeoniya/uPlot>),
which draws plots in HTML reports, and the C library that `zstd-sys` builds (BSD-3-Clause,
<https://github.com/facebook/zstd>). `Cargo.lock` has the versions; `cargo xtask licences --write` writes this list.

| crate | licence |
|---|---|
";

/// What `cargo metadata` says, as far as it is needed.
#[derive(Deserialize)]
pub struct Metadata {
    /// All packages, also those of tests and tools.
    pub packages: Vec<Package>,
    workspace_default_members: Vec<String>,
    resolve: Resolve,
}

/// A package, of this repository or of others.
#[derive(Deserialize)]
pub struct Package {
    id: String,
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its licence, by SPDX.
    pub license: Option<String>,
    repository: Option<String>,
    /// None for the packages of this repository.
    pub source: Option<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    /// `dev` or `build`; none for what the program is linked with.
    kind: Option<String>,
}

/// Checks the licences of all dependencies, those of tests and tools, too, and that the list is what it should be or, with
/// `write`, makes it so.
///
/// # Errors
///
/// If cargo cannot tell, a licence is not allowed or the list is old.
pub fn licences(root: &Path, write: bool) -> Result<()> {
    let metadata = metadata(root)?;
    let others = || metadata.packages.iter().filter(|package| package.source.is_some());
    let refused: Vec<String> = others().filter_map(refusal).collect();
    ensure!(
        refused.is_empty(),
        "{}\nReplace these crates, or add a licence to `ALLOWED` after reading it",
        refused.join("\n")
    );
    let list = list(&metadata);
    let path = root.join(LIST);
    if write {
        fs::write(&path, list).with_context(|| format!("writing {}", path.display()))?;
    } else {
        let written = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        ensure!(written == list, "{LIST} is old; `cargo xtask licences --write` writes it");
    }
    println!("{} crates with licences that are allowed", others().count());
    Ok(())
}

/// What cargo knows of all packages.
///
/// # Errors
///
/// If cargo cannot tell.
pub fn metadata(root: &Path) -> Result<Metadata> {
    let output = Command::new("cargo")
        .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", PLATFORM])
        .current_dir(root)
        .output()
        .context("cargo cannot be run")?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim());
    serde_json::from_slice(&output.stdout).context("cargo metadata is of another form")
}

/// Why a package cannot be used, if that is so.
fn refusal(package: &Package) -> Option<String> {
    let Package { name, license, .. } = package;
    let Some(license) = license else { return Some(format!("{name} has no licence")) };
    match Expression::parse_mode(license, ParseMode::LAX) {
        Err(error) => Some(format!("{name}: {error}")),
        Ok(expression) => {
            // An exception gives more rights.
            let allowed = expression.evaluate(|one| one.license.id().is_some_and(|id| ALLOWED.contains(&id.name)));
            (!allowed).then(|| format!("{name} has the licence {license}, which is not allowed"))
        }
    }
}

/// The packages that `strata` and its Python module are linked with, themselves included.
pub fn linked(metadata: &Metadata) -> Vec<&Package> {
    let dependencies: HashMap<&str, &Node> = metadata.resolve.nodes.iter().map(|node| (&*node.id, node)).collect();
    let mut open: Vec<&str> = metadata.workspace_default_members.iter().map(String::as_str).collect();
    open.extend(metadata.packages.iter().filter(|package| package.name == PYTHON).map(|package| package.id.as_str()));
    let mut linked = BTreeSet::new();
    while let Some(id) = open.pop() {
        if linked.insert(id) {
            let all = dependencies.get(id).into_iter().flat_map(|node| &node.deps);
            open.extend(all.filter(|d| d.dep_kinds.iter().any(|kind| kind.kind.is_none())).map(|d| d.pkg.as_str()));
        }
    }
    metadata.packages.iter().filter(|package| linked.contains(&*package.id)).collect()
}

/// The list of what is linked into `strata` and its Python module.
fn list(metadata: &Metadata) -> String {
    let row = |Package { name, license, repository, .. }: &Package| {
        let name = repository.as_ref().map_or(name.clone(), |address| format!("[{name}]({address})"));
        format!("| {name} | {} |\n", license.as_deref().unwrap_or_default())
    };
    let others = linked(metadata).into_iter().filter(|package| package.source.is_some());
    HEAD.to_owned() + &others.map(row).collect::<BTreeSet<String>>().into_iter().collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_licence_to_choose_is_enough_and_all_to_keep_must_be_allowed() {
        let refused = |license: Option<&str>| {
            let license = license.map(str::to_owned);
            refusal(&Package {
                id: "x".into(),
                name: "x".into(),
                version: "1.0.0".into(),
                license,
                repository: None,
                source: None,
            })
            .is_some()
        };
        let allowed = ["MIT", "MIT/Apache-2.0", "Unlicense OR MIT", "Apache-2.0 WITH LLVM-exception", "MIT AND ISC"];
        assert_eq!(allowed.map(|license| refused(Some(license))), [false; 5]);
        let not_allowed = ["GPL-3.0-only", "MIT AND GPL-3.0-only", "a licence of my own"];
        assert_eq!(not_allowed.map(|license| refused(Some(license))), [true; 3]);
        assert!(refused(None));
    }
}
