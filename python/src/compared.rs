//! Comparisons.

use gpu_strata::{CompareOptions, Side, Terminal, compare_all};
use pyo3::prelude::*;

use crate::error::{Raise, input};
use crate::named;

/// Compares results. Each side is a name, as `strata compare` takes it, and the text of a result if the name is not that of a file.
#[pyfunction]
#[pyo3(signature = (sides, only, required, tolerance, max_age))]
pub fn compare(
    py: Python<'_>,
    sides: Vec<(String, Option<String>)>,
    only: Vec<String>,
    required: Vec<String>,
    tolerance: f64,
    max_age: Option<&str>,
) -> PyResult<Compared> {
    if !(tolerance >= 0.0 && tolerance.is_finite()) {
        return Err(input(format!("tolerance is {tolerance}; give per cent that are not negative")));
    }
    let options = CompareOptions {
        tolerance_percent: tolerance,
        only: named(&only, str::parse)?,
        required: named(&required, str::parse)?,
        max_age: max_age.map(str::parse).transpose().map_err(|error: String| input(error))?,
    };
    let side = |(name, text): (String, Option<String>)| match text {
        Some(text) => Side::Text(text.into_bytes(), name),
        None => Side::named(&name),
    };
    let compared = py.detach(|| compare_all(sides.into_iter().map(side).collect(), &options)).or_raise(py)?;
    Ok(Compared { compared })
}

/// What came of a comparison.
#[pyclass(frozen, module = "strata._strata")]
pub struct Compared {
    compared: gpu_strata::Compared,
}

#[pymethods]
impl Compared {
    /// Whether nothing differs.
    fn same(&self) -> bool {
        self.compared.same()
    }

    /// The whole comparison as JSON, by its published schema.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        self.compared.json().or_raise(py)
    }

    /// The comparison as text, Markdown or a page for a browser.
    fn report(&self, py: Python<'_>, format: &str, columns: usize) -> PyResult<String> {
        match format {
            "text" => Ok(self.compared.text(&Terminal::new(columns, false))),
            "markdown" => Ok(self.compared.markdown()),
            "html" => self.compared.html().or_raise(py),
            other => Err(input(format!("no format `{other}`; there are text, markdown and html"))),
        }
    }
}
