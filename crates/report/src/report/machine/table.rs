//! Tables of a machine file, in which no value stands without a source.

use toml::Value;

use super::found::Sourced;

/// Widest line of a comment, in characters.
const WIDTH: usize = 118;

/// One table, in the making.
pub(super) struct Table {
    header: String,
    name: String,
    about: String,
    rows: Vec<(String, Value)>,
    sources: Vec<(String, String)>,
}

impl Table {
    /// An empty `[name]`; `about` stands above it as a comment.
    pub fn new(name: &str, about: &str) -> Self {
        Table {
            header: format!("[{name}]"),
            name: name.into(),
            about: about.into(),
            rows: Vec::new(),
            sources: Vec::new(),
        }
    }

    /// One more of the list `[[name]]`.
    pub fn list(name: &str) -> Self {
        Table { header: format!("[[{name}]]"), ..Table::new(name, "") }
    }

    /// Adds a value with its source.
    pub fn put(&mut self, key: &str, value: Sourced<impl IntoToml>) {
        self.rows.push((key.into(), value.value.into_toml()));
        self.sources.push((key.into(), value.source));
    }

    /// Adds text that is no claim about a machine and has no source.
    pub fn plain(&mut self, key: &str, value: String) {
        self.rows.push((key.into(), Value::String(printable(&value))));
    }

    /// As text.
    pub fn render(&self) -> String {
        let mut text = String::from("\n");
        if !self.about.is_empty() {
            text.push_str(&comment(&self.about));
        }
        text.push_str(&format!("{}\n", self.header));
        for (key, value) in &self.rows {
            text.push_str(&format!("{key} = {value}\n"));
        }
        if !self.sources.is_empty() {
            text.push_str(&format!("[{}.sources]\n", self.name));
        }
        for keys in self.sources.chunk_by(|(_, one), (_, next)| one == next) {
            let names: Vec<&str> = keys.iter().map(|(key, _)| key.as_str()).collect();
            text.push_str(&format!("\"{}\" = {}\n", names.join(", "), Value::String(printable(&keys[0].1))));
        }
        text
    }
}

/// Text as comments of limited width.
pub(super) fn comment(text: &str) -> String {
    let mut lines = vec![String::from("#")];
    for word in printable(text).split_whitespace() {
        if lines.last().is_some_and(|line| line.chars().count() + word.chars().count() >= WIDTH) {
            lines.push("#".into());
        }
        if let Some(line) = lines.last_mut() {
            line.push(' ');
            line.push_str(word);
        }
    }
    lines.join("\n") + "\n"
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
        Value::Integer(i64::try_from(self).unwrap_or(i64::MAX))
    }
}

impl IntoToml for bool {
    fn into_toml(self) -> Value {
        Value::Boolean(self)
    }
}

impl IntoToml for &str {
    fn into_toml(self) -> Value {
        Value::String(printable(self))
    }
}

impl IntoToml for String {
    fn into_toml(self) -> Value {
        Value::String(printable(&self))
    }
}

impl<T: IntoToml> IntoToml for Vec<T> {
    fn into_toml(self) -> Value {
        Value::Array(self.into_iter().map(IntoToml::into_toml).collect())
    }
}

impl IntoToml for Value {
    fn into_toml(self) -> Value {
        self
    }
}

/// An inline table.
pub(super) fn inline<const N: usize>(rows: [(&str, Value); N]) -> Value {
    Value::Table(rows.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_anyone_may_write_stays_one_value_and_one_comment() {
        let mut table = Table::new("device", "two\nlines");
        table.put("name", Sourced::new("\"\n[clock]\nmhz = 1 \\\u{1b}", "driver: a\nb".into()));
        table.put("partitions", Sourced::new(inline([("count", Value::Integer(2))]), "x".into()));
        let text = table.render();
        let parsed: toml::Table = text.parse().unwrap();
        assert_eq!(parsed.keys().collect::<Vec<_>>(), ["device"], "{text}");
        assert_eq!(parsed["device"]["name"].as_str(), Some("\" [clock] mhz = 1 \\ "));
        assert_eq!(parsed["device"]["sources"]["name"].as_str(), Some("driver: a b"));
        assert!(comment(&"word ".repeat(100)).lines().all(|line| line.starts_with("# ") && line.len() <= WIDTH));
    }
}
