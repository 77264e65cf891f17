//! Walks over pages: their launch, and the proof that each walk came to its end.

use super::Bench;
use super::chain::PlannedChain;
use super::persistent::words;
use super::prepared::Outcome;
use strata_gpu::{Launch, Result};
use strata_kernels::{Program, pages};
use strata_model::experiment::PageWalk;
use strata_model::samples::{Failure, Lap, Samples};
use strata_model::units::Bytes;

/// Launches until all SMs have taken part. A block may come to an SM that has one, so that another SM has none.
const ATTEMPTS: u32 = 3;

impl Bench<'_> {
    /// Lays out both windows, launches the walks, and reads what the laps took.
    pub(super) fn run_page_walk(&mut self, walk: &PageWalk) -> Result<Outcome> {
        let windows = [false, true].map(|of_partners| PlannedChain::beside(walk.chain(of_partners)));
        self.lay_out(&windows.each_ref())?;
        // Nobody walks what could not be laid out.
        let placed = windows.each_ref().map(|window| self.laid_out.get(&window.key).copied());
        let [Some(own), Some(other)] = placed else {
            return Ok(Err(Failure::failed("a window of pages was not laid out")));
        };
        let starts = [(own, &windows[0]), (other, &windows[1])].map(|(at, window)| at.base.0 + window.offsets[0]);
        let loaded = self.programs.get(self.gpu, Program::Pages)?;
        let launch = Launch::new(self.sms.len() as u32, 1);
        let slots = *self.sms.last().unwrap_or(&0) as usize + 1;
        let mut roles = vec![0u32; pages::STATE + slots];
        for (sms, role) in [(&walk.walkers, pages::WALKS), (&walk.partners, pages::DISPLACES)] {
            sms.iter().for_each(|&sm| roles[pages::STATE + self.sms[sm as usize] as usize] |= role);
        }
        let roles: Vec<u8> = roles.into_iter().flat_map(u32::to_le_bytes).collect();
        let mut raw = vec![0; 4 * pages::words(walk.parts) * slots];
        let out = self.outputs.at_least(self.gpu, Bytes((raw.len() + roles.len()) as u64))?;
        let state = out.offset(raw.len() as u64);
        let numbers = [walk.pages, walk.parts, walk.laps].map(|number| number as usize);
        let counts = numbers.into_iter().chain([walk.walkers.len(), walk.partners.len(), slots]);
        let parameters: Vec<u64> =
            [out.0, state.0].into_iter().chain(starts).chain(counts.map(|count| count as u64)).collect();
        for _ in 0..ATTEMPTS {
            raw.fill(0);
            self.gpu.write(out, &raw)?;
            self.gpu.write(state, &roles)?;
            self.gpu.mark()?;
            self.gpu.launch(loaded.function, &launch, &parameters)?;
            self.device_us += self.gpu.mark()?;
            self.gpu.read(out, &mut raw)?;
            match self.visited(walk, &words(&raw)) {
                Some(Ok(samples)) => return Ok(Ok(Samples { base: own.base.0, ..samples })),
                Some(Err(failure)) => return Ok(Err(failure)),
                None => {}
            }
        }
        Ok(Err(Failure::failed(
            "not all SMs walked over pages to the end: blocks came to some of them only, or a walk went astray",
        )))
    }

    /// What the walkers have written, if all of them have.
    fn visited(&self, walk: &PageWalk, raw: &[u32]) -> Option<Outcome> {
        let mut samples = Samples { sms: walk.walkers.clone(), ..Samples::default() };
        for &sm in &walk.walkers {
            let each = pages::words(walk.parts);
            let (head, times) = raw[each * self.sms[sm as usize] as usize..][..each].split_at(pages::HEAD);
            if head[pages::ENDED] == 0 {
                return None;
            }
            if head[pages::ASTRAY] != 0 {
                let what = format!("wrong checksum: the last lap of SM {sm} did not end where it began");
                return Some(Err(Failure::failed(what)));
            }
            let lap = |&cycles: &u32| Lap { loads: walk.pages_of_a_part(), cycles: cycles.into() };
            samples.laps.extend(times.iter().map(lap));
        }
        Some(Ok(samples))
    }
}
