//! One table of comma-separated values, written row by row.

use std::fmt::{self, Display};
use std::io;
use std::path::Path;

use csv::{Terminator, WriterBuilder};
use strata_files::Replacement;

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
    out: csv::Writer<Counted>,
    rows: u64,
}

/// A file and how many bytes were written to it.
struct Counted {
    file: Replacement,
    bytes: u64,
}

impl io::Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
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
        // Rows end as RFC 4180 has it.
        let file = Counted { file: Replacement::begin(&path)?, bytes: 0 };
        let mut rows = Rows { out: WriterBuilder::new().terminator(Terminator::CRLF).from_writer(file), rows: 0 };
        rows.out.write_record(header)?;
        fill(&mut rows)?;
        let file = rows.out.into_inner().map_err(csv::IntoInnerError::into_error)?;
        file.file.commit()?;
        Ok((rows.rows, file.bytes))
    };
    match write() {
        Ok((rows, bytes)) => Ok(Written { path, rows, bytes }),
        Err(source) => Err(Error::Write { path, source }),
    }
}

impl Rows {
    /// Writes one row.
    pub fn row(&mut self, fields: &[&dyn Display]) -> io::Result<()> {
        self.rows += 1;
        Ok(self.out.write_record(fields.iter().map(|field| field.to_string()))?)
    }
}
