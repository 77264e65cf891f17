//! Any text as a kernel: it is refused or read, in little time and memory.
#![no_main]

use gpu_strata::gpu::sim::ptx;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = ptx::module(text);
});
