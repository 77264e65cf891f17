//! The recording that a run makes: its name, and what became of it.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use strata_model::facts::DeviceFacts;
use strata_model::topology::RunInfo;
use strata_recording::{Error as RecordingError, Header, Writer};

use crate::error::{Error, Result};
use crate::run::Asked;

/// Characters of a UUID that tell GPUs apart, behind its `GPU-`.
const UUID_CHARACTERS: usize = 8;

/// What became of the recording of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// The file holds all samples.
    Complete {
        /// The file.
        path: PathBuf,
        /// Its length, in bytes.
        bytes: u64,
    },
    /// It could not be written to the end.
    Incomplete {
        /// The file that was asked for; it is as it was before.
        path: PathBuf,
        /// Why, and where that is which was written.
        reason: String,
    },
}

/// A recording that is to be written, or could not be.
pub(crate) struct Recorder {
    path: PathBuf,
    /// Where the samples are before the recording is complete.
    partial: Option<PathBuf>,
    failed: Option<RecordingError>,
}

impl Recorder {
    /// Starts the recording of a run in a file, or in a folder under a name of its own. A file that cannot be made is an error;
    /// one that cannot be written is not, since the run has a result without it.
    pub fn start(path: &Path, header: &Header, asked: &Asked<'_>) -> Result<(Self, Option<Writer>)> {
        let path = named(path, header)?;
        let refused = |error| match error {
            write @ RecordingError::Write { .. } => Ok(write),
            other => Err(Error::Recorder(other)),
        };
        let mut recorder = Recorder { path, partial: None, failed: None };
        let mut writer = match Writer::create(&recorder.path) {
            Ok(writer) => writer,
            Err(error) => {
                recorder.failed = Some(refused(error)?);
                return Ok((recorder, None));
            }
        };
        recorder.partial = writer.partial();
        match begin(&mut writer, header, asked) {
            Ok(()) => Ok((recorder, Some(writer))),
            Err(error) => {
                recorder.failed = Some(refused(error)?);
                writer.discard();
                recorder.partial = None;
                Ok((recorder, None))
            }
        }
    }

    /// What became of it, by what the session says at its end.
    pub fn end(self, finished: std::result::Result<Option<u64>, RecordingError>) -> Recorded {
        let Recorder { path, partial, failed } = self;
        let error = match (failed, finished) {
            (None, Ok(bytes)) => return Recorded::Complete { path, bytes: bytes.unwrap_or(0) },
            (Some(error), _) | (None, Err(error)) => error,
        };
        let kept = partial.map_or_else(String::new, |partial| {
            format!("; `{0}` holds what was written before: `strata replay {0}`", partial.display())
        });
        Recorded::Incomplete { path, reason: format!("{error}{kept}") }
    }
}

/// Writes what is known before the first sample.
fn begin(writer: &mut Writer, header: &Header, asked: &Asked<'_>) -> std::result::Result<(), RecordingError> {
    writer.header(header)?;
    if let Some(peer) = &header.device.peer {
        writer.peer(peer)?;
    }
    match asked {
        Asked::Topology(selection) => writer.selection(selection),
        Asked::Parts(suite) => writer.asked(suite),
        Asked::Experiments => Ok(()),
    }
}

/// The file of a recording: the path itself, or a name of its own in a folder, by GPU, UUID and time. A path that ends with a
/// slash is a folder, which is made.
fn named(path: &Path, header: &Header) -> Result<PathBuf> {
    let is_named_folder = path.as_os_str().as_bytes().ends_with(b"/");
    if !is_named_folder && !path.is_dir() {
        return Ok(path.to_owned());
    }
    fs::create_dir_all(path)
        .map_err(|source| Error::Recorder(RecordingError::Create { path: path.to_owned(), source }))?;
    Ok(path.join(name(&header.device, &header.run)))
}

/// A name by GPU, UUID and time, such as `nvidia-h200-a37f137f-20261123T181500Z.strata`.
fn name(device: &DeviceFacts, run: &RunInfo) -> String {
    let plain = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric());
        words.filter(|word| !word.is_empty()).map(str::to_ascii_lowercase).collect()
    };
    let start = |uuid: &str| uuid.trim_start_matches("GPU-").chars().take(UUID_CHARACTERS).collect::<String>();
    let mut parts = plain(&device.name);
    if let Some(uuid) = &device.uuid {
        parts.push(start(uuid));
    }
    if let Some(peer) = device.peer.as_ref().and_then(|peer| peer.uuid.as_ref()) {
        parts.push(format!("to-{}", start(peer)));
    }
    parts.push(run.started.chars().filter(char::is_ascii_alphanumeric).collect());
    format!("{}.strata", parts.join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_model::facts::PeerFacts;

    #[test]
    fn a_name_says_which_gpu_and_when() {
        let uuid = Some("GPU-a37f137f-1e29-0000".to_owned());
        let device = DeviceFacts { name: "NVIDIA H200 (x)".into(), uuid, ..DeviceFacts::default() };
        let run = RunInfo { started: "2026-11-23T18:15:00Z".into(), ..RunInfo::default() };
        assert_eq!(name(&device, &run), "nvidia-h200-x-a37f137f-20261123T181500Z.strata");
        let peer = Some(PeerFacts { uuid: Some("GPU-da08b34e-0000".into()), ..PeerFacts::default() });
        let linked = DeviceFacts { peer, ..device };
        assert_eq!(name(&linked, &run), "nvidia-h200-x-a37f137f-to-da08b34e-20261123T181500Z.strata");
        let simulated = DeviceFacts { name: "Tesla K20c".into(), ..DeviceFacts::default() };
        assert_eq!(name(&simulated, &run), "tesla-k20c-20261123T181500Z.strata");
    }
}
