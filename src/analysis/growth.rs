//! Growth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth { pub base: f64, pub last_flat: u64, pub first_grown: u64 }
pub fn growth(points: &[(u64, f64)]) -> Option<Growth> {
    let n = points.len();
    if n < 2 { return None; }
    // suffix minimum: misses from here on never fall below this
    let mut suffix = vec![f64::MAX; n + 1];
    for i in (0..n).rev() { suffix[i] = suffix[i + 1].min(points[i].1); }
    let base = suffix[0];
    let at = (1..n).find(|&i| suffix[i] > base)?;
    Some(Growth { base, last_flat: points[at - 1].0, first_grown: points[at].0 })
}
