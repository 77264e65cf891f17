//! Rows of whole numbers between commas: first what the row is of (a footprint, a stride, or both), then latencies in cycles.

use std::io::{BufRead, Read};

use strata_model::import::MOST_ROWS;

/// Longest line that is read, in bytes: a hundred times the longest that MT4G writes (512 values).
pub const MAX_LINE: u64 = 256 << 10;
/// Most values of a file: MT4G's largest holds a quarter of a million.
pub const MAX_VALUES: usize = 4 << 20;
/// Characters of a wrong value that an error shows.
const SHOWN: usize = 24;

/// One row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What it is of, in bytes: as many numbers as were asked for.
    pub keys: Vec<u64>,
    /// Latencies, in cycles.
    pub latencies: Vec<u32>,
}

/// Reads rows of `keys` numbers and at least one latency. Empty lines are left out.
///
/// # Errors
///
/// The line, counted from 1, and what is wrong with it. An error of reading is one of the line that it befell.
pub fn rows(mut input: impl BufRead, keys: usize) -> Result<Vec<Row>, (usize, String)> {
    let mut rows = Vec::new();
    let mut values = 0;
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let read = input.by_ref().take(MAX_LINE + 1).read_until(b'\n', &mut line);
        let read = read.map_err(|error| (number, format!("reading failed: {error}")))?;
        if read == 0 {
            return Ok(rows);
        }
        if read as u64 > MAX_LINE {
            return Err((number, format!("the line is longer than {MAX_LINE} bytes; rows of timings are far shorter")));
        }
        let text = std::str::from_utf8(&line).map_err(|_| (number, "it is not text".to_owned()))?;
        let text = text.trim();
        if text.is_empty() {
            continue;
        }
        let row = row(text, keys).map_err(|what| (number, what))?;
        values += row.latencies.len();
        if values > MAX_VALUES {
            return Err((number, format!("the file has more than {MAX_VALUES} latencies, so it is not from MT4G")));
        }
        if rows.len() == MOST_ROWS {
            return Err((number, format!("the file has more than {MOST_ROWS} rows, so it is not from MT4G")));
        }
        rows.push(row);
    }
    Ok(rows)
}

fn row(text: &str, keys: usize) -> Result<Row, String> {
    let mut row = Row { keys: Vec::with_capacity(keys), latencies: Vec::new() };
    // Some rows end with a comma.
    for (column, cell) in text.strip_suffix(',').unwrap_or(text).split(',').enumerate() {
        let cell = cell.trim();
        if column < keys {
            let key = cell.parse().ok().filter(|key| *key > 0);
            row.keys.push(key.ok_or_else(|| format!("`{}` is not a number of bytes", shown(cell)))?);
        } else {
            // No load takes 0 cycles.
            let latency = cell.parse().ok().filter(|latency| *latency > 0);
            row.latencies.push(latency.ok_or_else(|| format!("`{}` is not a latency in whole cycles", shown(cell)))?);
        }
    }
    if row.latencies.is_empty() {
        return Err(match keys {
            0 => "there is no latency".into(),
            1 => "a number of bytes with at least one latency was expected".into(),
            _ => "a stride, a footprint and at least one latency were expected".into(),
        });
    }
    Ok(row)
}

/// The beginning of a value from a file of anyone's making, without what a terminal would obey.
fn shown(cell: &str) -> String {
    let printable = cell.chars().map(|c| if c.is_control() { '�' } else { c });
    let mut text: String = printable.take(SHOWN).collect();
    if cell.chars().nth(SHOWN).is_some() {
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, keys: usize) -> Result<Vec<Row>, (usize, String)> {
        rows(text.as_bytes(), keys)
    }

    #[test]
    fn rows_are_read_with_what_they_are_of() {
        let rows = read("1024,30,31\r\n\n2048, 30,200,\n", 1).unwrap();
        assert_eq!(rows[0], Row { keys: vec![1024], latencies: vec![30, 31] });
        assert_eq!(rows[1], Row { keys: vec![2048], latencies: vec![30, 200] });
        assert_eq!(read("16,1024,7\n", 2).unwrap()[0].keys, [16, 1024]);
        assert_eq!(read("7\n8", 0).unwrap().len(), 2);
        assert_eq!(read("", 1), Ok(Vec::new()));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let wrong = |text: &str, keys| read(text, keys).unwrap_err();
        assert_eq!(wrong("1024,3\nabc,def\n", 1), (2, "`abc` is not a number of bytes".into()));
        assert_eq!(wrong("1024,3\n2048,x\n", 1), (2, "`x` is not a latency in whole cycles".into()));
        assert_eq!(wrong("1024,-3\n", 1).0, 1);
        assert_eq!(wrong("1024,30,0\n", 1), (1, "`0` is not a latency in whole cycles".into()));
        assert_eq!(wrong("1024,3.5\n", 1).0, 1);
        assert_eq!(wrong("1024,99999999999\n", 1).0, 1);
        assert_eq!(wrong("0,3\n", 1), (1, "`0` is not a number of bytes".into()));
        assert_eq!(wrong("1024\n", 1).0, 1);
        assert_eq!(wrong("\n\n1024,,3\n", 1).0, 3);
        let escape = wrong("1024,\u{1b}[31m and a long rest of a line\n", 1).1;
        assert_eq!(escape, "`�[31m and a long rest of…` is not a latency in whole cycles");
    }

    #[test]
    fn a_line_without_end_is_not_read_to_its_end() {
        let line = "1,".repeat(MAX_LINE as usize);
        assert!(read(&line, 1).unwrap_err().1.contains("longer than"));
        assert!(read(&"1,2\n".repeat(MOST_ROWS + 1), 1).unwrap_err().1.contains("rows"));
        assert!(rows(&[0xff, 0xfe, b'\n'][..], 1).unwrap_err().1.contains("not text"));
    }
}
