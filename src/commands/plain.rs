//! Short commands that do not measure: devices, export, figures, schema, completions.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use clap::CommandFactory;
use gpu_strata::{Device, ExportSummary, FIGURES_PAGE, Recording, Schema, Side, devices_table};

use super::{Fault, output};
use crate::cli::{Cli, Document, Export, Figures, ListFormat};

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
pub fn export(arguments: &Export) -> Result<ExitCode, Fault> {
    let recording = Recording::open(&arguments.file)?;
    if let Some(cut) = recording.cut() {
        output::warn(&[cut]);
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

/// `strata figures`
pub fn figures(arguments: &Figures) -> Result<ExitCode, Fault> {
    let page = gpu_strata::figures(arguments.files.iter().cloned().map(Side::File).collect())?;
    let dir = &arguments.dir;
    let failed = |path: &Path| format!("cannot write `{}`; name another folder", path.display());
    fs::create_dir_all(dir).with_context(|| failed(dir)).map_err(Fault::usage)?;
    let pictures = page.pictures.iter().map(|picture| (picture.name.as_str(), &picture.svg));
    for (name, content) in pictures.chain([(FIGURES_PAGE, &page.text)]) {
        let path = dir.join(name);
        fs::write(&path, content).with_context(|| failed(&path)).map_err(Fault::run)?;
    }
    output::stdout(&format!("{}: {} pictures\n", dir.join(FIGURES_PAGE).display(), page.pictures.len()))?;
    Ok(ExitCode::SUCCESS)
}

/// `strata schema`
pub fn schema(of: Document) -> Result<ExitCode, Fault> {
    let schema = match of {
        Document::Topology => Schema::Topology,
        Document::Characterization => Schema::Characterization,
        Document::Comparison => Schema::Comparison,
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
