//! What is unknown, in short: each reason once, without its evidence.

use strata_model::topology::Topology;

use super::words;

/// Most attributes that are named; of more, the number of the others is said.
const MOST_NAMED: usize = 4;
/// Shortest beginning of a reason that says something alone, in letters.
const LEAST_CLAUSE: usize = 10;
/// What a reason goes on with after it has said enough: its evidence, or what follows from it.
const ENDS: [&str; 6] = ["; ", ": ", " (", ", and ", ", so ", ", also "];

/// What is unknown, and why: a line for each reason.
pub(super) fn reasons(topology: &Topology) -> Vec<(String, String)> {
    let mut all: Vec<(String, Vec<Unknown<'_>>)> = Vec::new();
    for (name, element) in &topology.elements {
        let (mut known, mut unknown) = (0, Vec::new());
        for (attribute, finding) in words::attributes(element) {
            match finding.is_known() {
                true => known += 1,
                false => unknown.push((attribute.key(), clause(&words::reason(finding)).to_owned())),
            }
        }
        let one_reason = unknown.iter().all(|(_, reason)| *reason == unknown[0].1);
        let everything = known == 0 && unknown.len() > MOST_NAMED && one_reason;
        for (attribute, reason) in unknown {
            let at = all.iter().position(|(other, _)| *other == reason).unwrap_or_else(|| {
                all.push((reason, Vec::new()));
                all.len() - 1
            });
            let of_reason = &mut all[at].1;
            match of_reason.last_mut().filter(|last| last.element == name.key()) {
                Some(last) => last.attributes.push(attribute),
                None => of_reason.push(Unknown { element: name.key(), attributes: vec![attribute], everything }),
            }
        }
    }
    all.into_iter().map(|(reason, unknown)| (named(unknown), reason)).collect()
}

/// What is unknown of an element for one reason.
struct Unknown<'t> {
    element: &'t str,
    attributes: Vec<&'static str>,
    /// Nothing of the element is known.
    everything: bool,
}

/// Elements of which the same is unknown stand together.
fn named(unknown: Vec<Unknown<'_>>) -> String {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for unknown in unknown {
        let mut what = unknown.attributes.iter().take(MOST_NAMED).copied().collect::<Vec<_>>().join(", ");
        if unknown.attributes.len() > MOST_NAMED {
            what = format!("{what} and {} more", unknown.attributes.len() - MOST_NAMED);
        }
        if unknown.everything {
            what = "everything".to_owned();
        }
        match groups.iter_mut().find(|(other, _)| *other == what) {
            Some((_, elements)) => elements.push(unknown.element),
            None => groups.push((what, vec![unknown.element])),
        }
    }
    let group = |(what, elements): &(String, Vec<&str>)| format!("{} {what}", elements.join(", "));
    groups.iter().map(group).collect::<Vec<_>>().join("; ")
}

/// The beginning of a reason, up to its evidence.
fn clause(reason: &str) -> &str {
    let (mark, rest) = reason.split_at(if reason.starts_with(words::FAILED) { words::FAILED.len() } else { 0 });
    let ends = ENDS.iter().flat_map(|end| rest.match_indices(end)).map(|(at, _)| at);
    let end = ends.filter(|at| rest[..*at].chars().count() >= LEAST_CLAUSE).min().unwrap_or(rest.len());
    &reason[..mark.len() + end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_ends_before_its_evidence() {
        assert_eq!(clause("more than 64 KiB: no load takes longer"), "more than 64 KiB");
        assert_eq!(clause("the L2 was flushed (twice); it was"), "the L2 was flushed");
        assert_eq!(clause("one miss costs too little, so it is unknown"), "one miss costs too little");
        assert_eq!(clause("failed: another process used it; try again"), "failed: another process used it");
        assert_eq!(clause("so: and so (on)"), "so: and so");
    }

    #[test]
    fn elements_of_which_the_same_is_unknown_stand_together() {
        let unknown = |element, attributes: &[&'static str], everything| Unknown {
            element,
            attributes: attributes.to_vec(),
            everything,
        };
        let some = ["a", "b", "c", "d", "e", "f"];
        assert_eq!(
            named(vec![
                unknown("l1", &["sets", "ways"], false),
                unknown("l2", &some, false),
                unknown("texture", &["sets", "ways"], false),
                unknown("tlb_l3", &some, true),
            ]),
            "l1, texture sets, ways; l2 a, b, c, d and 2 more; tlb_l3 everything"
        );
    }
}
