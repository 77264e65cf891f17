//! The findings about banks.

use super::super::latency::LEVEL;
use super::{Curve, Geometry, WORD, curve_of, geometry, scale, second_choice, strided};
use crate::analysis::hundredths::{down, nearest, up};
use crate::analysis::{bootstrap, robust};
use crate::probe::{Gap, Notebook, Settle, ask_all};
use strata_model::attribute::{BankCurve, BankPoint, Padding, PaddingRow, Sizes};
use strata_model::experiment::{AccessWidth, WARP};
use strata_model::topology::Finding;
use strata_model::units::{Bytes, Cycles};

/// Measured strides may be off what the banks foretell by this share of the whole rise; more, and the banks do not explain
/// them.
const EXPLAINED: f64 = 0.25;
/// Up to this share of the whole rise, or half a cycle, ways cost alike.
const LINEAR: f64 = 0.02;
/// Resamples of a bootstrap.
const RESAMPLES: usize = 1000;
/// A number of ways is stated if it is a whole number within this.
const WHOLE: f64 = 0.25;

/// The number of banks.
///
/// # Errors
///
/// An unknown, if nothing conflicts or what does follows no rows of banks; a failure of the experiments.
pub fn banks(notebook: &Notebook) -> Result<Finding<u64>, Gap> {
    let found = geometry(notebook, None)?;
    let method =
        "nearest word that slows down a warp whose other lanes load word 0, divided by the words per bank in a row";
    Ok(Finding::measured(found.map.banks(), method).note(format!(
        "words at a distance of {} conflict ({:.1} cycles instead of {:.1}); no nearer word does",
        found.map.row, found.one_more, found.scale.base
    )))
}

/// What a bank gives at once, in bytes.
///
/// # Errors
///
/// As [`banks`].
pub fn bank_width(notebook: &Notebook) -> Result<Finding<Bytes>, Gap> {
    let found = geometry(notebook, None)?;
    let method = "words of the next row that conflict with word 0";
    Ok(Finding::measured(Bytes(found.map.width()), method).note(turns(&found)))
}

fn turns(found: &Geometry) -> String {
    format!("consecutive pieces of {} B are in consecutive banks", found.map.piece())
}

/// The widths of the pieces that go to the banks in turn, as they can be chosen: of devices that have the choice.
///
/// # Errors
///
/// As [`banks`], or an unknown where there is no choice or the driver takes no request.
pub fn modes(notebook: &Notebook) -> Result<Finding<Sizes>, Gap> {
    let own = geometry(notebook, None)?;
    let Some(asked) = second_choice(notebook)? else {
        return Gap::unknown("banks can be chosen on compute capability 3.x only");
    };
    let other = geometry(notebook, Some(asked))?;
    let mut widths = vec![own.map.piece(), other.map.piece()];
    widths.sort_unstable();
    widths.dedup();
    let method = "which words share a bank, with the default banks of the driver and with the other choice";
    let changed = if widths.len() > 1 { "changes them" } else { "changes nothing" };
    Ok(Finding::measured(Sizes(widths.into_iter().map(Bytes).collect()), method).unit("B").note(format!(
        "by default {}; asking for {} {changed}",
        turns(&own),
        asked.bytes()
    )))
}

/// Whether lanes of one word cost no more than one.
///
/// # Errors
///
/// As [`banks`].
pub fn broadcast(notebook: &Notebook) -> Result<Finding<bool>, Gap> {
    let curve = curve_of(notebook, WORD, None)?;
    let scale = scale(&curve)?;
    let found = geometry(notebook, None)?;
    let Some(all) = curve.at(0) else { return Gap::unknown("no load of one word by all lanes was timed") };
    // Were lanes served one by one, 31 of them on one word would cost nearly as much as the worst stride.
    let once = found.one_more < (scale.base + curve.most()) / 2.0;
    Ok(Finding::measured(
        all <= scale.limit && once,
        "all lanes on one word, and all but one lane, compared with one bank per lane",
    )
    .note(format!(
        "{:.1} cycles; {:.1} with one lane in another row of the bank; {:.1} with all lanes in rows of their own",
        all,
        found.one_more,
        curve.most()
    )))
}

/// Cycles for each further way, and how well a straight line describes them.
#[derive(Clone, Debug)]
pub(in crate::probe) struct Fit {
    slope: f64,
    interval: (f64, f64),
    /// Largest distance of a stride from the line.
    residual: f64,
    /// Median cycles by ways.
    by_ways: Vec<(u32, f64)>,
    linear: bool,
}

fn line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let n = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |sum, p| (sum.0 + p.0 / n, sum.1 + p.1 / n));
    let (xy, xx) =
        points.iter().fold((0.0, 0.0), |sum, p| (sum.0 + (p.0 - x) * (p.1 - y), sum.1 + (p.0 - x) * (p.0 - x)));
    (xx > 0.0).then(|| (xy / xx, y - xy / xx * x))
}

fn fit(notebook: &Notebook) -> Result<Fit, Gap> {
    notebook.once(&notebook.memo.bank_fit, (), || {
        let found = geometry(notebook, None)?;
        let curve = curve_of(notebook, WORD, None)?;
        let points: Vec<(f64, f64)> =
            curve.points.iter().map(|p| (f64::from(found.map.passes(&strided(p.stride))), p.cycles)).collect();
        let Some((slope, at)) = line(&points) else {
            return Gap::unknown("all strides have the same number of ways, so there is no slope");
        };
        let residual = points.iter().map(|p| (p.1 - at - slope * p.0).abs()).fold(0.0, f64::max);
        let rise = curve.most() - curve.least();
        if slope <= 0.0 || residual > EXPLAINED * rise {
            return Gap::unknown(format!(
                "the bank layout does not explain the strides: the error is up to {residual:.1} of {rise:.1} cycles"
            ));
        }
        let mut ways: Vec<u32> = points.iter().map(|p| p.0 as u32).collect();
        ways.sort_unstable();
        ways.dedup();
        let by_ways: Vec<(u32, f64)> = ways
            .iter()
            .filter_map(|&n| {
                let of: Vec<f64> = points.iter().filter(|p| p.0 as u32 == n).map(|p| p.1).collect();
                Some((n, robust::median(&of)?))
            })
            .collect();
        let linear = residual <= (LINEAR * rise).max(0.5);
        let interval = if linear {
            let numbers: Vec<f64> = (0..points.len()).map(|i| i as f64).collect();
            let drawn = |which: &[f64]| {
                let some: Vec<(f64, f64)> = which.iter().map(|&i| points[i as usize]).collect();
                line(&some).map_or(slope, |l| l.0)
            };
            let i = bootstrap::interval(&numbers, drawn, LEVEL, RESAMPLES, notebook.seed(3));
            (i.low, i.high)
        } else {
            // From each number of ways to the next.
            let steps = by_ways.windows(2).map(|w| (w[1].1 - w[0].1) / f64::from(w[1].0 - w[0].0));
            steps.fold((slope, slope), |(low, high), step| (low.min(step), high.max(step)))
        };
        Ok(Fit { slope, interval, residual, by_ways, linear })
    })
}

/// Cycles that each further way of a conflict costs.
///
/// # Errors
///
/// As [`banks`], and an unknown where the strides do not follow the banks.
pub fn conflict_cycles(notebook: &Notebook) -> Result<Finding<Cycles>, Gap> {
    let fit = fit(notebook)?;
    let method = "slope of the latency over the number of ways that the bank layout predicts, over strides in words";
    let finding = Finding::measured(Cycles(nearest(fit.slope)), method);
    let (low, high) = (down(fit.interval.0), up(fit.interval.1));
    let by_ways: Vec<String> =
        fit.by_ways.iter().map(|(ways, cycles)| format!("{ways}: {}", nearest(*cycles))).collect();
    let line = if fit.linear { "a straight line" } else { "not a straight line; the interval is that of its steps" };
    let finding = if fit.linear { finding.interval(low, high, LEVEL) } else { finding.range(low, high) };
    Ok(finding.note(format!(
        "{line} with an error of at most {:.2} cycles; cycles by ways {}",
        fit.residual,
        by_ways.join(", ")
    )))
}

/// The curves that there are, with the width of the pieces that go to the banks in turn where that can be chosen.
fn curves(notebook: &Notebook) -> Result<Vec<(Option<u64>, Curve)>, Gap> {
    let own = ask_all(AccessWidth::ALL.map(|width| curve_of(notebook, width, None)));
    let Some(asked) = second_choice(notebook)? else {
        return Ok(own?.into_iter().map(|curve| (None, curve)).collect());
    };
    let (curve, found) = (curve_of(notebook, WORD, Some(asked)), geometry(notebook, Some(asked)));
    // A driver that takes no request has but one choice.
    let other = match (curve.settled()?, found.settled()?) {
        (Ok(curve), Ok(found)) => Some((Some(found.map.piece()), curve)),
        _ => None,
    };
    let mode = if other.is_some() { Some(geometry(notebook, None)?.map.piece()) } else { None };
    Ok(own?.into_iter().map(|curve| (mode, curve)).chain(other).collect())
}

/// Latency by stride: a list of `width` (bytes a lane), `stride` (in elements of that width), `cycles` a load, `ways` by
/// the cost of a way, and `mode` where banks can be chosen.
///
/// # Errors
///
/// A failure or an unknown of the experiments.
pub fn curve(notebook: &Notebook) -> Result<Finding<BankCurve>, Gap> {
    let slope = fit(notebook).settled()?.ok().map(|fit| fit.slope);
    let mut rows: Vec<BankPoint> = Vec::new();
    for (mode, curve) in curves(notebook)? {
        let base = curve.at(0).unwrap_or(curve.least());
        for point in &curve.points {
            let ways = slope.map(|slope| 1.0 + (point.cycles - base) / slope);
            let whole = ways.filter(|w| (w - w.round()).abs() <= WHOLE && *w >= 0.5).map(|w| w.round() as u64);
            rows.push(BankPoint {
                width: curve.width.bytes(),
                stride: point.stride.into(),
                cycles: nearest(point.cycles),
                low: Some(down(point.interval.0)),
                high: Some(up(point.interval.1)),
                ways: whole,
                mode: mode.map(Bytes),
            });
        }
    }
    Ok(Finding::measured(BankCurve(rows), "cycles per load of a warp by stride, difference of 2n and n loads").note(
        "ways: rows that one bank has to serve one after the other, from the cycles above those of one element for all \
         lanes; null if not a whole number",
    ))
}

/// The least padding of each row of a square of 32 x 32 elements by which its columns do not conflict: a list of `width`
/// (bytes of an element), `words` (of 4 B, 0 if none is needed, null if none was found) and `mode` where banks can be chosen.
///
/// # Errors
///
/// As [`banks`].
pub fn padding(notebook: &Notebook) -> Result<Finding<Padding>, Gap> {
    let above = {
        let scale = scale(&curve_of(notebook, WORD, None)?)?;
        scale.limit - scale.base
    };
    let side = WARP as u32;
    let mut rows = Vec::new();
    let mut notes = Vec::new();
    for (mode, curve) in curves(notebook)? {
        let free = curve.free() + above;
        let tried: Vec<(u32, f64)> =
            curve.points.iter().filter(|p| p.stride >= side).map(|p| (p.stride - side, p.cycles)).collect();
        let least = tried.iter().find(|(_, cycles)| *cycles <= free);
        let words = least.map(|(elements, _)| u64::from(*elements) * curve.width.bytes().0 / WORD.bytes().0);
        let in_mode = mode.map_or(String::new(), |mode| format!(" with banks of {}", Bytes(mode)));
        rows.push(PaddingRow { width: curve.width.bytes(), words, mode: mode.map(Bytes) });
        let without = tried.first().map_or(0.0, |t| t.1);
        notes.push(match (words, least) {
            (Some(0), _) => format!("{} B{in_mode}: none needed", curve.width.bytes().0),
            (Some(_), Some((_, with))) => {
                format!("{} B{in_mode}: {without:.0} cycles without, {with:.0} with", curve.width.bytes().0)
            }
            _ => {
                let best = tried.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, without));
                format!(
                    "{} B{in_mode}: {without:.0} cycles without, no fewer than {:.0} (with {} words) of {:.0}",
                    curve.width.bytes().0,
                    best.1,
                    u64::from(best.0) * curve.width.bytes().0 / WORD.bytes().0,
                    curve.free()
                )
            }
        });
    }
    Ok(Finding::measured(
        Padding(rows),
        "smallest padding of the rows of 32 x 32 elements with which a column is read without conflicts",
    )
    .note(notes.join("; ")))
}
