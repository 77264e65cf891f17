//! The tools: ptxas and nvdisasm, taken from PyPI wheels into `target/`, never vendored.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

/// A program in a pinned release of a Python package.
struct Wheel {
    package: &'static str,
    version: &'static str,
    /// Path of the program in the package.
    program: &'static str,
}

/// The newest target that kernels are assembled for, as in `sm_121`.
const NEWEST: u32 = 121;
/// The newest target of Kepler.
const KEPLER: u32 = 37;

/// The newest release that still assembles for sm_35 and sm_37. The last driver for such GPUs, branch 470, is of CUDA 11.4.
const PTXAS_11: Wheel =
    Wheel { package: "nvidia-cuda-nvcc-cu11", version: "11.8.89", program: "nvidia/cuda_nvcc/bin/ptxas" };
/// The newest release that still assembles for sm_50 to sm_72.
const PTXAS_12: Wheel =
    Wheel { package: "nvidia-cuda-nvcc-cu12", version: "12.9.86", program: "nvidia/cuda_nvcc/bin/ptxas" };
/// Its successor, from sm_75 up. Its compiler is the one closest to that of a current driver.
const PTXAS_13: Wheel = Wheel { package: "nvidia-cuda-nvcc", version: "13.5.37", program: "nvidia/cu13/bin/ptxas" };
/// Reads machine code from sm_75 up, whichever release made it.
const NVDISASM: Wheel =
    Wheel { package: "nvidia-cuda-nvdisasm", version: "13.5.37", program: "nvidia/cu13/bin/nvdisasm" };

/// A release of the assembler.
pub struct Ptxas {
    /// Its version.
    pub version: &'static str,
    /// The newest target that it is asked for: later releases have those behind it, and are closer to the drivers in use.
    pub newest: u32,
    /// The program.
    pub program: PathBuf,
}

/// Every release of the assembler that kernels are checked with.
pub fn assemblers(target_dir: &Path) -> Result<Vec<Ptxas>> {
    let fetched = |(wheel, newest): (&Wheel, u32)| {
        Ok(Ptxas { version: wheel.version, newest, program: wheel.fetch(target_dir)? })
    };
    [(&PTXAS_11, KEPLER), (&PTXAS_12, NEWEST), (&PTXAS_13, NEWEST)].into_iter().map(fetched).collect()
}

/// The disassembler.
pub fn disassembler(target_dir: &Path) -> Result<PathBuf> {
    NVDISASM.fetch(target_dir)
}

impl Wheel {
    /// The program's path, after downloading and unpacking the wheel if that was not done before.
    fn fetch(&self, target_dir: &Path) -> Result<PathBuf> {
        let unpacked = target_dir.join("cuda-tools").join(format!("{}-{}", self.package, self.version));
        let program = unpacked.join(self.program);
        if program.exists() {
            return Ok(program);
        }
        let downloads = target_dir.join("cuda-wheels");
        let wheel = match self.downloaded(&downloads)? {
            Some(wheel) => wheel,
            None => self.download(&downloads)?,
        };
        // Unpacked beside its place and then moved, so that an interrupted run leaves nothing half done.
        let partial = unpacked.with_extension("partial");
        if partial.exists() {
            fs::remove_dir_all(&partial)?;
        }
        fs::create_dir_all(&partial)?;
        python(&["-m", "zipfile", "-e"], &[&wheel, &partial])
            .with_context(|| format!("unpacking {}; delete it to have it downloaded again", wheel.display()))?;
        let unpacked_program = partial.join(self.program);
        ensure!(unpacked_program.is_file(), "{} does not contain {}", wheel.display(), self.program);
        // A zip file's permissions are not restored by Python's module.
        fs::set_permissions(&unpacked_program, fs::Permissions::from_mode(0o755))?;
        fs::rename(&partial, &unpacked)?;
        Ok(program)
    }

    /// The wheel's file, if it lies in the folder.
    fn downloaded(&self, downloads: &Path) -> Result<Option<PathBuf>> {
        let prefix = format!("{}-{}-", self.package.replace('-', "_"), self.version);
        let Ok(files) = fs::read_dir(downloads) else { return Ok(None) };
        for file in files {
            let file = file?;
            let name = file.file_name().to_string_lossy().into_owned();
            if name.starts_with(&prefix) && name.ends_with(".whl") {
                return Ok(Some(file.path()));
            }
        }
        Ok(None)
    }

    fn download(&self, downloads: &Path) -> Result<PathBuf> {
        let requirement = format!("{}=={}", self.package, self.version);
        println!("downloading {requirement}");
        fs::create_dir_all(downloads)?;
        let options = ["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "-d"];
        let downloaded = python(&options, &[downloads, Path::new(&requirement)]);
        let advice = || {
            format!(
                "cannot download {requirement}. Check that `python3 -m pip` works and reaches a package index, or put the \
                 wheel of this release into {} by hand",
                downloads.display()
            )
        };
        downloaded.with_context(advice)?;
        self.downloaded(downloads)?.with_context(advice)
    }
}

fn python(options: &[&str], paths: &[&Path]) -> Result<()> {
    let mut command = Command::new("python3");
    let output = command.args(options).args(paths).output().context("running python3")?;
    if !output.status.success() {
        bail!("python3 {} failed:\n{}", options.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}
