//! What is true of the costs of access patterns on a machine, by its file: what one load takes, what lanes cost each other, and
//! how large the pieces are that a request falls into.

use serde_json::json;
use strata_model::characterization::PartName;
use strata_sim::machine::Machine;
use strata_sim::machine::spec::{Noise, Path, Replacement, Scope};
use strata_sim::machine::value::{Busy, Rate};

use super::capacity::usable;
use super::{WINDOW_BYTES, shared_banks_of};
use crate::expect::Expect;

/// A finding of a part and what it must be.
#[derive(Clone, Debug)]
pub struct Cost {
    /// The part.
    pub part: PartName,
    /// The finding.
    pub finding: &'static str,
    /// What it must be.
    pub expect: Expect,
}

/// Lanes of a warp.
const LANES: u64 = 32;
/// Warps of the largest block.
const MOST_WARPS: u64 = 32;
/// Sectors into which requests are divided that go straight to the device's caches.
const SECTOR: u64 = 32;
/// Largest jump that is tried, in bytes.
const MOST_JUMP: u64 = 512;
/// Largest size of pieces that is tried, in bytes.
const MOST_WINDOW: u64 = 512;
/// A number that is exact but for its rounding to a hundredth.
const EXACT: f64 = 0.011;
/// From word to word of the constants in lines of their own, in bytes.
const APART: u64 = 64;

/// Loads of a round of constants.
const LOADS: f64 = 1024.0;
/// Standard deviations by which a number of spikes may be off.
const CHANCE: f64 = 4.0;
/// Starts of 32 neighbouring words, in bytes: whatever the window, they lie in all places of it.
const STARTS: u64 = 1024;
/// Distances from lane to lane: a word more than powers of two.
const DISTANCES: [u64; 8] = [12, 20, 36, 68, 132, 260, 516, 1028];

/// Instructions of a warp between two atomics, at the most.
const INSTRUCTIONS: u64 = 12;
/// Waiting for each other is all that shows if it takes so many times as long as what a warp does by itself.
const LONGER: u64 = 4;
/// Share of a round in which not all SMs are at work yet, or some no more, or they merge their counters.
const ENDS: f64 = 0.05;

struct Costs<'m> {
    machine: &'m Machine,
    rows: Vec<Cost>,
}

/// What a characterization should say of a machine.
pub fn costs(machine: &Machine) -> Vec<Cost> {
    let mut costs = Costs { machine, rows: Vec::new() };
    costs.constants();
    costs.windows();
    costs.jumps();
    costs.barriers();
    costs.counters();
    for row in shared_banks_of(machine) {
        if ["banks", "bank_width", "conflict_cycles", "padding"].contains(&row.attribute) {
            costs.row(PartName::Banks, row.attribute, row.expect);
        }
    }
    costs.rows
}

/// Cycles by which noise that every load has may move the time of a load from its latency, besides spikes.
fn unsteady(noise: &Noise) -> f64 {
    (noise.jitter.get() + noise.smear.get()) as f64
}

/// Mean cycles that spikes add to a load.
fn spikes(noise: &Noise) -> f64 {
    noise.spikes.0 * noise.spike.get() as f64
}

impl Costs<'_> {
    fn row(&mut self, part: PartName, finding: &'static str, expect: Expect) {
        self.rows.push(Cost { part, finding, expect });
    }

    /// Whether no load takes longer than another from the same place.
    fn is_quiet(&self) -> bool {
        let noise = &self.machine.spec.noise;
        unsteady(noise) == 0.0 && spikes(noise) == 0.0
    }

    /// What must be said where nothing disturbs; elsewhere it may be unknown for a reason.
    fn if_quiet(&self, expect: Expect) -> Expect {
        if self.is_quiet() { expect } else { Expect::IfStated(Box::new(expect)) }
    }

    fn constants(&mut self) {
        let spec = &self.machine.spec;
        let (arithmetic, word) = (spec.pipeline.arithmetic.get() as f64, spec.pipeline.constant_word.get() as f64);
        let (unsteady, spikes) = (unsteady(&spec.noise), spikes(&spec.noise));
        // A load of one word: what every load takes in the mean, and the addition that waits for it.
        let load = |path: &Path| {
            let mean = path.cycles[0].get() as f64 + arithmetic + unsteady / 2.0;
            let off = EXACT + unsteady / 4.0;
            // How many spikes a round meets is chance.
            let chance = CHANCE * (spikes * spec.noise.spike.get() as f64 / LOADS).sqrt();
            Expect::Within(mean - off, mean + spikes + chance + off)
        };
        let indexed = load(&spec.path.constant);
        let uniform = load(spec.path.constant_uniform.as_ref().unwrap_or(&spec.path.constant));
        // Each word is a request of its own, with noise of its own; the slowest counts.
        let further = unsteady / (LANES - 1) as f64;
        let each = Expect::Within(word - EXACT, word + further + EXACT);
        let (first, shared) =
            (&spec.cache[&spec.path.constant.levels[0]], WINDOW_BYTES + spec.shared.reserved_per_block.0);
        let fits = usable(first, 1, shared, 0) >= LANES * APART + first.line.get();
        let next = spec.path.constant.cycles.get(1).copied().unwrap_or(spec.path.constant.memory);
        let miss = (next.get() - spec.path.constant.cycles[0].get()) as f64;
        let apart = if fits { each.clone() } else { Expect::Within(word - EXACT, word + further + EXACT + miss) };
        let (each, apart) = (self.if_quiet(each), self.if_quiet(apart));
        self.row(PartName::Constant, "indexed", self.if_quiet(indexed));
        self.row(PartName::Constant, "uniform", self.if_quiet(uniform));
        self.row(PartName::Constant, "further_word_4_b_apart", each);
        self.row(PartName::Constant, "further_word_64_b_apart", apart);
        // A simulated machine has every operand at hand.
        self.row(PartName::Constant, "parameter_operand", Expect::Near(0.0, EXACT));
    }

    /// Cycles by which a request for words at these addresses takes longer than one for a word, if all are kept by the first cache
    /// of the path; none, if that depends on which of several ports serves which address.
    fn longer(&self, path: &Path, addresses: impl Iterator<Item = u64>) -> Option<u64> {
        let (pipeline, cache) = (&self.machine.spec.pipeline, &self.machine.spec.cache[&path.levels[0]]);
        let window = if cache.scope == Scope::Sm { pipeline.coalescing.get() } else { SECTOR };
        let port = cache.port.parts();
        if port > 0 && cache.slices.get() > 1 {
            return None;
        }
        let mut sectors: Vec<u64> = addresses.map(|address| address / SECTOR * SECTOR).collect();
        sectors.dedup();
        let first = sectors[0] / window;
        // What the device's caches deliver arrives sector by sector, counted in parts of bytes that could have arrived until then.
        let delivery = pipeline.delivery.filter(|_| cache.scope == Scope::Device).map_or(0, |rate| rate.parts());
        let (mut number, mut last, mut free, mut longest, mut arrived) = (0, first, 0, 0, 0);
        for sector in sectors {
            number += u64::from(sector / window != last);
            last = sector / window;
            let asked = number * pipeline.transaction.get();
            let arrives = arrived.max(asked * delivery);
            arrived = arrives + SECTOR * Rate::PARTS;
            let comes = asked.max(arrives.checked_div(delivery).map_or(0, |_| arrives.div_ceil(delivery)));
            let start = free.max(comes * Busy::PARTS);
            free = start + port;
            longest = longest.max(start / Busy::PARTS);
        }
        Some(longest)
    }

    /// What explains how requests grow with the distance of the lanes: the size of pieces, if it is one size.
    fn window(&self, path: &Path) -> Option<Expect> {
        let of = |distance: u64| self.longer(path, (0..LANES).map(move |lane| lane * distance));
        let longer: Vec<u64> = DISTANCES.into_iter().map(of).collect::<Option<_>>()?;
        if longer.iter().all(|&cycles| cycles == longer[0]) {
            return Some(Expect::Unknown(""));
        }
        let pieces = |bytes: u64, distance: u64| {
            let mut touched: Vec<u64> = (0..LANES).map(|lane| lane * distance / bytes).collect();
            touched.dedup();
            touched.len() as u64 - 1
        };
        let explains = |bytes: &u64| {
            let all: Vec<u64> = DISTANCES.into_iter().map(|distance| pieces(*bytes, distance)).collect();
            let each = longer[7] as f64 / all[7] as f64;
            longer.iter().zip(all).all(|(&cycles, pieces)| (cycles as f64 - each * pieces as f64).abs() < EXACT)
        };
        let mut sizes = (2..=MOST_WINDOW.ilog2()).map(|power| 1u64 << power).filter(explains);
        let (size, other) = (sizes.next()?, sizes.next());
        // Whether the caches keep all words is another matter.
        other.is_none().then(|| Expect::IfStated(Box::new(Expect::Is(json!(size)))))
    }

    fn windows(&mut self) {
        let spec = &self.machine.spec;
        for (finding, path) in [("ca_window", &spec.path.global_ca), ("cg_window", &spec.path.global_cg)] {
            if let Some(expect) = self.window(path) {
                self.row(PartName::Coalescing, finding, expect);
            }
        }
        let from = |start: u64| self.longer(&spec.path.global_ca, (0..LANES).map(move |lane| start + lane * 4));
        let all: Option<Vec<u64>> = (0..STARTS).step_by(4).map(from).collect();
        if let Some(all) = all {
            let more = (all.iter().max().unwrap_or(&0) - all[0]) as f64;
            let further = EXACT + unsteady(&spec.noise) / 2.0;
            let worst = Expect::Within(more - EXACT, more + further);
            self.row(PartName::Coalescing, "misaligned_start", self.if_quiet(worst));
        }
        // Caches have no banks here.
        self.row(PartName::Coalescing, "ca_conflict_cycles", Expect::Unknown(""));
    }

    fn jumps(&mut self) {
        let spec = &self.machine.spec;
        let constant = Some(&spec.path.constant);
        let (ca, cg) = (Some(&spec.path.global_ca), Some(&spec.path.global_cg));
        let all = [
            ("texture_steps", spec.path.texture.as_ref()),
            ("constant_steps", constant),
            ("global_ca_steps", ca),
            ("global_cg_steps", cg),
        ];
        for (finding, path) in all {
            let expect = match path {
                None => Expect::Unknown(""),
                // A cache that keeps what was hit is soon full of it, where all pairs lie in one set.
                Some(path) if path.levels.iter().any(|level| spec.cache[level].replacement == Replacement::Unhit) => {
                    continue;
                }
                Some(path) => self.if_quiet(Expect::Is(json!(self.steps(path)))),
            };
            self.row(PartName::Locality, finding, expect);
        }
        self.row(PartName::Locality, "shared_steps", Expect::Is(json!([])));
    }

    /// Distances at which the level that answers changes, of a path whose caches each keep what a load fetched.
    fn steps(&self, path: &Path) -> Vec<u64> {
        let mut steps: Vec<u64> = Vec::new();
        for level in &path.levels {
            let fetched = self.machine.spec.cache[level].sector_bytes();
            // A level behind one that fetches more never answers the second load.
            if steps.last().is_none_or(|&before| fetched > before) && fetched <= MOST_JUMP {
                steps.push(fetched);
            }
        }
        steps
    }

    /// Atomics on one counter: requests of all SMs occupy its line one after the other, if that takes longer than what each warp does.
    fn counters(&mut self) {
        let spec = &self.machine.spec;
        let (pipeline, device, l2) = (&spec.pipeline, &spec.device, &spec.cache[&spec.path.global_cg.levels[0]]);
        let shared = spec.shared.atomic.map_or(spec.shared.conflict.get(), |cycles| cycles.get());
        let atomic = pipeline.atomic;
        let line = pipeline.atomic_line.unwrap_or(atomic).get();
        let busy = |first: u64, further: u64| first + (LANES - 1) * further;
        let warps = (1 << device.max_threads_per_block.get().ilog2()) / LANES;
        let (noise, step) = (&spec.noise, pipeline.arithmetic.get() + pipeline.issue.get());
        let all_noise = noise.jitter.get() + noise.smear.get() + noise.spike.get();
        // What a warp does for an atomic by itself, at the most: its lanes, some instructions, and a fourth of a load.
        let channels = (spec.memory.port.cycles() * warps as f64) as u64;
        let load = spec.path.global_cg.memory.get() + all_noise + channels;
        let translation: u64 = spec.tlb.iter().map(|tlb| tlb.penalty.get() + tlb.uncached.get()).sum();
        let by_itself = |further: u64| (LANES - 1) * further + INSTRUCTIONS * step + (load + translation) / 4;
        let mut one = |finding, queued: u64, busy: u64, further: u64| {
            if queued * busy >= LONGER * by_itself(further) && busy as f64 > l2.port.cycles() {
                let each = busy as f64 / LANES as f64;
                self.rows.push(Cost {
                    part: PartName::Histogram,
                    finding,
                    expect: Expect::Within(each * (1.0 - ENDS), each * (1.0 + ENDS)),
                });
            }
        };
        let all = warps * device.multiprocessors.get();
        one("global_one_counter", all, busy(line, atomic.get()), atomic.get());
        one("shared_one_counter", warps, busy(1, shared), shared);
    }

    fn barriers(&mut self) {
        let pipeline = &self.machine.spec.pipeline;
        let (block, warp) = (pipeline.barrier.get() as f64, pipeline.issue.get() as f64);
        // The second of up to 32 warps waits for its turn.
        let second = pipeline.barrier_warps.get().div_ceil(MOST_WARPS - 1) as f64;
        // Stores wait for nothing, so nothing disturbs them.
        self.row(PartName::Synchronization, "block_barrier_64_threads", Expect::Near(block + second, EXACT));
        self.row(PartName::Synchronization, "warp_barrier_64_threads", Expect::Near(warp, EXACT));
    }
}
