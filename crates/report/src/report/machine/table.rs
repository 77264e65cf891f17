//! Tables of a machine file, in which no value stands without a source.

use textwrap::Options;
use textwrap::WordSplitter::NoHyphenation;
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Value};

use super::found::Sourced;

/// Widest line of a comment, in characters.
const WIDTH: usize = 118;

/// One table, in the making.
pub(super) struct Table {
    /// Tables around it, and its own name.
    path: Vec<String>,
    in_list: bool,
    rows: toml_edit::Table,
    /// Keys with the source of their values.
    sources: Vec<(String, String)>,
}

impl Table {
    /// An empty `[name]`; `about` stands above it as a comment.
    pub fn new(name: &str, about: &str) -> Self {
        let about = if about.is_empty() { String::new() } else { comment(about) };
        let mut rows = toml_edit::Table::new();
        rows.decor_mut().set_prefix(format!("\n{about}"));
        let path = name.split('.').map(str::to_owned).collect();
        Table { path, in_list: false, rows, sources: Vec::new() }
    }

    /// One more of the list `[[name]]`.
    pub fn list(name: &str) -> Self {
        Table { in_list: true, ..Table::new(name, "") }
    }

    /// Adds a value with its source.
    pub fn put(&mut self, key: &str, value: Sourced<impl IntoToml>) {
        self.rows.insert(key, Item::Value(value.value.into_toml()));
        self.sources.push((key.into(), value.source));
    }

    /// Adds text that is no claim about a machine and has no source.
    pub fn plain(&mut self, key: &str, value: String) {
        self.rows.insert(key, Item::Value(value.into_toml()));
    }

    /// Adds a remark to what stands above the table, unless it is empty.
    pub fn remark(&mut self, text: &str) {
        if !text.is_empty() {
            let before = self.rows.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default().to_owned();
            self.rows.decor_mut().set_prefix(before + &comment(text));
        }
    }

    /// Whether nothing stands in it.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// As text.
    pub fn render(mut self) -> String {
        let mut sources = toml_edit::Table::new();
        sources.decor_mut().set_prefix("");
        for keys in self.sources.chunk_by(|(_, one), (_, next)| one == next) {
            let names: Vec<&str> = keys.iter().map(|(key, _)| key.as_str()).collect();
            sources.insert(&names.join(", "), Item::Value(keys[0].1.as_str().into_toml()));
        }
        if !sources.is_empty() {
            self.rows.insert("sources", Item::Table(sources));
        }
        let table = match self.in_list {
            true => Item::ArrayOfTables(ArrayOfTables::from_iter([self.rows])),
            false => Item::Table(self.rows),
        };
        let document = self.path.iter().rev().fold(table, |inner, name| {
            let mut outer = toml_edit::Table::new();
            outer.set_implicit(true);
            outer.insert(name, inner);
            Item::Table(outer)
        });
        document.into_table().map(DocumentMut::from).unwrap_or_default().to_string()
    }
}

/// Text as comments of limited width.
pub(crate) fn comment(text: &str) -> String {
    let options = Options::new(WIDTH).initial_indent("# ").subsequent_indent("# ");
    let lines = textwrap::fill(&printable(text), options.break_words(false).word_splitter(NoHyphenation));
    lines + "\n"
}

/// A recording may come from anyone, and a machine file has no place for control characters.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// What stands in a table.
pub(super) trait IntoToml {
    /// As a value of TOML.
    fn into_toml(self) -> Value;
}

impl IntoToml for u64 {
    fn into_toml(self) -> Value {
        i64::try_from(self).unwrap_or(i64::MAX).into()
    }
}

impl IntoToml for f64 {
    fn into_toml(self) -> Value {
        self.into()
    }
}

impl IntoToml for bool {
    fn into_toml(self) -> Value {
        self.into()
    }
}

impl IntoToml for &str {
    fn into_toml(self) -> Value {
        printable(self).into()
    }
}

impl IntoToml for String {
    fn into_toml(self) -> Value {
        self.as_str().into_toml()
    }
}

impl<T: IntoToml> IntoToml for Vec<T> {
    fn into_toml(self) -> Value {
        self.into_iter().map(IntoToml::into_toml).collect::<Array>().into()
    }
}

impl IntoToml for Value {
    fn into_toml(self) -> Value {
        self
    }
}

/// An inline table, by key.
pub(super) fn inline<'k>(rows: impl IntoIterator<Item = (&'k str, Value)>) -> Value {
    let mut table = InlineTable::from_iter(rows);
    table.sort_values();
    table.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_anyone_may_write_stays_one_value_and_one_comment() {
        let mut table = Table::new("device", "two\nlines");
        table.put("name", Sourced::new("\"\n[clock]\nmhz = 1 \\\u{1b}", "driver: a\nb".into()));
        table.put("partitions", Sourced::new(inline([("count", 2.into())]), "x".into()));
        let text = table.render();
        let parsed: toml::Table = text.parse().unwrap();
        assert_eq!(parsed.keys().collect::<Vec<_>>(), ["device"], "{text}");
        assert_eq!(parsed["device"]["name"].as_str(), Some("\" [clock] mhz = 1 \\ "));
        assert_eq!(parsed["device"]["sources"]["name"].as_str(), Some("driver: a b"));
        assert!(comment(&"word ".repeat(100)).lines().all(|line| line.starts_with("# ") && line.len() <= WIDTH));
    }
}
