//! The caches of a machine.

use super::carveout::Carveout;
use super::dice::{Dice, KIB, MIB};
use super::layout::Layout;
use super::names;
use super::shape::{Change, Index, Plan, Policy, Sets, Shape};
use super::text::Text;

/// The largest L2 in front of a third cache, so that the latter stays within 6 MiB, which limits the time of a simulation.
const MOST_BEFORE_THIRD: u64 = 3 * MIB / 2;

/// Sizes and ways of a small L2. With lines of 128 B its sets are a power of two.
const SMALL_L2: [(u64, u64); 7] =
    [(64 * KIB, 8), (64 * KIB, 16), (80 * KIB, 20), (96 * KIB, 12), (96 * KIB, 24), (112 * KIB, 14), (128 * KIB, 16)];
/// The same of a large one. Larger ones would take too long to simulate.
const LARGE_L2: [(u64, u64); 5] = [(4 * MIB, 16), (9 * MIB / 2, 18), (5 * MIB, 20), (6 * MIB, 12), (6 * MIB, 24)];

/// Masks of addresses have bits below this.
const MASKED: u64 = 1 << 34;

/// A cache and its table.
pub struct Cache {
    /// Name.
    pub name: &'static str,
    /// Shape of one instance.
    pub shape: Shape,
    /// Every SM has its own.
    pub of_sm: bool,
    instances: u64,
    /// `write` and `threads`, where they are given.
    words: Vec<(&'static str, &'static str)>,
    port: u64,
    slices: u64,
    /// Masks whose parities choose the slice. A mixing hash does where there are none.
    slice_parity: Vec<u64>,
    /// How it shares its memory with shared memory, if it does.
    pub carveout: Option<Carveout>,
    partitions: Option<Partitions>,
}

/// Partitions of an L2.
struct Partitions {
    count: u64,
    sms: String,
    granule: u64,
    /// Masks whose parities choose the partition, with bits from the granule on. A mixing hash does where there are none.
    parity: Vec<u64>,
    copies: bool,
    far_hit: u64,
    far_memory: u64,
}

/// What may be unusual about an L1.
#[derive(Clone, Copy)]
enum OfL1 {
    Shape(Change),
    Small,
    Large,
    Volta,
    Write,
    Instances,
}

/// What may be unusual about an L2.
#[derive(Clone, Copy)]
enum OfL2 {
    Shape(Change),
    Small,
    Large,
    Partitions,
}

/// All caches that a layout asks; `far` is what the latencies leave for the way to another partition.
pub fn draw(dice: &mut Dice, layout: &Layout, sms: u64, far: u64) -> Vec<Cache> {
    let mut caches = Vec::new();
    if layout.has("l1") {
        caches.push(l1(dice));
    }
    let data = caches.first().map_or(16 * KIB, |l1: &Cache| l1.shape.bytes());
    for (name, of_sm, bytes) in [
        ("texture", true, dice.pick(&[8, 12, 12, 24, 48]) * KIB),
        ("l0", true, dice.pick(&[1, 2, 4]) * KIB),
        ("sm_l2", true, data * dice.pick(&[2, 3, 4])),
        ("texture_l2", false, dice.pick(&[64, 96, 128, 256]) * KIB),
    ] {
        if layout.has(name) {
            caches.push(extra(dice, name, of_sm, bytes));
        }
    }
    constants(dice, layout, &mut caches);
    let third = layout.has("l3");
    caches.push(l2(dice, sms, third, far));
    if third {
        let bytes = caches.last().map_or(MIB, |l2| l2.shape.bytes());
        let bytes = bytes * dice.pick(&[2, 3, 4]);
        caches.push(extra(dice, "l3", false, bytes));
    }
    caches
}

impl Cache {
    fn new(dice: &mut Dice, name: &'static str, of_sm: bool, plan: Plan) -> Self {
        let shape = plan.settle(dice);
        Cache {
            name,
            shape,
            of_sm,
            instances: 1,
            words: Vec::new(),
            port: 0,
            slices: 1,
            slice_parity: Vec::new(),
            carveout: None,
            partitions: None,
        }
    }

    /// Writes its tables.
    pub fn write(&self, text: &mut Text) {
        text.table(&format!("cache.{}", self.name));
        text.text("scope", if self.of_sm { "sm" } else { "device" });
        text.value("instances", self.instances);
        self.words.iter().for_each(|(key, word)| text.text(key, word));
        text.value("port", self.port);
        text.value("slices", self.slices);
        if !self.slice_parity.is_empty() {
            text.value("slice_parity", format!("{:?}", self.slice_parity));
        }
        self.shape.write(text);
        if let Some(carveout) = &self.carveout {
            carveout.write(text, &self.shape);
        }
        if let Some(parts) = &self.partitions {
            text.table(&format!("cache.{}.partitions", self.name));
            text.value("count", parts.count);
            text.text("sms", &parts.sms);
            if parts.parity.is_empty() {
                text.value("granule", parts.granule);
            } else {
                text.value("parity", format_args!("{:?}", parts.parity));
            }
            text.value("copies", parts.copies);
            text.value("far_hit", parts.far_hit);
            text.value("far_memory", parts.far_memory);
        }
    }
}

/// The first cache of data.
fn l1(dice: &mut Dice) -> Cache {
    let bytes = dice.pick(&[16, 24, 32, 48, 64, 96, 128]) * KIB;
    let ways = dice.pick(&[2, 3, 4, 4, 5, 6, 8, 12, 16]);
    let mut plan = Plan::plain(bytes, 128, dice.pick(&[32, 32, 64, 128]), ways);
    let mut words = Vec::new();
    let mut instances = 1;
    if dice.one_in(3) {
        let shapes = Change::ALL.map(OfL1::Shape);
        let others = [OfL1::Small, OfL1::Large, OfL1::Volta, OfL1::Write, OfL1::Instances];
        for change in dice.few(&[&shapes[..], &others].concat()) {
            match change {
                OfL1::Shape(change) => plan.change(dice, change),
                OfL1::Small => (plan.bytes, plan.sets, plan.index) = (small(dice), Sets::Four, Index::Hash),
                OfL1::Large => plan.bytes = dice.pick(&[160, 192, 224, 248, 256]) * KIB,
                OfL1::Volta => (plan.sets, plan.index, plan.policy) = (Sets::Four, Index::Hash, Policy::Random),
                OfL1::Write => words = vec![("write", dice.pick(&["allocate", "evict"]))],
                OfL1::Instances => instances = dice.pick(&[2, 2, 4]),
            }
        }
    }
    if instances > 1 {
        words.push(("threads", dice.pick(&["interleaved", "contiguous"])));
    }
    let cache = Cache { instances, words, port: dice.pick(&[0, 0, 1, 4]), ..Cache::new(dice, "l1", true, plan) };
    note_l1(dice, &cache);
    cache
}

/// The size of a small L1: from 2 to 8 KiB, in steps that leave four sets whole lines of 128 B.
fn small(dice: &mut Dice) -> u64 {
    dice.within(4..=16) * 512
}

fn note_l1(dice: &mut Dice, cache: &Cache) {
    cache.shape.note(dice, &names::L1);
    let bytes = cache.shape.bytes();
    dice.note_if(bytes <= 8 * KIB, "small l1");
    dice.note_if(bytes >= 160 * KIB, "large l1");
    dice.note_if(cache.words.contains(&("write", "allocate")), "l1 allocates on stores");
    dice.note_if(cache.words.contains(&("write", "evict")), "l1 evicts on stores");
    dice.note_if(cache.instances > 1, "several l1s an sm");
}

/// The first cache of the device.
fn l2(dice: &mut Dice, sms: u64, third: bool, far: u64) -> Cache {
    let bytes = dice.pick(&[256, 384, 512, 768, 1024, 1536, 2048, 3072]) * KIB;
    let mut plan = Plan::plain(bytes, 128, dice.pick(&[32, 32, 64, 128]), dice.pick(&[8, 10, 12, 16, 16, 16, 20, 24]));
    if dice.one_in(3) {
        let shapes = Change::ALL.map(OfL2::Shape);
        let others = [OfL2::Small, OfL2::Large, OfL2::Partitions, OfL2::Partitions, OfL2::Partitions];
        for change in dice.few(&[&shapes[..], &others].concat()) {
            match change {
                OfL2::Shape(change) => plan.change(dice, change),
                OfL2::Small => (plan.bytes, plan.ways) = dice.pick(&SMALL_L2),
                OfL2::Large => (plan.bytes, plan.ways) = dice.pick(&LARGE_L2),
                OfL2::Partitions => plan.partitions = dice.pick(&[2, 2, 2, 3, 4, 5, 8]),
            }
        }
    }
    // A partition of its own is as large as a small L2.
    plan.bytes = plan.bytes.max(64 * KIB * plan.partitions);
    plan.bytes = plan.bytes.min(if third { MOST_BEFORE_THIRD } else { 6 * MIB });
    let (count, line) = (plan.partitions, plan.line);
    let partitions = (count > 1).then(|| partitions(dice, count, sms, line, far));
    let (port, slices) = (dice.within(0..=3), dice.pick(&[1, 4, 8, 12, 32]));
    let (slices, slice_parity) = sliced(port, slices, sms, line);
    let cache = Cache { partitions, port, slices, slice_parity, ..Cache::new(dice, "l2", false, plan) };
    note_l2(dice, &cache);
    cache
}

/// Slices of another number than a machine had before, of some machines, and the masks that choose them. With dice of its own: what else a machine
/// has is as it was.
fn sliced(port: u64, slices: u64, sms: u64, line: u64) -> (u64, Vec<u64>) {
    let mut own = Dice::new(port << 40 | slices << 32 | sms << 16 | line);
    let slices = if slices > 1 && own.one_in(2) { own.pick(&[2, 3, 5, 16, 20, 40, 47]) } else { slices };
    let by_parity = slices > 1 && slices.is_power_of_two() && own.one_in(2);
    let piece = line << own.within(0..=5);
    (slices, if by_parity { parity(&mut own, slices.ilog2(), piece) } else { Vec::new() })
}

fn partitions(dice: &mut Dice, count: u64, sms: u64, line: u64, far: u64) -> Partitions {
    let mut parts = Partitions {
        count,
        sms: (0..sms).map(|_| dice.within(0..=count - 1).to_string()).collect(),
        granule: line << dice.within(0..=7),
        parity: Vec::new(),
        copies: dice.one_in(2),
        far_hit: dice.within(far / 4..=far),
        far_memory: dice.within(0..=2 * far),
    };
    // Dice of its own: what else a machine has is as it was before there were masks.
    let mut own = Dice::new(parts.far_hit << 32 | parts.granule);
    if count.is_power_of_two() && own.one_in(2) {
        parts.parity = parity(&mut own, count.ilog2(), parts.granule);
    }
    parts
}

/// So many masks: each has a low bit that no other has, and others above them as they come.
fn parity(dice: &mut Dice, masks: u32, granule: u64) -> Vec<u64> {
    let own = |number: u32| granule << number;
    let others = !(own(masks) - 1) & (MASKED - 1);
    (0..masks).map(|number| own(number) | others & dice.within(0..=MASKED - 1)).collect()
}

fn note_l2(dice: &mut Dice, cache: &Cache) {
    cache.shape.note(dice, &names::L2);
    let bytes = cache.shape.bytes();
    dice.note_if(bytes < 160 * KIB, "small l2");
    dice.note_if(bytes >= 4 * MIB, "large l2");
    if let Some(parts) = &cache.partitions {
        let name = if parts.copies { "l2 in partitions with copies" } else { "l2 in partitions without copies" };
        dice.note(name);
        dice.note_if(parts.count % 2 == 1, "l2 in an odd number of partitions");
    }
}

/// The constant caches.
fn constants(dice: &mut Dice, layout: &Layout, caches: &mut Vec<Cache>) {
    let mut first = Plan::plain(dice.pick(&[1, 2, 2, 2, 4]) * KIB, 64, 64, 4);
    let bytes = dice.pick(&[16, 24, 32, 32, 48, 64, 128]) * KIB;
    let mut second = Plan::plain(bytes, 256, 256, dice.pick(&[3, 4, 4, 8]));
    if layout.constant.len() == 1 {
        first.bytes = dice.pick(&[2, 4, 8, 16, 32]) * KIB;
    }
    if dice.one_in(5) {
        for change in dice.few(&Change::ALL) {
            let plan = if dice.one_in(2) { &mut first } else { &mut second };
            plan.change(dice, change);
        }
    }
    for (name, plan) in [("constant_l1", first), ("constant_l15", second)] {
        if layout.has(name) {
            let of_sm = name == "constant_l1" || !layout.shared_l15;
            let cache = Cache::new(dice, name, of_sm, plan);
            cache.shape.note(dice, &names::CONSTANT);
            dice.note_if(cache.shape.sector < cache.shape.line, "constants in sectors");
            caches.push(cache);
        }
    }
}

/// A cache that is plain, or unusual in one thing.
fn extra(dice: &mut Dice, name: &'static str, of_sm: bool, bytes: u64) -> Cache {
    let line = if of_sm { dice.pick(&[32, 64, 128]) } else { 128 };
    let mut plan = Plan::plain(bytes, line, dice.pick(&[32, line]), dice.pick(&[4, 8, 12, 16]));
    if dice.one_in(10) {
        let change = dice.pick(&Change::ALL);
        plan.change(dice, change);
        dice.note("unusual further cache");
    }
    Cache::new(dice, name, of_sm, plan)
}
