//! Infers the result of a recorded run again, without a GPU, and prints it.
//!
//! `cargo run --example replay [FILE.strata]`; without a file, the recording of an H200 that comes with the sources.

// The library never prints; a program that uses it may.
#![allow(clippy::print_stdout)]

use std::error::Error;

use gpu_strata::{Extent, Recording, Terminal};

/// The recording that comes with the sources.
const H200: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../recordings/2026-11-21-h200.strata");

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).unwrap_or_else(|| H200.to_owned());
    let recording = Recording::open(file)?;
    println!("{}, {} experiments", recording.device().name, recording.experiments().count());
    let answer = recording.replay()?;
    print!("{}", answer.text(&Terminal::PAPER, Extent::Short));
    Ok(())
}
