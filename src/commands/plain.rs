//! Short commands that do not measure: devices, export, schema, completions.

use std::process::ExitCode;

use clap::CommandFactory;
use gpu_strata::{Device, ExportSummary, Recording, Schema, devices_table};

use super::{Call, Fault, output};
use crate::cli::{Cli, Document, Export, ListFormat};

/// `strata devices`
pub fn devices(format: ListFormat) -> Result<ExitCode, Fault> {
    let listed = Device::list()?;
    let text = match format {
        ListFormat::Text => devices_table(&listed),
        ListFormat::Json => serde_json::to_string_pretty(&listed).map_err(Fault::run)? + "\n",
    };
    output::stdout(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// `strata export`
pub fn export(arguments: &Export, call: Call) -> Result<ExitCode, Fault> {
    let recording = Recording::open(&arguments.file)?;
    if let Some(cut) = recording.cut() {
        output::warn(call, &[cut]);
    }
    let mut lines = String::new();
    let mut note = |summary: ExportSummary| {
        for file in summary.files {
            let content = if file.rows > 0 { format!("{} rows", file.rows) } else { format!("{} bytes", file.bytes) };
            lines.push_str(&format!("{}: {content}\n", file.path.display()));
        }
    };
    if let Some(folder) = &arguments.csv {
        note(recording.export_csv(folder)?);
    }
    if let Some(folder) = &arguments.code {
        note(recording.export_code(folder)?);
    }
    output::stdout(&lines)?;
    Ok(ExitCode::SUCCESS)
}

/// `strata schema`
pub fn schema(of: Document) -> Result<ExitCode, Fault> {
    let schema = match of {
        Document::Topology => Schema::Topology,
        Document::Characterization => Schema::Characterization,
        Document::Comparison => Schema::Comparison,
        Document::Several => Schema::Several,
        Document::Acceptance => Schema::Acceptance,
    };
    output::stdout(&schema.json()?)?;
    Ok(ExitCode::SUCCESS)
}

/// `strata completions`
pub fn completions(shell: clap_complete::Shell) -> Result<ExitCode, Fault> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "strata", &mut script);
    output::stdout(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
