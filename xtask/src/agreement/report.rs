//! What came of a study: tables, and every false alarm and miss with its values.

use std::collections::BTreeMap;
use std::fmt::Write;

use strata_drawn::{Change, Changed};
use strata_model::topology::Topology;
use strata_report::compare::{Comparison, Row, Stated};

use super::Subject;
use crate::coverage::{Coverage, Pairs, compared, pairs};

/// What a comparison says of a changed machine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Tally {
    /// It differs in an element that shows the change.
    found: usize,
    /// It differs in others alone.
    elsewhere: usize,
    /// It is the same.
    missed: usize,
}

impl Tally {
    fn count(&mut self, comparison: &Comparison, changed: &Changed) {
        let subject = |row: &Row| row.place.split(' ').next().unwrap_or_default().to_owned();
        let shows = |row: &Row| changed.elements.iter().any(|element| element.key() == subject(row));
        match comparison.differs.iter().any(shows) {
            true => self.found += 1,
            false if comparison.same => self.missed += 1,
            false => self.elsewhere += 1,
        }
    }

    fn add(&mut self, other: Tally) {
        self.found += other.found;
        self.elsewhere += other.elsewhere;
        self.missed += other.missed;
    }

    fn pairs(self) -> usize {
        self.found + self.elsewhere + self.missed
    }
}

/// All that was counted.
#[derive(Default)]
pub struct Study {
    machines: String,
    alarms: Pairs,
    changes: BTreeMap<Change, Tally>,
    coverage: Coverage,
    /// Every false alarm and miss, with the values of both sides.
    pub details: String,
}

impl Study {
    /// Compares all results.
    pub fn of(subjects: &[Subject]) -> Self {
        let mut study = Study::default();
        for subject in subjects {
            study.subject(subject);
        }
        study
    }

    fn subject(&mut self, subject: &Subject) {
        let originals = subject.results(None);
        let mut alarms = Pairs::default();
        for (a, b) in pairs(&originals) {
            let comparison = compared(a, b);
            alarms.count(&comparison);
            self.alarms.count(&comparison);
            self.alarm(&subject.name, &comparison);
        }
        self.coverage.add(&subject.name, &originals);
        let mut not_found = Vec::new();
        let mut sum = Tally::default();
        for (change, changed) in &subject.changes {
            let tally = self.change(subject, *change, changed, &originals);
            self.changes.entry(*change).or_default().add(tally);
            sum.add(tally);
            let others = [(tally.elsewhere, "elsewhere"), (tally.missed, "missed")];
            let words = others.iter().filter(|(times, _)| *times > 0).map(|(times, what)| format!("{times} {what}"));
            let words: Vec<String> = words.collect();
            if !words.is_empty() {
                not_found.push(format!("{change} ({} of {})", words.join(", "), tally.pairs()));
            }
        }
        let not_found = if not_found.is_empty() { "-".into() } else { not_found.join(", ") };
        let _ = writeln!(
            self.machines,
            "| {} | {} | {} | {} | {} | {} of {} | {not_found} |",
            subject.name,
            originals.len(),
            alarms.same.whole,
            alarms.same.whole - alarms.same.part,
            alarms.places(),
            sum.found,
            sum.pairs()
        );
    }

    fn change(&mut self, subject: &Subject, change: Change, changed: &Changed, originals: &[&Topology]) -> Tally {
        let mut sum = Tally::default();
        for result in subject.results(Some(change)) {
            for original in originals {
                let comparison = compared(original, result);
                let mut tally = Tally::default();
                tally.count(&comparison, changed);
                sum.add(tally);
                if tally.found == 0 {
                    self.miss(&subject.name, change, changed, &comparison);
                }
            }
        }
        sum
    }

    fn alarm(&mut self, name: &str, comparison: &Comparison) {
        for row in &comparison.differs {
            let (a, b) = (&comparison.a.name, &comparison.b.name);
            let _ = writeln!(self.details, "false alarm | {name} | {a}, {b} | {}", shown(row));
        }
    }

    fn miss(&mut self, name: &str, change: Change, changed: &Changed, comparison: &Comparison) {
        let (a, b) = (&comparison.a.name, &comparison.b.name);
        let class = if comparison.same { "miss" } else { "elsewhere" };
        let _ = writeln!(self.details, "{class} | {name} | {change}: {} | {a}, {b}", changed.what);
        for row in &comparison.differs {
            let _ = writeln!(self.details, "    differs: {}", shown(row));
        }
        let here = |place: &str| changed.elements.iter().any(|e| place.split(' ').next() == Some(e.key()));
        for row in comparison.agrees.iter().filter(|row| here(&row.place)) {
            let _ = writeln!(self.details, "    agrees: {}", shown(row));
        }
        for (side, singles) in [("first", &comparison.only_a), ("second", &comparison.only_b)] {
            for single in singles.iter().filter(|single| here(&single.place)) {
                let known = words(&single.stated);
                let _ = writeln!(self.details, "    only the {side}: {} | {known} | {}", single.place, single.reason);
            }
        }
    }

    /// All tables.
    pub fn tables(&self) -> String {
        let alarms = self.alarms.same;
        let mut out = format!(
            "| machine | runs | pairs | false alarms | places | changes found | not found |\n|---|---|---|---|---|---|---|\n{}\n\
             | change | pairs | found | found elsewhere | missed |\n|---|---|---|---|---|\n",
            self.machines
        );
        let mut sum = Tally::default();
        for (change, tally) in &self.changes {
            sum.add(*tally);
            let _ = writeln!(out, "{}", line(change.key(), *tally));
        }
        let _ = write!(
            out,
            "{}\n\n{}\nFalse alarms: {} of {} pairs. Places: {}\n\nChanges found: {} of {} pairs.\n",
            line("all", sum),
            self.coverage.table(),
            alarms.whole - alarms.part,
            alarms.whole,
            self.alarms.places(),
            sum.found,
            sum.pairs()
        );
        out
    }
}

fn line(name: &str, tally: Tally) -> String {
    format!("| {name} | {} | {} | {} | {} |", tally.pairs(), tally.found, tally.elsewhere, tally.missed)
}

/// A place with the values of both sides.
fn shown(row: &Row) -> String {
    let because = row.because.as_deref().map_or(String::new(), |because| format!(", {because}"));
    let points =
        row.points_differ.zip(row.points_compared).map_or(String::new(), |(n, of)| format!(", {n} of {of} points"));
    let apart = row.apart_percent.map_or(String::new(), |percent| format!(", {percent:.2} % apart"));
    format!("{} | {} | {}{apart}{points}{because}", row.place, words(&row.a), words(&row.b))
}

fn words(stated: &Stated) -> String {
    let end = |end: Option<f64>| end.map_or("?".into(), |end| format!("{end}"));
    let value = stated.value.as_ref().map_or("-".into(), |value| serde_json::to_string(value).unwrap_or_default());
    let value: String = value.chars().take(200).collect();
    match (stated.low, stated.high) {
        (None, None) => value,
        (low, high) => format!("{value} [{}, {}]", end(low), end(high)),
    }
}
