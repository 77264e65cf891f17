//! Opening the driver at run time: finding the library, its version, its calls.

use std::ffi::{OsStr, OsString, c_int};
use std::ops::Deref;

use libloading::Library;

use super::calls::{Calls, Code};
use super::error::{self, CONTAINER, WITHOUT_GPU};
use strata_gpu::{Error, Result};

/// The environment variable that names the driver's library, instead of the usual places.
pub const LIBRARY_VARIABLE: &str = "STRATA_CUDA_LIBRARY";

/// Where the library is looked for. The second is the name that toolkits and some containers have, the third WSL's.
const CANDIDATES: [&str; 3] = ["libcuda.so.1", "libcuda.so", "/usr/lib/wsl/lib/libcuda.so.1"];

/// Oldest interface: CUDA 9.0, the first with PTX ISA 6.0, in which the kernels are written.
const MIN_VERSION: c_int = 9000;

/// The driver, started.
pub(super) struct Driver {
    calls: Calls,
    version: c_int,
}

impl Driver {
    /// Opens the driver and starts it.
    pub fn open() -> Result<Self> {
        let (library, name) = match std::env::var_os(LIBRARY_VARIABLE).filter(|name| !name.is_empty()) {
            Some(name) => open_library(&[name])?,
            None => open_library(&CANDIDATES.map(OsString::from))?,
        };
        let version = version(&library, &name)?;
        // SAFETY: a library that has `cuDriverGetVersion` and answers with a version of CUDA is a CUDA driver.
        let calls = unsafe { Calls::find(&library) }.map_err(|symbol| {
            Error::Driver(format!(
                "the driver library `{name}` (CUDA {}) lacks {symbol}, which strata needs: it is damaged, a stub, or \
                 not supported. Reinstall the NVIDIA driver, or set {LIBRARY_VARIABLE} to another library. {WITHOUT_GPU}",
                shown(version)
            ))
        })?;
        // The driver has threads and exit handlers of its own, so its code must stay: it is never closed.
        std::mem::forget(library);
        // SAFETY: no arguments but the flags, which must be zero.
        unsafe { calls.init(0) }.map_err(error::start)?;
        Ok(Driver { calls, version })
    }

    /// Version of the interface, such as `13.0`.
    pub fn version(&self) -> String {
        shown(self.version)
    }
}

impl Deref for Driver {
    type Target = Calls;

    fn deref(&self) -> &Calls {
        &self.calls
    }
}

fn open_library(candidates: &[OsString]) -> Result<(Library, String)> {
    let mut failures = Vec::new();
    for candidate in candidates {
        match load(candidate) {
            Ok(library) => return Ok((library, candidate.to_string_lossy().into_owned())),
            Err(failure) => failures.push(format!("\n  {}: {failure}", candidate.to_string_lossy())),
        }
    }
    let failures = failures.concat();
    Err(Error::Driver(if std::env::var_os(LIBRARY_VARIABLE).is_some_and(|name| !name.is_empty()) {
        format!(
            "the CUDA driver that {LIBRARY_VARIABLE} names cannot be opened:{failures}\nCorrect the variable, or unset it to \
             use the installed driver. {WITHOUT_GPU}"
        )
    } else {
        format!(
            "no CUDA driver (libcuda.so.1) can be opened:{failures}\nThe NVIDIA driver is not installed, or not visible \
             here: {CONTAINER}. If it lies elsewhere, set {LIBRARY_VARIABLE} to its path. {WITHOUT_GPU}"
        )
    }))
}

fn load(name: &OsStr) -> std::result::Result<Library, String> {
    // SAFETY: the library's initialisers run. It is the installed driver, which every CUDA program loads so, or one that the
    // user named for this purpose.
    unsafe { Library::new(name) }.map_err(|error| {
        // The loader's own words are in the source; the outer error only names the call.
        std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string)
    })
}

/// The version, asked before anything else is looked up: an old driver shall be called old, not incomplete.
fn version(library: &Library, name: &str) -> Result<c_int> {
    // SAFETY: `cuDriverGetVersion` has had this signature in every version of `cuda.h`.
    let get = unsafe { library.get::<unsafe extern "C" fn(*mut c_int) -> Code>("cuDriverGetVersion") }.map_err(|_| {
        Error::Driver(format!(
            "`{name}` is no CUDA driver: it lacks cuDriverGetVersion. Set {LIBRARY_VARIABLE} to the path of the NVIDIA \
             driver's libcuda.so.1. {WITHOUT_GPU}"
        ))
    })?;
    let mut version = 0;
    // SAFETY: `version` is valid for the write; the call needs no initialised driver.
    let code = unsafe { get(&mut version) };
    if code != error::SUCCESS {
        return Err(Error::Driver(format!(
            "the driver library `{name}` does not tell its version: cuDriverGetVersion failed with result {code}. See whether \
             `nvidia-smi` works. {WITHOUT_GPU}"
        )));
    }
    if version < MIN_VERSION {
        return Err(Error::Driver(format!(
            "the NVIDIA driver is too old: it offers the interface of CUDA {}, and strata needs {} (PTX ISA 6.0) or later. \
             Update the driver to 384.81 or later. {WITHOUT_GPU}",
            shown(version),
            shown(MIN_VERSION)
        )));
    }
    Ok(version)
}

fn shown(version: c_int) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}
