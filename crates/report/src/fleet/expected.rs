//! The hosts that a fleet should have, and which host a file is of.
//!
//! A result names no host: host names can say more than their owners want to publish. A file's path can, because whoever runs a
//! fleet chooses it: `results/node07.json`, `results/node07/gpu3.json`, `strata-node07-3.json`.

use std::collections::HashMap;
use std::path::Path;

use super::document::{Hosts, Missing, Skipped};

/// Most words of a part of a path that are looked at: names of files have at most 255 bytes.
const MOST_WORDS: usize = 128;

/// Names of hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    names: Vec<String>,
    /// In lower case: whole names, and names up to their first dot where no other host has the same.
    by_name: HashMap<String, usize>,
}

impl Expected {
    /// Of a list with a name on each line. What follows a `#` is a comment; a name counts once.
    ///
    /// # Errors
    ///
    /// If there is no name in it, or more than one on a line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut expected = Expected::default();
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.split_whitespace().nth(1).is_some() {
                return Err(format!("line {} has more than one name: `{line:.80}`", number + 1));
            }
            if !line.is_empty() && !expected.by_name.contains_key(&line.to_ascii_lowercase()) {
                expected.by_name.insert(line.to_ascii_lowercase(), expected.names.len());
                expected.names.push(line.to_owned());
            }
        }
        if expected.names.is_empty() {
            return Err("there is no name in it; write one host name on each line".into());
        }
        let mut short: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, name) in expected.names.iter().enumerate() {
            if let Some((short_name, _)) = name.split_once('.').filter(|(short, _)| !short.is_empty()) {
                short.entry(short_name.to_ascii_lowercase()).or_default().push(at);
            }
        }
        for (name, hosts) in short {
            if let [only] = hosts[..] {
                expected.by_name.entry(name).or_insert(only);
            }
        }
        Ok(expected)
    }

    /// The host whose name stands in a path as a word. The last part of the path that has one decides, and in it the longest name.
    pub fn host_of(&self, path: &Path) -> Option<usize> {
        path.components().rev().find_map(|part| self.in_part(&part.as_os_str().to_string_lossy()))
    }

    /// The name of a host.
    pub fn name(&self, host: usize) -> &str {
        &self.names[host]
    }

    fn in_part(&self, part: &str) -> Option<usize> {
        let part = part.to_ascii_lowercase();
        let mut words: Vec<(usize, usize)> = Vec::new();
        for (at, c) in part.char_indices().filter(|(_, c)| c.is_alphanumeric()) {
            let end = at + c.len_utf8();
            match words.last_mut() {
                Some(word) if word.1 == at => word.1 = end,
                _ => words.push((at, end)),
            }
        }
        words.truncate(MOST_WORDS);
        (1..=words.len()).rev().find_map(|count| {
            words.windows(count).find_map(|some| self.by_name.get(&part[some[0].0..some[count - 1].1]).copied())
        })
    }

    /// Which hosts have no result. `results` are the files that count.
    pub fn missing<'f>(&self, results: impl Iterator<Item = &'f Path>, skipped: &[Skipped]) -> Hosts {
        let mut there = vec![false; self.names.len()];
        let mut unlisted = Vec::new();
        for file in results {
            match self.host_of(file) {
                Some(host) => there[host] = true,
                None => unlisted.push(file.display().to_string()),
            }
        }
        let mut broken: HashMap<usize, &Skipped> = HashMap::new();
        for one in skipped {
            if let Some(host) = self.host_of(Path::new(&one.file)) {
                broken.entry(host).or_insert(one);
            }
        }
        let missing = self.names.iter().enumerate().filter(|(host, _)| !there[*host]).map(|(host, name)| Missing {
            host: name.clone(),
            skipped: broken.get(&host).map(|one| format!("`{}` {}", one.file, one.reason)),
        });
        Hosts { expected: self.names.len(), missing: missing.collect(), unlisted }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host<'e>(expected: &'e Expected, path: &str) -> Option<&'e str> {
        expected.host_of(Path::new(path)).map(|host| expected.name(host))
    }

    #[test]
    fn a_name_is_a_word_of_the_path() {
        let list = "# rack 1\nnode1\nnode10\n gpu-a\nGPU-a-2 # new\n\nx.a.example\ny.a.example\ny.b.example\nnode1\n";
        let expected = Expected::parse(list).unwrap();
        assert_eq!(expected.names.len(), 7, "a name counts once");
        for (path, found) in [
            ("results/node1.json", Some("node1")),
            ("results/node10.json", Some("node10")),
            ("strata-node10-3.json", Some("node10")),
            ("node10/gpu3.json", Some("node10")),
            ("node10/node1.json", Some("node1")),
            ("NODE1_0.json", Some("node1")),
            ("gpu-a-2-0.json", Some("GPU-a-2")),
            ("gpu-a.json", Some("gpu-a")),
            ("x.json", Some("x.a.example")),
            ("x.a.example/0.json", Some("x.a.example")),
            ("y.json", None),
            ("y.b.example.json", Some("y.b.example")),
            ("node100.json", None),
            ("anode1.json", None),
        ] {
            assert_eq!(host(&expected, path), found, "{path}");
        }
    }

    #[test]
    fn a_list_without_names_or_with_columns_is_refused() {
        assert!(Expected::parse("").unwrap_err().contains("no name"));
        assert!(Expected::parse("# all\n\n").unwrap_err().contains("no name"));
        assert!(Expected::parse("a\nb idle\n").unwrap_err().contains("line 2"));
    }

    #[test]
    fn hosts_without_a_usable_result_are_missing() {
        let expected = Expected::parse("a\nb\nc\n").unwrap();
        let skipped = [Skipped { file: "r/b.json".into(), reason: "is empty".into() }];
        let hosts = expected.missing([Path::new("r/a.json"), Path::new("r/z.json")].into_iter(), &skipped);
        assert_eq!((hosts.expected, &hosts.unlisted[..]), (3, &["r/z.json".to_owned()][..]));
        let missing: Vec<_> = hosts.missing.iter().map(|one| (one.host.as_str(), one.skipped.as_deref())).collect();
        assert_eq!(missing, [("b", Some("`r/b.json` is empty")), ("c", None)]);
    }
}
