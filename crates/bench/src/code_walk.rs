//! Walks through code: their launch, and the proof that the code is as long as it must be.

use super::Bench;
use super::persistent::words;
use super::prepared::Outcome;
use strata_gpu::{Launch, Module, Result};
use strata_kernels::{Program, code, dialect_for};
use strata_model::experiment::{CODE, CODE_GROUP, CodeWalk};
use strata_model::samples::{Failure, Lap, Samples};
use strata_model::units::{Bytes, KIB};

/// Launches until all SMs have taken part. A block may come to an SM that has one, so that another SM has none.
const ATTEMPTS: u32 = 3;
/// Machine code between the clock reads besides the blocks: the jump to the first of them.
const BESIDES: Bytes = Bytes(KIB);

impl Bench<'_> {
    /// Launches the walks, and reads what each lap took.
    pub(super) fn run_code_walk(&mut self, walk: &CodeWalk) -> Result<Outcome> {
        let sms = self.sms.len() as u32;
        if let Some(sm) = walk.partner.filter(|&sm| sm >= sms) {
            return Ok(Err(Failure::failed(format!("there is no SM {sm}; the device has {sms}"))));
        }
        let loaded = self.programs.get(self.gpu, Program::Code(walk.block))?;
        if let Some(failure) = self.is_laid_out(walk.block, loaded.module) {
            return Ok(Err(failure));
        }
        let walkers: Vec<u32> = match walk.sm {
            Some(sm) => vec![sm],
            None => (0..sms).filter(|&sm| walk.partner != Some(sm)).collect(),
        };
        if walkers.is_empty() {
            return Ok(Err(Failure::unsupported("the device has no SM beside the partner")));
        }
        let launch = Launch::new(sms, 1).carveout(0);
        self.gpu.configure(loaded.function, &launch)?;
        let slots = *self.sms.last().unwrap_or(&0) as usize + 1;
        let each = code::words(walk.laps);
        let mut state = vec![0; 4 * (code::STATE + slots)];
        let mut raw = vec![0; 4 * each * slots];
        let out = self.outputs.at_least(self.gpu, Bytes((raw.len() + state.len()) as u64))?;
        let at = out.offset(raw.len() as u64);
        let smid = |sm: Option<u32>| sm.map_or(code::ANYBODY, |sm| self.sms[sm as usize]);
        let groups = walk.footprint / CODE_GROUP;
        // Where a walk ends is counted from the first group of all, also of one that begins in the middle.
        let behind = CODE / CODE_GROUP / 2;
        let [walker, partner] = [smid(walk.sm), smid(walk.partner)].map(u64::from);
        let counts = [walkers.len() as u64, groups, behind + groups, walk.warm_laps.into(), walk.laps.into()];
        let parameters: Vec<u64> = [out.0, at.0, walker, partner].into_iter().chain(counts).collect();
        for _ in 0..ATTEMPTS {
            raw.fill(0);
            state.fill(0);
            state[4 * code::PARTNER_DONE] = u8::from(walk.partner.is_none());
            self.gpu.write(out, &raw)?;
            self.gpu.write(at, &state)?;
            self.gpu.mark()?;
            self.gpu.launch(loaded.function, &launch, &parameters)?;
            self.device_us += self.gpu.mark()?;
            self.gpu.read(out, &mut raw)?;
            if let Some(samples) = self.walked(walk, &walkers, &words(&raw)) {
                return Ok(Ok(samples));
            }
        }
        Ok(Err(Failure::failed("not all SMs walked through code at the same time: blocks came to some of them only")))
    }

    /// What the walkers have written, if all of them have.
    fn walked(&self, walk: &CodeWalk, walkers: &[u32], raw: &[u32]) -> Option<Samples> {
        let each = code::words(walk.laps);
        let mut samples = Samples { sms: walkers.to_vec(), ..Samples::default() };
        for &sm in walkers {
            let (head, times) = raw[each * self.sms[sm as usize] as usize..][..each].split_at(code::HEAD);
            if head[0] == 0 {
                return None;
            }
            samples.laps.extend(times.iter().map(|&cycles| Lap { loads: walk.jumps(), cycles: cycles.into() }));
        }
        Some(samples)
    }

    /// What is wrong with the machine code, where it can be read: a walk of so many blocks must go through so many bytes.
    fn is_laid_out(&self, block: Bytes, module: Module) -> Option<Failure> {
        let dialect = dialect_for(self.gpu.facts());
        let code = dialect.between_clock_reads(Program::Code(block), self.gpu.machine_code(module)?)?;
        let found = Bytes(code.bytes.into());
        (!(CODE..=CODE + BESIDES).contains(&found)).then(|| {
            Failure::unsupported(format!(
                "the driver's compiler made {found} of code of {CODE}, so the length of a walk is not known"
            ))
        })
    }
}
