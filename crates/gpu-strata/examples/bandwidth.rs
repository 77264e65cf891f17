//! How many bytes a cycle an SM reads, by what its threads have in flight: from the L1, the L2 and DRAM.
//!
//! `cargo run --release --example bandwidth [DEVICE]`: `auto` for the first GPU; without a name, a simulated one.

// The library never prints; a program that uses it may.
#![allow(clippy::print_stdout)]

use std::error::Error;

use gpu_strata::experiment::{
    AccessWidth, Content, Experiment, LoadPath, Persistent, Prepare, Region, Stream, Traffic,
};
use gpu_strata::units::Bytes;
use gpu_strata::{Device, Options};

fn main() -> Result<(), Box<dyn Error>> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "sim:k20c".to_owned());
    let mut device = Device::open(&name)?;
    let l2 = Bytes(device.facts().l2_size);
    let plain = Stream {
        traffic: Traffic::Read,
        path: LoadPath::GlobalCa,
        width: AccessWidth::B16,
        unroll: 4,
        threads_per_block: 512,
        blocks_per_sm: 1,
        sms: Vec::new(),
        footprint: Bytes::kib(32),
        region: Region::Own,
        content: Content::Random,
        prepare: Prepare::Nothing,
        warm_cycles: 10_000,
        timed_cycles: 20_000,
        repeat: 0,
    };
    let shared = Stream { path: LoadPath::Shared, ..plain.clone() };
    let cached = Stream { path: LoadPath::GlobalCg, region: Region::Together, ..plain.clone() };
    let half = Stream { footprint: (l2 / 4).round_down(Bytes::mib(1)).max(Bytes::kib(256)), ..cached.clone() };
    // What was written before leaves the L2 first.
    let beyond = Stream { footprint: (l2 * 4).round_up(Bytes::mib(1)), warm_cycles: 60_000, ..cached };
    for (memory, stream) in [("L1", &plain), ("shared", &shared), ("L2", &half), ("DRAM", &beyond)] {
        let each: Vec<Stream> = [1, 2, 4, 8].into_iter().map(|unroll| Stream { unroll, ..stream.clone() }).collect();
        let experiments: Vec<Experiment> = each.iter().cloned().map(Experiment::from).collect();
        for (stream, answer) in each.iter().zip(device.measure(&experiments, Options::default())?) {
            let seen = answer.map(|samples| stream.counted(&samples).map_or(0.0, |seen| seen.per_sm()));
            match seen {
                Ok(rate) => println!("{memory}: {} in flight of an SM: {rate:.1} B/clk", stream.in_flight()),
                Err(failure) => println!("{memory}: {failure}"),
            }
        }
    }
    Ok(())
}
