//! Tiles: labelled squares in rows, rows in groups, a colour a group.

use std::fmt::Display;

use super::{Anchor, Canvas, LINE_HEIGHT, MARGIN, MOST_MARKS, Picture, WIDTH, clipped, colours, width_of};
use crate::report::plot::Tiles;

/// Size of a tile, and room from one to the next, in units.
const TILE: (f64, f64) = (28.0, 20.0);
const PITCH: (f64, f64) = (30.0, 23.0);
/// Most room of the names of rows, in units.
const NAMES: f64 = 110.0;

/// What is written on a shade, on light and on dark pages alike.
const ON_HEAT: [(&str, &dyn Display); 2] = [("class", &"on-heat"), ("fill", &colours::ON_HEAT)];

/// The picture, if there are tiles.
pub(super) fn picture(plot: &Tiles) -> Option<Picture> {
    let rows = || plot.groups.iter().flat_map(|g| &g.rows);
    let count: usize = rows().map(|r| r.tiles.len()).sum();
    // Rows and groups without tiles take room, too.
    if count == 0 || count + rows().count() + plot.groups.len() > MOST_MARKS {
        return None;
    }
    let left = MARGIN + rows().map(|r| width_of(&r.name)).fold(0.0, f64::max).min(NAMES) + 6.0;
    let in_a_row = (((WIDTH - MARGIN - left) / PITCH.0) as usize).max(1);
    let mut canvas = Canvas::default();
    let mut y = canvas.heading(&plot.title) + 4.0;
    for (i, group) in plot.groups.iter().enumerate() {
        let colour = colours::colour(i);
        let class = format!("on-{}", i % colours::COLOURS.len());
        let ink: [(&'static str, &dyn Display); 2] = [("class", &class), ("fill", &colours::on(i))];
        canvas.text((MARGIN, y + 12.0), Anchor::Start, &clipped(&group.name, WIDTH - 2.0 * MARGIN));
        y += LINE_HEIGHT + 4.0;
        for row in &group.rows {
            canvas.text((left - 6.0, y + 14.0), Anchor::End, &clipped(&row.name, NAMES));
            for line in row.tiles.chunks(in_a_row) {
                for (j, tile) in line.iter().enumerate() {
                    let x = left + PITCH.0 * j as f64;
                    let label = clipped(&tile.label, TILE.0);
                    let middle = (x + TILE.0 / 2.0, y + 14.5);
                    let shade = tile.shade.map(colours::heat);
                    let (fill, ink) = shade.as_deref().map_or((colour, &ink), |shade| (shade, &ON_HEAT));
                    canvas.rect((x, y), TILE, fill, &tile.hint);
                    canvas.styled_text(middle, Anchor::Middle, ink, &label);
                }
                y += PITCH.1;
            }
        }
        y += 6.0;
    }
    Some(canvas.finish(&plot.title, &plot.description, y + MARGIN - 6.0))
}
