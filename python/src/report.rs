//! Results in formats for people and for other programs.

use gpu_strata::{Answer, Exchange, Extent, Pictures, Terminal};
use pyo3::prelude::*;

use crate::error::{Raise, input};

/// A result that is JSON, in another format. A text has lines of at most so many columns.
#[pyfunction]
#[pyo3(signature = (json, format, columns))]
pub fn report(py: Python<'_>, json: &str, format: &str, columns: usize) -> PyResult<String> {
    let write: fn(&Answer, usize) -> gpu_strata::Result<String> = match format {
        "text" => |answer, columns| Ok(answer.text(&Terminal::new(columns, false), Extent::Short)),
        "details" => |answer, columns| Ok(answer.text(&Terminal::new(columns, false), Extent::Details)),
        "markdown" => |answer, _| Ok(answer.markdown(Pictures::Embedded).text),
        "html" => |answer, _| answer.html(),
        "mt4g" => |answer, _| answer.exchange(Exchange::Mt4g),
        "hwloc" => |answer, _| answer.exchange(Exchange::Hwloc),
        "machine" => |answer, _| answer.exchange(Exchange::Machine),
        "accelsim" => |answer, _| answer.exchange(Exchange::Accelsim),
        "prometheus" => |answer, _| answer.exchange(Exchange::Prometheus),
        other => {
            return Err(input(format!(
                "no format `{other}`; there are text, details, markdown, html, mt4g, hwloc, machine, accelsim and prometheus"
            )));
        }
    };
    py.detach(|| write(&Answer::from_json(json.as_bytes(), "the result")?, columns)).or_raise(py)
}
