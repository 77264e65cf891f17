//! Programs and wheels for a platform.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::{Platform, checked};

/// The oldest glibc on which what zig links runs: that of CentOS 7, and of wheels for `manylinux2014`.
const OLDEST: Glibc = Glibc(2, 17);
/// What pip installs: the linker, what calls it for cargo, and what builds wheels.
const TOOLS: [&str; 3] = ["ziglang==0.17.1", "cargo-zigbuild==0.24.1", "maturin==1.16.0"];

/// The variable by which qemu is told where the libraries of the emulated programs are.
const EMULATED_LIBRARIES: &str = "QEMU_LD_PREFIX";

/// A version of glibc.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Glibc(u32, u32);

/// A program that was built and tried.
pub struct Program {
    pub platform: Platform,
    pub path: PathBuf,
    glibc: Glibc,
    /// What runs programs of the platform here, if this computer cannot.
    emulator: Option<String>,
}

/// How programs are built.
pub struct Builder<'a> {
    root: &'a Path,
    /// The folder of zig's tools; none with the computer's own linker.
    tools: Option<PathBuf>,
}

/// This computer's platform.
pub fn host() -> Result<Platform> {
    match env::consts::ARCH {
        "x86_64" => Ok(Platform::X86_64),
        "aarch64" => Ok(Platform::Aarch64),
        other => bail!("nothing is released for {other}"),
    }
}

impl<'a> Builder<'a> {
    /// With this computer's linker.
    pub fn own(root: &'a Path) -> Self {
        Builder { root, tools: None }
    }

    /// With zig as linker, which knows every version of glibc. pip fetches it.
    pub fn zig(root: &'a Path) -> Result<Self> {
        let place = root.join("target/python/dist").join(TOOLS.join("-").replace("==", "-"));
        let tools = place.join("bin");
        if !tools.join("maturin").exists() {
            checked(Command::new("python3").args(["-m", "venv"]).arg(&place))?;
            let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
            checked(Command::new(tools.join("python")).args(pip).args(TOOLS))
                .context("without zig, `--own-linker` builds for this computer's glibc and later ones")?;
        }
        Ok(Builder { root, tools: Some(tools) })
    }

    /// A command that finds the tools.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.root);
        if let Some(tools) = &self.tools {
            let old = env::var_os("PATH").unwrap_or_default();
            let all = std::iter::once(tools.clone()).chain(env::split_paths(&old));
            command.env("PATH", env::join_paths(all).unwrap_or(old));
        }
        command
    }

    /// Builds `strata`, and tries it.
    pub fn program(&self, platform: Platform) -> Result<Program> {
        let target = platform.target();
        let Glibc(major, minor) = OLDEST;
        let (path, subcommand, named) = match self.tools {
            Some(_) => {
                (format!("target/{target}/release/strata"), "zigbuild", Some(format!("{target}.{major}.{minor}")))
            }
            None => ("target/release/strata".to_owned(), "build", None),
        };
        let named = named.iter().flat_map(|target| ["--target", target]);
        let status = self.command("cargo").args([subcommand, "--release", "--locked"]).args(named).status()?;
        ensure!(status.success(), "cargo {subcommand} for {target} ended with {status}; `rustup target add {target}`?");
        let path = self.root.join(path);
        let versions = checked(Command::new("readelf").args(["--version-info", "--wide"]).arg(&path))?;
        let glibc = newest(&String::from_utf8_lossy(&versions)).context("the program names no version of glibc")?;
        ensure!(self.tools.is_none() || glibc <= OLDEST, "{} needs {glibc}, and {OLDEST} is promised", path.display());
        let emulator = (platform != host()?).then(|| format!("qemu-{}-static", platform.processor()));
        let program = Program { platform, path, glibc, emulator };
        program.tried()?;
        Ok(program)
    }

    /// Builds the wheel.
    pub fn wheel(&self, program: &Program, place: &Path) -> Result<()> {
        let mut command = self.command(&self.root.join("scripts/build-wheel.sh").to_string_lossy());
        command.env("STRATA", &program.path).env("WHEELS", place);
        if let Some(emulator) = &program.emulator {
            command.env("EMULATOR", emulator).env(EMULATED_LIBRARIES, program.libraries());
        }
        if self.tools.is_some() {
            let Glibc(major, minor) = OLDEST;
            let compatible = format!("manylinux_{major}_{minor}");
            command.args(["--target", &program.platform.target(), "--zig", "--compatibility", &compatible]);
        }
        let status = command.status().context("cannot run scripts/build-wheel.sh")?;
        ensure!(status.success(), "scripts/build-wheel.sh ended with {status}");
        Ok(())
    }
}

impl Program {
    /// The oldest glibc that it runs on, in words.
    pub fn needs(&self) -> String {
        self.glibc.to_string()
    }

    /// The same, as Debian's packages state it.
    pub fn depends(&self) -> String {
        let Glibc(major, minor) = self.glibc;
        format!("libc6 (>= {major}.{minor})")
    }

    /// Where Debian puts the libraries of another platform; its package is libc6-ARCH-cross.
    fn libraries(&self) -> String {
        format!("/usr/{}-linux-gnu", self.platform.processor())
    }

    /// What it prints.
    pub fn says(&self, arguments: &[&str]) -> Result<Vec<u8>> {
        let mut command = match &self.emulator {
            Some(emulator) => {
                let mut command = Command::new(emulator);
                command.env(EMULATED_LIBRARIES, self.libraries()).arg(&self.path);
                command
            }
            None => Command::new(&self.path),
        };
        checked(command.args(arguments)).with_context(|| match &self.emulator {
            Some(emulator) => {
                format!("trying it needs {emulator} (qemu-user-static) and libc6-{}-cross", self.platform.debian())
            }
            None => "the program that was built does not run".to_owned(),
        })
    }

    /// Measures a part of a simulated GPU with it.
    fn tried(&self) -> Result<()> {
        let arguments =
            ["discover", "--device", "sim:k20c", "--only", "constant_l1.size", "--effort", "quick", "--quiet"];
        let found = self.says(&[&arguments[..], &["--format", "json", "--compact"]].concat())?;
        let found: serde_json::Value = serde_json::from_slice(&found)?;
        let size = &found["elements"]["constant_l1"]["size"]["value"];
        ensure!(size == 2048, "{} finds {size} B for the constant L1 of a K20c, which has 2048 B", self.path.display());
        Ok(())
    }
}

impl std::fmt::Display for Glibc {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "glibc {}.{}", self.0, self.1)
    }
}

/// The newest version of glibc among those that a program asks for.
fn newest(versions: &str) -> Option<Glibc> {
    let named = versions.split_whitespace().filter_map(|word| word.strip_prefix("GLIBC_"));
    let number = |text: &str| text.parse::<u32>().ok();
    let version = |text: &str| {
        let mut parts = text.split('.');
        Some(Glibc(number(parts.next()?)?, number(parts.next()?)?))
    };
    named.filter_map(version).max()
}

/// Copies a file, and makes the folders above it.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to.parent().unwrap_or(to))?;
    fs::copy(from, to).with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_is_that_of_the_largest_number() {
        let text = "0x0010: Name: GLIBC_2.9  Flags: none  Version: 7\n0x0020: Name: GLIBC_2.17  Flags: none\nName: GLIBC_2.2.5\nGCC_3.0";
        assert_eq!(newest(text), Some(Glibc(2, 17)));
        assert_eq!(newest("Name: GCC_3.0"), None);
        assert_eq!(newest("GLIBC_PRIVATE"), None);
    }
}
