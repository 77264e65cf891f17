//! A cache of answers that several attributes need: one field per question, and a key if there are several of a kind.

use std::cell::RefCell;
use std::hash::Hash;

use rustc_hash::FxHashMap;

use super::Unknown;
use super::banks;
use super::capacity::{Capacity, Rough, Search};
use super::die::Die;
use super::dram::Dram;
use super::edge::Edge;
use super::fetch::Fetch;
use super::home_map::Placed;
use super::homes::{Area, Homes};
use super::instances::Instances;
use super::levels::HitMiss;
use super::near_far::NearFar;
use super::partition_hash::Hashed;
use super::partitions::Partitions;
use super::slices::Slices;
use super::stairs::Stairs;
use super::structure::Structure;
use super::throughput;
use super::tlb;
use strata_model::attribute::Launches;
use strata_model::experiment::{AccessWidth, BankWidth, Chase, LoadPath};
use strata_model::topology::Finding;
use strata_model::units::Bytes;

/// What was inferred so far.
#[derive(Default)]
pub(super) struct Memo {
    /// What a first-level cache fetches, by path.
    pub sector: Cache<LoadPath, Fetch>,
    /// A first idea of a capacity.
    pub rough: Cache<Search, Rough>,
    /// The capacity of a cache that an SM has to itself.
    pub capacity: Cache<Search, Capacity>,
    /// The L1 by launch.
    pub launches: Cache<(), Finding<Launches>>,
    /// The same of one allocation, by the stride of its chains.
    pub edge: Cache<(Search, Bytes, u32), Edge>,
    /// What is seen beyond the capacity, by the stride of the chains.
    pub stairs: Cache<(Search, Bytes), Stairs>,
    /// Sets and index of such a cache.
    pub structure: Cache<Search, Structure>,
    /// Hits and misses of the L2.
    pub l2_levels: Cache<(), HitMiss>,
    /// The share of loads that DRAM answers, by the warm walk.
    pub l2_dram_share: Cache<Chase, f64>,
    /// The capacity of the L2, by the distance of the lines that are sampled.
    pub l2_capacity: Cache<Bytes, Capacity>,
    /// The latency of DRAM.
    pub dram: Cache<(), Dram>,
    pub peer_dram: Cache<(), Dram>,
    /// The latencies of near and far memory.
    pub near_far: Cache<(), NearFar>,
    /// The bandwidth of a memory.
    pub peak: Cache<throughput::Level, throughput::Peak>,
    /// The partitions of the L2.
    pub partitions: Cache<(), Partitions>,
    /// Which SMs form GPCs.
    pub die: Cache<(), Die>,
    /// In which of them lines are at home.
    pub homes: Cache<Area, Homes>,
    /// How an address chooses one of them.
    pub partition_hash: Cache<(), Hashed>,
    /// The slices of the L2.
    pub slices: Cache<(), Slices>,
    /// Where all lines are at home that are streamed through by partition.
    pub home_map: Cache<(), Placed>,
    /// Bandwidth in clusters, by what their blocks do and how many there are.
    pub by_cluster: Cache<(throughput::clustered::Work, u32), throughput::clustered::Rate>,
    /// The bandwidth of a memory of which each SM has lines of its own partition, or of the other.
    pub by_side: Cache<(throughput::Level, bool), throughput::Rate>,
    /// Where translation begins to cost more.
    pub tlb_curve: Cache<(), tlb::Curve>,
    /// The same, by the distance of the pages walked.
    pub tlb_curve_by: Cache<Bytes, tlb::Curve>,
    /// Whether the pages of a walk are more than a level holds, by the distance and footprint of its rise and by how often it may be repeated.
    pub tlb_overflows: Cache<(Bytes, u64, Chase, u32), bool>,
    /// Levels of translation, by number from 0.
    pub tlb_level: Cache<usize, tlb::Level>,
    /// Which SMs share them.
    pub tlb_domains: Cache<usize, Instances>,
    /// Latency by stride, by the width of an access and the bank width that is asked for.
    pub bank_curve: Cache<(AccessWidth, Option<BankWidth>), banks::Curve>,
    /// The banks, by the bank width that is asked for.
    pub banks: Cache<Option<BankWidth>, banks::Geometry>,
    /// What each further way of a bank conflict costs.
    pub bank_fit: Cache<(), banks::Fit>,
}

/// Answers to questions of one kind, by key. What is missing cannot be held: it is asked again.
pub(super) struct Cache<K, V> {
    answers: RefCell<FxHashMap<K, Inferred<V>>>,
}

/// An answer, or why it is unknown.
#[derive(Clone)]
pub(super) struct Inferred<V> {
    /// The answer.
    pub answer: Result<V, Unknown>,
    /// Numbers of the experiments that were read for it.
    pub cited: Vec<u32>,
}

impl<K, V> Default for Cache<K, V> {
    fn default() -> Self {
        Cache { answers: RefCell::default() }
    }
}

impl<K: Eq + Hash, V: Clone> Cache<K, V> {
    /// What was inferred for this key.
    pub fn get(&self, key: &K) -> Option<Inferred<V>> {
        self.answers.borrow().get(key).cloned()
    }

    /// Keeps what was inferred.
    pub fn keep(&self, key: K, inferred: Inferred<V>) {
        self.answers.borrow_mut().insert(key, inferred);
    }
}
