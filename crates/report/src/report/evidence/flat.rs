//! Misses below the knee: the share of slow loads at footprints that a curve of misses leaves out, because nothing changes there.

use std::collections::BTreeMap;

use super::{Exhibits, Kind, Measurement, What, loads};
use strata_infer::analysis::robust;
use strata_model::experiment::Order;
use strata_model::topology::Finding;

impl Exhibits<'_> {
    /// Footprints from `from` to below `to` and the share of their loads that miss, of the warm walks that a finding cites.
    pub fn misses_below(&self, finding: &Finding, from: f64, to: f64) -> Vec<(f64, f64)> {
        let measurements = finding.experiments.iter().filter_map(|&number| {
            let (experiment, samples) = self.evidence.get(number)?;
            Some(Measurement { number, experiment, samples })
        });
        let mut kinds: BTreeMap<Kind, Vec<Measurement<'_>>> = BTreeMap::new();
        for measurement in measurements {
            let kind = Kind::of(measurement.experiment);
            let nested = measurement.experiment.chain().is_some_and(|chain| matches!(chain.order, Order::Sequential));
            let usual = kind.what == What::EachLoad && !kind.cold && !matches!(kind.carveout, Some(1..));
            if nested && usual {
                kinds.entry(kind).or_default().push(measurement);
            }
        }
        // The walk with the most experiments is the one of the search.
        let Some(mut all) = kinds.into_values().max_by_key(Vec::len) else { return Vec::new() };
        all.sort_by_key(|measurement| (measurement.footprint(), measurement.number));
        // Hits and misses are told apart by all of them: below the knee there are hits alone.
        let levels = loads::groups(&all);
        let footprint = |measurement: &Measurement<'_>| measurement.footprint().0 as f64;
        all.retain(|measurement| (from..to).contains(&footprint(measurement)));
        let point = |same: &[Measurement<'_>]| {
            let shares: Vec<f64> = same.iter().map(|one| loads::miss_share(&levels, &one.samples.latencies)).collect();
            Some((footprint(&same[0]), robust::median(&shares)?))
        };
        all.chunk_by(|a, b| a.footprint() == b.footprint()).filter_map(point).collect()
    }
}
