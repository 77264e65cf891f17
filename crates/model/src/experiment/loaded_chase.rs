//! A chase while other SMs move memory.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::persistent::MOST_CYCLES;
use super::{Chain, LoadPath, Order, Stream, Traffic};
use crate::units::Bytes;

/// One thread of one SM follows a chain by `ld.global.cg`, while other SMs stream. Their warps pause after each pass, so that they move
/// as much as is asked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadedChase {
    /// What the others do. Where it names no SMs, all are at work but the one that chases.
    pub stream: Stream,
    /// The SM that chases, counted from 0 in ascending `%smid`.
    pub sm: u32,
    /// Bytes of the chain, which lies beside the arrays of the stream.
    pub footprint: Bytes,
    /// Distance of its elements, which are visited in random order.
    pub stride: Bytes,
    /// Seed of that order.
    pub seed: u64,
    /// Cycles for which each warp of the stream pauses after a pass; the first pause differs from warp to warp.
    pub pause: u32,
}

impl LoadedChase {
    /// The chain.
    pub fn chain(&self) -> Chain<'_> {
        let LoadedChase { footprint, stride, seed, .. } = *self;
        Chain { path: LoadPath::GlobalCg, footprint, stride, order: &Order::Random, seed }
    }

    /// SMs that stream, of so many.
    pub fn workers(&self, sms: usize) -> Vec<u32> {
        let mut workers = self.stream.workers(sms);
        workers.retain(|sm| *sm != self.sm);
        workers
    }

    /// What makes it impossible, if anything does.
    pub fn defect(&self) -> Option<String> {
        self.defect_beside().or_else(|| self.chain().defect())
    }

    /// What makes what is beside the chain impossible, if anything does.
    pub(super) fn defect_beside(&self) -> Option<String> {
        let LoadedChase { stream, sm, pause, .. } = self;
        if stream.path != LoadPath::GlobalCg || stream.traffic == Traffic::Triad {
            return Some("nobody chases beside a triad, or beside loads that the L1 may answer".into());
        }
        if stream.sms.contains(sm) {
            return Some(format!("SM {sm} streams, so nobody chases there"));
        }
        if *pause > MOST_CYCLES {
            return Some(format!("a pause of {pause} cycles: {MOST_CYCLES} at most"));
        }
        stream.defect()
    }
}

impl fmt::Display for LoadedChase {
    /// `a chase over 32 KiB on SM 2, while: read by ld.global.cg … on all SMs, with pauses of 100 cycles`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LoadedChase { stream, sm, footprint, pause, .. } = self;
        let whom = if stream.sms.is_empty() { " else" } else { "" };
        write!(f, "a chase over {footprint} on SM {sm}, while: {stream}{whom}, with pauses of {pause} cycles")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::stream::tests::{refused, stream};

    fn chase() -> LoadedChase {
        let stream = Stream { sms: Vec::new(), ..stream() };
        LoadedChase { stream, sm: 2, footprint: Bytes::kib(32), stride: Bytes(128), seed: 1, pause: 100 }
    }

    #[test]
    fn who_chases_does_not_stream() {
        assert_eq!((chase().workers(4), chase().defect()), (vec![0, 1, 3], None));
        let words = chase().to_string();
        assert!(words.starts_with("a chase over 32 KiB on SM 2, while: copy by"), "{words}");
        assert!(words.ends_with("on all SMs else, with pauses of 100 cycles"), "{words}");
    }

    #[test]
    fn what_no_kernel_can_do_is_refused() {
        let with = |change| refused(chase(), change, LoadedChase::defect);
        for (defect, words) in [
            (with(|chase| chase.stream.sms = vec![2, 3]), "SM 2 streams"),
            (with(|chase| chase.stream.path = LoadPath::GlobalCa), "may answer"),
            (with(|chase| chase.stream.traffic = Traffic::Triad), "beside a triad"),
            (with(|chase| chase.stream.unroll = 3), "3 accesses"),
            (with(|chase| chase.pause = u32::MAX), "a pause of"),
            (with(|chase| chase.stride = Bytes(0)), "stride"),
        ] {
            assert!(defect.contains(words), "{defect}");
        }
    }
}
