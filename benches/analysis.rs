//! How long the statistics take: change point and Kolmogorov-Smirnov must each stay below 50 ms for 100,000 values, and
//! grow no faster than n log n.

use divan::{Bencher, black_box};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use strata_infer::analysis::{change_point, cluster, ks, robust};

/// Values of each run: two decades, to show the growth.
const SIZES: [usize; 3] = [10_000, 100_000, 1_000_000];

fn main() {
    divan::main();
}

/// Latencies of a level at `centre`, with the fractions that a reduction leaves.
fn noisy(n: usize, centre: f64, seed: u64) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..n).map(|_| centre + rng.random_range(-2.0..2.0)).collect()
}

#[divan::bench(args = SIZES)]
fn change_point(bencher: Bencher, n: usize) {
    let values = [noisy(n / 2, 40.0, 1), noisy(n - n / 2, 44.0, 2)].concat();
    bencher.bench_local(|| change_point::change_point(black_box(&values)));
}

#[divan::bench(args = SIZES)]
fn kolmogorov_smirnov(bencher: Bencher, n: usize) {
    let (a, b) = (noisy(n, 40.0, 1), noisy(n, 40.5, 2));
    bencher.bench_local(|| ks::ks_test(black_box(&a), black_box(&b), 0.01));
}

/// First-level hits, a broad second level, memory, and spikes.
#[divan::bench(args = SIZES)]
fn levels(bencher: Bencher, n: usize) {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let latencies: Vec<u32> = (0..n)
        .map(|i| match i % 1000 {
            0 => rng.random_range(1000..10_000),
            1..500 => rng.random_range(32..35),
            500..900 => rng.random_range(200..330),
            _ => rng.random_range(500..700),
        })
        .collect();
    bencher.bench_local(|| cluster::levels(black_box(&latencies)));
}

#[divan::bench(args = SIZES)]
fn median(bencher: Bencher, n: usize) {
    let values = noisy(n, 40.0, 1);
    bencher.bench_local(|| robust::median(black_box(&values)));
}
