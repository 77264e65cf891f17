//! Reduces each latency vector to one number (Größler 2022, section 3.3.2).
//!
//! The thesis takes the distance to, and the angle with, a reference vector such as (1, …, 1). Against that one a latency's
//! own size would outweigh any change of it. Here the reference is h (1, …, 1) with h the level of a hit, so that a
//! footprint whose loads all hit scores about 0.

/// Quantile of a vector that stands for its fastest loads: a few timing errors below it do not set the reference.
const FASTEST: f64 = 0.05;

/// A vector seen from the reference.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reduced {
    /// Euclidean distance to the reference over √length: the root mean square of the latencies' excess over a hit, in their
    /// unit. The same at every length for the same mixture.
    pub distance: f64,
    /// Angle with the reference in radians, 0 to π/2: its tangent is the latencies' standard deviation over their mean, so
    /// that it shows a mixture, and vanishes again where everything misses.
    pub angle: f64,
}

/// Reduces latency vectors (cycles), which may differ in length; an empty one gives zeros. The hit level is the lowest of
/// the vectors' 5 % quantiles: one footprint that hits is enough to set it.
///
/// A rare spike counts with its square. It can move the distance of one vector, which the change point then outweighs.
pub fn reduce(vectors: &[&[u32]]) -> Vec<Reduced> {
    let hit = vectors
        .iter()
        .filter_map(|v| super::robust::quantile_u32(v, FASTEST))
        .min_by(f64::total_cmp)
        .unwrap_or_default();
    vectors.iter().map(|v| reduce_one(v, hit)).collect()
}

fn reduce_one(vector: &[u32], hit: f64) -> Reduced {
    if vector.is_empty() {
        return Reduced::default();
    }
    let mean_of = |f: &dyn Fn(f64) -> f64| vector.iter().map(|&x| f(f64::from(x))).sum::<f64>() / vector.len() as f64;
    let mean = mean_of(&|x| x);
    let deviation = mean_of(&|x| (x - mean).powi(2)).sqrt();
    // The parts of the vector along and across the reference, both over √length: exact where an arc cosine is not.
    Reduced { distance: mean_of(&|x| (x - hit).powi(2)).sqrt(), angle: deviation.atan2(mean) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hits_score_nothing_at_any_length() {
        for r in reduce(&[&[40; 10], &[40; 1000]]) {
            assert_eq!(r, Reduced { distance: 0.0, angle: 0.0 });
        }
    }

    #[test]
    fn by_hand() {
        // Half of the loads 30 cycles above the hit level: √(900 / 2); mean 55, deviation 15.
        let r = reduce(&[&[40; 4], &[40, 70, 40, 70], &[70; 3]]);
        assert!((r[1].distance - 450f64.sqrt()).abs() < 1e-9);
        assert!((r[1].angle - (15.0f64 / 55.0).atan()).abs() < 1e-12);
        assert_eq!(r[2], Reduced { distance: 30.0, angle: 0.0 });
    }

    #[test]
    fn a_glitch_does_not_set_the_reference() {
        let mut hits = vec![40; 100];
        hits[5] = 0;
        assert_eq!(reduce(&[&hits, &[70; 100]])[1].distance, 30.0);
    }

    #[test]
    fn empty_vectors_are_zero() {
        assert_eq!(reduce(&[&[], &[50; 3]]), [Reduced::default(); 2]);
        assert!(reduce(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn repeating_a_vector_changes_nothing(vector in prop::collection::vec(1u32..2000, 1..40), times in 2usize..5) {
            let once = reduce(&[&[1; 8], &vector])[1];
            let more = reduce(&[&[1; 8], &vector.repeat(times)])[1];
            prop_assert!((once.distance - more.distance).abs() < 1e-6);
            prop_assert!((once.angle - more.angle).abs() < 1e-9);
        }

        #[test]
        fn the_angle_is_that_of_the_scalar_product(vector in prop::collection::vec(1u32..2000, 1..40)) {
            let (dot, norm) = vector.iter().map(|&x| f64::from(x)).fold((0.0, 0.0), |(d, n), x| (d + x, n + x * x));
            let cosine = dot / (norm.sqrt() * (vector.len() as f64).sqrt());
            prop_assert!((reduce(&[&vector])[0].angle.cos() - cosine).abs() < 1e-9);
        }
    }
}
