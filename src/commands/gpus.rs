//! `strata discover` of several GPUs at the same time.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::anyhow;
use gpu_strata::topology::Wanted;
use gpu_strata::{
    Error, Extent, LinkOptions, NodeDiscovery, NodeOptions, Terminal, devices_named, discover_links, discover_node,
};
use strata_files::STANDARD;

use super::files::Files;
use super::node::{self, NodeFiles};
use super::output::{self, Destination};
use super::progress::Bar;
use super::{Call, Fault, measuring};
use crate::cli::{Bandwidth, Discover, Format};

/// Measures them and writes one result.
pub fn run(arguments: &Discover, call: Call) -> Result<ExitCode, Fault> {
    let Discover { only, bandwidth, node, run, .. } = arguments;
    let (measuring, output) = (&run.measuring, &run.output);
    if !matches!(output.format, Format::Text | Format::Json | Format::Markdown | Format::Html) {
        return Err(Fault::usage(anyhow!(
            "--format: mt4g, hwloc, machine and accelsim are of one GPU; measure the GPUs one after the other, or take another format"
        )));
    }
    let record = run.record.as_deref();
    if let Some(path) = record.filter(|path| *path == Path::new(STANDARD) || path.is_file()) {
        return Err(Fault::usage(anyhow!(
            "--record: each GPU has a recording of its own; give a folder, not `{}`",
            path.display()
        )));
    }
    let files = measuring.device.split(',').fold(Files::default(), |files, name| files.device(name.trim()));
    let report = node::report(output.output.as_deref(), node);
    node::checked(files, node).written(report, "--output").check()?;
    let destination = Destination::open(output)?;
    let beside = NodeFiles::open(node)?;
    if let Some(folder) = record {
        std::fs::create_dir_all(folder).map_err(|error| {
            Fault::usage(anyhow!("--record: cannot make the folder `{}`: {error}", folder.display()))
        })?;
    }
    let (of_links, of_gpus): (Vec<Wanted>, Vec<Wanted>) =
        only.iter().cloned().partition(|wanted| arguments.links && wanted.element().is_of_link());
    if of_gpus.is_empty() && !of_links.is_empty() {
        return Err(Fault::usage(anyhow!("--only: nothing of a GPU is named; `strata links` measures links alone")));
    }
    let interrupted = measuring::interruption()?;
    let devices = devices_named(&measuring.device)?;
    let bar = Bar::new(call.quiet);
    let mut options = NodeOptions::default();
    options.only = of_gpus;
    (options.effort, options.seed, options.wait) = (measuring.effort, measuring.seed, measuring.wait);
    options.bandwidth = match bandwidth {
        Bandwidth::Auto => None,
        Bandwidth::On => Some(true),
        Bandwidth::Off => Some(false),
    };
    options.record = record.map(Path::to_owned);
    options.host_facts = !measuring.no_host_facts;
    options.interrupted = Arc::clone(&interrupted);
    options.started = call.started;
    // The line follows the GPU that is furthest behind.
    let mut shares = vec![0.0; devices.len()];
    let line = &bar;
    options.progress = Box::new(move |number, progress| {
        shares[number] = progress.share;
        if shares.iter().all(|share| *share >= progress.share) {
            line.show(&progress);
        }
    });
    let found = discover_node(&devices, options);
    bar.clear();
    let (found, links) = match arguments.links {
        true => with_links(found?, &devices, arguments, of_links, interrupted, call, &destination.terminal())?,
        false => (found?, Some(String::new())),
    };
    let mut complete = links.is_some();
    for one in &found.recorded {
        complete &= measuring::told(call, one, record);
    }
    let text = match output.format {
        Format::Json if output.compact => found.compact_json()?,
        Format::Json => found.json()?,
        Format::Markdown => found.markdown(),
        Format::Html => found.html()?,
        _ => {
            let whole = output.details || output.output.is_some();
            found.text(&destination.terminal(), if whole { Extent::Details } else { Extent::Short })
                + &links.unwrap_or_default()
        }
    };
    let reported = destination.write(&text);
    // A report that cannot be written does not keep the other files from being written.
    beside.write_by(|format| format.write_node(&found.node)).and(reported)?;
    Ok(if found.node.is_partial() || !complete { output::partial() } else { ExitCode::SUCCESS })
}

/// Measures the links between the GPUs, too: the result with them, and what a text says of them. If none was measured there is no text, and a
/// warning says why.
fn with_links(
    found: NodeDiscovery,
    devices: &[String],
    arguments: &Discover,
    only: Vec<Wanted>,
    interrupted: Arc<AtomicBool>,
    call: Call,
    terminal: &Terminal,
) -> Result<(NodeDiscovery, Option<String>), Fault> {
    let (measuring, bar) = (&arguments.run.measuring, Bar::new(call.quiet));
    let mut options = LinkOptions::default();
    options.only = only;
    (options.effort, options.seed, options.wait) = (measuring.effort, measuring.seed, measuring.wait);
    (options.host_facts, options.record) = (!measuring.no_host_facts, arguments.run.record.clone());
    (options.interrupted, options.started) = (interrupted, call.started);
    let line = &bar;
    options.progress = Box::new(move |number, links, mut progress| {
        progress.share = (number as f64 + progress.share) / links as f64;
        line.show(&progress);
    });
    let links = discover_links(devices, options);
    bar.clear();
    match links {
        Ok(links) => {
            let text = format!("\n{}", links.text(terminal));
            Ok((found.with_links(links), Some(text)))
        }
        Err(error @ Error::Interrupted { .. }) => Err(error.into()),
        // The GPUs were measured, and their result counts.
        Err(error) => {
            output::warn(call, &[format!("no link was measured: {error}")]);
            Ok((found, None))
        }
    }
}
