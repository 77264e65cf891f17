//! An error of a command, with its exit status.

use std::io;
use std::process::ExitCode;

use gpu_strata::Error;

use super::terminal;

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

    /// The same error with status 2, as `diff` has it for any trouble.
    pub fn trouble(self) -> Self {
        self.with_status(2)
    }

    /// The same error with another status.
    pub fn with_status(self, status: u8) -> Self {
        Fault { status, ..self }
    }

    /// Whether the reader of standard output closed it, which is not an error.
    pub fn is_closed_stdout(&self) -> bool {
        self.error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
    }

    /// The error and its causes, without those whose text the error already contains.
    pub fn message(&self) -> String {
        let mut message = String::new();
        for cause in self.error.chain().map(ToString::to_string) {
            if !message.contains(&cause) {
                message.push_str(if message.is_empty() { "" } else { ": " });
                message.push_str(&cause);
            }
        }
        terminal::safe(&message)
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
