//! Any bytes as a result or a summary of MT4G: refused or compared with itself, in little time and memory.
#![no_main]

use gpu_strata::compare::{Options, compare, parse};
use gpu_strata::report::comparison;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(document) = parse("fuzz", bytes) {
        let answer = compare(&document.sheet("a"), &document.sheet("b"), &Options::default());
        let _ = (comparison::text(&answer), comparison::markdown(&answer));
    }
});
