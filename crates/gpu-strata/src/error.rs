//! The errors of the library, and their class, which decides the exit status.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use strata_report::{compare, export, fleet, import, policy, reference};
use strata_sim::machine;

use crate::recorded::Recorded;

/// The result of everything in this library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why something could not be done. Each message says what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The driver, the device or a kernel: no such device, or a call that failed.
    #[error(transparent)]
    Gpu(#[from] strata_gpu::Error),
    /// No such simulated machine, or a machine file with a defect.
    #[error(transparent)]
    Machine(#[from] machine::Defect),
    /// A recording that cannot be read.
    #[error(transparent)]
    Recording(strata_recording::Error),
    /// A recording that cannot be written. What was measured before is in it as far as it was written.
    #[error(transparent)]
    Recorder(strata_recording::Error),
    /// A file that holds no result that can be compared.
    #[error(transparent)]
    Document(#[from] compare::Error),
    /// A policy that cannot be read, made, written or used.
    #[error(transparent)]
    Policy(#[from] policy::Error),
    /// Results of a fleet that are not there, or none.
    #[error(transparent)]
    Fleet(#[from] fleet::Error),
    /// No values are published of the GPU in question.
    #[error(transparent)]
    NoReference(#[from] compare::NoReference),
    /// The published values that come with the library cannot be read.
    #[error(transparent)]
    Reference(#[from] reference::Defect),
    /// Timings of another tool that cannot be read.
    #[error(transparent)]
    Import(#[from] import::Error),
    /// Samples that cannot be written as files.
    #[error(transparent)]
    Export(#[from] export::Error),
    /// A file that cannot be read.
    #[error("cannot read `{}`{advice}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What to give instead.
        advice: &'static str,
        /// What the operating system says.
        source: io::Error,
    },
    /// Input that asks for something impossible.
    #[error("{0}")]
    Input(String),
    /// A report that cannot be made.
    #[error("{what} cannot be written")]
    Report {
        /// Which.
        what: &'static str,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Another process of `strata` measures the device.
    #[error("{}", busy(.device, .holder.as_deref(), *.waited))]
    Busy {
        /// The device.
        device: String,
        /// Who measures it, where that is known: process, host, since when.
        holder: Option<String>,
        /// How long this process waited for it.
        waited: Duration,
    },
    /// The caller asked to stop before the run was done.
    #[error("interrupted; {}", kept(.recorded))]
    Interrupted {
        /// The recording; it holds what had been measured.
        recorded: Option<Recorded>,
    },
}

fn busy(device: &str, holder: Option<&str>, waited: Duration) -> String {
    let holder = holder.map(|holder| format!(" ({holder})")).unwrap_or_default();
    let waited = if waited.is_zero() { String::new() } else { format!(" after {} s of waiting", waited.as_secs()) };
    format!(
        "{device} is busy{waited}: another strata measures it{holder}. Give it time with `--wait SECONDS`, or choose another \
         device"
    )
}

fn kept(recorded: &Option<Recorded>) -> String {
    match recorded {
        Some(Recorded::Complete { path, bytes }) => {
            format!("{} holds what had been measured ({bytes} bytes)", path.display())
        }
        Some(Recorded::Incomplete { reason, .. }) => reason.clone(),
        None => "nothing was kept, since no recording was asked for".to_owned(),
    }
}

/// What kind of error it is: what a program does next depends on it, and so does its exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorClass {
    /// The run failed.
    Failed,
    /// Bad usage, or input that cannot be used.
    Input,
    /// There is no such device, or no usable driver.
    NoDevice,
    /// The device is there, but another process measures it.
    Busy,
    /// The caller stopped the run.
    Interrupted,
}

impl ErrorClass {
    /// The status with which the `strata` command ends.
    pub const fn exit_status(self) -> u8 {
        match self {
            ErrorClass::Failed => 1,
            ErrorClass::Input => 2,
            // A busy device cannot be had either, and nothing was measured.
            ErrorClass::NoDevice | ErrorClass::Busy => 3,
            // As shells have it for a process that SIGINT ended.
            ErrorClass::Interrupted => 130,
        }
    }
}

impl Error {
    /// Its class.
    pub fn class(&self) -> ErrorClass {
        match self {
            Error::Gpu(error) if error.is_absence() => ErrorClass::NoDevice,
            // The file that was named cannot be had.
            Error::Recorder(strata_recording::Error::Create { .. } | strata_recording::Error::Taken { .. }) => {
                ErrorClass::Input
            }
            Error::Gpu(_) | Error::Recorder(_) | Error::Reference(_) | Error::Report { .. } => ErrorClass::Failed,
            Error::Busy { .. } => ErrorClass::Busy,
            Error::Interrupted { .. } => ErrorClass::Interrupted,
            Error::Policy(policy::Error::Write { .. }) => ErrorClass::Failed,
            Error::Machine(_)
            | Error::Policy(_)
            | Error::Recording(_)
            | Error::Document(_)
            | Error::NoReference(_)
            | Error::Fleet(_)
            | Error::Import(_)
            | Error::Export(_)
            | Error::Unreadable { .. }
            | Error::Input(_) => ErrorClass::Input,
        }
    }

    pub(crate) fn report<E>(what: &'static str) -> impl FnOnce(E) -> Error
    where
        E: std::error::Error + Send + Sync + 'static,
    {
        move |source| Error::Report { what, source: Box::new(source) }
    }
}

/// An error with what caused it.
pub(crate) fn in_full(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_class_decides_the_exit_status() {
        let status = |error: Error| error.class().exit_status();
        assert_eq!(status(strata_gpu::Error::NoDevice("none".into()).into()), 3);
        assert_eq!(status(strata_gpu::Error::Unsupported { reason: "old".into() }.into()), 1);
        assert_eq!(status(Error::Input("no".into())), 2);
        let busy = Error::Busy { device: "GPU-1".into(), holder: Some("process 7".into()), waited: Duration::ZERO };
        assert!(busy.to_string().starts_with("GPU-1 is busy: another strata measures it (process 7). Give it time"));
        assert_eq!(status(busy), 3);
        let stopped = Error::Interrupted { recorded: Some(Recorded::Complete { path: "run.strata".into(), bytes: 7 }) };
        assert_eq!(stopped.to_string(), "interrupted; run.strata holds what had been measured (7 bytes)");
        assert_eq!(status(stopped), 130);
    }
}
