//! CP.
pub struct ChangePoint { pub index: usize, pub cost: f64, pub gain: f64 }
pub fn change_point(values: &[f64]) -> Option<ChangePoint> {
    let n = values.len();
    if n < 4 { return None; }
    let m = super::robust::mean(values);
    let x: Vec<f64> = values.iter().map(|v| v - m).collect();
    let (mut s, mut q) = (vec![0.0], vec![0.0]);
    for v in &x { s.push(s.last().unwrap() + v); q.push(q.last().unwrap() + v * v); }
    let cost = |a: usize, b: usize| { let d: f64 = s[b] - s[a]; (q[b] - q[a]) - d * d / (b - a) as f64 };
    let total = cost(0, n);
    if total <= 0.0 { return None; }
    let best = (2..=n - 2).min_by(|&a, &b| (cost(0, a) + cost(a, n)).total_cmp(&(cost(0, b) + cost(b, n))))?;
    let c = cost(0, best) + cost(best, n);
    Some(ChangePoint { index: best, cost: c, gain: total - c })
}
