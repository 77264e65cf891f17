//! Which rows of a matrix belong together: correlation, connected parts, and groups by distance.
//!
//! Groups are those of single-linkage clustering, cut at the widest relative gap between the distances at which parts join.

use super::robust;

/// Rows are in groups of their own if the distance between groups is this many times that within.
const GROUPED: f64 = 2.0;

/// The matrix without the mean of each row and of each column: rows of one length.
pub fn double_centred(rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let lines = rows.first().map_or(0, Vec::len);
    let of_line: Vec<f64> =
        (0..lines).map(|l| rows.iter().map(|row| row[l]).sum::<f64>() / rows.len() as f64).collect();
    rows.iter()
        .map(|row| {
            let row: Vec<f64> = row.iter().zip(&of_line).map(|(x, mean)| x - mean).collect();
            let mean = robust::mean(&row);
            row.into_iter().map(|x| x - mean).collect()
        })
        .collect()
}

/// Root of the mean square.
pub fn rms(row: &[f64]) -> f64 {
    (row.iter().map(|x| x * x).sum::<f64>() / row.len().max(1) as f64).sqrt()
}

/// Correlation of two centred rows of one length; 0 if one does not vary.
pub fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let norm = rms(a) * rms(b) * a.len() as f64;
    if norm == 0.0 { 0.0 } else { a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>() / norm }
}

/// Numbers of the connected parts of `count` nodes, in the order of their first members.
pub fn parts(count: usize, joined: impl Fn(usize, usize) -> bool) -> Vec<usize> {
    let mut of: Vec<Option<usize>> = vec![None; count];
    let mut next = 0;
    for start in 0..count {
        if of[start].is_some() {
            continue;
        }
        let mut reached = vec![start];
        of[start] = Some(next);
        while let Some(node) = reached.pop() {
            for (other, part) in of.iter_mut().enumerate().filter(|(_, part)| part.is_none()) {
                if joined(node, other) {
                    *part = Some(next);
                    reached.push(other);
                }
            }
        }
        next += 1;
    }
    of.into_iter().flatten().collect()
}

/// Groups of rows that are alike, at most `most` of them: cut where joining the nearest comes to a distance that stands out.
/// Distances below `least` are noise.
pub fn groups(rows: &[Vec<f64>], most: usize, least: f64) -> Vec<usize> {
    let rows = double_centred(rows);
    let count = rows.len();
    let distance = |a: usize, b: usize| {
        let difference: Vec<f64> = rows[a].iter().zip(&rows[b]).map(|(x, y)| x - y).collect();
        rms(&difference)
    };
    // Distances at which parts are joined, from a minimum spanning tree grown row by row.
    let mut nearest: Vec<f64> = (0..count).map(|i| distance(0, i)).collect();
    let mut inside = vec![false; count];
    let mut joins = Vec::new();
    let mut newest = 0;
    for _ in 1..count {
        inside[newest] = true;
        for i in (0..count).filter(|&i| !inside[i]) {
            nearest[i] = nearest[i].min(distance(newest, i));
        }
        let Some(next) = (0..count).filter(|&i| !inside[i]).min_by(|&a, &b| nearest[a].total_cmp(&nearest[b])) else {
            break;
        };
        joins.push(nearest[next]);
        newest = next;
    }
    joins.sort_by(f64::total_cmp);
    // The widest gap among the last joins.
    let cut = (joins.len().saturating_sub(most - 1)..joins.len())
        .filter(|&i| i > 0)
        .map(|i| (joins[i] / joins[i - 1].max(least), joins[i]))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    match cut {
        Some((ratio, at)) if ratio >= GROUPED => parts(count, |a, b| distance(a, b) < at),
        _ => vec![0; count],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_stand_out_or_are_one() {
        let row = |offset: f64, wobble: f64| {
            (0..64).map(|l| if l % 2 == 0 { offset } else { 0.0 } + wobble * f64::from(l % 3)).collect()
        };
        let rows: Vec<Vec<f64>> = vec![row(0.0, 0.1), row(0.2, 0.2), row(40.0, 0.1), row(40.3, 0.0), row(0.1, 0.1)];
        assert_eq!(groups(&rows, 8, 1.0), [0, 0, 1, 1, 0]);
        let alike: Vec<Vec<f64>> = (0..6).map(|i| row(f64::from(i) * 0.3, 0.1)).collect();
        assert_eq!(groups(&alike, 8, 1.0), [0; 6]);
    }

    #[test]
    fn parts_are_numbered_by_their_first_members() {
        assert_eq!(parts(5, |a, b| a % 2 == b % 2), [0, 1, 0, 1, 0]);
        assert_eq!(parts(0, |_, _| true), Vec::<usize>::new());
    }
}
