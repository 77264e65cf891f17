//! The kernels that have been loaded so far: compiled when first needed, never again.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use strata_gpu::{DevicePtr, Error, Function, FunctionAttribute, Gpu, Module, Result};
use strata_kernels::idiom::CONSTANT_SYMBOL;
use strata_kernels::{ClockRead, Program};
use strata_model::units::Bytes;

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
    settings: HashMap<(Program, bool), u64>,
    /// Width of a bank that was last asked for, where one was.
    banks: HashMap<Program, Option<Bytes>>,
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
        let capability = gpu.facts().compute_capability;
        if let Some(reason) = program.missing_on(capability) {
            return Err(Error::Unsupported { reason });
        }
        let text = program.text(ClockRead::for_capability(capability));
        let module = gpu.load(&text.ptx)?;
        let function = gpu.function(module, &text.name)?;
        let constants =
            if text.ptx.contains(CONSTANT_SYMBOL) { Some(gpu.symbol(module, CONSTANT_SYMBOL)?.0) } else { None };
        self.compiled.push(Compiled {
            kernel: text.name,
            ptx: text.ptx,
            machine_code: gpu.machine_code(module).map(<[u8]>::to_vec),
        });
        Ok(Loaded { function, constants, module })
    }

    /// Asks for a share of shared memory and for the dynamic shared memory that the launch needs, where that has changed.
    /// A device without a carveout ignores a request for the least shared memory.
    pub fn configure(
        &mut self,
        gpu: &mut dyn Gpu,
        program: Program,
        function: Function,
        carveout: Option<u8>,
        shared: Bytes,
    ) -> Result<()> {
        if let Some(percent) = carveout
            && self.settings.insert((program, false), u64::from(percent)) != Some(u64::from(percent))
        {
            match gpu.set_attribute(function, FunctionAttribute::Carveout(percent)) {
                // Without a carveout there is nothing that a request for the extremes could change.
                Err(Error::Unsupported { .. }) if percent == 0 || percent == 100 => {}
                other => other?,
            }
        }
        if shared.0 > gpu.facts().shared_per_block
            && self.settings.get(&(program, true)).is_none_or(|&before| before < shared.0)
        {
            gpu.set_attribute(function, FunctionAttribute::MaxDynamicShared(shared))?;
            self.settings.insert((program, true), shared.0);
        }
        Ok(())
    }

    /// Asks for a width of shared memory's banks, where that has changed; `None` is the driver's own choice.
    pub fn choose_banks(
        &mut self,
        gpu: &mut dyn Gpu,
        program: Program,
        function: Function,
        width: Option<Bytes>,
    ) -> Result<()> {
        if self.banks.get(&program).copied().unwrap_or(None) != width {
            gpu.set_attribute(function, FunctionAttribute::BankWidth(width))?;
            self.banks.insert(program, width);
        }
        Ok(())
    }
}
