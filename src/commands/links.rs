//! `strata links`: each GPU of a node at the memory of each other GPU.

use std::path::Path;
use std::process::ExitCode;

use anyhow::anyhow;
use gpu_strata::{LinkOptions, devices_named, discover_links};
use strata_files::STANDARD;

use super::files::Files;
use super::output::{self, Destination};
use super::progress::Bar;
use super::{Call, Fault, measuring};
use crate::cli::{Links, LinksFormat};

/// Measures, records and reports.
pub fn run(arguments: &Links, call: Call) -> Result<ExitCode, Fault> {
    let (record, output) = (arguments.record.as_deref(), arguments.output.as_deref());
    if let Some(path) = record.filter(|path| *path == Path::new(STANDARD) || path.is_file()) {
        return Err(Fault::usage(anyhow!(
            "--record: each link has a recording of its own; give a folder, not `{}`",
            path.display()
        )));
    }
    let files = arguments.device.split(',').fold(Files::default(), |files, name| files.device(name.trim()));
    files.written(output, output::OUTPUT).check()?;
    let destination = Destination::at(output, output::OUTPUT)?;
    if let Some(folder) = record {
        std::fs::create_dir_all(folder).map_err(|error| {
            Fault::usage(anyhow!("--record: cannot make the folder `{}`: {error}", folder.display()))
        })?;
    }
    let interrupted = measuring::interruption()?;
    let devices = devices_named(&arguments.device)?;
    let bar = Bar::new(call.quiet);
    let mut options = LinkOptions::default();
    let conditions = &arguments.conditions;
    options.only.clone_from(&arguments.only);
    (options.effort, options.seed, options.wait) = (arguments.effort, conditions.seed, conditions.wait);
    (options.host_facts, options.record) = (!conditions.no_host_facts, record.map(Path::to_owned));
    (options.interrupted, options.started) = (interrupted, call.started);
    let line = &bar;
    options.progress = Box::new(move |number, links, mut progress| {
        progress.share = (number as f64 + progress.share) / links as f64;
        line.show(&progress);
    });
    let found = discover_links(&devices, options);
    bar.clear();
    let found = found?;
    let text = match arguments.format {
        LinksFormat::Text => found.text(&destination.terminal()),
        LinksFormat::Json => found.json()?,
        LinksFormat::Markdown => found.markdown(),
        LinksFormat::Html => found.html()?,
    };
    destination.write(&text)?;
    // Of each recording, also of those behind one that is not complete.
    let told: Vec<bool> = found.recorded.iter().map(|recorded| measuring::told(call, recorded, record)).collect();
    let complete = told.into_iter().all(|complete| complete);
    Ok(if complete && !found.links.is_partial() { ExitCode::SUCCESS } else { output::partial() })
}
