//! Reports of a characterization.

use strata_model::characterization::{Axis, Characterization, Figure, Line, Part, PartName, Point, SCHEMA, Suite};
use strata_model::units::Cycles;

use super::*;
use crate::published::conforms;

fn axis(label: &str, unit: &str, doubling: bool) -> Axis {
    Axis { label: label.into(), unit: (!unit.is_empty()).then(|| unit.into()), doubling, names: Vec::new() }
}

/// A line of these values, with a range around each.
fn line(label: &str, points: &[(f64, f64)]) -> Line {
    let point = |&(x, value): &(f64, f64)| Point {
        x,
        value,
        low: value - 0.5,
        high: value + 0.25,
        ns: None,
        experiments: vec![1, 2, 3],
    };
    Line { label: label.into(), points: points.iter().map(point).collect(), reason: None, failed: false }
}

fn powers(count: u32, value: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
    (0..count).map(|power| f64::from(power).exp2()).map(|x| (x, value(x))).collect()
}

fn part(question: &str, meaning: &[&str], figures: Vec<Figure>) -> Part {
    let meaning = meaning.iter().map(|&sentence| sentence.to_owned()).collect();
    Part {
        question: question.into(),
        meaning,
        findings: BTreeMap::new(),
        times: BTreeMap::new(),
        figures,
        unanswered: None,
    }
}

/// Answers of all kinds: several lines, a wide table, points that are missing, places with names, nothing at all.
pub(super) fn small(device: &str, simulated: bool) -> Characterization {
    let local = Figure {
        name: "jumps".into(),
        title: "A jump within a pair".into(),
        x: axis("jump", "B", true),
        y: axis("cycles a load", "cycles", false),
        lines: vec![
            line("shared", &powers(5, |_| 29.0625)),
            Line {
                reason: Some(format!("{device} has no texture | of bytes")),
                ..line("tex", &powers(3, |x| 400.0 + x))
            },
            Line { reason: Some("no such path".into()), ..line("const", &[]) },
        ],
    };
    let wide = Figure {
        name: "threads".into(),
        title: "Threads that write and wait".into(),
        x: axis("threads", "", true),
        y: axis("cycles a write", "cycles", true),
        lines: vec![
            line("a barrier after every write of each thread, as nobody should", &powers(11, |x| 1234.5 * x)),
            line(&format!("every 16, *{device}*"), &powers(11, |x| 17.25 + x)),
            line("never", &powers(9, |_| 4.0)),
        ],
    };
    let named = Figure {
        name: "walks".into(),
        title: "Walks over a square".into(),
        x: Axis {
            names: vec!["rows".into(), "columns".into(), "at random, each element once".into()],
            ..axis("walk", "", false)
        },
        y: axis("cycles a load", "cycles", false),
        lines: vec![
            line("CUDA array", &[(0.0, 402.0), (1.0, 455.5), (2.0, 499.0)]),
            line("linear", &[(0.0, 210.0), (2.0, 600.25)]),
        ],
    };
    let long = "A jump within a line costs 0.2 cycles on the shared path, and 410 cycles more where it leaves the line, so that \
                data which is read together should lie together.";
    let mut locality = part("What does a jump within a line cost?", &[long, "By textures it is slower."], vec![local]);
    let cost = Finding::measured(Cycles(410.25), "difference of medians").interval(405.0, 415.5, 0.95);
    locality.findings.insert("jump_cost".into(), cost.from_experiments([4, 5]).any());
    locality.findings.insert("texture_cost".into(), Finding::unknown(format!("{device} does not say")));
    let mut banks = part("What do conflicts cost?", &[], Vec::new());
    banks.findings.insert("padding".into(), Finding::failed("the kernel ended elsewhere"));
    let unanswered = |question, finding| Part { unanswered: Some(finding), ..part(question, &[], Vec::new()) };
    let parts = BTreeMap::from([
        (PartName::Locality, locality),
        (PartName::Synchronization, part("What do barriers cost?", &["They cost."], vec![wide])),
        (PartName::Banks, banks),
        (PartName::Texture2d, part("Which walk is best?", &[], vec![named])),
        (PartName::Spilling, unanswered("What does spilling cost?", Finding::unknown("no local memory"))),
        (PartName::Histogram, unanswered("Who should count?", Finding::failed("illegal address"))),
    ]);
    Characterization {
        schema: SCHEMA.into(),
        device: DeviceFacts { name: device.into(), compute_capability: (3, 5), ..DeviceFacts::default() },
        run: run(device, simulated),
        asked: Suite::default(),
        parts,
        replayed_from: Some(format!("{device}.strata")),
    }
}

#[test]
fn a_small_answer_reads_well() {
    let answer = small("Tesla K20c", true);
    let text = report::characterization::text(&answer, &Terminal::PAPER, report::Extent::Details);
    for line in text.lines() {
        assert!(line.chars().count() <= 80 && line == line.trim_end(), "{line}");
    }
    insta::assert_snapshot!("text", text);
    let mut settings = insta::Settings::clone_current();
    // What the picture looks like is for other tests and for eyes.
    settings.add_filter("base64,[A-Za-z0-9+/=]+", "base64,[picture]");
    settings.bind(|| {
        insta::assert_snapshot!("markdown", report::characterization::markdown(&answer, Pictures::Embedded).text)
    });
}

/// A table keeps to the width whatever it is made of.
#[test]
fn no_table_is_wider_than_a_terminal() {
    let mut answer = small(MISCHIEF, false);
    let wide = &mut answer.parts.get_mut(&PartName::Synchronization).unwrap().figures[0];
    wide.lines.push(line(&"x".repeat(70), &powers(40, |x| -x * 1e30)));
    wide.lines.push(line("", &[(1e300, 1e-300), (-7.5, 0.0)]));
    for name in ["y".repeat(200), "many words ".repeat(20), String::new()] {
        answer.parts.get_mut(&PartName::Texture2d).unwrap().figures[0].x.names[1] = name;
        let text = report::characterization::text(&answer, &Terminal::PAPER, report::Extent::Details);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}

#[test]
fn a_recorded_characterization_makes_a_whole_page_and_lines_of_80_columns() {
    for recorded in recorded_of::<Characterization>(SCHEMA) {
        let page = report::characterization::html(&recorded).unwrap();
        well_formed(&page);
        self_contained(&page);
        assert!(page.len() < 3 << 20, "{} bytes", page.len());
        assert!(
            report::characterization::text(&recorded, &Terminal::PAPER, report::Extent::Details)
                .lines()
                .all(|line| line.chars().count() <= 80)
        );
        assert!(report::characterization::markdown(&recorded, Pictures::Embedded).text.contains("data:image/svg+xml"));
    }
}

#[test]
fn the_page_is_whole() {
    let page = report::characterization::html(&small("Tesla K20c", true)).unwrap();
    well_formed(&page);
    self_contained(&page);
    assert!(page.contains("<title>SIMULATED: no hardware was measured. What access patterns cost on Tesla K20c"));
    assert_eq!(page.matches("<svg ").count(), 3, "one picture a figure");
    for words in [
        "<section id=\"texture_2d\">",
        "Not answered: failed: illegal address",
        "Not answered: no local memory",
        "points missing for tex: Tesla K20c has no texture | of bytes",
        "410.25 cycles [405 to 415.5 at 95 %]",
        "<td>29.1 [28.6 to 29.3]</td>",
        ">at random, each element …</text>",
    ] {
        assert!(page.contains(words), "{words} is missing");
    }
    let measured = small("Tesla K20c", false);
    assert!(
        !report::characterization::html(&measured).unwrap().contains("SIMULATED")
            && !report::characterization::text(&measured, &Terminal::PAPER, report::Extent::Details)
                .contains("SIMULATED")
    );
}

#[test]
fn a_page_opens_with_what_patterns_cost_and_what_to_do() {
    for recorded in recorded_of::<Characterization>(SCHEMA) {
        let page = report::characterization::html(&recorded).unwrap();
        let main = page.split("<main>").nth(1).unwrap();
        let (first, rest) = main.split_once("</section>").unwrap();
        assert!(first.contains("<section id=\"costs\">") && first.contains("<th scope=\"col\">Advice</th>"), "{first}");
        let rows: Vec<&str> = first.split("<th scope=\"row\">").skip(1).collect();
        assert!(!rows.is_empty());
        for row in rows {
            // Each cost leads to its finding.
            let link = row.split("href=\"#").nth(1).unwrap().split('"').next().unwrap();
            assert!(rest.contains(&format!("id=\"{link}\"")), "{link}");
            let advice = row.rsplit("<td>").next().unwrap().split("</td>").next().unwrap();
            assert!(advice.ends_with('.'), "{row}");
        }
    }
}

#[test]
fn names_that_mean_mischief_are_text() {
    let mut answer = small(MISCHIEF, false);
    let part = answer.parts.get_mut(&PartName::Locality).unwrap();
    part.question = MISCHIEF.into();
    part.meaning = vec![MISCHIEF.into()];
    part.findings.insert(MISCHIEF.into(), Finding::failed(MISCHIEF));
    let figure = &mut part.figures[0];
    figure.name = "a](b".into();
    for text in [&mut figure.title, &mut figure.x.label, &mut figure.y.label, &mut figure.lines[0].label] {
        *text = MISCHIEF.into();
    }
    let page = report::characterization::html(&answer).unwrap();
    well_formed(&page);
    self_contained(&page);
    let markdown = report::characterization::markdown(&answer, Pictures::Embedded).text;
    assert!(!markdown.contains("<script") && markdown.contains("on &lt;script&gt;&amp;\""), "{markdown}");
    assert!(!markdown.contains("a](b"), "{markdown}");
}

/// Numbers that no picture can show, and none at all.
#[test]
fn what_cannot_be_drawn_is_still_said() {
    let mut answer = small("Tesla K20c", false);
    let figure = &mut answer.parts.get_mut(&PartName::Locality).unwrap().figures[0];
    figure.lines = vec![line("far", &[(1.0, 1e300)])];
    answer.parts.get_mut(&PartName::Texture2d).unwrap().figures[0].lines.clear();
    let page = report::characterization::html(&answer).unwrap();
    well_formed(&page);
    assert_eq!((page.matches("<svg ").count(), page.matches("no picture available").count()), (1, 2), "{page}");
    assert!(report::characterization::text(&answer, &Terminal::PAPER, report::Extent::Details).contains("1.00e300"));
    assert!(report::characterization::markdown(&answer, Pictures::Embedded).text.contains("No point was measured."));
}

#[test]
fn json_is_what_its_schema_says() {
    let answer = small("Tesla K20c", true);
    let json = report::json(&answer).unwrap();
    conforms(&json);
    assert!(json.contains("\"experiments\": [1, 2, 3]"), "{json}");
    assert_eq!(serde_json::from_str::<Characterization>(&json).unwrap(), answer);
    assert!(answer.is_partial());
}
