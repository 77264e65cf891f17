//! The parameters of a pattern kernel, and the results that the host expects.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{INPUT_AT, burst};
use crate::prepared::Outcome;
use strata_gpu::{DevicePtr, Launch, Texture};
use strata_model::pattern::{LoadedFrom, Pattern, STATEMENTS_A_PASS, Scope};
use strata_model::samples::{Failure, Lap, Samples};
use strata_model::units::Bytes;

/// What a launch is told and what must come out of it.
pub(super) struct LaunchPlan {
    pub launch: Launch,
    /// Passes of the loop, or loads: what the kernel counts down.
    pub count: u32,
    pub buffer: u64,
    pub parameters: [u64; 3],
    /// Sum over the threads of a block of what they checked; none where something else is checked.
    pub check: Option<u64>,
}

/// What to launch for a pattern whose memory begins at `base`; pairs of loads of shared memory go round in a `ring`.
pub(super) fn plan(pattern: Pattern, ring: Option<Bytes>, base: DevicePtr, texture: Option<Texture>) -> LaunchPlan {
    let (threads, blocks) = (pattern.threads(), pattern.blocks());
    let input = texture.map_or(base.0 + INPUT_AT, |texture| texture.0);
    let shared = match pattern {
        Pattern::Pairs { .. } => ring.unwrap_or(Bytes(0)) + pattern.shared_times(),
        // Each thread reads four words from its own on.
        Pattern::Intensity { from: LoadedFrom::Shared, .. } => Bytes(4 * (u64::from(threads) + 8)),
        _ => Bytes(0),
    };
    let each = u64::from(threads);
    let (parameters, check) = match pattern {
        Pattern::Pairs { pairs, small, large } => {
            let way = large.0 * u64::from(pairs);
            // In a ring it ends where it has gone round.
            let ring = ring.map_or(0, |ring| ring.0);
            ([small.0, large.0, ring], Some(way.checked_rem(ring).unwrap_or(way)))
        }
        Pattern::Barriers { writes, between, .. } => {
            // How far each thread went, and the last element, which holds 1.
            ([u64::from(between), 0, base.0], Some(each * (4 * u64::from(writes) + 1)))
        }
        Pattern::Reads { reads, distance, step, .. } => {
            ([distance.0, step.0, 0], Some(each * (step.0 * u64::from(reads))))
        }
        Pattern::Writes { writes, distance, step, .. } => {
            // How far each thread went, and its last element, which holds 1.
            ([distance.0, step.0, 0], Some(each * (step.0 * u64::from(writes) + 1)))
        }
        Pattern::Sums { variables, statements, .. } => {
            let sum = strata_kernels::expected_sum(variables, statements / STATEMENTS_A_PASS);
            ([0, 0, 0], Some(sum.wrapping_mul(each)))
        }
        Pattern::Constants { distinct, stride, uniform, .. } => {
            let of = |lane: u64| if uniform { 0 } else { lane % u64::from(distinct) * stride.0 };
            ([u64::from(distinct), stride.0, 0], Some((0..each).map(of).sum()))
        }
        Pattern::Operands { operations, .. } => {
            let (factor, term) = (strata_kernels::FACTOR, strata_kernels::TERM);
            let result = |lane: u64| {
                u64::from((0..operations).fold(lane as u32, |x, _| x.wrapping_mul(factor).wrapping_add(term)))
            };
            ([u64::from(factor), u64::from(term), 0], Some((0..each).map(result).sum()))
        }
        Pattern::Histogram { .. } => ([base.0, 0, 0], None),
        Pattern::Intensity { from: LoadedFrom::Global, loads, .. } => {
            let way = 4 * each * u64::from(blocks) * u64::from(loads);
            ([0, 0, 0], Some(each * way))
        }
        // Each operation adds 1.
        Pattern::Sourced { operations, .. } => ([0, 0, 0], Some(each * u64::from(operations))),
        // Bursts have a plan of their own.
        Pattern::Burst { .. }
        | Pattern::Intensity { from: LoadedFrom::Shared, .. }
        | Pattern::Square { .. }
        | Pattern::Sampled { .. }
        | Pattern::Cube { .. } => ([0, 0, 0], Some(0)),
    };
    let count = match pattern {
        Pattern::Sums { statements, .. } => statements / STATEMENTS_A_PASS,
        // Four bytes to a word.
        Pattern::Histogram { .. } => pattern.operations() / 4,
        _ => pattern.operations(),
    };
    let buffer = match pattern {
        Pattern::Reads { start, .. } => input + start.0,
        _ => input,
    };
    let launch = Launch::new(blocks, threads).shared(shared);
    let launch = match pattern {
        // Its blocks wait for each other.
        Pattern::Barriers { scope: Scope::Grid, .. } => launch.cooperative(),
        _ => launch,
    };
    LaunchPlan { launch, count, buffer, parameters, check }
}

/// The input of a histogram: bytes drawn at random, of which `skew` per cent are made one and the same, to a 256th.
pub(super) fn bytes_to_count(pattern: Pattern, seed: u64) -> Vec<u8> {
    let Pattern::Histogram { skew, .. } = pattern else { return Vec::new() };
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut bytes = vec![0; pattern.footprint().0 as usize];
    let mut draws = bytes.clone();
    rng.fill(&mut bytes[..]);
    rng.fill(&mut draws[..]);
    for (byte, draw) in bytes.iter_mut().zip(draws) {
        if u32::from(draw) < skew * 256 / 100 {
            *byte = 0;
        }
    }
    bytes
}

/// Checks what every block reports and makes samples of the times.
pub(super) fn samples(pattern: Pattern, plan: &LaunchPlan, times: &[u8], behind: &[u8]) -> Outcome {
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    let blocks = plan.launch.blocks as usize;
    let behind: Vec<u64> = behind.chunks_exact(8).map(word).collect();
    let (checks, sms) = behind.split_at(blocks);
    if let Some(expected) = plan.check
        && let Some(wrong) = checks.iter().find(|&&check| check != expected)
    {
        return Err(Failure::failed(format!(
            "wrong checksum: a block reports {wrong:#x} instead of {expected:#x}, so it did not do what was asked for"
        )));
    }
    let mut samples = Samples { sm: sms.first().copied().unwrap_or(0) as u32, base: plan.buffer, ..Samples::default() };
    if let Pattern::Pairs { .. } = pattern {
        samples.latencies =
            times.chunks_exact(4).map(|c| u32::from_le_bytes(c.try_into().expect("four bytes"))).collect();
        return Ok(samples);
    }
    if let Pattern::Burst { loads, warps, .. } = pattern {
        samples.laps = burst::laps(loads, warps, times)?;
        return Ok(samples);
    }
    let times: Vec<u64> = times.chunks_exact(8).map(word).collect();
    // A round takes as long as its slowest block.
    samples.laps = times
        .chunks_exact(blocks)
        .map(|round| Lap { loads: pattern.operations(), cycles: round.iter().copied().max().unwrap_or(0) })
        .collect();
    if samples.laps.iter().any(|lap| lap.cycles == 0) {
        return Err(Failure::failed("a block was never timed: what it computed is not what it must compute"));
    }
    Ok(samples)
}
