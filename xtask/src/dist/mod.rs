//! `cargo xtask dist`: what is released, in `target/dist`: for each platform an archive, a package for Debian and a Python wheel;
//! a list of the components, and checksums of all.
//!
//! Reading order: here, [`build`] (programs and wheels), [`pack`] (archives and packages), [`sbom`] (the list of components).

mod build;
mod pack;
mod sbom;

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};

use self::build::Builder;
use self::pack::Release;
use crate::licences;

/// Where everything goes.
const PLACE: &str = "target/dist";

/// A platform that is released for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Platform {
    /// 64-bit x86.
    #[value(name = "x86_64")]
    X86_64,
    /// 64-bit Arm, as of a Grace Hopper.
    Aarch64,
}

impl Platform {
    /// As Rust and Linux name the processor.
    fn processor(self) -> &'static str {
        match self {
            Platform::X86_64 => "x86_64",
            Platform::Aarch64 => "aarch64",
        }
    }

    /// As Debian names it.
    fn debian(self) -> &'static str {
        match self {
            Platform::X86_64 => "amd64",
            Platform::Aarch64 => "arm64",
        }
    }

    /// As Rust names the whole.
    fn target(self) -> String {
        format!("{}-unknown-linux-gnu", self.processor())
    }
}

/// What to build.
#[derive(Args, Debug, PartialEq)]
pub struct Request {
    /// The platforms
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Platform::X86_64, Platform::Aarch64])]
    platform: Vec<Platform>,
    /// Build for this computer's platform with its own linker. Needs no zig; the programs then need a glibc as new as this computer's
    #[arg(long, conflicts_with = "platform")]
    own_linker: bool,
    /// Leave out the Python wheels
    #[arg(long)]
    without_wheels: bool,
}

/// Builds, packs, and tries what it packed.
///
/// # Errors
///
/// If a tool is missing, a build fails, or a program does not run or needs a newer glibc than promised.
pub fn dist(root: &Path, request: &Request) -> Result<()> {
    let place = root.join(PLACE);
    if place.exists() {
        fs::remove_dir_all(&place).with_context(|| format!("cannot empty `{PLACE}`"))?;
    }
    fs::create_dir_all(&place)?;
    let metadata = licences::metadata(root)?;
    let version = sbom::version(&metadata)?;
    let builder = if request.own_linker { Builder::own(root) } else { Builder::zig(root)? };
    let platforms = if request.own_linker { vec![build::host()?] } else { request.platform.clone() };
    for platform in platforms {
        let program = builder.program(platform)?;
        println!("{}: needs {}", platform.target(), program.needs());
        let release = Release { root, place: &place, version, program: &program };
        release.archive()?;
        release.debian()?;
        if !request.without_wheels {
            builder.wheel(&program, &place)?;
        }
    }
    let bill = sbom::bill(&metadata, &fs::read_to_string(root.join("Cargo.lock"))?)?;
    fs::write(place.join(format!("strata-{version}.cdx.json")), bill)?;
    let sums = checked(Command::new("sh").args(["-c", "sha256sum -- *"]).current_dir(&place))?;
    fs::write(place.join("SHA256SUMS"), &sums)?;
    print!("{}", String::from_utf8_lossy(&sums));
    Ok(())
}

/// Runs a command and gives its standard output.
fn checked(command: &mut Command) -> Result<Vec<u8>> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output =
        command.stderr(std::process::Stdio::inherit()).output().with_context(|| format!("cannot run `{program}`"))?;
    ensure!(output.status.success(), "`{program}` ended with {}", output.status);
    Ok(output.stdout)
}
