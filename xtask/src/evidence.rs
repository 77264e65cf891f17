//! `cargo xtask evidence`: the experiments behind docs/evidence/h200.md that are no part of a discovery, and what they say.
//!
//! Without a file it prints the experiments as JSON, for `strata measure`; with a recording of them it prints the tables.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use strata_infer::analysis::robust;
use strata_infer::analysis::turns::Turns;
use strata_model::experiment::{Chase, Disturb, Experiment, LoadPath, Order, Partner, Place, Prepare, Timing};
use strata_model::samples::Samples;
use strata_model::units::{Bytes, KIB};
use strata_recording::Recording;

/// SMs at both ends of the device and in between; the first two were seen in different halves of an H200.
const SMS: [u32; 6] = [0, 1, 2, 16, 77, 131];
/// Footprints around the knee of a 256 KiB unified L1.
const KNEE: std::ops::Range<u64> = 200..264;
/// Piece of a footprint from which lines are sampled, and its distance of lines.
const PIECE: Bytes = Bytes::kib(64);

/// One question with its experiments.
struct Question {
    title: &'static str,
    experiments: Vec<Experiment>,
    answer: fn(&[(Experiment, Samples)]) -> String,
}

fn questions() -> Vec<Question> {
    vec![
        Question { title: "One load and a whole lap", experiments: overhead(), answer: overhead_table },
        Question { title: "One SM alone and all at once", experiments: alone(), answer: alone_table },
        Question { title: "L1 knee, one SM alone and all at once", experiments: knee(), answer: knee_table },
        Question { title: "L1 beyond its capacity, lap by lap", experiments: beyond(), answer: beyond_table },
        Question { title: "L1 at longer strides", experiments: strides(), answer: strides_table },
        Question { title: "Lines that were hit survive a scan", experiments: protected(), answer: protected_table },
        Question { title: "L2: the same lines cold and warm", experiments: halves(), answer: halves_table },
    ]
}

/// Path, footprint and stride of a chase that hits.
const HITS: [(LoadPath, Bytes, Bytes); 7] = [
    (LoadPath::GlobalCa, Bytes::kib(4), Bytes(128)),
    (LoadPath::GlobalNc, Bytes::kib(4), Bytes(128)),
    (LoadPath::Texture, Bytes::kib(4), Bytes(128)),
    (LoadPath::Constant, Bytes::kib(1), Bytes(64)),
    (LoadPath::Shared, Bytes::kib(4), Bytes(128)),
    (LoadPath::Local, Bytes(512), Bytes(8)),
    (LoadPath::GlobalCg, Bytes::kib(256), Bytes(128)),
];

/// Loads, or pairs of them, that are timed of each.
const LOADS: u32 = 2048;
/// Whole laps.
const LAPS: Timing = Timing::Laps { loads: LOADS, rounds: 5 };

fn hit(timing: Timing, place: Place, (path, footprint, stride): (LoadPath, Bytes, Bytes)) -> Experiment {
    let chase = Chase::each_load(path, footprint, stride);
    Chase { order: Order::Random, seed: 1, warm_laps: 2, timing, place, ..chase }.into()
}

fn overhead() -> Vec<Experiment> {
    let timings = [LAPS, Timing::straight(LOADS), Timing::EachPair { pairs: LOADS }];
    HITS.iter().flat_map(|&h| timings.map(|timing| hit(timing, Place::alone_on(0), h))).collect()
}

/// The path by its instruction.
fn path(experiment: &Experiment) -> &'static str {
    experiment.path().map_or("", LoadPath::instruction)
}

fn footprint(experiment: &Experiment) -> Bytes {
    experiment.footprint().unwrap_or_default()
}

fn lines_of_a_lap(experiment: &Experiment) -> usize {
    experiment.chain().map_or(0, |chain| chain.lap() as usize)
}

fn mean(samples: &Samples) -> f64 {
    robust::mean(&samples.latencies.iter().map(|&l| f64::from(l)).collect::<Vec<_>>())
}

fn lap(samples: &Samples) -> f64 {
    let differences: Vec<f64> = samples
        .laps
        .chunks_exact(2)
        .map(|p| (p[1].cycles as f64 - p[0].cycles as f64) / f64::from(p[1].loads - p[0].loads))
        .collect();
    robust::median(&differences).unwrap_or(f64::NAN)
}

fn overhead_table(all: &[(Experiment, Samples)]) -> String {
    let mut out =
        "| path | lap | one load | two loads | overhead | one load less overhead |\n|---|---|---|---|---|---|\n"
            .to_owned();
    for three in all.chunks_exact(3) {
        let (lap, one, two) = (lap(&three[0].1), mean(&three[1].1), mean(&three[2].1));
        let overhead = 2.0 * one - two;
        let path = path(&three[0].0);
        let _ = writeln!(out, "| {path} | {lap:.2} | {one:.2} | {two:.2} | {overhead:.2} | {:.2} |", one - overhead);
    }
    out
}

fn alone() -> Vec<Experiment> {
    let private = HITS.iter().filter(|h| h.0 != LoadPath::GlobalCg);
    private
        .flat_map(|&h| {
            [true, false]
                .into_iter()
                .flat_map(move |alone| SMS.map(|sm| hit(LAPS, Place { alone, ..Place::on(sm) }, h)))
        })
        .collect()
}

fn alone_table(all: &[(Experiment, Samples)]) -> String {
    let mut out = "| path | alone, by SM | together, by SM |\n|---|---|---|\n".to_owned();
    let row = |part: &[(Experiment, Samples)]| {
        part.iter().map(|(_, s)| format!("{:.2}", lap(s))).collect::<Vec<_>>().join(" ")
    };
    for both in all.chunks_exact(2 * SMS.len()) {
        let (one, other) = both.split_at(SMS.len());
        let _ = writeln!(out, "| {} | {} | {} |", path(&one[0].0), row(one), row(other));
    }
    out
}

fn knee() -> Vec<Experiment> {
    let sizes: Vec<u64> = KNEE.step_by(4).collect();
    [true, false]
        .into_iter()
        .flat_map(|alone| {
            // Every footprint on an SM of its own while together, on one and the same while alone.
            let place = Place { alone, sm: alone.then_some(7), ..Place::default() };
            sizes.clone().into_iter().map(move |kib| {
                let chase = Chase::each_load(LoadPath::GlobalCa, Bytes::kib(kib), Bytes(128));
                Chase { warm_laps: 2, place, ..chase }.into()
            })
        })
        .collect()
}

/// Raw latencies above this are misses of the L1 on the device that the tables are for (hits 39, misses above 250).
const L1_MISS: u32 = 140;

fn share_missing(samples: &Samples, above: u32) -> f64 {
    samples.latencies.iter().filter(|&&l| l > above).count() as f64 / samples.latencies.len().max(1) as f64
}

fn knee_table(all: &[(Experiment, Samples)]) -> String {
    let mut out = "| footprint | misses alone | misses together |\n|---|---|---|\n".to_owned();
    let (alone, together) = all.split_at(all.len() / 2);
    for ((e, a), (_, b)) in alone.iter().zip(together) {
        let count = |s: &Samples| s.latencies.iter().filter(|&&l| l > L1_MISS).count();
        let _ = writeln!(out, "| {} | {} | {} |", footprint(e), count(a), count(b));
    }
    out
}

/// Lines of the L1, in bytes.
const L1_LINE: Bytes = Bytes(128);
/// Laps watched of each footprint.
const WATCHED: u64 = 36;

fn beyond() -> Vec<Experiment> {
    let sizes = (240..262).step_by(2).map(Bytes::kib);
    sizes
        .map(|footprint| {
            let timing = Timing::resident((WATCHED * (footprint / L1_LINE)) as u32);
            let chase = Chase::each_load(LoadPath::GlobalCa, footprint, L1_LINE);
            Chase { warm_laps: 4, timing, place: Place::on(0), ..chase }.into()
        })
        .collect()
}

fn beyond_table(all: &[(Experiment, Samples)]) -> String {
    let mut out = "| footprint | of its lines |\n|---|---|\n".to_owned();
    for (e, samples) in all {
        let lines = lines_of_a_lap(e);
        let missed = |lap: &[u32]| -> BTreeSet<usize> { (0..lines).filter(|&i| lap[i] > L1_MISS).collect() };
        let laps: Vec<BTreeSet<usize>> = samples.latencies.chunks_exact(lines).map(missed).collect();
        let turns = Turns::of(&laps, lines, samples.base / L1_LINE.0);
        let _ = writeln!(out, "| {} | {} |", footprint(e), turns.map_or("none miss".into(), |t| t.to_string()));
    }
    out
}

/// Lines walked at strides of two lines and more: a bit of the address that chose one of several parts would let half as many
/// of them fit.
fn strides() -> Vec<Experiment> {
    let lines = [960, 1900];
    let strides = (1..=6).map(|k| L1_LINE * (1 << k));
    strides
        .flat_map(|stride| lines.map(move |n| (stride, n)))
        .map(|(stride, n)| {
            let chase = Chase::each_load(LoadPath::GlobalCa, stride * n, stride);
            Chase { warm_laps: 4, timing: Timing::resident(3 * n as u32), place: Place::on(0), ..chase }.into()
        })
        .collect()
}

fn strides_table(all: &[(Experiment, Samples)]) -> String {
    let mut out = "| stride | lines | share that misses |\n|---|---|---|\n".to_owned();
    for (e, samples) in all {
        let stride = e.stride().unwrap_or_default();
        let _ = writeln!(out, "| {} | {} | {:.3} |", stride, lines_of_a_lap(e), share_missing(samples, L1_MISS));
    }
    out
}

fn protected() -> Vec<Experiment> {
    [1, 2, 4]
        .into_iter()
        .flat_map(|warm_laps| {
            [200, 256, 300, 1024].map(|kib| {
                let (path, stride) = (LoadPath::GlobalCa, Bytes(128));
                let footprint = Bytes::kib(kib);
                let partner = Partner { path, footprint, stride, laps: 2, thread: 32, block_threads: 64 };
                Disturb { warm_laps, ..Disturb::new(path, Bytes::kib(28), stride, partner) }.into()
            })
        })
        .collect()
}

fn protected_table(all: &[(Experiment, Samples)]) -> String {
    let mut out = "| laps before | partner walks | share displaced |\n|---|---|---|\n".to_owned();
    for (e, s) in all {
        let Experiment::Disturb(Disturb { warm_laps, partner, .. }) = e else { continue };
        let gone = share_missing(s, L1_MISS);
        let _ = writeln!(out, "| {warm_laps} | {} | {gone:.2} |", partner.footprint);
    }
    out
}

fn halves() -> Vec<Experiment> {
    let sample = |mib: u64, sm: u32, prepare: Prepare| {
        let footprint = Bytes(mib * KIB * KIB);
        let lines = 2048_u64.div_ceil(footprint / PIECE) as u32;
        let chase = Chase::each_load(LoadPath::GlobalCg, footprint, Bytes(128));
        let chase = Chase { order: Order::Paged { page: PIECE, lines }, ..chase };
        let timing = Timing::straight(chase.lap() as u32);
        Experiment::from(Chase { timing, seed: 1, warm_laps: 0, prepare, place: Place::alone_on(sm), ..chase })
    };
    [16, 48, 96]
        .into_iter()
        .flat_map(|mib| {
            SMS.into_iter()
                .flat_map(move |sm| [sample(mib, sm, Prepare::FlushL2), sample(mib, sm, Prepare::Fill { passes: 2 })])
        })
        .collect()
}

/// Bounds of the groups seen on an H200, raw cycles: near hits, far hits, near DRAM; far DRAM is what is left.
const GROUPS: [(&str, u32); 4] = [("near hit", 360), ("far hit", 500), ("near DRAM", 620), ("far DRAM", u32::MAX)];

fn halves_table(all: &[(Experiment, Samples)]) -> String {
    let names: Vec<&str> = GROUPS.iter().map(|g| g.0).collect();
    let mut out = format!(
        "| footprint | SM | lines that are cold at | cold median | {} |\n|---|---|---|---|---|---|---|---|\n",
        names.join(" | ")
    );
    let group = |latency: u32| GROUPS.iter().position(|&(_, below)| latency < below).unwrap_or(GROUPS.len() - 1);
    for pair in all.chunks_exact(2) {
        for cold_group in [2, 3] {
            let mut counts = [0usize; GROUPS.len()];
            let mut colds = Vec::new();
            let warm = pair[1].1.latencies.iter().zip(&pair[0].1.latencies);
            for (&warm, &cold) in warm.filter(|&(_, &cold)| group(cold) == cold_group) {
                counts[group(warm)] += 1;
                colds.push(cold);
            }
            let median = robust::median_u32(&colds).unwrap_or(f64::NAN);
            let total: usize = counts.iter().sum();
            let shares: Vec<String> =
                counts.iter().map(|&c| format!("{:.2}", c as f64 / total.max(1) as f64)).collect();
            let (e, s) = &pair[0];
            let cold = GROUPS[cold_group].0;
            let _ = writeln!(out, "| {} | {} | {cold} | {median:.0} | {} |", footprint(e), s.sm, shares.join(" | "));
        }
    }
    out
}

/// The experiments as JSON.
pub fn experiments() -> Result<String> {
    let all: Vec<Experiment> = questions().into_iter().flat_map(|q| q.experiments).collect();
    Ok(serde_json::to_string_pretty(&all)? + "\n")
}

/// The tables of a recording of them.
pub fn tables(path: &Path) -> Result<String> {
    let recording = Recording::read(path)?;
    let mut out = String::new();
    for question in questions() {
        let measured = question.experiments.into_iter().map(|experiment| {
            let samples = recording.answer(&experiment).with_context(|| format!("{experiment:?}"))?;
            ensure!(!samples.latencies.is_empty() || !samples.laps.is_empty(), "no samples of {experiment:?}");
            Ok((experiment, samples))
        });
        let measured: Vec<(Experiment, Samples)> = measured.collect::<Result<_>>()?;
        let _ = writeln!(out, "### {}\n\n{}", question.title, (question.answer)(&measured));
    }
    Ok(out)
}
