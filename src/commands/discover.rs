//! `strata discover`: measure, record, report.

use std::process::ExitCode;

use anyhow::anyhow;

use super::{Call, Fault, gpus, measuring};
use crate::cli::{Bandwidth, Discover};
use gpu_strata::{Effort, is_of_several};

/// Measures the topology of one GPU.
pub fn run(arguments: &Discover, call: Call) -> Result<ExitCode, Fault> {
    let Discover { only, bandwidth, links, node, run } = arguments;
    let named = only.iter().find(|wanted| wanted.is_bandwidth());
    if let (Bandwidth::Off, Some(named)) = (bandwidth, named) {
        return Err(Fault::usage(anyhow!(
            "--only asks for `{named}`, which is measured with bandwidth, and --bandwidth=off leaves that out; remove one of the two"
        )));
    }
    if is_of_several(&run.measuring.device) {
        return gpus::run(arguments, call);
    }
    if *links {
        return Err(Fault::usage(anyhow!("--links: a link has two ends; name two GPUs or more, or --device all")));
    }
    measuring::run(run, Some(node), call, |device, options| {
        let asked = match bandwidth {
            Bandwidth::Auto => !device.is_simulated() && options.effort != Effort::Quick,
            Bandwidth::On => true,
            Bandwidth::Off => false,
        };
        Ok(device.discover_only(only, options.bandwidth(asked))?.into())
    })
}
