//! Short commands that do not measure: devices, export, schema, manual pages.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use clap::CommandFactory;
use gpu_strata::{Answer, Device, ExportSummary, Recording, Schema, devices_table};
use strata_files::STANDARD;

use super::files::{self, Files};
use super::node::{self, NodeFiles};
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
    node::checked(Files::default().read([&arguments.file]), &arguments.node).check()?;
    let node = NodeFiles::open(&arguments.node)?;
    if arguments.csv.is_none() && arguments.code.is_none() {
        return labelled(&arguments.file, node, call);
    }
    let recording = files::recording(&arguments.file)?;
    let defects = recording.defects();
    output::warn(call, &defects);
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
    if !node.is_none() {
        let Answer::Discovery(found) = recording.replay()? else { return Err(node::of_discovery()) };
        node.write(&found.topology, call)?;
    }
    output::stdout(&lines)?;
    Ok(if defects.is_empty() { ExitCode::SUCCESS } else { output::partial() })
}

/// The files of a node alone, of a recording or of a result as JSON.
fn labelled(file: &Path, node: NodeFiles, call: Call) -> Result<ExitCode, Fault> {
    // Only a recording says whether it has been cut. What is none may be a result, and otherwise the reader of results says why.
    let recorded = if file == Path::new(STANDARD) { None } else { Recording::open(file).ok() };
    let is_whole = recorded.as_ref().is_none_or(|recording| recording.defects().is_empty());
    let discovery = match recorded.map(Recording::replay).transpose()? {
        None => files::side(file).discovery()?,
        Some(Answer::Discovery(found)) => found.topology,
        Some(Answer::Characterized(_)) => return Err(node::of_discovery()),
    };
    output::warn(call, &discovery.run.warnings);
    node.write(&discovery, call)?;
    Ok(if is_whole && !discovery.is_partial() { ExitCode::SUCCESS } else { output::partial() })
}

/// `strata schema`
pub fn schema(of: Document) -> Result<ExitCode, Fault> {
    let schema = match of {
        Document::Topology => Schema::Topology,
        Document::Characterization => Schema::Characterization,
        Document::Comparison => Schema::Comparison,
        Document::Several => Schema::Several,
        Document::Acceptance => Schema::Acceptance,
        Document::Node => Schema::Node,
        Document::Fleet => Schema::Fleet,
        Document::Health => Schema::Health,
        Document::Links => Schema::Links,
    };
    output::stdout(&schema.json()?)?;
    Ok(ExitCode::SUCCESS)
}

/// `strata man`
pub fn manual(dir: &Path, call: Call) -> Result<ExitCode, Fault> {
    let failed = || format!("cannot write the manual pages to the folder `{}`; name another one", dir.display());
    fs::create_dir_all(dir).with_context(failed).map_err(Fault::usage)?;
    let mut command = Cli::command();
    command.build();
    let pages = std::iter::once(command.clone()).chain(command.get_subcommands().cloned());
    for page in pages.filter(|page| !page.is_hide_set()) {
        let name = page.get_display_name().unwrap_or(page.get_name()).to_owned();
        let mut text = Vec::new();
        clap_mangen::Man::new(page).render(&mut text).map_err(Fault::run)?;
        strata_files::replace(&dir.join(format!("{name}.1")), &text).with_context(failed).map_err(Fault::run)?;
    }
    output::note(call, &format!("wrote the manual pages; `man -l {}/strata.1` shows the first", dir.display()));
    Ok(ExitCode::SUCCESS)
}
