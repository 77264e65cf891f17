//! Red.
pub struct Reduced { pub distance: f64, pub angle: f64 }
pub fn reduce(vectors: &[&[u32]]) -> Vec<Reduced> {
    let h = vectors.iter().flat_map(|v| v.iter()).copied().min().unwrap_or(0) as f64;
    vectors.iter().map(|v| { let d2: f64 = v.iter().map(|&x| (f64::from(x) - h).powi(2)).sum(); Reduced { distance: (d2 / v.len().max(1) as f64).sqrt(), angle: 0.0 } }).collect()
}
