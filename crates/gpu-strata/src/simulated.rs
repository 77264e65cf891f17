//! Simulated GPUs, opened in the one way in which the command line and the tests of discovery open them.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use strata_bench::Fleet;
use strata_gpu::Result;
use strata_sim::Sim;
use strata_sim::machine::Machine;

/// Simulated GPUs at work side by side. Part of what fixes the samples, so the same on every machine.
pub const MEMBERS: usize = 4;

/// [`MEMBERS`] simulated GPUs of this machine, each with random streams of its own that follow from the seed.
///
/// # Errors
///
/// If a member cannot be opened.
pub fn fleet(machine: &Machine, seed: u64, interrupted: &Arc<AtomicBool>) -> Result<Fleet> {
    let machine = machine.clone();
    let open = move |number: usize| Sim::new(machine.clone(), seed.wrapping_mul(MEMBERS as u64) + number as u64);
    Fleet::new(MEMBERS, interrupted, open)
}
