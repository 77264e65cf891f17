//! An experiment of one's own: the time of each load of a chase through a footprint that fits the constant L1, and of one that
//! does not.
//!
//! `cargo run --example own_experiment [DEVICE]`: `auto` for the first GPU; without a name, a simulated one.

// The library never prints; a program that uses it may.
#![allow(clippy::print_stdout)]

use std::error::Error;

use gpu_strata::experiment::{Chase, Experiment, LoadPath};
use gpu_strata::units::Bytes;
use gpu_strata::{Device, Options};

/// Distance of neighbouring loads: the line of the constant L1 of every GPU so far.
const LINE: Bytes = Bytes(64);

fn main() -> Result<(), Box<dyn Error>> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "sim:k20c".to_owned());
    let mut device = Device::open(&name)?;
    let footprints = [Bytes::kib(1), Bytes::kib(2), Bytes::kib(4), Bytes::kib(8)];
    let experiments: Vec<Experiment> =
        footprints.iter().map(|&footprint| Chase::each_load(LoadPath::Constant, footprint, LINE).into()).collect();
    for (footprint, answer) in footprints.iter().zip(device.measure(&experiments, Options::default())?) {
        match answer {
            Ok(samples) => {
                let mut cycles = samples.latencies;
                cycles.sort_unstable();
                println!("{footprint}: median {} cycles, timing overhead included", cycles[cycles.len() / 2]);
            }
            Err(failure) => println!("{footprint}: {failure}"),
        }
    }
    Ok(())
}
