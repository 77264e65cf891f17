//! What shapes and texts look like, as plain attributes of SVG.
//!
//! Many programs that show SVG know no custom properties and no media queries, and paint what they do not understand black. So a
//! file of its own is light on white paper and needs no style. On a page, the style of the page overrides these attributes.

/// Ink of texts and axes: 16.5 to 1 on white paper.
const INK: &str = "#1b1f24";
/// Ink of what matters less: 6.4 to 1 on white paper.
const QUIET: &str = "#57606a";
/// Ink of lines that only guide the eye.
const FAINT: &str = "#d5d9de";
/// The paper.
const PAPER: &str = "#ffffff";
/// Dashes of marks and of what is not certain.
const DASHED: &str = "4 3";
/// The families that systems read best in, and for others the one that each has.
const LETTERS: &str = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";
/// The same for instructions.
const CODE: &str = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace";

/// An attribute and its value.
type Plain = (&'static str, &'static str);

/// What a whole picture hands down to its texts.
pub(super) const WHOLE: &[Plain] = &[("fill", INK), ("font-family", LETTERS), ("font-size", "12")];

/// The attributes of a class.
const fn of_class(class: &str) -> &'static [Plain] {
    match class.as_bytes() {
        b"heading" => &[("font-weight", "600")],
        b"axis" => &[("stroke", INK)],
        b"grid" => &[("stroke", FAINT)],
        b"mark" => &[("stroke", INK), ("stroke-dasharray", DASHED)],
        b"level" => &[("stroke", QUIET), ("stroke-width", "0.75"), ("stroke-dasharray", "1 3")],
        b"paper" | b"hollow" => &[("fill", PAPER)],
        b"small" => &[("font-size", "11")],
        b"quiet" | b"head" => &[("fill", QUIET)],
        b"code" => &[("font-family", CODE), ("font-size", "10.5")],
        b"card" => &[("fill", PAPER), ("stroke", QUIET)],
        b"frame" => &[("fill-opacity", "0.13")],
        b"dashed" => &[("stroke-dasharray", DASHED)],
        b"wire" => &[("fill", "none"), ("stroke", QUIET), ("stroke-width", "1.25")],
        b"rule" => &[("stroke", FAINT), ("stroke-width", "1")],
        _ => &[],
    }
}

/// The attributes of several classes; what a later one says counts.
pub(super) fn of(classes: &str) -> Vec<Plain> {
    let mut all: Vec<Plain> = Vec::new();
    for (key, value) in classes.split_whitespace().flat_map(of_class) {
        all.retain(|(known, _)| known != key);
        all.push((key, value));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_class_counts() {
        assert_eq!(of("small code"), [("font-family", CODE), ("font-size", "10.5")]);
        assert_eq!(of("wire rule"), [("fill", "none"), ("stroke", FAINT), ("stroke-width", "1")]);
        assert_eq!(of("on-0"), []);
    }
}
