//! Pictures that are files of their own, as librsvg draws them: it stands for the many programs that know less than a browser.
//!
//! Without librsvg the test says so and ends; `.ci/run` installs it and sets `STRATA_NEEDS_LIBRSVG`, so that there it cannot.

use std::collections::BTreeMap;
use std::io::{Cursor, Write};
use std::process::{Command, Stdio};

use strata_model::topology::{SCHEMA, Topology};

use super::drawing::{self, Shape};
use super::*;

/// The program that draws.
const CONVERT: &str = "rsvg-convert";
/// How many pixels a unit of a picture takes each way: enough that strokes of letters are wider than a pixel.
const ZOOM: usize = 4;
/// Contrast that text needs (WCAG 2.1, success criterion 1.4.3, for text of usual size).
const CONTRAST: f64 = 4.5;
/// Contrast of the ink on a coloured tile: some colours allow no more, whether the ink is black or white.
const ON_A_TILE: f64 = 3.8;
/// Most of a picture's pixels that may be dark.
const DARK_SHARE: f64 = 0.25;

fn librsvg_is_there() -> bool {
    let there = Command::new(CONVERT).arg("--version").output().is_ok_and(|output| output.status.success());
    if !there {
        assert!(std::env::var_os("STRATA_NEEDS_LIBRSVG").is_none(), "{CONVERT} is not there");
        eprintln!("SKIPPED: {CONVERT} is not there; Debian's package librsvg2-bin has it");
    }
    there
}

/// A colour without its transparency.
type Rgb = [u8; 3];

/// The pixels of a picture, row by row.
struct Pixels {
    width: usize,
    height: usize,
    rgb: Vec<Rgb>,
}

/// What librsvg makes of a file.
fn rendered(svg: &str) -> Pixels {
    let mut convert = Command::new(CONVERT)
        .args(["--format", "png", "--zoom", &ZOOM.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it was there");
    convert.stdin.take().unwrap().write_all(svg.as_bytes()).unwrap();
    let output = convert.wait_with_output().unwrap();
    assert!(output.status.success(), "{svg:.300}");
    let mut reader = png::Decoder::new(Cursor::new(output.stdout)).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let frame = reader.next_frame(&mut bytes).unwrap();
    assert_eq!(frame.bit_depth, png::BitDepth::Eight);
    let rgb = bytes[..frame.buffer_size()].chunks_exact(frame.color_type.samples()).map(|pixel| match *pixel {
        [red, green, blue] | [red, green, blue, 255] => [red, green, blue],
        _ => panic!("a picture has paper of its own"),
    });
    Pixels { width: frame.width as usize, height: frame.height as usize, rgb: rgb.collect() }
}

fn luminance(colour: Rgb) -> f64 {
    let linear = colour.map(|part| {
        let part = f64::from(part) / 255.0;
        if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    });
    0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
}

fn contrast(one: Rgb, other: Rgb) -> f64 {
    let (one, other) = (luminance(one) + 0.05, luminance(other) + 0.05);
    one.max(other) / one.min(other)
}

/// The paper below a text, which most of its pixels show, and the contrast of its ink to it.
fn ink(pixels: &Pixels, text: &Shape) -> (Rgb, f64) {
    let across = (text.left.max(0.0) as usize * ZOOM)..((text.right as usize * ZOOM).min(pixels.width));
    let down = (text.top as usize * ZOOM)..((text.bottom as usize * ZOOM).min(pixels.height));
    let seen = down.flat_map(|y| across.clone().map(move |x| pixels.rgb[y * pixels.width + x]));
    let mut counted: BTreeMap<Rgb, usize> = BTreeMap::new();
    seen.for_each(|pixel| *counted.entry(pixel).or_default() += 1);
    let (paper, _) = counted.iter().max_by_key(|(_, count)| **count).expect("a text has an extent");
    (*paper, counted.keys().map(|pixel| contrast(*pixel, *paper)).fold(0.0, f64::max))
}

#[test]
fn pictures_are_readable_without_a_browser() {
    if !librsvg_is_there() {
        return;
    }
    let topology = recorded_of::<Topology>(SCHEMA).pop().expect("a discovery is recorded");
    let pictures = report::markdown(&topology, Pictures::Beside("figures".as_ref())).pictures;
    assert!(pictures.len() > 10, "a run has a drawing, curves, bars and tiles");
    for picture in pictures {
        let pixels = rendered(&picture.svg);
        let name = &picture.name;
        let share = |of: &dyn Fn(&Rgb) -> bool| {
            pixels.rgb.iter().filter(|pixel| of(pixel)).count() as f64 / pixels.rgb.len() as f64
        };
        let dark = share(&|pixel| luminance(*pixel) < 0.05);
        assert!(dark < DARK_SHARE, "{name}: {dark} of it is dark");
        let coloured = share(&|pixel| pixel.iter().max().unwrap() - pixel.iter().min().unwrap() > 60);
        assert!(coloured > 1e-4, "{name} has no colour");
        assert_eq!(pixels.rgb[0], [255; 3], "{name}: its paper is white");
        for text in drawing::read(&picture.svg).texts.iter().filter(|text| !text.what.trim().is_empty()) {
            let (paper, found) = ink(&pixels, text);
            let tile = luminance(paper) < 0.5;
            let least = if tile { ON_A_TILE } else { CONTRAST };
            assert!(found >= least, "{name}: {} has a contrast of {found:.1} on {paper:?}", text.what);
        }
    }
}
