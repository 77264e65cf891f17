//! KS.
pub struct KsTest { pub statistic: f64, pub critical: f64, pub alpha: f64, pub distinct: bool }
pub fn ks_test(a: &[f64], b: &[f64], alpha: f64) -> KsTest {
    let (mut a, mut b) = (a.to_vec(), b.to_vec());
    a.sort_unstable_by(f64::total_cmp); b.sort_unstable_by(f64::total_cmp);
    let (mut i, mut j, mut d) = (0, 0, 0.0f64);
    while i < a.len() && j < b.len() {
        let v = a[i].min(b[j]);
        while i < a.len() && a[i] <= v { i += 1; }
        while j < b.len() && b[j] <= v { j += 1; }
        d = d.max((i as f64 / a.len() as f64 - j as f64 / b.len() as f64).abs());
    }
    let (n, m) = (a.len() as f64, b.len() as f64);
    let critical = (-(alpha / 2.0).ln() / 2.0 * (n + m) / (n * m)).sqrt();
    KsTest { statistic: d, critical, alpha, distinct: d > critical }
}
