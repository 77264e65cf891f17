//! A simulated GPU: it interprets the very PTX text that the driver gets, over a modelled memory hierarchy.
//!
//! Reading order: [`machine`] (what a machine file says), `model` (caches, translation, memory, clock, noise), `ptx` (text to
//! instructions), `exec` (instructions to cycles), this file (the [`Gpu`] made of them). Since PTX is what is run, a
//! compiler's faults cannot show here.

mod exec;
pub mod machine;
pub mod model;
pub mod ptx;

use std::collections::HashMap;

use super::{
    DeviceFacts, DevicePtr, Error, Function, FunctionAttribute, Gpu, Launch, Mig, Module, OtherProcesses, Resources,
    Result, Telemetry, Texture,
};
use crate::units::Bytes;
use exec::{Fault, Grid, State};
use machine::Machine;
use model::banks::Banks;
use model::clock::Clock;
use model::hierarchy::{Hierarchy, Way};
use model::memory::Memory;
use ptx::{Entry, Op, Space};

/// Where device memory begins.
const DEVICE_BASE: u64 = 1 << 33;
/// Where pinned host memory begins.
const HOST_BASE: u64 = 1 << 45;
/// Allocations of at least this begin at a multiple of it, as the driver maps memory in such pages.
const LARGE_PAGE: u64 = 2 << 20;
/// Smaller allocations begin at multiples of this.
const SMALL_STEP: u64 = 512;
/// Instructions after which a kernel is stopped: many times what the longest kernel of this program executes.
const BUDGET: u64 = 1 << 32;
/// Version of the driver interface that the simulator stands in for.
const DRIVER_API: &str = "simulated";

struct Loaded {
    module: ptx::Module,
    /// Addresses of its variables.
    variables: HashMap<String, (u64, u64)>,
}

struct Callable {
    module: usize,
    name: String,
    carveout: Option<u8>,
    dynamic: u64,
    /// Width of a bank that was asked for.
    bank_width: Option<u64>,
}

/// A simulated GPU.
pub struct Sim {
    machine: Machine,
    facts: DeviceFacts,
    state: State,
    modules: Vec<Loaded>,
    functions: Vec<Callable>,
    next_device: u64,
    next_host: u64,
    next_texture: u64,
    used: u64,
    marked: Option<u64>,
    budget: u64,
    lost: Option<Error>,
}

impl Sim {
    /// A GPU of this machine, switched on; `seed` is for noise and for policies that draw.
    pub fn new(machine: Machine, seed: u64) -> Self {
        let state = State {
            memory: Memory::default(),
            hierarchy: Hierarchy::new(&machine, seed),
            clock: Clock::new(&machine.spec.clock),
            allocations: Vec::new(),
            textures: HashMap::new(),
            now: 0,
        };
        Sim {
            facts: facts(&machine),
            machine,
            state,
            modules: Vec::new(),
            functions: Vec::new(),
            next_device: DEVICE_BASE,
            next_host: HOST_BASE,
            next_texture: 1,
            used: 0,
            marked: None,
            budget: BUDGET,
            lost: None,
        }
    }

    /// With another limit on the instructions of a launch.
    pub fn with_budget(mut self, budget: u64) -> Self {
        self.budget = budget;
        self
    }

    /// The machine.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    fn usable(&self) -> Result<()> {
        self.lost.clone().map_or(Ok(()), Err)
    }

    fn failed(call: &'static str, code: i32, name: &str, meaning: impl Into<String>, lost: bool) -> Error {
        Error::Call { call, code, name: name.into(), meaning: meaning.into(), lost }
    }

    fn place(next: &mut u64, bytes: u64) -> u64 {
        let address = next.next_multiple_of(if bytes >= LARGE_PAGE / 2 { LARGE_PAGE } else { SMALL_STEP });
        *next = address + bytes.max(1);
        address
    }

    fn reserve(&mut self, bytes: u64) -> Result<u64> {
        self.usable()?;
        let total = self.machine.spec.device.memory.0;
        if bytes == 0 {
            return Err(Self::failed("allocate", 1, "CUDA_ERROR_INVALID_VALUE", "nothing was asked for", false));
        }
        if self.used + bytes > total {
            let meaning = format!("out of memory: {} asked for, {} free", Bytes(bytes), Bytes(total - self.used));
            return Err(Self::failed("allocate", 2, "CUDA_ERROR_OUT_OF_MEMORY", meaning, false));
        }
        self.used += bytes;
        let address = Self::place(&mut self.next_device, bytes);
        self.remember(address, bytes);
        Ok(address)
    }

    fn remember(&mut self, address: u64, bytes: u64) {
        let at = self.state.allocations.partition_point(|&(start, _)| start < address);
        self.state.allocations.insert(at, (address, bytes));
    }

    fn inside(&self, call: &'static str, memory: DevicePtr, bytes: u64) -> Result<()> {
        let after = self.state.allocations.partition_point(|&(start, _)| start <= memory.0);
        let found = after.checked_sub(1).map(|i| self.state.allocations[i]);
        match found {
            Some((start, size)) if memory.0.checked_add(bytes).is_some_and(|end| end <= start + size) => Ok(()),
            _ => {
                let meaning = format!("{} at {:#x} is not allocated", Bytes(bytes), memory.0);
                Err(Self::failed(call, 1, "CUDA_ERROR_INVALID_VALUE", meaning, false))
            }
        }
    }

    fn full() -> Error {
        let meaning = "more memory was written than a simulation may take; a smaller footprint does";
        Self::failed("write", 2, "CUDA_ERROR_OUT_OF_MEMORY", meaning, false)
    }

    /// Why this machine cannot run an entry, if it cannot.
    fn missing(&self, entry: &Entry) -> Option<String> {
        entry.code.iter().find_map(|inst| {
            let (way, what) = match inst.op {
                Op::Load(Space::GlobalNc) => (Way::GlobalNc, "ld.global.nc"),
                Op::Texture => (Way::Texture, "tex"),
                _ => return None,
            };
            (!self.state.hierarchy.has(way)).then(|| format!("the simulated {} has no {what}", self.facts.name))
        })
    }

    /// The banks as a function sees them.
    fn banks(&self, function: &Callable) -> Banks {
        let shared = &self.machine.spec.shared;
        let own = shared.modes.first().copied().unwrap_or(shared.bank_width).get();
        Banks { count: shared.banks.get(), width: shared.bank_width.get(), word: function.bank_width.unwrap_or(own) }
    }

    /// Shared memory that each SM sets aside for a launch.
    fn set_aside(&self, function: &Callable, shared: u64) -> u64 {
        let spec = &self.machine.spec.shared;
        let hint = u64::from(function.carveout.unwrap_or(0)) * spec.per_multiprocessor.0 / 100;
        hint.max(shared + spec.reserved_per_block.0)
    }
}

/// What the driver would say of a machine.
fn facts(machine: &Machine) -> DeviceFacts {
    let spec = &machine.spec;
    let device = &spec.device;
    let number = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
    DeviceFacts {
        name: device.name.clone(),
        compute_capability: (device.compute_capability.0, device.compute_capability.1),
        driver_api: DRIVER_API.into(),
        multiprocessors: number(device.multiprocessors.get()),
        cores_per_multiprocessor: device.cores_per_multiprocessor.map(|n| number(n.get())),
        warp_size: 32,
        max_threads_per_block: number(device.max_threads_per_block.get()),
        max_threads_per_multiprocessor: number(device.max_threads_per_multiprocessor.get()),
        max_blocks_per_multiprocessor: Some(number(device.max_blocks_per_multiprocessor.get())),
        max_grid_blocks: i32::MAX as u32,
        registers_per_block: number(device.registers_per_multiprocessor.get()),
        registers_per_multiprocessor: number(device.registers_per_multiprocessor.get()),
        shared_per_block: spec.shared.per_block.0,
        shared_per_block_optin: spec.shared.per_block_optin.map(|s| s.0),
        shared_per_multiprocessor: spec.shared.per_multiprocessor.0,
        shared_reserved_per_block: Some(spec.shared.reserved_per_block.0),
        constant_memory: 65536,
        total_memory: device.memory.0,
        free_memory: device.memory.0,
        l2_size: device.l2.0,
        clock_khz: number(spec.clock.mhz.get() * 1000),
        memory_clock_khz: number(device.memory_clock_mhz.get() * 1000),
        memory_bus_bits: number(device.memory_bus_bits.get()),
        ecc: None,
        virtual_memory: Some(false),
        mapping_granularity: None,
        max_linear_texture: Some(1 << 27),
        ..DeviceFacts::default()
    }
}

impl Gpu for Sim {
    fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    fn telemetry(&mut self) -> Telemetry {
        let mhz = self.state.clock.mhz() as u32;
        Telemetry {
            sm_clock_mhz: Some(mhz),
            max_sm_clock_mhz: Some(mhz),
            mig: Mig::Off,
            processes: OtherProcesses::Visible(0),
            ..Telemetry::default()
        }
    }

    fn memory(&mut self) -> Result<(Bytes, Bytes)> {
        self.usable()?;
        let total = self.machine.spec.device.memory.0;
        Ok((Bytes(total - self.used), Bytes(total)))
    }

    fn allocate(&mut self, bytes: Bytes) -> Result<DevicePtr> {
        self.reserve(bytes.0).map(DevicePtr)
    }

    fn allocate_pinned(&mut self, bytes: Bytes) -> Result<DevicePtr> {
        self.usable()?;
        let address = Self::place(&mut self.next_host, bytes.0);
        self.remember(address, bytes.0);
        Ok(DevicePtr(address))
    }

    fn free(&mut self, memory: DevicePtr) -> Result<()> {
        self.usable()?;
        let Ok(at) = self.state.allocations.binary_search_by_key(&memory.0, |a| a.0) else {
            let meaning = format!("{:#x} is no allocation", memory.0);
            return Err(Self::failed("free", 1, "CUDA_ERROR_INVALID_VALUE", meaning, false));
        };
        let (start, bytes) = self.state.allocations.remove(at);
        self.state.memory.clear(start, bytes);
        if start < HOST_BASE {
            self.used -= bytes;
        }
        Ok(())
    }

    fn write(&mut self, to: DevicePtr, data: &[u8]) -> Result<()> {
        self.usable()?;
        self.inside("write", to, data.len() as u64)?;
        self.state.memory.write(to.0, data).map_err(|_| Self::full())
    }

    fn read(&mut self, from: DevicePtr, data: &mut [u8]) -> Result<()> {
        self.usable()?;
        self.inside("read", from, data.len() as u64)?;
        self.state.memory.read(from.0, data);
        Ok(())
    }

    fn clear(&mut self, memory: DevicePtr, bytes: Bytes) -> Result<()> {
        self.usable()?;
        self.inside("clear", memory, bytes.0)?;
        self.state.memory.clear(memory.0, bytes.0);
        self.state.hierarchy.overwrite(memory.0, bytes.0);
        Ok(())
    }

    fn load(&mut self, text: &str) -> Result<Module> {
        self.usable()?;
        let module = ptx::module(text).map_err(|fault| Error::Compile {
            code: 218,
            name: "CUDA_ERROR_INVALID_PTX".into(),
            log: format!("simulator: {fault}"),
        })?;
        if let Some(reason) = module.entries.values().find_map(|entry| self.missing(entry)) {
            return Err(Error::Unsupported { reason });
        }
        let mut variables = HashMap::new();
        for (name, bytes) in &module.variables {
            let address = self.reserve((*bytes).max(1))?;
            variables.insert(name.clone(), (address, *bytes));
        }
        self.modules.push(Loaded { module, variables });
        Ok(Module(self.modules.len() - 1))
    }

    fn load_again(&mut self, _: Module) -> Result<Module> {
        todo!()
    }

    fn unload(&mut self, _: Module) -> Result<()> {
        todo!()
    }

    fn resources(&mut self, _: Function) -> Result<Resources> {
        todo!()
    }

    fn array(&mut self, _: u32, _: u32, _: &[u32]) -> Result<Texture> {
        todo!()
    }

    fn launch_together(&mut self, _: Function, _: Launch, _: &[u64]) -> Result<()> {
        todo!()
    }

    fn machine_code(&self, _: Module) -> Option<&[u8]> {
        None
    }

    fn function(&mut self, module: Module, name: &str) -> Result<Function> {
        self.usable()?;
        let known = self.modules.get(module.0).is_some_and(|m| m.module.entries.contains_key(name));
        if !known {
            return Err(Self::failed("function", 500, "CUDA_ERROR_NOT_FOUND", format!("no entry `{name}`"), false));
        }
        self.functions.push(Callable {
            module: module.0,
            name: name.into(),
            carveout: None,
            dynamic: self.facts.shared_per_block,
            bank_width: None,
        });
        Ok(Function(self.functions.len() - 1))
    }

    fn symbol(&mut self, module: Module, name: &str) -> Result<(DevicePtr, Bytes)> {
        self.usable()?;
        let found = self.modules.get(module.0).and_then(|m| m.variables.get(name));
        found
            .map(|&(address, bytes)| (DevicePtr(address), Bytes(bytes)))
            .ok_or_else(|| Self::failed("symbol", 500, "CUDA_ERROR_NOT_FOUND", format!("no variable `{name}`"), false))
    }

    fn set_attribute(&mut self, function: Function, attribute: FunctionAttribute) -> Result<()> {
        self.usable()?;
        match attribute {
            FunctionAttribute::Carveout(percent) => {
                if self.machine.spec.cache.values().all(|c| c.configuration.is_empty()) {
                    return Err(Error::Unsupported {
                        reason: format!(
                            "the simulated {} has shared memory of its own, of a fixed size",
                            self.facts.name
                        ),
                    });
                }
                self.functions[function.0].carveout = Some(percent);
            }
            FunctionAttribute::BankWidth(width) => {
                let modes = &self.machine.spec.shared.modes;
                if let Some(width) = width
                    && !modes.iter().any(|mode| mode.get() == width.0)
                {
                    return Err(Error::Unsupported {
                        reason: format!("the simulated {} has no choice of banks of {width}", self.facts.name),
                    });
                }
                self.functions[function.0].bank_width = width.map(|width| width.0);
            }
            FunctionAttribute::MaxDynamicShared(bytes) => {
                let most = self.facts.shared_per_block_optin.unwrap_or(self.facts.shared_per_block);
                if bytes.0 > most {
                    let meaning = format!("{bytes} of shared memory asked for, at most {} are there", Bytes(most));
                    return Err(Self::failed("set_attribute", 1, "CUDA_ERROR_INVALID_VALUE", meaning, false));
                }
                self.functions[function.0].dynamic = bytes.0;
            }
        }
        Ok(())
    }

    fn texture(&mut self, memory: DevicePtr, bytes: Bytes, _texel: Bytes) -> Result<Texture> {
        self.usable()?;
        self.inside("texture", memory, bytes.0)?;
        let handle = self.next_texture;
        self.next_texture += 1;
        self.state.textures.insert(handle, (memory.0, bytes.0));
        Ok(Texture(handle))
    }

    fn destroy_texture(&mut self, texture: Texture) -> Result<()> {
        self.usable()?;
        self.state.textures.remove(&texture.0);
        Ok(())
    }

    fn launch(&mut self, function: Function, launch: Launch, parameters: &[u64]) -> Result<()> {
        self.usable()?;
        let invalid = |what: String| Self::failed("launch", 1, "CUDA_ERROR_INVALID_VALUE", what, false);
        let function = &self.functions[function.0];
        let loaded = &self.modules[function.module];
        let entry = &loaded.module.entries[&function.name];
        let shared = entry.shared + launch.shared.0;
        if launch.threads == 0 || launch.threads > self.facts.max_threads_per_block || launch.blocks == 0 {
            return Err(invalid(format!("{} blocks of {} threads cannot be launched", launch.blocks, launch.threads)));
        }
        if shared > function.dynamic.max(self.facts.shared_per_block) {
            return Err(invalid(format!("{} of shared memory were not asked for", Bytes(shared))));
        }
        if parameters.len() != entry.parameters.len() {
            return Err(invalid(format!(
                "`{}` has {} parameters, not {}",
                entry.name,
                entry.parameters.len(),
                parameters.len()
            )));
        }
        let spec = &self.machine.spec;
        let by_shared = spec.shared.per_multiprocessor.0 / (shared + spec.shared.reserved_per_block.0).max(1);
        let by_threads = u64::from(self.facts.max_threads_per_multiprocessor / launch.threads.next_multiple_of(32));
        let resident = spec.device.max_blocks_per_multiprocessor.get().min(by_shared).min(by_threads).max(1);
        let is_constant = |name: &str| loaded.variables.get(name).copied();
        // In the constant space addresses count from the first variable on.
        let constants = loaded.module.variables.first().and_then(|(name, _)| is_constant(name)).map_or(0, |v| v.0);
        let symbols = entry
            .symbols
            .iter()
            .filter_map(|(slot, name)| Some((*slot, is_constant(name)?.0.wrapping_sub(constants))))
            .collect();
        let grid = Grid {
            entry,
            symbols,
            constants,
            parameters,
            blocks: launch.blocks,
            threads: launch.threads,
            shared,
            sms: self.facts.multiprocessors,
            resident: resident as u32,
            pipeline: [spec.pipeline.arithmetic.get(), spec.pipeline.issue.get(), spec.pipeline.barrier.get()],
            shared_cycles: [spec.shared.cycles.get(), spec.shared.conflict.get()],
            banks: self.banks(function),
            host: (spec.memory.host_cycles.get(), HOST_BASE),
            budget: self.budget,
        };
        let set_aside = self.set_aside(function, shared);
        self.state.hierarchy.begin(set_aside);
        exec::run(&mut self.state, &grid).map_err(|fault| {
            let error = match fault {
                Fault::Illegal(what) => {
                    Self::failed("launch", 700, "CUDA_ERROR_ILLEGAL_ADDRESS", what.to_string(), true)
                }
                Fault::Endless(budget) => {
                    let meaning = format!("kernel `{}` did not end after {budget} instructions", function.name);
                    Self::failed("launch", 702, "CUDA_ERROR_LAUNCH_TIMEOUT", meaning, true)
                }
                Fault::Memory => Self::full(),
            };
            if error.is_lost() {
                self.lost = Some(error.clone());
            }
            error
        })
    }

    fn synchronize(&mut self) -> Result<()> {
        self.usable()
    }

    fn mark(&mut self) -> Result<f64> {
        self.usable()?;
        let now = self.state.now;
        let before = self.marked.replace(now);
        let nanoseconds = |cycles| self.state.clock.nanoseconds(cycles);
        Ok(before.map_or(0.0, |before| (nanoseconds(now) - nanoseconds(before)) / 1e3))
    }
}
