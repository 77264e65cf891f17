//! Errors of the library as exceptions of Python. `strata/errors.py` defines them, one for each class.

use std::error::Error as _;

use gpu_strata::{Error, ErrorClass};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// The module that defines the exceptions.
const MODULE: &str = "strata.errors";

/// An exception of the package.
fn exception(py: Python<'_>, name: &str, message: &str) -> PyErr {
    let made = py.import(MODULE).and_then(|module| module.getattr(name)).and_then(|class| class.call1((message,)));
    made.map_or_else(|error| error, PyErr::from_value)
}

/// An `InputError`.
pub fn input(message: impl AsRef<str>) -> PyErr {
    Python::attach(|py| exception(py, "InputError", message.as_ref()))
}

/// What the library promises not to happen.
pub fn unexpected(error: impl ToString) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

/// The exception for an error of the library.
pub fn raised(py: Python<'_>, error: &Error) -> PyErr {
    let name = match error.class() {
        ErrorClass::Input => "InputError",
        ErrorClass::NoDevice => "NoDeviceError",
        ErrorClass::Busy => "BusyError",
        ErrorClass::Interrupted => "InterruptedRunError",
        _ => "FailedError",
    };
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(source) = cause {
        // Some messages end with that of their cause.
        let text = source.to_string();
        if !message.ends_with(&text) {
            message = format!("{message}: {text}");
        }
        cause = source.source();
    }
    exception(py, name, &message)
}

/// Results of the library that become results of Python.
pub trait Raise<T> {
    /// The value, or the exception for the error.
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> Raise<T> for gpu_strata::Result<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| raised(py, &error))
    }
}
