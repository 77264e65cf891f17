//! `strata._strata`: the part of the Python module that is compiled. It calls `gpu-strata` and hands over JSON and bytes; the package
//! `strata` around it makes Python objects of them.

mod compared;
mod error;
mod recording;
mod report;
mod running;

use std::path::PathBuf;
use std::time::Duration;

use gpu_strata::characterization::Suite;
use gpu_strata::topology::Wanted;
use gpu_strata::{Device, Effort, Machine};
use pyo3::prelude::*;

use self::error::{Raise, input};
use self::running::{Found, Settings};

/// Parses each text, and raises `InputError` for the first that names nothing.
fn named<T>(texts: &[String], parse: impl Fn(&str) -> Result<T, String>) -> PyResult<Vec<T>> {
    texts.iter().map(|text| parse(text).map_err(input)).collect()
}

/// What both kinds of runs take.
fn settings(
    effort: &str,
    seed: u64,
    record: Option<PathBuf>,
    host_facts: bool,
    wait: f64,
    progress: Option<Py<PyAny>>,
) -> PyResult<Settings> {
    let effort = Effort::from_name(effort)
        .ok_or_else(|| input(format!("no effort `{effort}`; there are quick, standard and thorough")))?;
    let wait = Duration::try_from_secs_f64(wait)
        .map_err(|_| input(format!("wait is {wait}; give a number of seconds that is not negative")))?;
    Ok(Settings { effort, seed, record, host_facts, wait, progress })
}

#[pymodule]
mod _strata {
    use super::*;

    #[pymodule_export]
    use super::compared::{Compared, compare};
    #[pymodule_export]
    use super::recording::Recording;
    #[pymodule_export]
    use super::report::report;

    /// Measures the memory topology of a device.
    #[pyfunction]
    #[pyo3(signature = (device, only, bandwidth, effort, seed, record, host_facts, wait, progress))]
    #[expect(clippy::too_many_arguments, reason = "the package names each of them")]
    fn discover(
        py: Python<'_>,
        device: &str,
        only: Vec<String>,
        bandwidth: Option<bool>,
        effort: &str,
        seed: u64,
        record: Option<PathBuf>,
        host_facts: bool,
        wait: f64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Found> {
        let only = named(&only, Wanted::of_a_gpu)?;
        if let (Some(false), Some(wanted)) = (bandwidth, only.iter().find(|wanted| wanted.is_bandwidth())) {
            return Err(input(format!("only has `{wanted}`, which bandwidth=False leaves out; remove one of the two")));
        }
        let settings = settings(effort, seed, record, host_facts, wait, progress)?;
        running::run(py, device, settings, |device, options| {
            let asked = bandwidth.unwrap_or(!device.is_simulated() && options.effort != Effort::Quick);
            Ok(device.discover_only(&only, options.bandwidth(asked))?.into())
        })
    }

    /// Measures what access patterns cost on a device.
    #[pyfunction]
    #[pyo3(signature = (device, only, effort, seed, record, host_facts, wait, progress))]
    #[expect(clippy::too_many_arguments, reason = "the package names each of them")]
    fn characterize(
        py: Python<'_>,
        device: &str,
        only: Vec<String>,
        effort: &str,
        seed: u64,
        record: Option<PathBuf>,
        host_facts: bool,
        wait: f64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Found> {
        let parts = named(&only, str::parse)?;
        let suite = Suite { parts, ..Suite::default() }.sorted();
        let settings = settings(effort, seed, record, host_facts, wait, progress)?;
        running::run(py, device, settings, |device, options| Ok(device.characterize(&suite, options)?.into()))
    }

    /// The GPUs that the driver offers, as JSON.
    #[pyfunction]
    fn devices(py: Python<'_>) -> PyResult<String> {
        let devices = py.detach(Device::list).or_raise(py)?;
        serde_json::to_string(&devices).map_err(error::unexpected)
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }

    /// The names of the simulated machines that come with the library.
    #[pyfunction]
    fn machines() -> Vec<&'static str> {
        Machine::names().collect()
    }

    /// All elements and all attributes of elements that a discovery can be asked for: `l2`, `l2.size`.
    #[pyfunction]
    fn names() -> Vec<String> {
        Wanted::all().map(|wanted| wanted.to_string()).collect()
    }
}
