//! Pictures of hostile input: malicious names, no data, numbers that are not finite.

use super::*;
use crate::report::plot::{Axis, Bar, Bars, Curves, Draw, Mark, Measure, Series, Tile, TileGroup, TileRow, Tiles};

const MISCHIEF: &str = "<script>&\"'\u{0}\u{202e}";

/// What has a picture.
trait Drawn: Into<Plot> {
    fn drawn(self) -> Option<Picture> {
        picture(&self.into())
    }
}

impl<T: Into<Plot>> Drawn for T {}

fn axis(measure: Measure, log2: bool) -> Axis {
    Axis { label: MISCHIEF.into(), measure, log2 }
}

fn lines(points: Vec<(f64, f64)>, log2: bool) -> Curves {
    Curves {
        title: MISCHIEF.into(),
        description: MISCHIEF.into(),
        x: axis(Measure::Bytes, log2),
        y: axis(Measure::Number, false),
        series: [MISCHIEF, "other"].map(|name| Series::new(name, Draw::Steps, points.clone())).into(),
        marks: vec![Mark::new(2048.0, MISCHIEF.into())],
        ..Curves::default()
    }
}

fn bars(values: &[f64]) -> Bars {
    Bars {
        title: MISCHIEF.into(),
        description: MISCHIEF.into(),
        labels: MISCHIEF.into(),
        axis: axis(Measure::Number, true),
        bars: values.iter().map(|v| Bar { label: MISCHIEF.repeat(9), value: *v, series: 7 }).collect(),
    }
}

fn tiles(count: usize) -> Tiles {
    let tile = |i: usize| Tile { label: i.to_string(), hint: MISCHIEF.into(), shade: None };
    let row = TileRow { name: MISCHIEF.into(), tiles: (0..count).map(tile).collect() };
    Tiles {
        title: MISCHIEF.into(),
        description: MISCHIEF.into(),
        labels: MISCHIEF.into(),
        groups: vec![TileGroup { name: MISCHIEF.into(), rows: vec![row] }],
    }
}

/// All that the quotation marks, brackets and numbers of a picture must keep to.
#[track_caller]
fn sound(picture: &Picture) {
    for text in [picture.inline(), picture.alone()] {
        assert!(!text.contains("<script") && !text.contains(|c: char| c.is_control() && c != '\n'), "{text}");
        assert!(!text.contains("NaN") && !text.contains("inf\""), "{text}");
        assert!(text.contains("&lt;script&gt;&amp;&quot;&apos;\u{fffd}\u{fffd}"), "{text}");
        assert!(text.starts_with("<svg ") && text.contains("role=\"img\"") && text.contains("<title>"), "{text}");
        // Every shape is closed where it stands, or is one of the few that hold text.
        for tag in ["text", "title", "desc", "svg", "style"] {
            let opened = text.matches(&format!("<{tag}>")).count() + text.matches(&format!("<{tag} ")).count();
            assert_eq!(opened, text.matches(&format!("</{tag}>")).count(), "{tag}: {text}");
        }
    }
}

#[test]
fn a_long_title_takes_two_lines() {
    let mut canvas = Canvas::default();
    let words = "word ".repeat(30);
    let one = canvas.heading("short");
    assert_eq!(canvas.heading(words.trim()) - one, LINE_HEIGHT);
    let picture = canvas.finish("", "", 50.0).alone();
    assert!(
        picture.contains(&format!(">{}</text>", "word ".repeat(11) + "word")) && picture.contains('…'),
        "{picture}"
    );
    assert_eq!(Canvas::default().heading(&"x".repeat(99)), one, "a single word cannot be broken");
}

#[test]
fn names_that_mean_mischief_are_text() {
    sound(&lines(vec![(1024.0, 1.0), (4096.0, 2.0)], true).drawn().unwrap());
    sound(&bars(&[1.0, 2.0]).drawn().unwrap());
    sound(&tiles(40).drawn().unwrap());
}

#[test]
fn a_file_needs_no_style() {
    let drawn = [lines(vec![(1024.0, 1.0), (4096.0, 2.0)], true).drawn(), bars(&[1.0, 2.0]).drawn(), tiles(40).drawn()];
    for picture in drawn.into_iter().flatten() {
        let file = picture.alone();
        for missed in ["<style", "style=", "var(", "@media", "currentColor"] {
            assert!(!file.contains(missed), "{missed}: {file}");
        }
        assert!(file.contains("<rect class=\"paper\" fill=\"#ffffff\" width=\"100%\""), "{file}");
        assert!(file.contains("width=\"440\" height=\"") && !picture.inline().contains("width=\"440\""), "{file}");
        // Nothing is painted in a colour that was not chosen: what has no fill of its own is text in the picture's ink.
        for shape in ["<path ", "<rect "] {
            let all = file.split(shape).skip(1).map(|rest| rest.split('>').next().unwrap());
            all.for_each(|attributes| assert!(attributes.contains("fill=\""), "{shape}{attributes}"));
        }
    }
}

#[test]
fn a_plot_can_begin_before_its_first_point() {
    let whole = Curves { marks: Vec::new(), ..lines(vec![(4096.0, 1.0), (16384.0, 2.0)], true) };
    let begins_at_1_kib = |plot: Curves| plot.drawn().unwrap().alone().contains(">1 KiB</text>");
    assert!(!begins_at_1_kib(whole.clone()));
    assert!(begins_at_1_kib(Curves { from: Some(1024.0), ..whole }));
}

#[test]
fn nothing_gives_no_picture() {
    assert!(lines(Vec::new(), false).drawn().is_none());
    assert!(bars(&[]).drawn().is_none());
    assert!(tiles(0).drawn().is_none());
    assert!(Tiles { groups: Vec::new(), ..tiles(1) }.drawn().is_none());
    assert!(Curves { series: Vec::new(), ..lines(Vec::new(), false) }.drawn().is_none());
}

#[test]
fn numbers_that_are_none_give_no_picture() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, -1e300] {
        assert!(lines(vec![(1.0, 1.0), (bad, 1.0)], false).drawn().is_none(), "{bad}");
        assert!(lines(vec![(1.0, 1.0), (2.0, bad)], true).drawn().is_none(), "{bad}");
        assert!(bars(&[1.0, bad]).drawn().is_none(), "{bad}");
        let mark = Mark::new(bad, String::new());
        assert!(Curves { marks: vec![mark], ..lines(vec![(1.0, 1.0)], false) }.drawn().is_none(), "{bad}");
    }
    assert!(bars(&[-1.0]).drawn().is_none(), "a bar begins at zero");
}

#[test]
fn far_and_equal_numbers_are_drawn() {
    let edge = [0.0, 1.0, -1.0, 5e-324, 1e18, -1e18, 1e18 - 256.0];
    for (a, b) in edge.iter().flat_map(|a| edge.iter().map(move |b| (*a, *b))) {
        for log2 in [false, true] {
            sound(&lines(vec![(a, b), (b, a), (a, a)], log2).drawn().unwrap());
        }
        sound(&bars(&[a.abs(), b.abs()]).drawn().unwrap());
    }
}

#[test]
fn too_much_gives_no_picture() {
    assert!(lines(vec![(1.0, 1.0); MOST_MARKS], false).drawn().is_none());
    assert!(bars(&[1.0; 65]).drawn().is_none());
    assert!(tiles(MOST_MARKS + 1).drawn().is_none());
    let empty = TileRow { name: String::new(), tiles: Vec::new() };
    let rows = std::iter::repeat_with(|| TileRow { name: empty.name.clone(), tiles: Vec::new() }).take(9999).collect();
    let groups = tiles(1).groups.into_iter().chain([TileGroup { name: String::new(), rows }]).collect();
    assert!(Tiles { groups, ..tiles(1) }.drawn().is_none());
}

#[test]
fn a_table_has_a_row_for_each_place() {
    let mut curves = lines(vec![(1024.0, 1.0), (2048.0, 2.0)], false);
    curves.series[1] = Series::new("other", Draw::Steps, [(2048.0, 3.0), (4096.0, 4.0)]);
    let rows = Plot::from(curves).numbers().rows;
    assert_eq!(rows, [["1 KiB", "1", ""], ["2 KiB", "2", "3"], ["4 KiB", "", "4"]]);
    assert_eq!(Plot::from(bars(&[1.5])).numbers().rows[0][1], "1.5");
    assert_eq!(Plot::from(tiles(3)).numbers().rows[0][1], "0 1 2");
}

#[test]
fn long_text_is_clipped() {
    assert_eq!(clipped("abcdef", 4.0 * CHARACTER), "abc…");
    assert_eq!(clipped("abcd", 4.0 * CHARACTER), "abcd");
    assert_eq!(clipped("abcd", 0.0), "…");
}
