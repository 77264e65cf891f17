//! What went wrong, and the exit status that says so.

use std::io;
use std::process::ExitCode;

use gpu_strata::Error;

/// An outcome that ends the program.
#[derive(Debug)]
pub struct Fault {
    status: u8,
    error: anyhow::Error,
}

impl Fault {
    /// The run failed: status 1.
    pub fn run(error: impl Into<anyhow::Error>) -> Self {
        Fault { status: 1, error: error.into() }
    }

    /// Bad usage or a bad input file: status 2.
    pub fn usage(error: impl Into<anyhow::Error>) -> Self {
        Fault { status: 2, error: error.into() }
    }

    /// The same with the status of trouble that `diff` has, 2, whatever it was.
    pub fn trouble(self) -> Self {
        Fault { status: 2, ..self }
    }

    /// Whether the reader of standard output went away, which is no fault.
    pub fn is_closed_stdout(&self) -> bool {
        self.error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
    }

    /// What to print.
    pub fn message(&self) -> String {
        format!("{:#}", self.error)
    }

    /// The status to end with.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(if self.is_closed_stdout() { 0 } else { self.status })
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Fault { status: error.class().exit_status(), error: error.into() }
    }
}
