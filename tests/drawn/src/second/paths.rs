//! Latencies, and the paths with them.

use super::dice::Dice;
use super::layout::Layout;
use super::text::Text;

/// The least that a level takes more than the one before it.
const LEAST_STEP: u64 = 5;
/// The most of levels that are close.
const CLOSE_STEP: u64 = 9;

/// What may be unusual.
#[derive(Clone, Copy, PartialEq)]
enum Change {
    L2,
    Memory,
    Constants,
}

/// Latencies of a hit in each cache, by the path of global loads for those of the device.
pub struct Latencies {
    l1: u64,
    texture: u64,
    sm_l2: u64,
    constant_l1: u64,
    constant_l15: u64,
    l2: u64,
    l3: u64,
    memory: u64,
    /// What textures and constants take more in the device's caches.
    texture_more: u64,
    constant_more: u64,
}

impl Latencies {
    /// Latencies of a layout.
    pub fn draw(dice: &mut Dice, layout: &Layout) -> Self {
        let changes = if dice.one_in(8) {
            dice.few(&[Change::L2, Change::L2, Change::Memory, Change::Constants])
        } else {
            vec![]
        };
        let is_close = |change| changes.contains(&change);
        let (close_l2, close_memory, close_constants) =
            (is_close(Change::L2), is_close(Change::Memory), is_close(Change::Constants));
        let l1 = dice.within(24..=110);
        let sm_l2 = l1 + step(dice, false, 30, 80);
        let nearer = if layout.has("sm_l2") { sm_l2 } else { l1 };
        let l2 = nearer + step(dice, close_l2, 100, 230);
        let l3 = l2 + step(dice, close_memory, 60, 150);
        let behind = if layout.has("l3") { l3 } else { l2 };
        let memory = behind + step(dice, close_memory, 140, 330);
        let constant_l1 = dice.within(22..=60);
        let constant_l15 = constant_l1 + step(dice, close_constants, 35, 110);
        dice.note_if(close_l2 && layout.has("l1"), "l2 close behind the l1");
        dice.note_if(close_memory, "memory close behind the l2");
        dice.note_if(close_constants && layout.has("constant_l15"), "constant caches close together");
        let (texture, texture_more) = (l1 + dice.within(0..=60), dice.within(0..=60));
        let constant_more = dice.within(0..=40);
        Latencies { l1, texture, sm_l2, constant_l1, constant_l15, l2, l3, memory, texture_more, constant_more }
    }

    /// What the way to another partition may take: less than memory takes beyond the L2.
    pub fn room(&self) -> u64 {
        (self.memory - self.l2) * 3 / 4
    }

    /// The latency of memory.
    pub fn memory(&self) -> u64 {
        self.memory
    }

    /// The latency of a hit, before it is known what comes before it on the path.
    fn of(&self, cache: &str, is_uniform: bool) -> u64 {
        match cache {
            "l0" => self.l1 * 2 / 3,
            "l1" => self.l1,
            "texture" => self.texture,
            "sm_l2" => self.sm_l2,
            "texture_l2" => self.texture + 70,
            // The uniform path is a little faster (the H200's machine file).
            "constant_l1" if is_uniform => self.constant_l1 - 4,
            "constant_l1" => self.constant_l1,
            "constant_l15" => self.constant_l15,
            "l2" => self.l2,
            "l3" => self.l3,
            _ => unreachable!("a cache of a layout"),
        }
    }

    /// Latencies of a path's levels and of memory; they rise.
    fn along(&self, path: &str, levels: &[&str]) -> (Vec<u64>, u64) {
        let more = match path {
            "texture" => self.texture_more,
            "constant" | "constant_uniform" => self.constant_more,
            _ => 0,
        };
        let mut last = 0;
        let mut rise = |cycles: u64| {
            last = cycles.max(last + LEAST_STEP);
            last
        };
        let shared = |cache: &str| matches!(cache, "l2" | "l3");
        let cycles = levels.iter().map(|cache| {
            let more = if shared(cache) { more } else { 0 };
            rise(self.of(cache, path == "constant_uniform") + more)
        });
        let cycles = cycles.collect();
        (cycles, rise(self.memory + more))
    }
}

/// A step to the next level.
fn step(dice: &mut Dice, is_close: bool, least: u64, most: u64) -> u64 {
    if is_close { dice.within(LEAST_STEP..=CLOSE_STEP) } else { dice.within(least..=most) }
}

/// The first cache that is asked by physical address.
#[derive(Clone, Copy, PartialEq)]
pub enum Physical {
    /// The first of all.
    First,
    /// The L2.
    L2,
    /// The cache behind the L2.
    L3,
}

/// Writes the paths.
pub fn write(text: &mut Text, layout: &Layout, latencies: &Latencies, physical: Physical) {
    for (name, levels) in layout.paths() {
        let (cycles, memory) = latencies.along(name, &levels);
        text.table(&format!("path.{name}"));
        text.value("levels", format_args!("{levels:?}"));
        text.value("cycles", format_args!("{cycles:?}"));
        text.value("memory", memory);
        match physical {
            Physical::First => {}
            Physical::L2 => text.text("translated", "l2"),
            Physical::L3 => text.text("translated", "l3"),
        }
    }
}
