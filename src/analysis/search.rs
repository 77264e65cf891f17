//! Search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bracket { pub low: u64, pub high: u64 }
pub fn doubling(start: u64, limit: u64) -> Vec<u64> {
    let mut v: Vec<u64> = std::iter::successors(Some(start), |s| s.checked_mul(2)).take_while(|&s| s < limit).collect();
    v.push(limit); v
}
pub fn sections(b: Bracket, granule: u64, count: usize) -> Vec<u64> {
    let first = b.low / granule + 1; let last = b.high.div_ceil(granule);
    let n = last.saturating_sub(first);
    if n <= count as u64 { return (first..last).map(|k| k * granule).collect(); }
    let mut v: Vec<u64> = (1..=count as u64).map(|i| (first - 1 + (n + 1) * i / (count as u64 + 1)) * granule).filter(|&x| x > b.low && x < b.high).collect();
    v.dedup(); v
}
