//! The text of a machine file.

use std::fmt::{Display, Write};

/// Text that grows table by table.
pub struct Text(String);

impl Text {
    /// The text of a file that has only its version.
    pub fn new() -> Self {
        Text("schema = \"strata/machine/1\"\n".to_owned())
    }

    /// Begins a table.
    pub fn table(&mut self, name: &str) {
        self.line(format_args!("\n[{name}]"));
    }

    /// Begins the next table of a list.
    pub fn next_of(&mut self, name: &str) {
        self.line(format_args!("\n[[{name}]]"));
    }

    /// A key with a number, a list, or anything else that stands as it is.
    pub fn value(&mut self, key: &str, value: impl Display) {
        self.line(format_args!("{key} = {value}"));
    }

    /// A key with a text.
    pub fn text(&mut self, key: &str, text: impl Display) {
        self.line(format_args!("{key} = \"{text}\""));
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        writeln!(self.0, "{line}").expect("a string takes all");
    }

    /// All of it.
    pub fn finish(self) -> String {
        self.0
    }
}
