//! What the statistics cost, at sizes that show how it grows.

use divan::Bencher;
use gpu_strata::analysis::{change_point, ks, robust};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn main() {
    divan::main();
}

const SIZES: [usize; 3] = [10_000, 100_000, 1_000_000];

fn values(n: usize, seed: u64) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..n).map(|i| rng.random_range(0.0..20.0) + if i > n / 3 { 200.0 } else { 40.0 }).collect()
}

#[divan::bench(args = SIZES)]
fn change_point_of(bencher: Bencher, n: usize) {
    let values = values(n, 1);
    bencher.bench(|| change_point::change_point(divan::black_box(&values)));
}

#[divan::bench(args = SIZES)]
fn kolmogorov_smirnov_of_two(bencher: Bencher, n: usize) {
    let (a, b) = (values(n, 1), values(n, 2));
    bencher.bench(|| ks::ks_test(divan::black_box(&a), divan::black_box(&b), 0.01));
}

#[divan::bench(args = SIZES)]
fn median_of(bencher: Bencher, n: usize) {
    let values = values(n, 1);
    bencher.bench(|| robust::median(divan::black_box(&values)));
}
