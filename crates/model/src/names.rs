//! Names that are near to one that does not exist.

/// Most changes of letters between a name and one that is near to it, for each three letters.
const LETTERS_A_CHANGE: usize = 3;

/// Most names that a message lists.
const MOST: usize = 60;
/// Most names that it proposes.
const MOST_NEAR: usize = 5;

/// The names that are near to one that does not exist, the nearest first.
pub fn near<'n>(wanted: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
    let near = |name: &'n str| Some((nearness(wanted, name)?, name));
    let mut near: Vec<(usize, &str)> = names.into_iter().filter_map(near).collect();
    near.sort_unstable();
    near.into_iter().take(MOST_NEAR).map(|(_, name)| name).collect()
}

/// What to say after "no such name": those that are near, or else all that there are.
pub fn advice<'n>(wanted: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    let mut all: Vec<&str> = names.into_iter().collect();
    all.dedup();
    let near = near(wanted, all.iter().copied());
    let quoted = |names: &[&str]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>();
    if !near.is_empty() {
        return format!("did you mean {}?", quoted(&near).join(" or "));
    }
    let more = all.len().saturating_sub(MOST);
    all.truncate(MOST);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("there are {}{more}", all.join(", "))
}

/// Advice as a sentence of its own.
pub fn sentence(advice: String) -> String {
    if advice.ends_with(['?', '.']) { advice } else { advice + "." }
}

/// How near a name is; `None` if it is not. Less is nearer.
fn nearness(wanted: &str, name: &str) -> Option<usize> {
    // A name as long as a book is near to nothing, and comparing it takes its time.
    if wanted.is_empty() || wanted.len() > 100 {
        return None;
    }
    let changes = strsim::levenshtein(wanted, name);
    let most = wanted.chars().count().div_ceil(LETTERS_A_CHANGE);
    let (short, long) = if wanted.len() < name.len() { (wanted, name) } else { (name, wanted) };
    let begins = short.len() > 1 && long.starts_with(short);
    (changes <= most || begins).then_some(changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_proposed_and_otherwise_all() {
        let names = ["size", "sets", "latency.cycles", "latency.ns"];
        assert_eq!(advice("siz", names), "did you mean `size`?");
        assert_eq!(advice("latency.cycle", names), "did you mean `latency.cycles` or `latency.ns`?");
        assert_eq!(advice("lat", names), "did you mean `latency.ns` or `latency.cycles`?");
        assert_eq!(advice("volume", names), "there are size, sets, latency.cycles, latency.ns");
    }
}
