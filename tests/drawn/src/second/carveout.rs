//! An L1 that shares its memory with shared memory: what is left to it.

use std::collections::BTreeSet;

use super::dice::{Dice, KIB};
use super::shape::{Index, Policy, Shape};
use super::text::Text;

/// Most configurations.
const MOST: u64 = 10;
/// From so many configurations on there are unusually many.
const MANY: usize = 8;

/// What may be unusual.
#[derive(Clone, Copy)]
enum Change {
    One,
    Many,
    Sets,
    Policy,
    Index,
}

/// The configurations of an L1.
pub struct Carveout {
    /// Shared memory, sets and ways of each.
    configurations: Vec<(u64, u64, u64)>,
    /// Replacement of the last, if it differs.
    policy: Option<Policy>,
    /// Index function of the last, if it differs.
    hash: Option<u64>,
}

impl Carveout {
    /// Configurations that leave a block at least `least` bytes of shared memory, unless the sets of the cache differ: the
    /// format has no configurations of such a cache.
    pub fn draw(dice: &mut Dice, shape: &Shape, least: u64) -> Option<Carveout> {
        let whole = shape.equal()?;
        let change = dice.one_in(5).then(|| {
            dice.pick(&[Change::One, Change::Many, Change::Many, Change::Sets, Change::Policy, Change::Index])
        });
        let wanted = match change {
            Some(Change::One) => 1,
            Some(Change::Many) => dice.within(MANY as u64..=MOST),
            // Where there are few ways, not more configurations than ways.
            _ => dice.within(2..=5).min(whole.1.max(2)),
        };
        let by_sets = matches!(change, Some(Change::Sets)) || whole.1 < wanted || shape.policy == Policy::Plru;
        // Bits and masks of an index say how many sets there are.
        let by_sets = by_sets && matches!(shape.index, Index::Modulo | Index::Hash);
        let shapes = if by_sets { fewer_sets(dice, whole, wanted) } else { fewer_ways(dice, shape, whole, wanted) };
        let other_policy = if shape.policy == Policy::Fifo { Policy::Random } else { Policy::Fifo };
        let several = shapes.len() > 1;
        let carveout = Carveout {
            configurations: with_shared(dice, shape, &shapes, least),
            policy: (several && matches!(change, Some(Change::Policy))).then_some(other_policy),
            hash: (several && matches!(change, Some(Change::Index))).then(|| dice.within(1..=1000)),
        };
        carveout.note(dice, by_sets && whole.0 > 1);
        Some(carveout)
    }

    /// Shared memory of an SM at most.
    pub fn most_shared(&self) -> u64 {
        self.configurations.last().map_or(0, |&(shared, _, _)| shared)
    }

    fn note(&self, dice: &mut Dice, by_sets: bool) {
        dice.note_if(self.configurations.len() == 1, "one carveout configuration");
        dice.note_if(self.configurations.len() >= MANY, "many carveout configurations");
        dice.note_if(by_sets && self.configurations.len() > 1, "carveout changes the sets");
        dice.note_if(self.policy.is_some(), "carveout changes the replacement");
        dice.note_if(self.hash.is_some(), "carveout changes the index");
    }

    /// Writes the list.
    pub fn write(&self, text: &mut Text, shape: &Shape) {
        let last = self.configurations.len() - 1;
        let one = |(i, &(shared, sets, ways)): (usize, &(u64, u64, u64))| {
            let policy =
                self.policy.filter(|_| i == last).or((shape.policy == Policy::Weighted).then_some(shape.policy));
            let odds = &shape.odds[..shape.odds.len().min(ways as usize)];
            let policy = policy.map_or(String::new(), |policy| format!(", replacement = {}", policy.written(odds)));
            let hash =
                self.hash.filter(|_| i == last).map_or(String::new(), |hash| format!(", index = {{ hash = {hash} }}"));
            format!("    {{ shared = {shared}, sets = {sets}, ways = {ways}{hash}{policy} }},\n")
        };
        let all: String = self.configurations.iter().enumerate().map(one).collect();
        text.value("configuration", format_args!("[\n{all}]"));
    }
}

/// Numbers up to `most`, at most `wanted` of them, falling; `most` is the first. The last is not much below an eighth of it, as
/// on real GPUs, unless there are too few numbers.
fn falling(dice: &mut Dice, most: u64, wanted: u64) -> Vec<u64> {
    let least = if most > 2 * MOST { most / 8 } else { 1 };
    let mut chosen = BTreeSet::from([most]);
    while (chosen.len() as u64) < wanted.min(most) {
        chosen.insert(dice.within(least..=most));
    }
    chosen.into_iter().rev().collect()
}

fn fewer_sets(dice: &mut Dice, (sets, ways): (u64, u64), wanted: u64) -> Vec<(u64, u64)> {
    falling(dice, sets, wanted).into_iter().map(|sets| (sets, ways)).collect()
}

/// Of a tree only powers of two.
fn fewer_ways(dice: &mut Dice, shape: &Shape, (sets, ways): (u64, u64), wanted: u64) -> Vec<(u64, u64)> {
    let all = if shape.policy == Policy::Plru {
        let logs = falling(dice, u64::from(ways.ilog2()) + 1, wanted);
        logs.into_iter().map(|log| 1 << (log - 1)).collect()
    } else {
        falling(dice, ways, wanted)
    };
    all.into_iter().map(|ways| (sets, ways)).collect()
}

/// What the cache gives up goes to shared memory.
fn with_shared(dice: &mut Dice, shape: &Shape, shapes: &[(u64, u64)], least: u64) -> Vec<(u64, u64, u64)> {
    let given_up = |(sets, ways): (u64, u64)| shape.bytes() - sets * ways * shape.line;
    let most = shapes.last().map_or(0, |&last| given_up(last));
    let first = (dice.pick(&[0, 0, 8, 16]) * KIB).max(least.saturating_sub(most).next_multiple_of(KIB));
    shapes.iter().map(|&one| (first + given_up(one), one.0, one.1)).collect()
}
