//! The commands that measure nothing: devices, export, schema, completions.

use std::process::ExitCode;

use clap::CommandFactory;
use gpu_strata::characterization::Characterization;
use gpu_strata::compare::Comparison;
use gpu_strata::gpu::cuda;
use gpu_strata::recording::Recording;
use gpu_strata::topology::Topology;
use gpu_strata::{export as exporter, report};

use super::{Fault, output};
use crate::cli::{Cli, Document, Export, ListFormat};

/// `strata devices`
pub fn devices(format: ListFormat) -> Result<ExitCode, Fault> {
    let listed = cuda::devices().map_err(Fault::gpu)?;
    let text = match format {
        ListFormat::Text => report::devices(&listed),
        ListFormat::Json => serde_json::to_string_pretty(&listed).map_err(Fault::run)? + "\n",
    };
    output::stdout(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// `strata export`
pub fn export(arguments: &Export) -> Result<ExitCode, Fault> {
    let recording = Recording::read(&arguments.file).map_err(Fault::usage)?;
    if let Some(cut) = &recording.cut {
        output::warn(&[format!("the recording was cut at byte {}: {}", cut.offset, cut.reason)]);
    }
    let mut lines = String::new();
    let mut note = |summary: exporter::Summary| {
        for file in summary.files {
            let content = if file.rows > 0 { format!("{} rows", file.rows) } else { format!("{} bytes", file.bytes) };
            lines.push_str(&format!("{}: {content}\n", file.path.display()));
        }
    };
    if let Some(dir) = &arguments.csv {
        note(exporter::csv(&recording, dir).map_err(Fault::usage)?);
    }
    if let Some(dir) = &arguments.code {
        note(exporter::code(&recording, dir).map_err(Fault::usage)?);
    }
    output::stdout(&lines)?;
    Ok(ExitCode::SUCCESS)
}

/// `strata schema`
pub fn schema(of: Document) -> Result<ExitCode, Fault> {
    let schema = match of {
        Document::Topology => report::schema::<Topology>(),
        Document::Characterization => report::schema::<Characterization>(),
        Document::Comparison => report::schema::<Comparison>(),
    };
    output::stdout(&schema.map_err(Fault::run)?)?;
    Ok(ExitCode::SUCCESS)
}

/// `strata completions`
pub fn completions(shell: clap_complete::Shell) -> Result<ExitCode, Fault> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "strata", &mut script);
    output::stdout(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
