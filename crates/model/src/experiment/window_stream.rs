//! Reads at random, of each SM from a window of the memory.

use std::fmt;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::{LoadPath, Region, Stream, Traffic};

/// Most windows and SMs: a damaged recording asks for nothing absurd.
const MOST_WINDOWS: u32 = 256;
const MOST_SMS: usize = 1 << 16;
/// Most pieces that are drawn of all windows together.
pub const MOST_DRAWN: u64 = 1 << 24;

/// A [`Stream`] of reads whose memory is cut into equal windows. Each SM reads pieces at random from one of them; a piece is what a warp reads
/// in one pass.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WindowStream {
    /// What all do, and all of the memory.
    pub stream: Stream,
    /// Windows.
    pub windows: u32,
    /// The window of each SM, in ascending `%smid`; of SMs that are not listed the first.
    pub sms: Vec<u8>,
    /// Pieces that are drawn of each window. SMs of a window go over them together.
    pub pieces: u32,
    /// Seed of the draw.
    pub seed: u64,
}

impl WindowStream {
    /// The window of an SM.
    pub fn window(&self, sm: u32) -> u8 {
        self.sms.get(sm as usize).copied().unwrap_or(0)
    }

    /// The pieces that are drawn of a window, by their numbers in all of the memory.
    pub fn drawn(&self, window: u8) -> Vec<u32> {
        let each = self.pieces_of_a_window();
        let first = u64::from(window) * each;
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed ^ u64::from(window));
        (0..self.pieces).map(|_| (first + rng.random_range(0..each)) as u32).collect()
    }

    fn pieces_of_a_window(&self) -> u64 {
        self.stream.footprint / self.stream.pass() / u64::from(self.windows.max(1))
    }

    /// What makes it impossible, if anything does.
    pub fn defect(&self) -> Option<String> {
        let WindowStream { stream, windows, sms, pieces, .. } = self;
        if stream.traffic != Traffic::Read || stream.path != LoadPath::GlobalCg || stream.region != Region::Together {
            return Some("streams by window are reads by ld.global.cg of all SMs together".into());
        }
        if let Some(defect) = stream.defect() {
            return Some(defect);
        }
        if !(1..=MOST_WINDOWS).contains(windows) || self.pieces_of_a_window() == 0 {
            return Some(format!("{} in {windows} windows: there are 1 to {MOST_WINDOWS}", stream.footprint));
        }
        if sms.len() > MOST_SMS || sms.iter().any(|&window| u32::from(window) >= *windows) {
            return Some(format!("{} SMs: at most {MOST_SMS}, each with one of {windows} windows", sms.len()));
        }
        (*pieces == 0 || u64::from(*pieces) * u64::from(*windows) > MOST_DRAWN)
            .then(|| format!("{pieces} pieces of each of {windows} windows: at least one, at most {MOST_DRAWN} in all"))
    }
}

impl fmt::Display for WindowStream {
    /// `random read by ld.global.cg over 64 MiB together, 1 x 4 B, 2 blocks of 512 threads on all SMs, each in one of 2 windows`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "random {}", self.stream)?;
        if self.windows > 1 { write!(f, ", each in one of {} windows", self.windows) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::stream::tests as plain;
    use crate::units::Bytes;

    fn stream() -> WindowStream {
        WindowStream {
            stream: Stream { traffic: Traffic::Read, sms: Vec::new(), footprint: Bytes::mib(4), ..plain::stream() },
            windows: 2,
            sms: vec![0, 1, 1],
            pieces: 100,
            seed: 3,
        }
    }

    #[test]
    fn pieces_are_drawn_from_their_window() {
        let stream = stream();
        assert_eq!(stream.defect(), None);
        // 2 KiB a pass.
        let [own, other] = [0, 1].map(|window| stream.drawn(window));
        assert!(own.iter().all(|&piece| piece < 1024) && other.iter().all(|piece| (1024..2048).contains(piece)));
        assert_eq!((own.len(), stream.drawn(0)), (100, own));
        assert_eq!([0, 2, 3].map(|sm| stream.window(sm)), [0, 1, 0]);
    }

    #[test]
    fn what_no_kernel_can_do_is_refused() {
        let with = |change| plain::refused(stream(), change, WindowStream::defect);
        for (defect, words) in [
            (with(|of| of.stream.traffic = Traffic::Write), "are reads"),
            (with(|of| of.windows = 0), "1 to 256"),
            (with(|of| of.sms[1] = 2), "one of 2 windows"),
            (with(|of| of.pieces = 0), "at least one"),
            (with(|of| of.pieces = 1 << 24), "in all"),
            (with(|of| of.stream.unroll = 3), "3 accesses"),
        ] {
            assert!(defect.contains(words), "{defect}");
        }
    }
}
