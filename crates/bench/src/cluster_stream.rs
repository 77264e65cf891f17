//! One stream of a cluster, through the shared memory of other blocks or by multicast copies: its launch, and the check of its results.

use super::Bench;
use super::persistent::{RECORD, Times, samples, word};
use super::prepared::Outcome;
use super::stream::{seed_of, wrong_sum};
use strata_gpu::{Launch, Result};
use strata_kernels::{Program, RECORDED_SM, StreamProgram, written_sum};
use strata_model::experiment::{ClusterStream, Region, Side, Traffic, WARP};
use strata_model::pattern::MOST_WARPS;
use strata_model::samples::{Failure, Samples};
use strata_model::units::Bytes;

/// Static shared memory of a kernel that copies by multicast: sums, two mbarriers and a word of each warp. What it copies to begins at a multiple
/// of 128 bytes.
const OWN_SHARED: Bytes = Bytes(32 + 20 * MOST_WARPS as u64 + 128);
/// All of an SM's memory that can be shared memory is to be.
const CARVEOUT_PERCENT: u8 = 100;

impl Bench<'_> {
    /// Runs such a stream, which must be possible on this device.
    pub(super) fn run_cluster_stream(&mut self, of: &ClusterStream) -> Result<Outcome> {
        let (stream, clusters) = (&of.stream, of.clusters());
        let blocks = clusters.blocks();
        if blocks as usize > self.sms.len() {
            return Ok(Err(Failure::unsupported(format!("{clusters} are more than the {} SMs", self.sms.len()))));
        }
        let most = self.gpu.facts().most_shared_per_block();
        if of.is_multicast() && of.shared_per_block + OWN_SHARED > most {
            let shared = of.shared_per_block;
            return Ok(Err(Failure::unsupported(format!("copies into {shared} of shared memory: a block has {most}"))));
        }
        let program = Program::Stream(StreamProgram::of_cluster(of));
        let function = self.programs.get(self.gpu, program)?.function;
        let times = Times::of(stream);
        let launch = Launch::new(blocks, stream.threads_per_block)
            .cluster(of.size)
            .shared(of.shared_per_block)
            .carveout(CARVEOUT_PERCENT);
        self.gpu.configure(function, &launch)?;
        let everyone: Vec<u32> = (0..blocks).collect();
        let control = self.places(&everyone, 1, None)?;
        let seed = seed_of(stream.content);
        // Where blocks go over shared memory, there are no arrays in device memory.
        let array = match of.is_multicast() {
            true => self.filled_source(Side::Device, stream.footprint, stream.content)?.0,
            false => 0,
        };
        let own = u64::from(stream.region == Region::Own);
        let mut parameters = control.parameters().to_vec();
        parameters.extend([array, array, array, stream.footprint / stream.pass(), own, 1]);
        parameters.extend([u64::from(control.participants), u64::from(seed)]);
        parameters.extend(times.parameters());
        if !of.is_multicast() {
            parameters.push(u64::from(of.distance));
        }
        let records = self.run_blocks(function, &launch, &parameters, &control)?;
        let mut sms = Vec::with_capacity(blocks as usize);
        for record in records.chunks_exact(RECORD) {
            match self.sm_of(word(record, RECORDED_SM)) {
                Ok(sm) => sms.push(sm),
                Err(unseen) => return Ok(Err(unseen)),
            }
        }
        let wrong = |sum: u32, passes: u32| match stream.traffic {
            // What the last passes of all warps have brought.
            Traffic::Read if of.is_multicast() => {
                wrong_sum(stream, sum, stream.threads_per_block.div_ceil(WARP as u32))
            }
            Traffic::Read => wrong_sum(stream, sum, passes),
            _ => {
                let expected = written_sum(stream, seed);
                (sum != expected).then(|| {
                    Failure::failed(format!(
                        "wrong checksum: after all stores the words of a block's shared memory have the sum {sum:#x} instead of \
                         {expected:#x}, so the kernel did not do the requested stores"
                    ))
                })
            }
        };
        let done = samples(times, control.participants, &records, wrong);
        Ok(done.map(|samples| Samples { sms, ..samples }))
    }
}
