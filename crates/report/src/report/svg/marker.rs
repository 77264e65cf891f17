//! The markers of series: shapes that are told apart without any colour.

use super::{Canvas, Units, colours};

/// Half of a marker's height, in units.
const REACH: f64 = 3.2;
/// Shapes; as many hollow ones follow the filled ones.
const SHAPES: usize = 6;
/// Half of a circle is drawn as an arc of this radius, in units.
const ROUND: f64 = 2.8;

/// The outline of a series' marker around a place.
fn outline(series: usize, (x, y): (f64, f64)) -> String {
    let point = |dx: f64, dy: f64| format!("{} {}", Units(x + dx * REACH), Units(y + dy * REACH));
    let polygon = |corners: &[(f64, f64)]| {
        let corners: Vec<String> = corners.iter().map(|(dx, dy)| point(*dx, *dy)).collect();
        format!("M{}Z", corners.join("L"))
    };
    match series % SHAPES {
        0 => {
            let half = |to: f64| format!("A{ROUND} {ROUND} 0 0 1 {} {}", Units(x + to * ROUND), Units(y));
            format!("M{} {}{}{}Z", Units(x - ROUND), Units(y), half(1.0), half(-1.0))
        }
        1 => polygon(&[(-0.8, -0.8), (0.8, -0.8), (0.8, 0.8), (-0.8, 0.8)]),
        2 => polygon(&[(0.0, -1.1), (1.0, 0.8), (-1.0, 0.8)]),
        3 => polygon(&[(0.0, -1.2), (1.1, 0.0), (0.0, 1.2), (-1.1, 0.0)]),
        4 => polygon(&[(0.0, 1.1), (1.0, -0.8), (-1.0, -0.8)]),
        // A cross with arms.
        _ => polygon(&[
            (-0.4, -1.1),
            (0.4, -1.1),
            (0.4, -0.4),
            (1.1, -0.4),
            (1.1, 0.4),
            (0.4, 0.4),
            (0.4, 1.1),
            (-0.4, 1.1),
            (-0.4, 0.4),
            (-1.1, 0.4),
            (-1.1, -0.4),
            (-0.4, -0.4),
        ]),
    }
}

impl Canvas {
    /// The marker of a series at a place.
    pub(super) fn marker(&mut self, series: usize, at: (f64, f64)) {
        let (colour, path) = (colours::colour(series), outline(series, at));
        if (series / SHAPES).is_multiple_of(2) {
            self.shape("path", &[("fill", &colour), ("d", &path)]);
        } else {
            self.shape("path", &[("class", &"hollow"), ("stroke", &colour), ("stroke-width", &"1.3"), ("d", &path)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn twelve_series_have_markers_of_their_own() {
        let drawn = |series: usize| {
            let mut canvas = Canvas::default();
            canvas.marker(series, (10.0, 10.0));
            // Without their colours.
            let picture = canvas.finish("", "", 20.0).inline();
            colours::COLOURS.iter().fold(picture, |picture, colour| picture.replace(colour, "ink"))
        };
        assert_eq!((0..2 * SHAPES).map(drawn).collect::<BTreeSet<String>>().len(), 2 * SHAPES);
    }
}
