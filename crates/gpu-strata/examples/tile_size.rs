//! Chooses the tile of a blocked matrix multiplication from what was measured: three square tiles of 32-bit floats must fit
//! into shared memory, and a row of a tile should be whole sectors.
//!
//! `cargo run --example tile_size [DEVICE]`: `auto` for the first GPU; without a name, a simulated one.

// The library never prints; a program that uses it may.
#![allow(clippy::print_stdout)]

use std::error::Error;

use gpu_strata::topology::{ElementName, Topology};
use gpu_strata::{Device, Effort, Options};

/// Bytes of a 32-bit float.
const FLOAT: u64 = 4;
/// Tiles that are in shared memory at the same time: one of each factor and one of the product.
const TILES: u64 = 3;

fn main() -> Result<(), Box<dyn Error>> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "sim:k20c".to_owned());
    let mut device = Device::open(&name)?;
    let wanted = [ElementName::Shared, ElementName::L2];
    let found = device.discover_only(&wanted, Options::effort(Effort::Quick))?;
    let shared = bytes(&found.topology, ElementName::Shared, "size").ok_or("the size of shared memory is unknown")?;
    let sector = bytes(&found.topology, ElementName::L2, "fetch_granularity").unwrap_or(FLOAT);
    let row = sector / FLOAT;
    let side =
        (1..).map(|rows| rows * row).take_while(|side| TILES * side * side * FLOAT <= shared).last().unwrap_or(row);
    println!("{}: {shared} B of shared memory, sectors of {sector} B", device.facts().name);
    println!("tiles of {side} x {side} floats use {} B", TILES * side * side * FLOAT);
    Ok(())
}

/// The lower end of a finding in bytes: what is there in any case.
fn bytes(topology: &Topology, element: ElementName, attribute: &str) -> Option<u64> {
    let findings = topology.elements.get(&element)?.findings();
    let (_, finding) = findings.into_iter().find(|(name, _)| *name == attribute)?;
    Some(finding.low.or(finding.number())? as u64)
}
