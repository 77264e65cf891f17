//! The archive and the package for Debian.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::build::{Program, copy};
use super::checked;

/// The name of Debian's package.
const PACKAGE: &str = "gpu-strata";
/// Documents that come with the program.
const DOCUMENTS: [&str; 5] = ["README.md", "CHANGELOG.md", "THIRD-PARTY.md", "LICENSE-MIT", "LICENSE-APACHE"];
/// Shells, the file of completions in the archive, and where Debian has it.
const COMPLETIONS: [(&str, &str, &str); 3] = [
    ("bash", "completions/strata.bash", "usr/share/bash-completion/completions/strata"),
    ("zsh", "completions/_strata", "usr/share/zsh/vendor-completions/_strata"),
    ("fish", "completions/strata.fish", "usr/share/fish/vendor_completions.d/strata.fish"),
];

/// What is packed.
pub struct Release<'a> {
    pub root: &'a Path,
    pub place: &'a Path,
    pub version: &'a str,
    pub program: &'a Program,
}

impl Release<'_> {
    /// Writes `strata-VERSION-PROCESSOR-linux-gnu.tar.gz`.
    pub fn archive(&self) -> Result<()> {
        let name = format!("strata-{}-{}-linux-gnu", self.version, self.program.platform.processor());
        let stage = self.stage()?;
        let tree = stage.join(&name);
        copy(&self.program.path, &tree.join("strata"))?;
        self.manual(&tree.join("man"))?;
        for (shell, file, _) in COMPLETIONS {
            self.completions(shell, &tree.join(file))?;
        }
        for document in DOCUMENTS {
            copy(&self.root.join(document), &tree.join(document))?;
        }
        let mut tar = Command::new("tar");
        tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mode=u+rw,go+r-w"]);
        tar.arg(format!("--mtime=@{}", self.moment()?)).args(["--use-compress-program=gzip -9n", "--create", "--file"]);
        checked(tar.arg(self.place.join(format!("{name}.tar.gz"))).arg("--directory").arg(&stage).arg(&name))?;
        fs::remove_dir_all(stage).context("cannot remove what was packed")
    }

    /// Writes `gpu-strata_VERSION_ARCHITECTURE.deb`.
    pub fn debian(&self) -> Result<()> {
        let platform = self.program.platform.debian();
        let tree = self.stage()?;
        copy(&self.program.path, &tree.join("usr/bin/strata"))?;
        let manual = tree.join("usr/share/man/man1");
        self.manual(&manual)?;
        for page in fs::read_dir(&manual)? {
            checked(Command::new("gzip").arg("-9n").arg(page?.path()))?;
        }
        for (shell, _, file) in COMPLETIONS {
            self.completions(shell, &tree.join(file))?;
        }
        let documents = tree.join("usr/share/doc").join(PACKAGE);
        for document in DOCUMENTS {
            copy(&self.root.join(document), &documents.join(document))?;
        }
        fs::write(documents.join("copyright"), copyright(&fs::read_to_string(self.root.join("LICENSE-MIT"))?))?;
        let size = fs::metadata(&self.program.path)?.len().div_ceil(1024);
        fs::create_dir(tree.join("DEBIAN"))?;
        fs::write(tree.join("DEBIAN/control"), control(self.version, platform, size, &self.program.depends()))?;
        let file = self.place.join(format!("{PACKAGE}_{}_{platform}.deb", self.version));
        let mut build = Command::new("dpkg-deb");
        build.args(["--root-owner-group", "-Zxz", "--build"]).arg(&tree).arg(&file);
        checked(build.env("SOURCE_DATE_EPOCH", self.moment()?))?;
        fs::remove_dir_all(tree).context("cannot remove what was packed")
    }

    /// An empty folder beside what is released.
    fn stage(&self) -> Result<PathBuf> {
        let stage = self.root.join("target/dist-stage");
        if stage.exists() {
            fs::remove_dir_all(&stage)?;
        }
        fs::create_dir_all(&stage)?;
        Ok(stage)
    }

    fn manual(&self, folder: &Path) -> Result<()> {
        self.program.says(&["man", "--quiet", &folder.to_string_lossy()]).map(drop)
    }

    fn completions(&self, shell: &str, file: &Path) -> Result<()> {
        fs::create_dir_all(file.parent().unwrap_or(file))?;
        fs::write(file, self.program.says(&["completions", shell])?).context("cannot write the completions")
    }

    /// The time of the commit, in seconds, so that two builds of it are the same.
    fn moment(&self) -> Result<String> {
        let log = checked(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(self.root))?;
        Ok(String::from_utf8(log)?.trim().to_owned())
    }
}

/// What Debian's tools read of a package.
fn control(version: &str, platform: &str, size: u64, depends: &str) -> String {
    format!(
        "Package: {PACKAGE}\n\
         Version: {version}\n\
         Architecture: {platform}\n\
         Maintainer: The strata maintainers <strata@localhost>\n\
         Installed-Size: {size}\n\
         Depends: {depends}\n\
         Section: utils\n\
         Priority: optional\n\
         Description: measures the memory hierarchy of an NVIDIA GPU\n \
         strata finds size, line, latency and sharing of every cache, the TLBs and\n \
         more. Every number has an interval and a source. It needs the driver of the\n \
         GPU and no CUDA toolkit. Without a GPU it measures simulated ones.\n"
    )
}

/// The licences in Debian's form.
fn copyright(mit: &str) -> String {
    let text: String = mit.lines().skip_while(|line| !line.starts_with("Permission")).map(indented).collect();
    let holder = mit.lines().find(|line| line.starts_with("Copyright")).unwrap_or_default();
    let holder = holder.trim_start_matches("Copyright").trim_start_matches(" (c)").trim();
    format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\
         Upstream-Name: strata\n\
         Comment: THIRD-PARTY.md lists the licences of the crates that the program is linked with.\n\n\
         Files: *\n\
         Copyright: {holder}\n\
         License: Expat or Apache-2.0\n\n\
         License: Expat\n{text}\n\
         License: Apache-2.0\n \
         On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.\n"
    )
}

/// A line of a field that has several.
fn indented(line: &str) -> String {
    if line.is_empty() { " .\n".to_owned() } else { format!(" {line}\n") }
}
