//! The loaded kernels: each is compiled once, when it is first needed.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use strata_gpu::{DevicePtr, Error, Function, Gpu, Module, Result};
use strata_kernels::sizes::CONSTANT_SYMBOL;
use strata_kernels::{Program, dialect_for};

/// A kernel on the device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loaded {
    pub function: Function,
    pub constants: Option<DevicePtr>,
    pub module: Module,
}

/// What was compiled, for the recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// Entry point.
    pub kernel: String,
    /// Its text.
    pub ptx: String,
    /// Machine code that the driver made, where it gives it.
    pub machine_code: Option<Vec<u8>>,
}

#[derive(Default)]
pub(super) struct Programs {
    loaded: HashMap<Program, std::result::Result<Loaded, Error>>,
    pub compiled: Vec<Compiled>,
    pub compile_time: Duration,
    /// How long each took.
    compile_times: HashMap<Program, Duration>,
}

impl Programs {
    /// The kernel, compiled if this is the first use. A rejected text is rejected again without another attempt.
    pub fn get(&mut self, gpu: &mut dyn Gpu, program: Program) -> Result<Loaded> {
        if let Some(known) = self.loaded.get(&program) {
            return known.clone();
        }
        let started = Instant::now();
        let result = self.load(gpu, program);
        let took = started.elapsed();
        self.compile_time += took;
        self.compile_times.insert(program, took);
        self.loaded.insert(program, result.clone());
        result
    }

    /// Microseconds that compiling and loading a kernel took; 0 if it has not been.
    pub fn compile_us(&self, program: Program) -> u64 {
        self.compile_times.get(&program).map_or(0, |took| took.as_micros() as u64)
    }

    fn load(&mut self, gpu: &mut dyn Gpu, program: Program) -> Result<Loaded> {
        let (dialect, capability) = (dialect_for(gpu.facts()), gpu.facts().compute_capability);
        if let Some(reason) = dialect.missing(program, capability) {
            return Err(Error::Unsupported { reason });
        }
        let text = dialect.text(program, capability);
        let module = gpu.load(&text.code)?;
        let function = gpu.function(module, &text.entry)?;
        let constants =
            if text.code.contains(CONSTANT_SYMBOL) { Some(gpu.symbol(module, CONSTANT_SYMBOL)?.0) } else { None };
        self.compiled.push(Compiled {
            kernel: text.entry,
            ptx: text.code,
            machine_code: gpu.machine_code(module).map(<[u8]>::to_vec),
        });
        Ok(Loaded { function, constants, module })
    }
}
