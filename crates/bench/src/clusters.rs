//! Blocks in clusters that say where they are.

use super::Bench;
use super::prepared::Outcome;
use strata_gpu::{Launch, Result};
use strata_kernels::Program;
use strata_model::experiment::Clusters;
use strata_model::samples::{Failure, Samples};
use strata_model::units::Bytes;

/// What a block has not overwritten.
const UNWRITTEN: u32 = u32::MAX;

impl Bench<'_> {
    /// Launches the clusters, and asks each block for its SM.
    pub(super) fn run_clusters(&mut self, clusters: &Clusters) -> Result<Outcome> {
        let loaded = self.programs.get(self.gpu, Program::Census)?;
        let launch = Launch::new(clusters.blocks(), 1).cluster(clusters.size).shared(clusters.shared_per_block);
        self.gpu.configure(loaded.function, &launch)?;
        let mut raw = vec![0; 4 * clusters.blocks() as usize];
        let out = self.outputs.at_least(self.gpu, Bytes(raw.len() as u64))?;
        self.gpu.write(out, &UNWRITTEN.to_le_bytes().repeat(clusters.blocks() as usize))?;
        self.gpu.mark()?;
        self.gpu.launch(loaded.function, &launch, &[out.0, 1000 * u64::from(clusters.span_us)])?;
        self.device_us += self.gpu.mark()?;
        self.gpu.read(out, &mut raw)?;
        let smids = raw.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]));
        let sms: Option<Vec<u32>> = smids.map(|smid| Some(self.sms.binary_search(&smid).ok()? as u32)).collect();
        Ok(match sms {
            Some(sms) => Ok(Samples { sms, ..Samples::default() }),
            None => Err(Failure::failed("a block was on an SM that the census did not see, or did not run")),
        })
    }
}
