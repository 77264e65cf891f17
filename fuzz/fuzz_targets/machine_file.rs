//! Any text as a machine file: it is refused or read, in little time and memory.
#![no_main]

use gpu_strata::gpu::sim::machine::Machine;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = Machine::parse("fuzz", text);
});
