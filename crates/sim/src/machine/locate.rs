//! The position of a key in a file, for error messages.

use super::Defect;

/// The defect that a TOML error is.
pub(super) fn syntax(origin: &str, text: &str, error: &toml::de::Error) -> Defect {
    let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
    let key = line.and_then(|line| key_at(text, line)).unwrap_or_default();
    Defect { origin: origin.to_owned(), line, key, what: error.message().trim().replace('\n', "; ") }
}

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
pub(super) fn line_of(text: &str, path: &str) -> Option<usize> {
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
