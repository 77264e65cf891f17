//! Whether the L1 keeps what is stored, or passes it on at once.
//!
//! One SM stores to a few lines again and again, which its L1 could hold, and then all SMs do, each to lines of its own. An L1 that keeps
//! what is stored serves each SM as fast as one alone. If an SM gets less while the others store, their stores meet somewhere, and that is
//! behind the L1.
//!
//! Fails where the L2 takes all that the SMs store: then they are as fast together as alone whatever the L1 does. Fails, too, where a store
//! brings no line into the L1 and updates one that is there: the lines of these stores are not there.

use super::residency::{self, Asked};
use super::{Gap, Notebook};
use crate::analysis::robust;
use strata_model::experiment::{AccessWidth, Content, LoadPath, Persistent, Prepare, Region, Stream, Traffic, WARP};
use strata_model::topology::Finding;
use strata_model::units::Bytes;

/// Threads of the one block of an SM: eight warps, each of which goes on after a store without waiting for it.
const THREADS: u32 = 256;
/// Cycles before stores count, and for which they do.
const CYCLES: (u32, u32) = (4_000, 8_000);
/// An SM stores at most this share of what it stores alone, if the stores of all SMs meet. On two H200s it is 0.47 to 0.52.
const LESS: f64 = 0.75;

/// Stores of one SM, or of all.
fn stores(sms: Vec<u32>, repeat: u32) -> Stream {
    let stream = Stream {
        traffic: Traffic::Write,
        path: LoadPath::GlobalCg,
        width: AccessWidth::B16,
        unroll: 1,
        threads_per_block: THREADS,
        blocks_per_sm: 1,
        sms,
        footprint: Bytes(0),
        region: Region::Own,
        content: Content::Random,
        prepare: Prepare::Nothing,
        warm_cycles: CYCLES.0,
        timed_cycles: CYCLES.1,
        repeat,
    };
    Stream { footprint: stream.pass() * u64::from(THREADS / WARP as u32), ..stream }
}

/// Bytes a cycle that an SM stores: the median of several launches.
fn rate(notebook: &Notebook, sms: &[u32]) -> Result<f64, Gap> {
    let launches: Vec<Stream> = (0..notebook.effort().choose(3, 3, 5)).map(|n| stores(sms.to_vec(), n)).collect();
    let measured = notebook.read(&launches)?;
    let rates: Vec<f64> =
        measured.iter().filter_map(|of| Some(of.experiment.counted(of.samples())?.per_sm())).collect();
    match robust::median(&rates) {
        Some(rate) if rate > 0.0 => Ok(rate),
        _ => Gap::unknown("the stores were not counted"),
    }
}

/// Whether the L1 keeps what is stored: false, or unknown.
///
/// # Errors
///
/// An unknown, where an SM stores as much while all others store, too, and where the lines that are stored to are not in the L1.
pub fn keeps_stores(notebook: &Notebook, asked: &Asked) -> Result<Finding<bool>, Gap> {
    let (footprint, capacity) = (stores(Vec::new(), 0).footprint, asked.capacity);
    if capacity.0 < 2 * footprint.0 {
        return Gap::unknown(format!("an L1 of {capacity} may not hold the {footprint} that are stored to"));
    }
    if residency::write_policy(notebook, asked)?.value.as_deref() == Some(residency::UPDATES) {
        return Gap::unknown(
            "a store does not bring its line into the L1, so the lines of stores alone are not there: it may keep what is stored to a line that \
             it has",
        );
    }
    let [alone, together] = [rate(notebook, &[0])?, rate(notebook, &[])?];
    let what = format!(
        "an SM stores {alone:.1} B/clk to {footprint} alone, and {together:.1} while all SMs store, each to its own"
    );
    if together <= LESS * alone {
        let method = "stores of 16 bytes of each lane to a few lines of each SM, by one SM and by all at once";
        return Ok(Finding::measured(false, method).note(format!("{what}: the L1 passes stores on")));
    }
    Gap::unknown(format!("{what}: either the L1 keeps what is stored, or the L2 takes all of it"))
}
