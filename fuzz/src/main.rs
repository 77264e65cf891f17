//! Any bytes for one parser, which the variable `STRATA_PARSER` names: one program for all, so that it is built once.
#![no_main]

mod parsers;

use std::sync::LazyLock;

static PARSER: LazyLock<parsers::Parser> = LazyLock::new(|| {
    let name = std::env::var("STRATA_PARSER").unwrap_or_default();
    let found = parsers::ALL.into_iter().find(|(known, _)| *known == name);
    let names: Vec<&str> = parsers::ALL.into_iter().map(|(known, _)| known).collect();
    found.unwrap_or_else(|| panic!("STRATA_PARSER is `{name}`; there are {}", names.join(", "))).1
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| PARSER(data));
