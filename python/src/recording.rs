//! Recordings, and their samples as bytes that numpy and memoryview read without a copy of each number.

use std::path::PathBuf;

use gpu_strata::samples::Samples;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::error::{Raise, input, unexpected};

/// Where a recording comes from.
enum From {
    File(PathBuf),
    Example(String),
}

impl From {
    fn read(&self) -> gpu_strata::Result<gpu_strata::Recording> {
        match self {
            From::File(path) => gpu_strata::Recording::open(path),
            From::Example(name) => gpu_strata::Recording::example(name),
        }
    }
}

/// A recording that was read.
#[pyclass(frozen, module = "strata._strata")]
pub struct Recording {
    from: From,
    content: gpu_strata::Recording,
}

impl Recording {
    fn new(py: Python<'_>, from: From) -> PyResult<Self> {
        let content = py.detach(|| from.read()).or_raise(py)?;
        Ok(Recording { from, content })
    }
}

#[pymethods]
impl Recording {
    /// Reads a file.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Recording::new(py, From::File(path))
    }

    /// Takes a recording that comes with the library.
    #[staticmethod]
    fn example(py: Python<'_>, name: String) -> PyResult<Self> {
        Recording::new(py, From::Example(name))
    }

    /// The names of the recordings that come with the library.
    #[staticmethod]
    fn examples() -> Vec<&'static str> {
        gpu_strata::Recording::examples().collect()
    }

    /// What the driver said of the device, as JSON.
    fn device(&self) -> PyResult<String> {
        serde_json::to_string(self.content.device()).map_err(unexpected)
    }

    /// How the run was made, as JSON.
    fn run_info(&self) -> PyResult<String> {
        serde_json::to_string(&self.content.run()).map_err(unexpected)
    }

    /// What is missing of what was written.
    fn defects(&self) -> Vec<String> {
        self.content.defects()
    }

    /// The numbers of the experiments, in the order in which they were made.
    fn numbers(&self) -> Vec<u32> {
        self.content.experiments().map(|(number, _, _)| number).collect()
    }

    /// An experiment by its place in that order: what was asked, as JSON; why it has no samples; its samples.
    fn experiment<'py>(&self, py: Python<'py>, place: usize) -> PyResult<Asked<'py>> {
        let entry = self.content.experiments().nth(place);
        let (_, experiment, outcome) = entry.ok_or_else(|| input(format!("there is no experiment {place}")))?;
        let asked = serde_json::to_string(experiment).map_err(unexpected)?;
        Ok(match outcome {
            Ok(samples) => (asked, None, Some(bytes(py, samples)?)),
            Err(failure) => (asked, Some(failure.to_string()), None),
        })
    }

    /// Infers everything anew from the samples: the result as JSON.
    fn replay(&self, py: Python<'_>, only: Vec<String>) -> PyResult<String> {
        // A replay takes the recording that it reads.
        py.detach(|| self.from.read()?.replay_only(&only)?.json()).or_raise(py)
    }
}

type Asked<'py> = (String, Option<String>, Option<Bound<'py, PyDict>>);

/// The samples. Each list of numbers is in the byte order of this machine.
fn bytes<'py>(py: Python<'py>, samples: &Samples) -> PyResult<Bound<'py, PyDict>> {
    let words = |numbers: &[u32]| PyBytes::new(py, &numbers.iter().flat_map(|n| n.to_ne_bytes()).collect::<Vec<u8>>());
    let pairs = |pairs: &mut dyn Iterator<Item = [u64; 2]>| {
        PyBytes::new(py, &pairs.flatten().flat_map(u64::to_ne_bytes).collect::<Vec<u8>>())
    };
    let found = PyDict::new(py);
    found.set_item("latencies", words(&samples.latencies))?;
    found.set_item("laps", pairs(&mut samples.laps.iter().map(|lap| [u64::from(lap.loads), lap.cycles])))?;
    found.set_item("clocks", pairs(&mut samples.clocks.iter().map(|clock| [clock.cycles, clock.nanoseconds])))?;
    found.set_item("sms", words(&samples.sms))?;
    found.set_item("sm", samples.sm)?;
    found.set_item("base", samples.base)?;
    Ok(found)
}
