//! The die: which SMs form a GPC, and which a TPC.
//!
//! Two ways that have nothing in common must agree. Blocks of a cluster can reach each other's shared memory, so the driver puts them on
//! SMs of one GPC: SMs that ever were in one cluster of three blocks or more are together. And what a GPC gets from the L2 has a limit:
//! where several of its SMs read as fast as they can, another one of the same GPC adds hardly anything, and one of another GPC adds
//! all that it reads alone. Some SMs take no cluster larger than a TPC; those go where they add nothing.
//!
//! Assumes that a few SMs of a GPC reach its limit. Refuted where an SM of the same GPC adds as much as one of another: then the
//! finding is unknown, and says what clusters show.

use std::collections::BTreeSet;

use super::{Gap, Notebook, Settle, partitions};
use crate::analysis::graph;
use sha2::{Digest, Sha256};
use strata_model::attribute::{Counts, SmMap, SmPlace};
use strata_model::experiment::{
    AccessWidth, Clusters, Content, LoadPath, Persistent, Prepare, Region, Stream, Traffic,
};
use strata_model::topology::Finding;
use strata_model::units::{Bytes, MIB};

/// Compute capability from which there are clusters.
pub const FIRST: (u32, u32) = (9, 0);
/// Blocks of the largest cluster that any device takes.
const LARGEST: u32 = 16;
/// Blocks of a cluster on the SMs of one TPC.
pub(super) const PAIR: u32 = 2;
/// Launches of each size: the driver begins with another GPC each time.
const REPEATS: u32 = 2;
/// Microseconds that a block stays: longer than a launch takes to spread.
const STAYS_US: u32 = 20;
/// TPCs of a GPC that read at the same time: on an H200 three of nine reach the limit of their GPC.
const READERS: usize = 4;
/// What they read, at most, and as part of the L2.
const FOOTPRINT: (Bytes, u64) = (Bytes(2 * MIB), 4);
/// Cycles before what they read counts, and for which it does. Before, the L2 must have got it, on both sides: with 4000 cycles SMs of one
/// GPC of an H200 seemed to add 35 % after other experiments had displaced it. Then each warp makes about forty passes.
const CYCLES: (u32, u32) = (12_000, 24_000);
/// Loads of a thread on their way at a time.
const UNROLL: u32 = 4;
/// Bytes of a fingerprint: among ten thousand layouts two are alike by chance with a probability of 3e-12.
const FINGERPRINT_BYTES: usize = 8;
/// Part of what SMs read alone that they add at most in their own GPC, and at least in another. Seen were 6 % at most and 88 % at least on
/// H200s, 2 % and 78 % on H100s; with an L2 that did not yet hold all of it, 54 %.
const ADDS: (f64, f64) = (0.25, 0.4);

/// Where the SMs are.
#[derive(Clone, Debug)]
pub struct Die {
    /// GPC of each SM, if it is known.
    gpcs: Vec<Option<usize>>,
    /// TPC of each SM.
    tpcs: Vec<Option<usize>>,
    /// SMs that take no cluster larger than a TPC.
    left_over: Vec<u32>,
    /// The most that SMs added in their own GPC, and the least in another, as part of what they read alone.
    added: (f64, f64),
}

/// What clusters show.
struct Together {
    /// SMs of each GPC, by TPC.
    gpcs: Vec<Vec<Unit>>,
    /// The others.
    left_over: Vec<Unit>,
    tpcs: Vec<Option<usize>>,
}

/// SMs that are together for sure: those of a TPC, or one.
type Unit = Vec<u32>;

/// Clusters of every size, the smallest first.
pub(super) fn cluster_launches(notebook: &Notebook) -> Vec<Clusters> {
    let facts = notebook.facts();
    let shared_per_block = facts.most_shared_per_block();
    let of = |size| {
        move |repeat| Clusters {
            size,
            count: facts.multiprocessors / size,
            shared_per_block,
            span_us: STAYS_US,
            repeat,
        }
    };
    (PAIR..=LARGEST.min(facts.multiprocessors)).flat_map(|size| (0..REPEATS).map(of(size))).collect()
}

fn together(notebook: &Notebook) -> Result<Together, Gap> {
    let sms = notebook.facts().multiprocessors as usize;
    let launches = cluster_launches(notebook);
    let answers = notebook.read_each(&launches)?;
    // The largest clusters may fail, which not every device takes. The smallest that say something of a GPC must not.
    if let Some(Err(failure)) = answers.iter().zip(&launches).find(|(_, launch)| launch.size > PAIR).map(|(one, _)| one)
    {
        return Err(failure.clone().into());
    }
    let mut neighbours: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); sms];
    let mut partners: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); sms];
    for measurement in answers.iter().flatten() {
        for cluster in measurement.experiment.of(measurement.samples()) {
            if cluster.iter().any(|&sm| sm as usize >= sms) {
                return Gap::unknown("a cluster was on SMs that the device does not have");
            }
            if let &[one, other] = cluster {
                partners[one as usize].insert(other);
                partners[other as usize].insert(one);
                continue;
            }
            let first = cluster[0] as usize;
            for sm in cluster.iter().map(|&sm| sm as usize) {
                neighbours[first].insert(sm);
                neighbours[sm].insert(first);
            }
        }
    }
    let units = units(&partners);
    let mut tpcs = vec![None; sms];
    for (tpc, unit) in units.iter().enumerate().filter(|(_, unit)| unit.len() > 1) {
        unit.iter().for_each(|&sm| tpcs[sm as usize] = Some(tpc));
    }
    let (inside, left_over): (Vec<Unit>, Vec<Unit>) =
        units.into_iter().partition(|unit| unit.iter().all(|&sm| !neighbours[sm as usize].is_empty()));
    let number = graph::parts(sms, |one, other| neighbours[one].contains(&other));
    let mut gpcs: Vec<(usize, Vec<Unit>)> = Vec::new();
    for unit in inside {
        let of = number[unit[0] as usize];
        match gpcs.iter_mut().find(|(gpc, _)| *gpc == of) {
            Some((_, units)) => units.push(unit),
            None => gpcs.push((of, vec![unit])),
        }
    }
    Ok(Together { gpcs: gpcs.into_iter().map(|(_, units)| units).collect(), left_over, tpcs })
}

/// The TPCs, if each SM always has the same partner; otherwise each SM for itself.
fn units(partners: &[BTreeSet<u32>]) -> Vec<Unit> {
    let partner = |sm: u32| match partners[sm as usize].iter().collect::<Vec<_>>()[..] {
        [&only] => Some(only),
        _ => None,
    };
    let all = 0..partners.len() as u32;
    if !all.clone().all(|sm| partner(sm).is_some_and(|other| other != sm && partner(other) == Some(sm))) {
        return all.map(|sm| vec![sm]).collect();
    }
    all.filter_map(|sm| partner(sm).filter(|&other| sm < other).map(|other| vec![sm, other])).collect()
}

/// SMs that read the L2 as fast as they can.
fn reading(notebook: &Notebook, units: &[&Unit]) -> Stream {
    let mut sms: Vec<u32> = units.iter().flat_map(|unit| unit.iter().copied()).collect();
    sms.sort_unstable();
    let stream = Stream {
        traffic: Traffic::Read,
        path: LoadPath::GlobalCg,
        width: AccessWidth::B16,
        unroll: UNROLL,
        threads_per_block: notebook.facts().max_threads_per_block,
        blocks_per_sm: 1,
        sms,
        footprint: Bytes(0),
        region: Region::Together,
        content: Content::Random,
        prepare: Prepare::Nothing,
        warm_cycles: CYCLES.0,
        timed_cycles: CYCLES.1,
        repeat: 0,
    };
    let part = Bytes(notebook.facts().l2_size / FOOTPRINT.1).min(FOOTPRINT.0);
    Stream { footprint: part.round_down(stream.pass()).max(stream.pass()), ..stream }
}

/// What SMs add to what those of a GPC read, as part of what they read alone: of each question, which GPC and which SMs.
fn added(notebook: &Notebook, readers: &[Vec<&Unit>], questions: &[(usize, &Unit)]) -> Result<Vec<f64>, Gap> {
    let with = |&(gpc, unit): &(usize, &Unit)| -> Stream {
        let all: Vec<&Unit> = readers[gpc].iter().copied().chain([unit]).collect();
        reading(notebook, &all)
    };
    let streams: Vec<Stream> = readers
        .iter()
        .map(|units| reading(notebook, units))
        .chain(questions.iter().map(with))
        .chain(questions.iter().map(|(_, unit)| reading(notebook, &[unit])))
        .collect();
    let rates: Option<Vec<f64>> = notebook
        .read(&streams)?
        .iter()
        .map(|measurement| Some(measurement.experiment.counted(measurement.samples())?.total()))
        .collect();
    let Some(rates) = rates else { return Gap::unknown("SMs that read the L2 reported no times") };
    let (before, rates) = rates.split_at(readers.len());
    let (after, alone) = rates.split_at(questions.len());
    let parts = questions.iter().zip(after).zip(alone);
    Ok(parts.map(|((&(gpc, _), after), alone)| (after - before[gpc]) / alone.max(1.0)).collect())
}

/// Where the SMs are.
///
/// # Errors
///
/// An unknown, if the device has no clusters, or if clusters and the limits of the GPCs disagree.
pub fn die(notebook: &Notebook) -> Result<Die, Gap> {
    notebook.once(&notebook.memo.die, (), || {
        let Together { gpcs, left_over, tpcs } = together(notebook)?;
        let shown = || {
            let sizes = gpcs.iter().map(|units| units.iter().map(Vec::len).sum::<usize>().to_string());
            sizes.collect::<Vec<_>>().join(", ")
        };
        if gpcs.len() < 2 || gpcs.iter().any(|units| units.len() < 2) {
            return Gap::unknown(format!("clusters show groups of {} SMs: too few to check them", shown()));
        }
        let readers: Vec<Vec<&Unit>> =
            gpcs.iter().map(|units| units[..units.len() - 1].iter().take(READERS).collect()).collect();
        let last = |gpc: usize| &gpcs[gpc][gpcs[gpc].len() - 1];
        let own = (0..gpcs.len()).map(|gpc| (gpc, last(gpc)));
        // All pairs: two groups that no cluster joined may be one GPC.
        let pairs: Vec<(usize, usize)> =
            (0..gpcs.len()).flat_map(|gpc| (gpc + 1..gpcs.len()).map(move |other| (gpc, other))).collect();
        let other = pairs.iter().map(|&(gpc, other)| (gpc, last(other)));
        let left = left_over.iter().flat_map(|unit| (0..gpcs.len()).map(move |gpc| (gpc, unit)));
        let questions: Vec<(usize, &Unit)> = own.chain(other).chain(left).collect();
        let parts = added(notebook, &readers, &questions)?;
        let (own, parts) = parts.split_at(gpcs.len());
        let (other, left) = parts.split_at(pairs.len());
        let most = own.iter().copied().fold(f64::MIN, f64::max);
        let least = other.iter().copied().fold(f64::MAX, f64::min);
        if most > ADDS.0 || least < ADDS.1 {
            return Gap::unknown(format!(
                "clusters show groups of {} SMs, and what these read from the L2 does not agree: beside SMs of the same group others \
                 add up to {:.0} % of what they read alone, beside SMs of another group at least {:.0} %",
                shown(),
                most * 100.0,
                least * 100.0
            ));
        }
        let mut of_sm = vec![None; tpcs.len()];
        for (gpc, units) in gpcs.iter().enumerate() {
            units.iter().flatten().for_each(|&sm| of_sm[sm as usize] = Some(gpc));
        }
        for (unit, parts) in left_over.iter().zip(left.chunks_exact(gpcs.len())) {
            let here: Vec<usize> = (0..gpcs.len()).filter(|&gpc| parts[gpc] < ADDS.1).collect();
            if let [gpc] = here[..]
                && parts[gpc] <= ADDS.0
            {
                unit.iter().for_each(|&sm| of_sm[sm as usize] = Some(gpc));
            }
        }
        let left_over = left_over.into_iter().flatten().collect();
        Ok(Die { gpcs: of_sm, tpcs, left_over, added: (most, least) })
    })
}

impl Die {
    fn sizes(&self) -> Vec<u64> {
        let gpcs = self.gpcs.iter().flatten().max().map_or(0, |most| most + 1);
        (0..gpcs).map(|gpc| self.gpcs.iter().filter(|of| **of == Some(gpc)).count() as u64).collect()
    }

    /// As the finding `gpcs`.
    ///
    /// # Errors
    ///
    /// An unknown, if some SM belongs to no GPC.
    pub fn counts(&self) -> Result<Finding<Counts>, Gap> {
        let lost: Vec<u32> = (0..).zip(&self.gpcs).filter(|(_, gpc)| gpc.is_none()).map(|(sm, _)| sm).collect();
        if !lost.is_empty() {
            return Gap::unknown(format!(
                "SMs {} take no cluster of more than two blocks, and slow down the SMs of no GPC",
                numbers(&lost)
            ));
        }
        let mut sizes = self.sizes();
        sizes.sort_unstable();
        Ok(self.noted(Finding::measured(Counts(sizes), METHOD).unit("SMs")))
    }

    /// As the finding `map`, with the partition of each SM, where it is known.
    ///
    /// # Errors
    ///
    /// An unknown, if a GPC has SMs of several partitions.
    pub fn map(&self, notebook: &Notebook) -> Result<Finding<SmMap>, Gap> {
        let partitions = partitions::partitions(notebook).settled()?.ok().map(|found| found.map().value);
        let place = |sm: usize| partitions.as_ref()?.as_ref()?.0.get(sm);
        let partition = |sm: usize| place(sm)?.partition;
        for gpc in 0..self.sizes().len() {
            let own = (0..self.gpcs.len()).filter(|&sm| self.gpcs[sm] == Some(gpc));
            let sides: BTreeSet<u32> = own.filter_map(partition).collect();
            if sides.len() > 1 {
                return Gap::unknown("SMs that clusters put into one GPC are near to different partitions of the L2");
            }
        }
        let rows = (0..self.gpcs.len()).map(|sm| SmPlace {
            sm: sm as u32,
            partition: partition(sm),
            group: None,
            tpc: self.tpcs[sm].map(|tpc| tpc as u32),
            gpc: self.gpcs[sm].map(|gpc| gpc as u32),
            latency: place(sm).map(|place| place.latency.clone()).unwrap_or_default(),
        });
        Ok(self.noted(Finding::measured(SmMap(rows.collect()), METHOD)))
    }

    /// As the finding `fingerprint`.
    ///
    /// # Errors
    ///
    /// An unknown, if the place of any SM is.
    pub fn fingerprint(&self, notebook: &Notebook) -> Result<Finding<String>, Gap> {
        partitions::partitions(notebook)?;
        let map = self.map(notebook)?.value.unwrap_or_default();
        let mut hash = Sha256::new();
        for place in &map.0 {
            let (Some(gpc), Some(tpc), Some(partition)) = (place.gpc, place.tpc, place.partition) else {
                return Gap::unknown(format!("the GPC, the TPC or the partition of SM {} is unknown", place.sm));
            };
            hash.update(format!("{gpc} {tpc} {partition}\n"));
        }
        let digits: String = hash.finalize().iter().take(FINGERPRINT_BYTES).map(|byte| format!("{byte:02x}")).collect();
        Ok(self.noted(Finding::measured(digits, METHOD)).note("another die may have the same: it is that of the map"))
    }

    fn noted<T>(&self, finding: Finding<T>) -> Finding<T> {
        let (most, least) = self.added;
        let left_over = match self.left_over.as_slice() {
            [] => String::new(),
            some => format!("; SMs {} take no cluster of more than two blocks", numbers(some)),
        };
        finding.note(format!(
            "beside SMs of the same GPC others add at most {:.0} % of what they read alone, beside SMs of another GPC at least {:.0} \
             %{left_over}",
            most.max(0.0) * 100.0,
            least * 100.0
        ))
    }
}

/// How it is measured.
const METHOD: &str = "SMs of one cluster, in clusters of 3 to 16 blocks; checked by what SMs read from the L2 together";

/// Ascending numbers, neighbours as a range: `1, 4 to 7`.
fn numbers(all: &[u32]) -> String {
    let runs = all.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [one] => one.to_string(),
        [first, .., last] => format!("{first} to {last}"),
        [] => String::new(),
    });
    runs.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sms_that_always_have_the_same_partner_are_a_tpc() {
        let of = |all: &[&[u32]]| all.iter().map(|one| one.iter().copied().collect()).collect::<Vec<BTreeSet<u32>>>();
        assert_eq!(units(&of(&[&[1], &[0], &[3], &[2]])), [vec![0, 1], vec![2, 3]]);
        // One that had two partners, or none.
        assert_eq!(units(&of(&[&[1, 2], &[0], &[0]])), [vec![0], vec![1], vec![2]]);
        assert_eq!(units(&of(&[&[1], &[0], &[]])), [vec![0], vec![1], vec![2]]);
    }

    #[test]
    fn numbers_in_a_row_are_a_range() {
        assert_eq!(numbers(&[1, 4, 5, 6, 7, 9]), "1, 4 to 7, 9");
    }
}
