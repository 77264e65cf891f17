//! Robust.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    if values.is_empty() { return None; }
    let mut v = values.to_vec();
    v.sort_unstable_by(f64::total_cmp);
    let h = (v.len() - 1) as f64 * q;
    let (lo, hi) = (h.floor() as usize, h.ceil() as usize);
    Some(v[lo] + (v[hi] - v[lo]) * (h - lo as f64))
}
pub fn median(values: &[f64]) -> Option<f64> { quantile(values, 0.5) }
pub fn mean(values: &[f64]) -> f64 { values.iter().sum::<f64>() / values.len().max(1) as f64 }
pub fn trimmed_mean(values: &[f64]) -> f64 {
    let mut v = values.to_vec();
    v.sort_unstable_by(f64::total_cmp);
    let cut = v.len() / 20;
    mean(&v[cut..v.len() - cut])
}
pub fn quantile_u32(values: &[u32], q: f64) -> Option<f64> { quantile(&values.iter().map(|&x| f64::from(x)).collect::<Vec<_>>(), q) }
pub fn median_u32(values: &[u32]) -> Option<f64> { quantile_u32(values, 0.5) }
