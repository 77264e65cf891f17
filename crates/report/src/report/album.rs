//! The pictures of a Markdown report: in it as data, or in files of a folder beside it.

use std::ffi::OsStr;
use std::fmt::Write;

use data_encoding::BASE64;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

use super::markdown::plain;
use super::svg::Picture;

/// Longest name of a file, in bytes, without its ending; file systems take 255.
const LONGEST_NAME: usize = 100;

/// Where the pictures of a Markdown report are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pictures<'a> {
    /// In the report, as data at its end: one file, but GitHub does not show them.
    Embedded,
    /// Files in the folder of this name, which lies beside the report and is referred to from it.
    Beside(&'a OsStr),
}

/// A Markdown report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Markdown {
    /// The report.
    pub text: String,
    /// Its pictures, if they are files: each is to stand in the folder before the report refers to it.
    pub pictures: Vec<PictureFile>,
}

/// A picture that is a file of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PictureFile {
    /// Name of the file: lower-case letters, digits, `-`, `_` and the ending `.svg`.
    pub name: String,
    /// What is in it: an SVG document.
    pub svg: String,
}

/// The pictures of a report that is being written.
pub(super) struct Album<'a> {
    pictures: Pictures<'a>,
    files: Vec<PictureFile>,
    data: String,
}

// Writing to a string cannot fail, so the results are dropped.
impl<'a> Album<'a> {
    /// No pictures yet.
    pub fn new(pictures: Pictures<'a>) -> Self {
        Album { pictures, files: Vec::new(), data: String::new() }
    }

    /// Puts a picture here; the key names it within the report.
    pub fn place(&mut self, out: &mut String, key: &str, picture: &Picture) {
        let words = format!("{}. {}", plain(picture.title()), plain(picture.description()));
        match self.pictures {
            Pictures::Embedded => {
                let _ = writeln!(out, "![{words}][{}]\n", plain(key));
                let data = BASE64.encode(picture.alone().as_bytes());
                let _ = writeln!(self.data, "[{}]: data:image/svg+xml;base64,{data}", plain(key));
            }
            Pictures::Beside(folder) => {
                let name = self.free_name(key);
                let _ = writeln!(out, "![{words}]({}/{name})\n", percent_encode(folder.as_encoded_bytes(), RESERVED));
                self.files.push(PictureFile { name, svg: picture.alone() });
            }
        }
    }

    /// A file's name that no picture has.
    fn free_name(&self, key: &str) -> String {
        let safe = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c.to_ascii_lowercase() } else { '-' };
        let stem: String = key.chars().map(safe).take(LONGEST_NAME).collect();
        let names = (1..).map(|n| if n == 1 { format!("{stem}.svg") } else { format!("{stem}-{n}.svg") });
        let mut free = names.skip_while(|name| self.files.iter().any(|file| file.name == *name));
        free.next().unwrap_or_default()
    }

    /// The report with what its pictures refer to. One newline ends it, whatever its last section is.
    pub fn finished(self, mut text: String) -> Markdown {
        text.push_str(&self.data);
        text.truncate(text.trim_end().len());
        text.push('\n');
        Markdown { text, pictures: self.files }
    }
}

/// What does not stand for itself in an address: RFC 3986, section 2.3.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_any_name_can_be_referred_to() {
        let encoded = |name: &str| percent_encode(name.as_bytes(), RESERVED).to_string();
        assert_eq!(encoded("report-figures"), "report-figures");
        assert_eq!(encoded("my (1)é:#?%"), "my%20%281%29%C3%A9%3A%23%3F%25");
    }

    #[test]
    fn files_have_names_that_any_system_takes() {
        let mut album = Album::new(Pictures::Beside(OsStr::new("f")));
        let file = |name: &str| PictureFile { name: name.into(), svg: String::new() };
        assert_eq!(album.free_name("l1-sm_map"), "l1-sm_map.svg");
        assert_eq!(album.free_name("../A b\u{0}é"), "---a-b--.svg");
        album.files = vec![file("a.svg"), file("a-2.svg")];
        assert_eq!([album.free_name("a"), album.free_name("A")], ["a-3.svg", "a-3.svg"]);
        assert_eq!(album.free_name(&"x".repeat(999)).len(), LONGEST_NAME + ".svg".len());
    }
}
