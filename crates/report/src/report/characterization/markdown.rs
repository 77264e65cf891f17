//! The report as GitHub-flavoured Markdown.

use std::fmt::Write;

use super::figure::{Grid, description, heading, numbers, plot};
use super::{detail, title, unanswered};
use crate::report::album::{Album, Markdown, Pictures};
use crate::report::markdown::{beginning, folded, list, plain, section};
use crate::report::surroundings;
use crate::report::svg;
use crate::report::words::{self, NO_PICTURE};
use strata_model::characterization::{Characterization, Part, PartName};

/// The whole report.
pub fn markdown(answer: &Characterization, pictures: Pictures<'_>) -> Markdown {
    let mut out = beginning(&title(answer), &answer.device, &answer.run, answer.replayed_from.as_deref());
    let mut album = Album::new(pictures);
    for (name, part) in &answer.parts {
        chapter(&mut out, &mut album, *name, part);
    }
    section(&mut out, "Device, from the driver", words::device(&answer.device).into_iter());
    section(&mut out, surroundings::TITLE, surroundings::lines(&answer.run).into_iter());
    album.finished(out)
}

/// The section of a part; its pictures go to the album. Writing to a string cannot fail.
fn chapter(out: &mut String, album: &mut Album<'_>, name: PartName, part: &Part) {
    let _ = writeln!(out, "## {} (`{}`)\n", name.title(), name.key());
    let _ = writeln!(out, "{}\n", plain(&part.question));
    if let Some(reason) = unanswered(part) {
        let _ = writeln!(out, "**Not answered**: {}\n", plain(&reason));
    }
    if !part.meaning.is_empty() {
        list(out, part.meaning.iter().cloned());
    }
    for figure in &part.figures {
        let key = format!("{}-{}", name.key(), figure.name);
        let drawn = svg::picture(&plot(figure));
        if let Some(picture) = &drawn {
            album.place(out, &key, picture);
        }
        let (what, shown) = (plain(&figure.title), plain(&heading(&figure.y)));
        let instead = if drawn.is_some() { String::new() } else { format!(" It {NO_PICTURE}.") };
        let _ = writeln!(out, "**{what}**: {shown}. {}{instead}\n", plain(&description(figure)));
        let missing = Grid::of(figure).missing();
        if !missing.is_empty() {
            list(out, missing.into_iter());
        }
        folded(out, "The numbers of this figure, with the range of what was observed", &numbers(figure));
    }
    for (finding, content) in &part.findings {
        let words = if content.is_known() {
            detail(part, finding, content).to_string()
        } else {
            format!("unknown: {}", words::reason(content))
        };
        let _ = writeln!(out, "- **{}**: {}", plain(finding), plain(&words));
    }
    out.push_str(if part.findings.is_empty() { "" } else { "\n" });
}
