//! What people and programs read: the text table, JSON with its schema, and the small texts around them.
//!
//! Reports are made of a [`Topology`] and nothing else, so that a replay gives the report of the run.

mod small;
mod text;

use std::process::ExitCode;

pub use small::{devices, sample_line, timings, utc_now};
pub use text::text;

use crate::discover::Discovery;
use crate::gpu::DeviceFacts;
use crate::topology::{RunInfo, SCHEMA, Topology};

/// Puts the answer together. `replayed_from` names the recording of a replay.
pub fn assemble(device: DeviceFacts, mut run: RunInfo, found: Discovery, replayed_from: Option<&str>) -> Topology {
    // A replay finds the warnings anew that the run found and recorded.
    for warning in found.warnings {
        if !run.warnings.contains(&warning) {
            run.warnings.push(warning);
        }
    }
    Topology {
        schema: SCHEMA.into(),
        device,
        run,
        elements: found.elements,
        replayed_from: replayed_from.map(str::to_owned),
    }
}

/// 0 if all that was asked for was answered, 4 if a probe failed.
pub fn exit_code(topology: &Topology) -> ExitCode {
    if topology.is_partial() { ExitCode::from(4) } else { ExitCode::SUCCESS }
}

/// The whole result as JSON, with a newline at the end.
///
/// # Errors
///
/// If a value cannot be written as JSON, which no finding holds.
pub fn json(topology: &Topology) -> serde_json::Result<String> {
    Ok(serde_json::to_string_pretty(topology)? + "\n")
}

/// The JSON schema of a result, with a newline at the end.
///
/// # Errors
///
/// If the schema cannot be written as JSON.
pub fn schema() -> serde_json::Result<String> {
    Ok(serde_json::to_string_pretty(&schemars::schema_for!(Topology))? + "\n")
}
