//! Copies by the device's copy engines, and the check that they were made.

use super::Bench;
use super::prepared::Outcome;
use strata_gpu::{Copy, DevicePtr, Result};
use strata_kernels::content;
use strata_model::experiment::{Content, Direction, Side, Transfer};
use strata_model::samples::{ClockSpan, Failure, Samples};
use strata_model::units::Bytes;

/// Bytes that are read back at the begin and at the end of what was copied.
const READ_BACK: u64 = 4096;

impl Bench<'_> {
    /// Makes a copy, or one each way.
    pub(super) fn run_transfer(&mut self, transfer: &Transfer) -> Result<Outcome> {
        let bytes = transfer.bytes;
        let ways: &[(Side, Side)] = match transfer.direction {
            Direction::ToDevice => &[(Side::Host, Side::Device)],
            Direction::ToHost => &[(Side::Device, Side::Host)],
            Direction::Both => &[(Side::Host, Side::Device), (Side::Device, Side::Host)],
            Direction::FromPeer => &[(Side::Peer, Side::Device)],
            Direction::ToPeer => &[(Side::Device, Side::Peer)],
            Direction::BothPeer => &[(Side::Peer, Side::Device), (Side::Device, Side::Peer)],
        };
        let mut copies = Vec::new();
        for &(from, to) in ways {
            let from = self.filled_source(from, bytes, Content::Random)?;
            let to = self.target(to, bytes)?;
            // What an earlier copy left there would pass for this one's.
            for (at, length) in ends(bytes) {
                self.gpu.write(to.offset(at), &vec![0; length])?;
            }
            copies.push(Copy { to, from, bytes });
        }
        let microseconds = self.gpu.transfer(&copies)?;
        self.device_us += microseconds;
        for copy in &copies {
            if let Some(failure) = self.wrong(copy.to, bytes)? {
                return Ok(Err(failure));
            }
        }
        let span = ClockSpan { cycles: 0, nanoseconds: (microseconds * 1e3).round() as u64 };
        Ok(Ok(Samples { clocks: vec![span], base: copies[0].from.0, ..Samples::default() }))
    }

    /// What is wrong with what was copied, if anything is.
    fn wrong(&mut self, to: DevicePtr, bytes: Bytes) -> Result<Option<Failure>> {
        for (at, length) in ends(bytes) {
            let mut found = vec![0; length];
            self.gpu.read(to.offset(at), &mut found)?;
            let expected =
                (0..length as u64 / 16).flat_map(|four| content((at / 16 + four) as u32)).flat_map(u32::to_le_bytes);
            if !found.iter().copied().eq(expected) {
                let what = format!("the {length} bytes at {at} of a copy are not those of its source");
                return Ok(Some(Failure::failed(what)));
            }
        }
        Ok(None)
    }
}

/// The first and the last bytes of so many: where they are, and how many.
fn ends(bytes: Bytes) -> [(u64, usize); 2] {
    let length = bytes.0.min(READ_BACK);
    [0, bytes.0 - length].map(|at| (at, length as usize))
}
