//! Blocks of clusters at work in each other's shared memory: their launch, and the proof that each chain was walked to its end.

use super::Bench;
use super::persistent::words;
use super::prepared::{Outcome, in_turn};
use strata_gpu::{Launch, Result};
use strata_kernels::{Program, distributed};
use strata_model::experiment::{CHAIN, ClusterWork, Distributed, STEPS_A_PASS};
use strata_model::samples::{Failure, Samples};
use strata_model::units::Bytes;

/// What a block writes where it did not run.
const NOTHING: u8 = 0xff;

impl Bench<'_> {
    /// Launches the clusters, and reads what each block has timed.
    pub(super) fn run_distributed(&mut self, experiment: &Distributed) -> Result<Outcome> {
        let clusters = experiment.clusters();
        let launch = Launch::new(clusters.blocks(), 1).cluster(clusters.size).shared(clusters.shared_per_block);
        let function = self.programs.get(self.gpu, Program::Distributed(experiment.work))?.function;
        self.gpu.configure(function, &launch)?;
        let each = distributed::words(experiment.rounds);
        let mut raw = vec![NOTHING; 4 * each * clusters.blocks() as usize];
        let out = self.outputs.at_least(self.gpu, Bytes(raw.len() as u64))?;
        self.gpu.write(out, &raw)?;
        let numbers = [experiment.distance, experiment.steps / STEPS_A_PASS, experiment.rounds, experiment.workers()];
        let parameters: Vec<u64> = [out.0].into_iter().chain(numbers.map(u64::from)).collect();
        self.gpu.mark()?;
        self.gpu.launch(function, &launch, &parameters)?;
        self.device_us += self.gpu.mark()?;
        self.gpu.read(out, &mut raw)?;
        Ok(self.distributed_samples(experiment, &words(&raw)))
    }

    fn distributed_samples(&self, experiment: &Distributed, raw: &[u32]) -> Outcome {
        let end = match experiment.work {
            // In all rounds together, as many times as the chain has no more elements.
            ClusterWork::Load | ClusterWork::Atomic => {
                u64::from(3 * experiment.steps * experiment.rounds) % u64::from(CHAIN.0) * CHAIN.1.0
            }
            ClusterWork::Barrier | ClusterWork::RelaxedBarrier => 0,
        };
        let mut samples = Samples::default();
        for (block, record) in raw.chunks_exact(distributed::words(experiment.rounds)).enumerate() {
            let (head, times) = record.split_at(distributed::HEAD);
            samples.sms.push(self.sm_of(head[0])?);
            if block >= experiment.workers() as usize {
                continue;
            }
            if u64::from(head[1]) != end {
                return Err(Failure::failed(format!(
                    "wrong checksum: the walk of block {block} ended {} bytes from its beginning, not {end}",
                    head[1]
                )));
            }
            samples.laps.extend(in_turn(times.iter().copied().map(u64::from), experiment.steps));
        }
        Ok(samples)
    }
}
