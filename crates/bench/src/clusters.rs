//! Blocks in clusters that say where they are.

use super::Bench;
use super::prepared::Outcome;
use strata_gpu::{Launch, Result};
use strata_kernels::Program;
use strata_model::experiment::Clusters;
use strata_model::samples::{Failure, Samples};

impl Bench<'_> {
    /// Launches the clusters, and asks each block for its SM.
    pub(super) fn run_clusters(&mut self, clusters: &Clusters) -> Result<Outcome> {
        let launch = Launch::new(clusters.blocks(), 1).cluster(clusters.size).shared(clusters.shared_per_block);
        let census = self.programs.get(self.gpu, Program::Census)?;
        self.gpu.configure(census.function, &launch)?;
        self.gpu.mark()?;
        let smids = self.smids(&launch, 1000 * u64::from(clusters.span_us))?;
        self.device_us += self.gpu.mark()?;
        let sms = smids.into_iter().map(|smid| self.sm_of(smid)).collect::<std::result::Result<_, Failure>>();
        Ok(sms.map(|sms| Samples { sms, ..Samples::default() }))
    }

    /// The number of the SM with this `%smid`, which a block of clusters has written down.
    pub(super) fn sm_of(&self, smid: u32) -> std::result::Result<u32, Failure> {
        let unseen = |_| Failure::failed("a block was on an SM that the census did not see, or did not run");
        self.sms.binary_search(&smid).map(|sm| sm as u32).map_err(unseen)
    }
}
