//! Geometric reduction of latency vectors to one dimension (Größler, section 3.3.2).

/// A vector as seen from the reference: how far, and in which direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reduced {
    /// Distance from the reference, divided by the root of the length, so that vectors of different lengths compare.
    pub distance: f64,
    /// Angle with the reference, in radians.
    pub angle: f64,
}

/// Reduces latency vectors of any lengths. The reference is the vector of which every load hits: its value is the least
/// latency of all, so a footprint of hits alone scores 0 at every length.
pub fn reduce(vectors: &[&[u32]]) -> Vec<Reduced> {
    let hit = f64::from(vectors.iter().flat_map(|v| v.iter()).copied().min().unwrap_or(0));
    vectors
        .iter()
        .map(|vector| {
            let n = vector.len().max(1) as f64;
            let (mut apart, mut product, mut norm) = (0.0, 0.0, 0.0);
            for &latency in *vector {
                let x = f64::from(latency);
                apart += (x - hit) * (x - hit);
                product += x * hit;
                norm += x * x;
            }
            let cosine = if norm > 0.0 && hit > 0.0 { product / (norm.sqrt() * hit * n.sqrt()) } else { 1.0 };
            Reduced { distance: (apart / n).sqrt(), angle: cosine.clamp(-1.0, 1.0).acos() }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hits_score_nothing_at_any_length() {
        let reduced = reduce(&[&[40; 10], &[40; 1000]]);
        for r in reduced {
            assert_eq!(r.distance, 0.0);
            assert!(r.angle < 1e-6);
        }
    }

    #[test]
    fn misses_move_a_vector_away_by_their_share() {
        let mut one = vec![40; 100];
        one[7] = 140;
        let mut four = vec![40; 100];
        four[..4].fill(140);
        let reduced = reduce(&[&[40; 100], &one, &four]);
        assert!((reduced[1].distance - 10.0).abs() < 1e-9);
        assert!((reduced[2].distance - 20.0).abs() < 1e-9);
        assert!(reduced[0].angle < reduced[1].angle && reduced[1].angle < reduced[2].angle);
    }

    #[test]
    fn nothing_reduces_to_nothing() {
        assert!(reduce(&[]).is_empty());
        assert_eq!(reduce(&[&[]])[0], Reduced { distance: 0.0, angle: 0.0 });
    }
}
