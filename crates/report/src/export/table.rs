//! One table of comma-separated values, written row by row.

use std::fmt::{self, Display};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::{Error, Written};

/// What may be absent; an empty field then.
pub struct Maybe<T>(pub Option<T>);

impl<T: Display> Display for Maybe<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |value| value.fmt(f))
    }
}

/// A table that is being written.
pub struct Rows {
    out: BufWriter<File>,
    rows: u64,
    bytes: u64,
    line: String,
}

/// Writes one table into `dir`.
pub fn table(
    dir: &Path,
    name: &str,
    header: &[&str],
    fill: impl FnOnce(&mut Rows) -> io::Result<()>,
) -> Result<Written, Error> {
    let path = dir.join(name);
    let write = || {
        let mut rows = Rows { out: BufWriter::new(File::create(&path)?), rows: 0, bytes: 0, line: String::new() };
        let header: Vec<&dyn Display> = header.iter().map(|name| name as &dyn Display).collect();
        rows.row(&header)?;
        fill(&mut rows)?;
        rows.out.flush()?;
        Ok((rows.rows - 1, rows.bytes))
    };
    match write() {
        Ok((rows, bytes)) => Ok(Written { path, rows, bytes }),
        Err(source) => Err(Error::Write { path, source }),
    }
}

impl Rows {
    /// Writes one row.
    pub fn row(&mut self, fields: &[&dyn Display]) -> io::Result<()> {
        self.line.clear();
        for (i, field) in fields.iter().enumerate() {
            if i > 0 {
                self.line.push(',');
            }
            let start = self.line.len();
            self.line.push_str(&field.to_string());
            quote(&mut self.line, start);
        }
        self.line.push_str("\r\n");
        self.rows += 1;
        self.bytes += self.line.len() as u64;
        self.out.write_all(self.line.as_bytes())
    }
}

/// Quotes the field that begins at `start`, if it holds anything that separates fields or rows (RFC 4180, section 2).
fn quote(line: &mut String, start: usize) {
    if line[start..].contains([',', '"', '\r', '\n']) {
        let quoted = line[start..].replace('"', "\"\"");
        line.truncate(start);
        line.push('"');
        line.push_str(&quoted);
        line.push('"');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        for (field, expected) in [
            ("", ""),
            ("plain text", "plain text"),
            ("1,5", "\"1,5\""),
            ("say \"what\"", "\"say \"\"what\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("return\r", "\"return\r\""),
            ("µs", "µs"),
        ] {
            let mut line = format!("\",before,{field}");
            let start = line.len() - field.len();
            quote(&mut line, start);
            assert_eq!(&line[start..], expected);
            assert_eq!(&line[..start], "\",before,", "earlier fields stay as they are");
        }
    }
}
