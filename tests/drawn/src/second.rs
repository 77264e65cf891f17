//! A second kind of random machines, wider than the first and drawn from the format of machine files alone: nothing here knows
//! how anything is measured. Sizes that are no powers of two, every replacement at every level, caches where none is expected,
//! unusual limits, clocks and noise. Each machine says what is unusual about it.

mod caches;
mod carveout;
mod device;
pub(crate) mod dice;
mod layout;
mod names;
mod paths;
mod shape;
mod text;
mod tlb;

use strata_sim::machine::Machine;

use self::carveout::Carveout;
use self::device::{Device, Shared, VOLTA};
use self::dice::Dice;
use self::paths::{Latencies, Physical};
use self::text::Text;

/// A machine, and what is unusual about it.
#[derive(Clone, Debug)]
pub struct Second {
    /// The machine.
    pub machine: Machine,
    /// What is unusual, in a few words each. Empty for a machine as GPUs are.
    pub traits: Vec<&'static str>,
}

/// The machine of a seed.
///
/// # Panics
///
/// If it is not valid, with what is wrong and its text. That is a fault of the generator.
pub fn second(seed: u64) -> Second {
    let mut dice = Dice::new(seed);
    let text = draw(&mut dice, seed);
    let machine = Machine::parse(&format!("second-{seed}"), &text);
    let machine = machine.unwrap_or_else(|defect| panic!("{defect}\n{text}"));
    Second { machine, traits: dice.into_traits() }
}

/// The text of a machine file.
fn draw(dice: &mut Dice, seed: u64) -> String {
    let device = Device::draw(dice);
    let layout = layout::draw(dice, device.capability);
    let latencies = Latencies::draw(dice, &layout);
    let shared = Shared::draw(dice, device.capability);
    let mut caches = caches::draw(dice, &layout, device.sms, latencies.room());
    if let Some(l1) = caches.iter_mut().find(|cache| cache.name == "l1")
        && is_unified(dice, device.capability)
    {
        l1.carveout = Carveout::draw(dice, &l1.shape, shared.per_block + dice::KIB);
    }
    let most_shared = caches.iter().find_map(|cache| cache.carveout.as_ref()).map(Carveout::most_shared);
    let l2 = caches.iter().find(|cache| cache.name == "l2").map_or(0, |cache| cache.shape.bytes());
    let translation = tlb::draw(dice, l2, device.memory);
    let physical = match translation.is_first {
        true => Physical::First,
        false if layout.has("l3") && dice.one_in(3) => Physical::L3,
        false => Physical::L2,
    };
    dice.note_if(physical == Physical::L3, "l2 asked by virtual address");
    let mut text = Text::new();
    device.write(dice, &mut text, l2, seed);
    device::clock(dice, &mut text, device.capability);
    device::pipeline(dice, &mut text, seed);
    device::noise(dice, &mut text);
    caches.iter().for_each(|cache| cache.write(&mut text));
    translation.write(&mut text);
    shared.write(dice, &mut text, device.capability, most_shared);
    device::memory(dice, &mut text, latencies.memory());
    paths::write(&mut text, &layout, &latencies, physical);
    text.finish()
}

/// Whether L1 and shared memory are one: as on most GPUs from Volta on, and on Fermi and Kepler.
fn is_unified(dice: &mut Dice, capability: u64) -> bool {
    let (times, of) = match capability {
        VOLTA.. => (3, 4),
        50..VOLTA => (1, 6),
        _ => (1, 2),
    };
    dice.within(1..=of) <= times
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use strata_sim::model::hierarchy::{Hierarchy, Requester, Way, Wishes};

    use super::names::{CONSTANT, L1, L2, TLB};
    use super::*;

    /// Seeds that every test looks at.
    const SEEDS: u64 = 500;

    /// Loads of each path.
    const LOADS: u64 = 2000;
    /// Bytes from one of them to the next: no power of two, and so many that they reach many pages.
    const STRIDE: u64 = 2080;

    /// Everything that may be unusual besides the shape of L1, L2, constant caches and TLBs.
    const OTHERS: [&str; 83] = [
        "128 threads a block",
        "64 threads a block",
        "atomics on shared memory with their own cost",
        "banks of 8 bytes without a choice of 4 first",
        "carveout changes the index",
        "carveout changes the replacement",
        "carveout changes the sets",
        "cheap tlb misses",
        "clock falls at first",
        "clock ramps from a tenth",
        "coarse global timer",
        "conflicts of 37 cycles",
        "constant caches close together",
        "constant l1.5 shared by all sms",
        "constants behind the l1",
        "constants in sectors",
        "device-wide cache before the l2",
        "driver states another l2 size",
        "few banks",
        "few registers",
        "few resident blocks",
        "first tlb reaches less than the l2",
        "first tlb shared by all sms",
        "frequent spikes",
        "global loads skip the l1",
        "l1 allocates on stores",
        "l1 evicts on stores",
        "l1 hits need a translation",
        "l2 asked by virtual address",
        "l2 close behind the l1",
        "l2 in an odd number of partitions",
        "l2 in partitions with copies",
        "l2 in partitions without copies",
        "large jitter",
        "large l1",
        "large l2",
        "large spikes",
        "large spikes with jitter",
        "little memory",
        "little shared memory",
        "local loads skip the l1",
        "long clock ramp",
        "many banks",
        "many carveout configurations",
        "memory close behind the l2",
        "next tlb reaches at most 1.5 times as far",
        "next tlb with larger pages",
        "no read-only path",
        "no texture path",
        "no tlb",
        "odd number of sms",
        "one carveout configuration",
        "one constant level",
        "one sm",
        "one tlb level",
        "page table leaves the caches",
        "pages of 32 MiB and more",
        "pages of 64 KiB",
        "second cache before the texture cache",
        "second cache behind the l1",
        "second tlb in the sm",
        "several l1s an sm",
        "shared memory of 9 cycles",
        "short clock ramp",
        "slow pipeline",
        "small l1",
        "small l2",
        "small pages",
        "small spikes",
        "small spikes with jitter",
        "smear",
        "spikes",
        "spikes with jitter",
        "textures skip the sm's caches",
        "third cache behind the l2",
        "threads of a block no power of two",
        "three tlb levels",
        "tlb reaches beyond the memory",
        "tlb with 21 entries in 7 sets",
        "uniform constants take another path",
        "unknown compute capability",
        "unusual further cache",
        "wide coalescing",
    ];

    #[test]
    fn every_seed_gives_a_valid_machine() {
        for seed in 0..SEEDS {
            second(seed);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_machine() {
        for seed in 0..SEEDS {
            let [one, other] = [second(seed), second(seed)];
            assert_eq!((one.machine.text, one.traits), (other.machine.text, other.traits));
        }
        assert_ne!(second(0).machine.text.replace("Second 0", "Second 1"), second(1).machine.text);
    }

    #[test]
    fn every_trait_occurs() {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for name in (0..SEEDS).flat_map(|seed| second(seed).traits) {
            *counts.entry(name).or_default() += 1;
        }
        counts.iter().for_each(|(name, count)| println!("{count:4} {name}"));
        let known = [L1.of_cache(), L2.of_cache(), CONSTANT.of_cache(), TLB.of_tlb(), OTHERS.to_vec()].concat();
        let known: BTreeSet<&str> = known.into_iter().collect();
        let seen: BTreeSet<&str> = counts.into_keys().collect();
        let differ: Vec<&&str> = known.symmetric_difference(&seen).collect();
        assert!(differ.is_empty(), "never seen, or not listed: {differ:?}");
    }

    #[test]
    fn most_machines_have_one_to_four_traits_and_some_none() {
        let mut machines = [0; 5];
        for seed in 0..SEEDS {
            machines[second(seed).traits.len().div_ceil(4).min(4)] += 1;
        }
        println!("none, 1 to 4, 5 to 8, ...: {machines:?}");
        assert!(machines[0] > 0 && 2 * machines[1] > SEEDS, "{machines:?}");
    }

    /// A machine that is valid can be simulated: no load finds a set that is not there.
    #[test]
    fn every_path_of_every_machine_takes_loads() {
        let ways = [
            Way::GlobalCa,
            Way::GlobalCg,
            Way::GlobalNc,
            Way::Texture,
            Way::Constant,
            Way::ConstantUniform,
            Way::Local,
        ];
        for seed in 0..SEEDS {
            let machine = second(seed).machine;
            let mut hierarchy = Hierarchy::new(&machine, seed);
            let sms = machine.spec.device.multiprocessors.get();
            for way in ways.into_iter().filter(|&way| hierarchy.has(way)).collect::<Vec<_>>() {
                // Half of the loads with the least shared memory, half with the most.
                for i in 0..LOADS {
                    if i % (LOADS / 2) == 0 {
                        hierarchy.begin(if i == 0 { 0 } else { machine.spec.shared.per_multiprocessor.0 }, None);
                    }
                    let by =
                        Requester { sm: (i % sms) as u32, warp: (i % 4) as u32, warps: 4, wishes: Wishes::default() };
                    assert!(hierarchy.load(way, by, i * STRIDE, 4, i * 1000) > 0, "seed {seed}, {way:?}");
                    hierarchy.store(way, by, i * STRIDE, i * 1000);
                }
            }
        }
    }
}
