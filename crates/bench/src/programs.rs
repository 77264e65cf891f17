//! The loaded kernels: each is compiled once, when it is first needed.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use strata_gpu::{Code, DevicePtr, Error, Function, Gpu, Module, Result};
use strata_kernels::sizes::CONSTANT_SYMBOL;
use strata_kernels::{Program, Text, dialect_for};

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
}

impl Programs {
    /// The kernel, compiled if this is the first use. A rejected text is rejected again without another attempt.
    pub fn get(&mut self, gpu: &mut dyn Gpu, program: Program) -> Result<Loaded> {
        if !self.loaded.contains_key(&program) {
            self.compile(gpu, program.family());
        }
        let missing = || Err(Error::Unsupported { reason: "the kernel was not compiled".into() });
        self.loaded.get(&program).cloned().unwrap_or_else(missing)
    }

    /// Compiles those of these kernels that have not been, at the same time where the device's driver can.
    pub fn compile(&mut self, gpu: &mut dyn Gpu, programs: impl IntoIterator<Item = Program>) {
        let started = Instant::now();
        let (dialect, capability) = (dialect_for(gpu.facts()), gpu.facts().compute_capability);
        let new: BTreeSet<Program> =
            programs.into_iter().filter(|program| !self.loaded.contains_key(program)).collect();
        let mut possible = Vec::new();
        for program in new {
            match dialect.missing(program, capability) {
                Some(reason) => drop(self.loaded.insert(program, Err(Error::Unsupported { reason }))),
                None => possible.push((program, dialect.text(program, capability))),
            }
        }
        let codes: Vec<Code<'_>> =
            possible.iter().map(|(_, text)| Code { text: &text.code, optimised: text.optimised }).collect();
        let modules = gpu.load_all(&codes);
        for ((program, text), module) in possible.into_iter().zip(modules) {
            let loaded = module.and_then(|module| self.resolve(gpu, module, text));
            self.loaded.insert(program, loaded);
        }
        self.compile_time += started.elapsed();
    }

    /// What launches need of a kernel that has been compiled.
    fn resolve(&mut self, gpu: &mut dyn Gpu, module: Module, text: Text) -> Result<Loaded> {
        let function = gpu.function(module, &text.entry)?;
        let constants =
            if text.code.contains(CONSTANT_SYMBOL) { Some(gpu.symbol(module, CONSTANT_SYMBOL)?.0) } else { None };
        let machine_code = gpu.machine_code(module).map(<[u8]>::to_vec);
        self.compiled.push(Compiled { kernel: text.entry, ptx: text.code, machine_code });
        Ok(Loaded { function, constants, module })
    }
}
