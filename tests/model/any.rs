//! Machines drawn at random.

use gpu_strata::units::KIB;
use proptest::prelude::*;

use super::BASE;
use super::cache::{Index, Policy, Shape, usable};
use super::machine::Machine;

/// A cache of about `kib` KiB with lines of `lines` bytes at least `finest` bytes a sector.
fn cache(
    bytes: std::ops::RangeInclusive<u64>,
    ways: std::ops::RangeInclusive<usize>,
    lines: &'static [u64],
    latency: std::ops::RangeInclusive<u32>,
) -> impl Strategy<Value = Shape> {
    let policy = prop::sample::select(&[Policy::Lru, Policy::Random, Policy::Fifo]);
    let index = prop::sample::select(&[Index::Modulo, Index::Skewed]);
    (bytes, ways, prop::sample::select(lines), 0..4u32, policy, index, latency).prop_map(
        |(bytes, ways, line, cut, policy, index, latency)| Shape {
            sets: (bytes / (line * ways as u64)).max(1),
            ways,
            line,
            // A cut of 3 is no cut: of the lines, a good part has one sector.
            sector: (line >> (cut % 3)).max(32),
            policy,
            index,
            latency,
        },
    )
}

/// Spikes: none, or one in so many loads.
fn spikes() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0), 100..=1000u32]
}

/// A machine of which everything can be found out, in principle.
pub fn machine() -> impl Strategy<Value = Machine> {
    let first = cache(16 * KIB..=256 * KIB, 1..=64, &[32, 64, 128, 256], 20..=60);
    let texture = prop::option::of(cache(12 * KIB..=64 * KIB, 1..=64, &[32, 64, 128, 256], 40..=110));
    // Latency and line are sought from the smallest footprint on, so that much it must hold.
    let constant = cache(KIB..=4 * KIB, 1..=8, &[32, 64], 15..=35)
        .prop_filter("holds the smallest footprint", |shape| usable(shape, BASE) >= KIB);
    let second = prop_oneof![3 => 8 * KIB..=32 * KIB, 1 => 96 * KIB..=128 * KIB]
        .prop_flat_map(|bytes| cache(bytes..=bytes, 1..=16, &[64, 128, 256], 60..=110));
    let l2 = cache(512 * KIB..=4096 * KIB, 4..=32, &[32, 64, 128, 256], 150..=300);
    let noise = (0..=3u32, spikes());
    let rest = (prop::sample::select(&[1u32, 2, 4]), any::<bool>(), 150..=400u32, 5..=15u32);
    (first, texture, constant, second, l2, noise, rest).prop_map(
        |(l1, texture, constant_l1, second, l2, (jitter, spike_every), (instances, carveout, to_dram, overhead))| {
            Machine {
                l1,
                texture,
                instances,
                carveout,
                // What the first constant cache fetches, the second has whole.
                constant_l15: Shape { sector: second.sector.max(constant_l1.line), ..second },
                constant_l1,
                dram_latency: l2.latency + to_dram,
                l2,
                overhead,
                jitter,
                spike_every,
                ..Machine::unified()
            }
        },
    )
}
