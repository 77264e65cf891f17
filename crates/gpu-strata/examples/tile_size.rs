//! Chooses the tile of a blocked matrix multiplication from what was measured: three square tiles of 32-bit floats must fit
//! into shared memory, and a row of a tile should be whole sectors.
//!
//! `cargo run --example tile_size [DEVICE]`: `auto` for the first GPU; without a name, a simulated one.

// The library never prints; a program that uses it may.
#![allow(clippy::print_stdout)]

use std::error::Error;

use gpu_strata::topology::{ElementName, Wanted};
use gpu_strata::{Device, Effort, Options, attribute};

/// Bytes of a 32-bit float.
const FLOAT: u64 = 4;
/// Tiles that are in shared memory at the same time: one of each factor and one of the product.
const TILES: u64 = 3;

fn main() -> Result<(), Box<dyn Error>> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "sim:k20c".to_owned());
    let mut device = Device::open(&name)?;
    let wanted = [
        Wanted::attribute(ElementName::Shared, attribute::SIZE),
        Wanted::attribute(ElementName::L2, attribute::FETCH_GRANULARITY),
    ];
    let found = device.discover_only(&wanted, Options::effort(Effort::Quick))?;
    let topology = &found.topology;
    // The lower ends of the intervals: what is there in any case.
    let shared = topology.shared().size().ok_or("the size of shared memory is unknown")?.low.0;
    let sector = topology.l2().interval(attribute::FETCH_GRANULARITY).map_or(FLOAT, |sector| sector.high.0);
    let row = sector / FLOAT;
    let side =
        (1..).map(|rows| rows * row).take_while(|side| TILES * side * side * FLOAT <= shared).last().unwrap_or(row);
    println!("{}: {shared} B of shared memory, sectors of {sector} B", device.facts().name);
    println!("tiles of {side} x {side} floats use {} B", TILES * side * side * FLOAT);
    Ok(())
}
