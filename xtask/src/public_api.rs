//! `cargo xtask public-api`: the public interface of the library, held against the lists in `docs/public-api/`.
//!
//! rustdoc says what is public. Its JSON output is not stable, so a compiler with another format than the reader's cannot make
//! the list; that is said, and is no failure.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

/// The crates whose types a user of the library names: the front, and the vocabulary that it hands on.
const CRATES: [&str; 2] = ["gpu-strata", "strata-model"];
/// Format of rustdoc's JSON that the reader knows: that of Rust 1.93 to 1.95.
const FORMAT: u32 = 57;
/// Where the lists are.
const LISTS: &str = "docs/public-api";

/// What is read first of rustdoc's output.
#[derive(Deserialize)]
struct Format {
    format_version: u32,
}

/// Compares the lists with what is public now, or writes them.
///
/// # Errors
///
/// If rustdoc fails, or a list is not what is public.
pub fn public_api(root: &Path, write: bool) -> Result<()> {
    let target = root.join("target/public-api");
    let mut changed = Vec::new();
    for name in CRATES {
        let file = document(root, &target, name)?;
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read `{}`", file.display()))?;
        let format = serde_json::from_str::<Format>(&text)?.format_version;
        if format != FORMAT {
            eprintln!("SKIPPED: this compiler writes format {format} of rustdoc's JSON, and the reader knows {FORMAT}");
            return Ok(());
        }
        let list = listed(&file)?;
        let kept = root.join(LISTS).join(format!("{name}.txt"));
        if write {
            fs::create_dir_all(root.join(LISTS))?;
            fs::write(&kept, &list).with_context(|| format!("cannot write `{}`", kept.display()))?;
        }
        let before = fs::read_to_string(&kept).unwrap_or_default();
        changed.extend(differences(name, &before, &list));
        println!("{name}: {} public items", list.lines().count());
    }
    ensure!(
        changed.is_empty(),
        "the public interface has changed; if that is intended, `cargo xtask public-api --write` keeps it:\n{}",
        changed.join("\n")
    );
    Ok(())
}

/// Has rustdoc write what it knows of a crate.
fn document(root: &Path, target: &Path, name: &str) -> Result<std::path::PathBuf> {
    let status = Command::new("cargo")
        .args(["rustdoc", "--quiet", "--locked", "--lib", "--package", name, "--target-dir"])
        .arg(target)
        .args(["--", "-Z", "unstable-options", "--output-format", "json", "--cap-lints", "allow"])
        // The compiler that builds strata has the option; only its stability is not promised.
        .env("RUSTC_BOOTSTRAP", "1")
        .current_dir(root)
        .status()
        .context("cargo cannot be started")?;
    if !status.success() {
        bail!("rustdoc failed for {name}");
    }
    Ok(target.join("doc").join(format!("{}.json", name.replace('-', "_"))))
}

/// The public items, a line each.
fn listed(file: &Path) -> Result<String> {
    let api = public_api::Builder::from_rustdoc_json(file)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()
        .with_context(|| format!("`{}` cannot be read", file.display()))?;
    Ok(api.items().map(|item| format!("{item}\n")).collect())
}

/// Lines that are in one list only.
fn differences(name: &str, before: &str, now: &str) -> Vec<String> {
    let only = |in_this: &str, not_in: &str, mark: char| -> Vec<String> {
        let others: std::collections::HashSet<&str> = not_in.lines().collect();
        in_this.lines().filter(|line| !others.contains(line)).map(|line| format!("{name}: {mark} {line}")).collect()
    };
    [only(before, now, '-'), only(now, before, '+')].concat()
}

#[cfg(test)]
mod tests {
    use super::differences;

    #[test]
    fn lines_that_came_and_went_are_shown() {
        assert!(differences("x", "a\nb\n", "b\na\n").is_empty());
        assert_eq!(differences("x", "a\nb\n", "b\nc\n"), ["x: - a", "x: + c"]);
    }
}
