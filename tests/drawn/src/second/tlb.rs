//! Address translation.

use super::dice::{Dice, KIB, MIB};
use super::names::TLB;
use super::shape::{Policy, write_ways};
use super::text::Text;

/// Most entries of a second level.
const MOST_ENTRIES: u64 = 1024;
/// What the last level reaches at most. More would need chases over more memory than time allows.
const FARTHEST: u64 = 4 << 30;
/// The same of a third level.
const MOST_OF_THREE: u64 = 4096;
/// The same of a third level: as far as the TLB of V100's machine file.
const FARTHEST_OF_THREE: u64 = 8 << 30;

/// A level.
struct Level {
    of_sm: bool,
    page: u64,
    ways: Vec<u64>,
    policy: Policy,
    odds: Vec<u64>,
    penalty: u64,
    uncached: u64,
}

/// All levels, and where a load needs its address translated.
pub struct Translation {
    levels: Vec<Level>,
    /// Before the first cache of all.
    pub is_first: bool,
}

/// What may be unusual.
#[derive(Clone, Copy, PartialEq)]
enum Change {
    NoTlb,
    One,
    Three,
    SevenByThree,
    OddSets,
    Unequal,
    Policy,
    Near,
    LargerPages,
    SmallPages,
    LargePages,
    SharedFirst,
    PrivateSecond,
    Cheap,
    Uncached,
    First,
}

const CHANGES: [Change; 26] = [
    Change::NoTlb,
    Change::One,
    Change::Three,
    Change::Three,
    Change::SevenByThree,
    Change::OddSets,
    Change::Unequal,
    Change::Policy,
    Change::Policy,
    Change::Policy,
    Change::Policy,
    Change::Policy,
    Change::Near,
    Change::Near,
    Change::Near,
    Change::LargerPages,
    Change::SmallPages,
    Change::SmallPages,
    Change::SmallPages,
    Change::LargePages,
    Change::LargePages,
    Change::SharedFirst,
    Change::PrivateSecond,
    Change::Cheap,
    Change::Uncached,
    Change::First,
];

/// Levels of translation; `l2` is the size of the L2, `memory` that of the device.
pub fn draw(dice: &mut Dice, l2: u64, memory: u64) -> Translation {
    let changes = if dice.one_in(3) { dice.few(&CHANGES) } else { Vec::new() };
    let has = |change| changes.contains(&change);
    let mut levels = vec![first(dice, &has)];
    if !has(Change::One) {
        let level = second(dice, &levels[0], &has);
        levels.push(level);
    }
    if has(Change::Three) && levels.len() == 2 {
        let level = third(dice, &levels[1]);
        levels.push(level);
    }
    change_sets(dice, &mut levels, &has);
    if has(Change::Policy) {
        change_policy(dice, &mut levels);
    }
    for i in 1..levels.len() {
        let nearer = levels[i - 1].reach();
        levels[i].reach_beyond(nearer);
    }
    if has(Change::Uncached) {
        levels.iter_mut().last().expect("there is one").uncached = dice.within(50..=500);
    }
    if has(Change::NoTlb) {
        levels.clear();
    }
    let translation = Translation { is_first: has(Change::First) && !levels.is_empty(), levels };
    translation.note(dice, l2, memory);
    translation
}

fn first(dice: &mut Dice, has: &impl Fn(Change) -> bool) -> Level {
    let page = if has(Change::SmallPages) {
        dice.pick(&[64, 64, 128, 256]) * KIB
    } else if has(Change::LargePages) {
        dice.pick(&[16, 32, 32]) * MIB
    } else {
        dice.pick(&[1, 2, 2, 2, 4]) * MIB
    };
    let entries = dice.pick(&[8, 16, 16, 16, 20, 32, 64]);
    // Where pages are small, some GPUs keep more of them.
    let entries = if page < MIB { entries * dice.pick(&[1, 1, 1, 4]) } else { entries };
    let penalty = if has(Change::Cheap) { dice.within(2..=12) } else { dice.within(20..=70) };
    Level { of_sm: !has(Change::SharedFirst), ..Level::new(page, vec![entries], penalty) }
}

fn second(dice: &mut Dice, first: &Level, has: &impl Fn(Change) -> bool) -> Level {
    let entries = first.entries();
    let wanted = if has(Change::Near) { entries * 3 / 2 } else { entries * dice.pick(&[4, 5, 6, 8, 12]) };
    // Larger pages need fewer entries for the same reach.
    let times = if has(Change::LargerPages) { dice.pick(&[2, 4, 8]) } else { 1 };
    let page = first.page * times;
    let most = (FARTHEST / page).min(MOST_ENTRIES);
    let wanted = wanted.min(most).max(entries * 3 / 2).div_ceil(if has(Change::LargerPages) { 2 } else { 1 });
    let sets = dice.pick(&[1, 2, 4, 8]);
    let ways = if wanted % sets == 0 { vec![wanted / sets; sets as usize] } else { vec![wanted] };
    let penalty = if has(Change::Cheap) { dice.within(4..=30) } else { dice.within(120..=380) };
    Level { of_sm: has(Change::PrivateSecond), ..Level::new(page, ways, penalty) }
}

fn third(dice: &mut Dice, second: &Level) -> Level {
    let page = second.page * dice.pick(&[1, 1, 2, 4]);
    let most = (FARTHEST_OF_THREE / page).min(MOST_OF_THREE);
    let entries = (second.reach() / page * dice.pick(&[3, 4, 6])).min(most).max(2);
    // Two entries in a set or more, so that it is no chain of single ones.
    let sets = dice.pick(&[1, 2, 4]).min(entries / 2);
    let penalty = dice.within(150..=500);
    Level::new(page, vec![entries / sets; sets as usize], penalty)
}

/// Sets as no power of two gives them. The level that is changed keeps about its reach.
fn change_sets(dice: &mut Dice, levels: &mut [Level], has: &impl Fn(Change) -> bool) {
    let last = levels.len() - 1;
    if has(Change::SevenByThree) {
        // A first level of 21 entries, or a second one behind a first of 8.
        if last > 0 && levels[0].entries() <= 12 {
            levels[1].ways = vec![3; 7];
        } else {
            levels[0].ways = vec![3; 7];
        }
    }
    let level = &mut levels[if dice.one_in(3) { 0 } else { last }];
    let entries = level.entries();
    if has(Change::OddSets) {
        let sets = dice.pick(&[3, 5, 6, 7, 12]);
        level.ways = vec![(entries / sets).max(1); sets as usize];
    }
    if has(Change::Unequal) {
        let sets = dice.pick(&[2, 3, 4, 7]);
        level.ways = vec![(entries / sets).max(1); sets as usize];
        level.ways[0] += dice.within(1..=level.ways[0] + 1);
    }
}

/// Another replacement at one level, or at all.
fn change_policy(dice: &mut Dice, levels: &mut [Level]) {
    let policy = dice.pick(&Policy::UNUSUAL);
    let only = dice.pick(&[None, Some(0), Some(levels.len() - 1)]);
    for (_, level) in levels.iter_mut().enumerate().filter(|(i, _)| only.is_none_or(|only| only == *i)) {
        let is_equal = level.ways.iter().all(|&ways| ways == level.ways[0]);
        level.policy = policy;
        match policy {
            Policy::Plru => level.ways.iter_mut().for_each(|ways| *ways = 1 << ways.ilog2()),
            Policy::Weighted if !is_equal || level.ways[0] > 64 => level.policy = Policy::Fifo,
            Policy::Weighted => level.odds = level.ways.iter().take(1).flat_map(|&ways| odds(dice, ways)).collect(),
            _ => {}
        }
    }
}

fn odds(dice: &mut Dice, ways: u64) -> Vec<u64> {
    (0..ways).map(|_| dice.pick(&[1, 1, 2, 3])).collect()
}

impl Level {
    /// An LRU level of the device.
    fn new(page: u64, ways: Vec<u64>, penalty: u64) -> Self {
        Level { of_sm: false, page, ways, policy: Policy::Lru, odds: Vec::new(), penalty, uncached: 0 }
    }

    fn entries(&self) -> u64 {
        self.ways.iter().sum()
    }

    fn reach(&self) -> u64 {
        self.entries() * self.page
    }

    /// Adds ways until it reaches clearly farther than the level before, without which nothing could ever show it.
    fn reach_beyond(&mut self, nearer: u64) {
        while 4 * self.reach() < 5 * nearer {
            self.ways.iter_mut().for_each(|ways| *ways *= 2);
            self.odds.extend_from_within(..);
        }
    }

    fn note(&self, dice: &mut Dice) {
        if let Some(name) = TLB.policy(self.policy) {
            dice.note(name);
        }
        let is_equal = self.ways.iter().all(|&ways| ways == self.ways[0]);
        let is_seven_by_three = self.ways == [3; 7];
        dice.note_if(is_seven_by_three, "tlb with 21 entries in 7 sets");
        dice.note_if(!is_equal, TLB.unequal);
        dice.note_if(is_equal && !is_seven_by_three && !self.ways.len().is_power_of_two(), TLB.other_sets);
        dice.note_if(self.page < MIB && self.page > 64 * KIB, "small pages");
        dice.note_if(self.page == 64 * KIB, "pages of 64 KiB");
        dice.note_if(self.page >= 32 * MIB, "pages of 32 MiB and more");
        dice.note_if(self.penalty <= 12, "cheap tlb misses");
        dice.note_if(self.uncached > 0, "page table leaves the caches");
    }
}

impl Translation {
    fn note(&self, dice: &mut Dice, l2: u64, memory: u64) {
        match self.levels.len() {
            0 => dice.note("no tlb"),
            1 => dice.note("one tlb level"),
            3 => dice.note("three tlb levels"),
            _ => {}
        }
        self.levels.iter().for_each(|level| level.note(dice));
        dice.note_if(self.is_first, "l1 hits need a translation");
        for (i, pair) in self.levels.windows(2).enumerate() {
            dice.note_if(2 * pair[1].reach() <= 3 * pair[0].reach(), "next tlb reaches at most 1.5 times as far");
            dice.note_if(pair[1].page > pair[0].page, "next tlb with larger pages");
            dice.note_if(i == 0 && pair[1].of_sm, "second tlb in the sm");
        }
        if let (Some(first), Some(last)) = (self.levels.first(), self.levels.last()) {
            dice.note_if(!first.of_sm, "first tlb shared by all sms");
            dice.note_if(first.reach() < l2, "first tlb reaches less than the l2");
            dice.note_if(last.reach() > memory, "tlb reaches beyond the memory");
        }
    }

    /// Writes its tables.
    pub fn write(&self, text: &mut Text) {
        for (level, name) in self.levels.iter().zip(["l1", "l2", "l3"]) {
            text.next_of("tlb");
            text.text("name", name);
            text.text("scope", if level.of_sm { "sm" } else { "device" });
            text.value("page", level.page);
            write_ways(text, &level.ways);
            text.value("replacement", level.policy.written(&level.odds));
            text.value("penalty", level.penalty);
            text.value("uncached", level.uncached);
        }
    }
}
