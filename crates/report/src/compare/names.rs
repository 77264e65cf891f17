//! Names that are near to one that does not exist.

/// Most changes of letters between a name and one that is near to it, for each three letters.
const LETTERS_A_CHANGE: usize = 3;

/// Most names that a message lists.
const MOST: usize = 60;

/// What to say after "no such name": those that are near, or else all that there are.
pub fn advice<'n>(wanted: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    let mut all: Vec<&str> = names.into_iter().collect();
    all.dedup();
    let mut near: Vec<(usize, &str)> = all.iter().filter_map(|name| Some((nearness(wanted, name)?, *name))).collect();
    near.sort();
    let quoted = |names: &[&str]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>();
    if !near.is_empty() {
        let near: Vec<&str> = near.into_iter().take(5).map(|(_, name)| name).collect();
        return format!("did you mean {}?", quoted(&near).join(" or "));
    }
    let more = all.len().saturating_sub(MOST);
    all.truncate(MOST);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("there are {}{more}", all.join(", "))
}

/// How near a name is; `None` if it is not. Less is nearer.
fn nearness(wanted: &str, name: &str) -> Option<usize> {
    // A name as long as a book is near to nothing, and comparing it takes its time.
    if wanted.is_empty() || wanted.len() > 100 {
        return None;
    }
    let changes = changes(wanted, name);
    let most = wanted.chars().count().div_ceil(LETTERS_A_CHANGE);
    let (short, long) = if wanted.len() < name.len() { (wanted, name) } else { (name, wanted) };
    let begins = short.len() > 1 && long.starts_with(short);
    (changes <= most || begins).then_some(changes)
}

/// The least number of letters to insert, delete or replace (Levenshtein, 1966).
fn changes(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
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
        assert_eq!([changes("", "abc"), changes("abc", "abc"), changes("kitten", "sitting")], [3, 0, 3]);
    }
}
