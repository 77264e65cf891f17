//! The colours of data, on light and on dark paper.

use std::fmt::Write;

/// Colours on white paper. A search over the neighbourhood of the colours of Okabe and Ito ("Color Universal Design", 2008) chose
/// them: each has a contrast of 3 to 1 or more, and people with any kind of colour blindness tell each two apart.
pub(in crate::report) const COLOURS: [&str; 6] = ["#382da2", "#c87a0d", "#007147", "#7b0000", "#2a8eff", "#915c88"];
/// The same on the dark page.
const DARK: [&str; 6] = ["#7868ff", "#ffcf1e", "#4fe98c", "#c42d00", "#dbf2ff", "#bd4f9f"];
/// Ink on each colour, on white paper: the one of black and white that has the more contrast.
const ON: [&str; 6] = ["#ffffff", "#000000", "#ffffff", "#ffffff", "#000000", "#ffffff"];
/// The same on the dark page.
const ON_DARK: [&str; 6] = ["#000000", "#000000", "#000000", "#ffffff", "#000000", "#000000"];
/// What is not of a kind of its own: grey, on white and on dark paper alike.
pub(in crate::report) const GREY: &str = "#808890";

/// The lightest and the darkest shade of a map of numbers, and what is written on them. They are the same on every page.
const HEAT: [[f64; 3]; 2] = [[255.0, 246.0, 224.0], [224.0, 122.0, 34.0]];
/// What is written on a shade.
pub(super) const ON_HEAT: &str = "#000000";

/// The shade of a number, from 0 to 1.
pub(in crate::report) fn heat(shade: f64) -> String {
    let [light, dark] = HEAT;
    let part = |at: usize| (light[at] + (dark[at] - light[at]) * shade.clamp(0.0, 1.0)).round() as u8;
    format!("#{:02x}{:02x}{:02x}", part(0), part(1), part(2))
}

/// The colour of a series.
pub(super) const fn colour(series: usize) -> &'static str {
    COLOURS[series % COLOURS.len()]
}

/// What is written on a series' colour.
pub(super) const fn on(series: usize) -> &'static str {
    ON[series % ON.len()]
}

/// The colours of series as properties `--series-0`… of a page, for its script and for the shapes of its pictures.
pub(in crate::report) fn style() -> String {
    let mut style = String::new();
    // Writing to a string cannot fail, so the results are dropped.
    for (before, colours, inks, after) in
        [("", COLOURS, ON, "\n"), ("@media screen and (prefers-color-scheme: dark) { ", DARK, ON_DARK, " }\n")]
    {
        let _ = write!(style, "{before}:root {{ ");
        for (i, (colour, ink)) in colours.iter().zip(inks).enumerate() {
            let _ = write!(style, "--series-{i}: {colour}; --on-{i}: {ink}; ");
        }
        let _ = write!(style, "}}{after}");
    }
    for (i, colour) in COLOURS.iter().enumerate() {
        let _ = writeln!(
            style,
            ".strata-picture [fill=\"{colour}\"] {{ fill: var(--series-{i}); }} \
             .strata-picture [stroke=\"{colour}\"] {{ stroke: var(--series-{i}); }} \
             .strata-picture .on-{i} {{ fill: var(--on-{i}); }}"
        );
    }
    let _ = writeln!(style, ".strata-picture .on-heat {{ fill: {ON_HEAT}; }}");
    style
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines and marks need this contrast (WCAG 2.1, success criterion 1.4.11), texts of usual size this one (1.4.3).
    const LINES: f64 = 3.0;
    const TEXT: f64 = 3.8;
    /// The page's background in the dark.
    const DARK_PAGE: &str = "#15181c";
    /// Colours nearer than this in CIELAB are easily mistaken for each other; a just noticeable difference is about 2.
    const APART: f64 = 20.0;
    /// What people without one kind of cones see, on linear RGB (Machado, Oliveira and Fernandes, 2009, severity 1).
    const EYES: [(&str, [[f64; 3]; 3]); 4] = [
        ("all cones", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
        ("protanopia", [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]]),
        ("deuteranopia", [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]),
        ("tritanopia", [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]]),
    ];

    fn linear(colour: &str) -> [f64; 3] {
        [1, 3, 5].map(|at| {
            let part = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        })
    }

    fn contrast(one: &str, other: &str) -> f64 {
        let luminance = |colour: &str| {
            let [r, g, b] = linear(colour);
            0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05
        };
        let (one, other) = (luminance(one), luminance(other));
        one.max(other) / one.min(other)
    }

    /// A colour in CIELAB, as these eyes see it.
    fn seen(colour: &str, eyes: &[[f64; 3]; 3]) -> [f64; 3] {
        let rgb = linear(colour);
        let [r, g, b] = eyes.map(|row| row.iter().zip(rgb).map(|(a, b)| a * b).sum::<f64>().clamp(0.0, 1.0));
        let bent = |t: f64| if t > 0.008_856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 };
        let x = bent((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505);
        let y = bent(0.2126 * r + 0.7152 * g + 0.0722 * b);
        let z = bent((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089);
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    #[test]
    fn each_colour_stands_out_from_its_paper() {
        for (colours, inks, paper) in [(COLOURS, ON, "#ffffff"), (DARK, ON_DARK, DARK_PAGE)] {
            for (colour, ink) in colours.iter().zip(inks) {
                assert!(contrast(colour, paper) >= LINES, "{colour} on {paper}");
                assert!(contrast(colour, ink) >= TEXT, "{ink} on {colour}: {}", contrast(colour, ink));
                let other = if ink == "#000000" { "#ffffff" } else { "#000000" };
                assert!(contrast(colour, ink) >= contrast(colour, other), "{ink} on {colour}");
            }
            assert!(contrast(GREY, paper) >= LINES);
        }
    }

    #[test]
    fn numbers_on_every_shade_can_be_read() {
        assert_eq!(heat(-1.0), heat(0.0));
        for step in 0..=10 {
            let shade = heat(f64::from(step) / 10.0);
            assert!(contrast(&shade, ON_HEAT) >= TEXT, "{shade}");
        }
        for (name, eyes) in EYES {
            let (light, dark) = (seen(&heat(0.0), &eyes), seen(&heat(1.0), &eyes));
            assert!(light[0] - dark[0] > APART, "{name}: light {light:?}, dark {dark:?}");
        }
    }

    #[test]
    fn all_eyes_tell_each_two_apart() {
        for (name, eyes) in EYES {
            for colours in [COLOURS, DARK] {
                for (i, one) in colours.iter().enumerate() {
                    for other in &colours[i + 1..] {
                        let (a, b) = (seen(one, &eyes), seen(other, &eyes));
                        let apart = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
                        assert!(apart >= APART, "{name}: {one} and {other} are {apart} apart");
                    }
                }
            }
        }
    }
}
