//! The memory of the GPU at the other end of a link, and the L2 before it. A run that was opened without another GPU has neither.

use super::super::latency::{self, Setting};
use super::super::throughput::{self, Level};
use super::super::{Gap, Notebook, dram};
use super::{APART, alike, blurred, nearer, small};
use strata_model::attribute::{ATOMIC_LATENCY, Elements, KEPT_BY, LATENCY_CYCLES};
use strata_model::experiment::{BEYOND_L2, LoadPath, Traffic};
use strata_model::facts::PeerFacts;
use strata_model::topology::{Element, ElementName, Entry, Finding};
use strata_model::units::{Bytes, Cycles, KIB, MIB};

/// Footprint of the latency of the other L2: lines of all its slices, and far less than any L2 of a GPU with links holds.
const WALKED: Bytes = Bytes::kib(64);
/// Part of the other L2 that a stream goes over.
const INSIDE: u64 = 4;
/// Footprints of streams are multiples of this.
const PIECE: Bytes = Bytes(64 * KIB);

/// The L2 of the other GPU.
pub(super) fn l2(notebook: &Notebook, peer: &PeerFacts) -> Element {
    let setting = |path| Setting {
        path,
        footprint: WALKED,
        stride: APART,
        shared: true,
        // How far a line is depends on the SM's side of this GPU and on the line's side of the other.
        allocations: notebook.effort().choose(2, 3, 8),
        sms: notebook.effort().choose(2, 8, 16),
    };
    let footprint = Bytes(1 << (peer.l2_size.max(MIB) / INSIDE).ilog2());
    Element::from([latency::finding(
        notebook,
        || latency::measure(notebook, &setting(LoadPath::Peer)),
        "whole-lap chase by ld.global.cg over lines that the other GPU's L2 has, difference of 2n and n loads, one SM at a time",
    )])
    .and([
        notebook.attribute(ATOMIC_LATENCY, || atomic(notebook, peer, &setting(LoadPath::PeerAtomic))),
        notebook.attribute(KEPT_BY, || kept_by(notebook)),
    ])
    .and(throughput::entries(notebook, &[Traffic::Read, Traffic::Write], None, |traffic| {
        Ok(Level::peer(traffic, footprint))
    }))
}

/// What an atomic takes on a line that the other L2 has.
fn atomic(notebook: &Notebook, peer: &PeerFacts, setting: &Setting) -> Result<Finding<Cycles>, Gap> {
    if peer.native_atomics == Some(false) {
        return Gap::unknown("atomics do not go over this link, as the driver says");
    }
    let method = "whole-lap chase by atom.global.add over lines that the other GPU's L2 has, difference of 2n and n atomics, one SM at a time";
    Ok(latency::stated(&latency::measure(notebook, setting)?, method))
}

/// The memory of the other GPU.
pub(super) fn memory(notebook: &Notebook, peer: &PeerFacts) -> Element {
    let wanted = Bytes(peer.l2_size.max(MIB) * BEYOND_L2).round_up(PIECE);
    let most = Bytes(peer.free_memory / 8).round_down(PIECE);
    let level = |traffic| {
        if most.0 < 2 * peer.l2_size {
            return Gap::unknown(format!("an array of {most}, an eighth of what is free there, would stay in the L2"));
        }
        Ok(Level::peer(traffic, wanted.min(most)))
    };
    Element::from([latency(notebook)])
        .and(throughput::entries(notebook, &[Traffic::Read, Traffic::Write], None, level))
        .and(throughput::transfer::of_link(notebook))
}

/// The latency of the other GPU's memory.
fn latency(notebook: &Notebook) -> Option<Entry> {
    if !notebook.asks(LATENCY_CYCLES) {
        return None;
    }
    let method = "per-load chase by ld.global.cg after a flush of the other GPU's L2: random lines in each 2 MiB page, page after \
                  page, without the first load of each page and without the timing overhead";
    latency::finding(notebook, || Ok(dram::of_peer(notebook)?.measured), method)
}

/// Which caches of this GPU answer loads that were made before.
fn kept_by(notebook: &Notebook) -> Result<Finding<Elements>, Gap> {
    let [own, past, cached] = [LoadPath::GlobalCg, LoadPath::Peer, LoadPath::PeerCa].map(small);
    let measured = notebook.read(&[own, past, cached])?;
    let (own, past, cached) = (&measured[0], &measured[1], &measured[2]);
    let in_l1 = match nearer(cached, past) {
        Some(_) => true,
        None if alike(cached, past) => false,
        None => return blurred(LoadPath::PeerCa),
    };
    let in_l2 = match nearer(own, past) {
        Some(_) => false,
        None if alike(own, past) => true,
        None => return blurred(LoadPath::Peer),
    };
    let kept = [(ElementName::L1, in_l1), (ElementName::L2, in_l2)];
    let names: Elements = kept.into_iter().filter(|(_, kept)| *kept).map(|(name, _)| name).collect();
    Ok(Finding::measured(
        names,
        "a small chain in the other GPU's memory, by ld.global.ca and by ld.global.cg, compared with one in this GPU's",
    ))
}
