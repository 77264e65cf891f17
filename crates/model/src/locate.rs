//! What is wrong with a TOML file, and the line and key to blame.

use std::fmt;
use std::ops::Range;

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defect {
    /// The file, or the name of what was read.
    pub origin: String,
    /// Line, from 1, where one is to blame.
    pub line: Option<usize>,
    /// Key, as a path of tables, where one is to blame.
    pub key: String,
    /// What was found and what is allowed.
    pub what: String,
}

impl Defect {
    /// Of the whole file.
    pub fn of_file(origin: &str, what: impl Into<String>) -> Self {
        Defect { origin: origin.to_owned(), line: None, key: String::new(), what: what.into() }
    }

    /// At some bytes of the text, as a parser names them. `what` may have several lines.
    pub fn at(origin: &str, text: &str, span: Option<Range<usize>>, what: &str) -> Self {
        let before = |span: Range<usize>| text.get(..span.start.min(text.len()));
        let line = span.and_then(before).map(|before| before.matches('\n').count() + 1);
        let key = line.and_then(|line| key_at(text, line)).unwrap_or_default();
        Defect { line, key, ..Defect::of_file(origin, what.trim().replace('\n', "; ")) }
    }

    /// At a key, by its path.
    pub fn of_key(origin: &str, text: &str, key: String, what: String) -> Self {
        Defect { line: line_of(text, &key), key, ..Defect::of_file(origin, what) }
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.origin)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", self.key)?;
        }
        write!(f, ": {}", self.what)
    }
}

impl std::error::Error for Defect {}

/// The name in a table's header, such as `cache.l1` of `[cache.l1]`.
fn header(line: &str) -> Option<&str> {
    let inner = line.trim().strip_prefix('[')?;
    let inner = inner.strip_prefix('[').unwrap_or(inner);
    Some(inner.split(']').next()?.trim())
}

fn key_of(line: &str) -> Option<&str> {
    let (key, _) = line.split_once('=')?;
    let key = key.trim();
    (!key.is_empty() && !key.starts_with('#')).then_some(key)
}

/// The path of the key on a line.
fn key_at(text: &str, line: usize) -> Option<String> {
    let lines: Vec<&str> = text.lines().take(line).collect();
    let last = lines.last()?;
    if let Some(table) = header(last) {
        return Some(table.to_owned());
    }
    let key = key_of(last)?;
    Some(match lines.iter().rev().find_map(|l| header(l)) {
        Some(table) => format!("{table}.{key}"),
        None => key.to_owned(),
    })
}

/// The line of a key by its path (`cache.l1.size`, `tlb.2.page` for the third of a list); of its table, if the key itself
/// is absent.
fn line_of(text: &str, path: &str) -> Option<usize> {
    let (table, key) = path.rsplit_once('.')?;
    // An element of a list of tables is named by its number.
    let (name, skip) = match table.rsplit_once('.').map(|(list, number)| (list, number.parse::<usize>())) {
        Some((list, Ok(number))) => (list, number),
        _ => (table, 0),
    };
    let begins = text.lines().enumerate().filter(|(_, l)| header(l) == Some(name)).nth(skip)?.0;
    let inside = text.lines().enumerate().skip(begins + 1).take_while(|(_, l)| header(l).is_none());
    let found = inside.into_iter().find(|(_, l)| key_of(l) == Some(key)).map(|(i, _)| i);
    Some(found.unwrap_or(begins) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "a = 1\n[cache.l1]\nsize = 2\n# line = 9\n\n[[tlb]]\npage = 1\n[[tlb]]\npage = 2\n";

    #[test]
    fn keys_are_found_where_they_stand() {
        assert_eq!(line_of(TEXT, "cache.l1.size"), Some(3));
        assert_eq!(line_of(TEXT, "cache.l1.line"), Some(2));
        assert_eq!(line_of(TEXT, "tlb.1.page"), Some(9));
        assert_eq!(line_of(TEXT, "cache.l9.size"), None);
        assert_eq!(key_at(TEXT, 3).as_deref(), Some("cache.l1.size"));
        assert_eq!(key_at(TEXT, 1).as_deref(), Some("a"));
    }
}
