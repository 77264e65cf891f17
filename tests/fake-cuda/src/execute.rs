//! Kernels that run: a simulated machine carries them out, and holds the memory of the device.
//!
//! `FAKE_CUDA_SLICES` is `EVERY,STOP,UNTIL` in cycles: another process stops the kernels for STOP cycles after each EVERY cycles of
//! work, until so many cycles of work are done.

use std::collections::HashMap;

use strata_gpu::{Copy, DevicePtr, Error, Function, Gpu, Launch, Module, Texture};
use strata_model::units::Bytes;
use strata_sim::Sim;
use strata_sim::machine::Machine as Simulated;
use strata_sim::model::clock::Slices;

use crate::fault::{Fault, fault};
use crate::{Code, NOT_SUPPORTED};

/// The machine that the attributes are of.
const MACHINE: &str = "h200";
/// The machine of the fault `kepler`.
const KEPLER: &str = "k20c";

/// The machine, with the handles that the driver gave for what is on it.
pub struct Machine {
    gpu: Sim,
    modules: HashMap<usize, Module>,
    functions: HashMap<usize, Function>,
}

impl Default for Machine {
    fn default() -> Self {
        let name = if fault() == Fault::Kepler { KEPLER } else { MACHINE };
        let machine = Simulated::find(name).expect("it comes with the simulator");
        let gpu = Sim::new(machine, 1).shared(slices());
        Machine { gpu, modules: HashMap::new(), functions: HashMap::new() }
    }
}

fn slices() -> Slices {
    let Ok(told) = std::env::var("FAKE_CUDA_SLICES") else { return Slices::NONE };
    let numbers: Vec<u64> = told.split(',').map(|n| n.parse().expect("FAKE_CUDA_SLICES is three numbers")).collect();
    Slices { every: numbers[0], stop: numbers[1], until: numbers[2] }
}

fn code(error: Error) -> Code {
    match error {
        Error::Call { code, .. } | Error::Compile { code, .. } => code,
        other => {
            eprintln!("fake-cuda: {other}");
            NOT_SUPPORTED
        }
    }
}

impl Machine {
    /// The device address of new memory.
    pub fn allocate(&mut self, bytes: u64, pinned: bool) -> Option<Result<u64, Code>> {
        let bytes = Bytes(bytes);
        let made = if pinned { self.gpu.allocate_pinned(bytes) } else { self.gpu.allocate(bytes) };
        Some(made.map(|address| address.0).map_err(code))
    }

    pub fn free(&mut self, address: u64) {
        let _ = self.gpu.free(DevicePtr(address));
    }

    pub fn write(&mut self, to: u64, data: &[u8]) -> Option<Result<(), Code>> {
        Some(self.gpu.write(DevicePtr(to), data).map_err(code))
    }

    pub fn read(&mut self, from: u64, data: &mut [u8]) -> Option<Result<(), Code>> {
        Some(self.gpu.read(DevicePtr(from), data).map_err(code))
    }

    /// A copy by a copy engine. The time that it takes is the driver's affair.
    pub fn copy(&mut self, to: u64, from: u64, bytes: u64) -> Option<Result<(), Code>> {
        let copy = Copy { to: DevicePtr(to), from: DevicePtr(from), bytes: Bytes(bytes) };
        Some(self.gpu.transfer(&[copy]).map(|_| ()).map_err(code))
    }

    /// Writes zeros.
    pub fn clear(&mut self, address: u64, bytes: u64) -> Option<Result<(), Code>> {
        Some(self.gpu.clear(DevicePtr(address), Bytes(bytes)).map_err(code))
    }

    /// A texture over linear memory, with the handle that kernels know.
    pub fn texture(&mut self, address: u64, bytes: u64, texel: u64) -> Option<Result<u64, Code>> {
        let made = self.gpu.texture(DevicePtr(address), Bytes(bytes), Bytes(texel));
        Some(made.map(|texture| texture.0).map_err(code))
    }

    pub fn destroy_texture(&mut self, texture: u64) {
        let _ = self.gpu.destroy_texture(Texture(texture));
    }

    pub fn load(&mut self, handle: usize, text: &str) -> Result<(), Code> {
        self.modules.insert(handle, self.gpu.load(text).map_err(code)?);
        Ok(())
    }

    pub fn unload(&mut self, handle: usize) {
        if let Some(module) = self.modules.remove(&handle) {
            let _ = self.gpu.unload(module);
        }
    }

    pub fn function(&mut self, handle: usize, module: usize, name: &str) -> Result<(), Code> {
        self.functions.insert(handle, self.gpu.function(self.modules[&module], name).map_err(code)?);
        Ok(())
    }

    /// The device address of a variable.
    pub fn symbol(&mut self, module: usize, name: &str) -> Option<u64> {
        self.gpu.symbol(*self.modules.get(&module)?, name).ok().map(|(address, _)| address.0)
    }

    pub fn launch(
        &mut self,
        function: usize,
        [blocks, threads, shared]: [u32; 3],
        (carveout, bank_width): (Option<u8>, Option<u64>),
        parameters: &[u64],
    ) -> Result<(), Code> {
        let launch = Launch::new(blocks, threads).shared(Bytes(u64::from(shared))).carveout(carveout);
        let launch = launch.bank_width(bank_width.map(Bytes));
        self.gpu.launch(self.functions[&function], &launch, parameters).map_err(code)
    }
}
