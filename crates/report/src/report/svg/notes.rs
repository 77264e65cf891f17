//! What is written beside curves: marks at places of the x axis, levels at values of the y axis.

use super::axis::Ruler;
use super::boxes::{Hand, Label, SMALL_CHARACTER};
use super::{Anchor, CHARACTER, Canvas, LINE_HEIGHT, MARGIN, WIDTH, clipped, width_of};
use crate::report::plot::{Level, Mark};

/// Height of a line of small text, in units.
const SMALL_LINE: f64 = 12.5;
/// Most room of the names of levels, in units.
const NAMES: f64 = 132.0;
/// Room at the right of a field without levels: half of a label of the x axis, in units.
const HALF_A_LABEL: f64 = 16.0;
/// From the field to the names of levels, in units: a line leads from one to the other.
const LEAD: f64 = 14.0;

/// Room at the right of the field, in units.
pub(super) fn room(levels: &[Level]) -> f64 {
    let widest = levels.iter().map(|level| level.label.chars().count()).max();
    widest.map_or(HALF_A_LABEL, |widest| (widest as f64 * SMALL_CHARACTER).min(NAMES) + LEAD + 2.0)
}

/// Marks with their labels in as many lines as they need.
pub(super) struct Marks {
    /// Place, label, where that begins and whether its end is there, and its line from above.
    all: Vec<(f64, String, f64, Anchor, usize)>,
    lines: usize,
}

impl Marks {
    /// Where everything stands. A label takes the lowest line in which it has room.
    pub fn of(marks: &[Mark], x: &Ruler) -> Self {
        let mut taken: Vec<Vec<(f64, f64)>> = Vec::new();
        let mut all = Vec::new();
        for mark in marks {
            let place = x.place(mark.at);
            let label = clipped(&mark.label, WIDTH / 2.0);
            let width = width_of(&label);
            let fits = place + width <= WIDTH - MARGIN;
            let (anchor, at) = if fits { (Anchor::Start, place - 4.0) } else { (Anchor::End, place + 4.0) };
            let from = if fits { at } else { at - width };
            let free = |line: &Vec<(f64, f64)>| line.iter().all(|(a, b)| from + width < *a || *b < from);
            let line = taken.iter().position(free).unwrap_or(taken.len());
            if line == taken.len() {
                taken.push(Vec::new());
            }
            taken[line].push((from, from + width));
            all.push((place, label, at, anchor, line));
        }
        Marks { all, lines: taken.len() }
    }

    /// Room above the field, in units.
    pub fn height(&self) -> f64 {
        self.lines as f64 * LINE_HEIGHT
    }

    /// Draws them over a field from `top` to `bottom`.
    pub fn draw(&self, canvas: &mut Canvas, (top, bottom): (f64, f64)) {
        for (place, label, at, anchor, line) in &self.all {
            let up = *line as f64 * LINE_HEIGHT;
            canvas.line("mark", (*place, top - up), (*place, bottom));
            canvas.text((*at, top - 6.0 - up), *anchor, label);
        }
    }
}

/// Draws levels across the field, with their names at its right.
pub(super) fn levels(
    levels: &[Level],
    canvas: &mut Canvas,
    y: &Ruler,
    (left, right): (f64, f64),
    (top, bottom): (f64, f64),
) {
    let mut all: Vec<(f64, &Level)> = levels.iter().map(|level| (y.place(level.at), level)).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let places = apart(&all.iter().map(|(place, _)| *place).collect::<Vec<f64>>(), (top, bottom));
    for ((place, level), at) in all.into_iter().zip(places) {
        canvas.line("level", (left, place), (right, place));
        canvas.line("level", (right, place), (right + LEAD - 3.0, at));
        let label = clipped(&level.label, NAMES * CHARACTER / SMALL_CHARACTER);
        canvas.labels((right + LEAD, at + 4.0), Anchor::Start, Hand::Small, &[Label::plain(label)], NAMES);
    }
}

/// Places, which ascend, moved as little as they must be for a line of text each.
fn apart(places: &[f64], (top, bottom): (f64, f64)) -> Vec<f64> {
    let mut moved: Vec<f64> = places.to_vec();
    // From above nothing comes too near, then from below nothing leaves the field.
    let mut least = top;
    for place in &mut moved {
        *place = place.max(least);
        least = *place + SMALL_LINE;
    }
    let mut most = bottom;
    for place in moved.iter_mut().rev() {
        *place = place.min(most);
        most = *place - SMALL_LINE;
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_near_levels_do_not_overlap() {
        let field = (0.0, 100.0);
        for places in [vec![50.0], vec![10.0, 11.0, 12.0], vec![97.0, 98.0, 99.0], vec![0.0, 50.0, 51.0, 100.0]] {
            let moved = apart(&places, field);
            assert!(moved.windows(2).all(|pair| pair[1] - pair[0] >= SMALL_LINE - 1e-9), "{moved:?}");
            assert!(moved.iter().all(|place| (0.0..=100.0).contains(place)), "{moved:?}");
        }
        assert_eq!(apart(&[20.0, 60.0], field), [20.0, 60.0], "what has room stays");
    }
}
