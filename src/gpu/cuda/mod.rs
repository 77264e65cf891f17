//! The CUDA driver as a [`Gpu`], opened at run time: building needs no toolkit, and a machine without a driver gets an error
//! that says so.
//!
//! `calls` lists the driver's calls, `library` opens it, `device` and `select` say what there is, `jit` makes modules of
//! kernels, `memory` and `texture` keep what is allocated, `marks` takes the time, `nvml` watches. All `unsafe` code of the
//! crate is in this folder.
//!
//! Everything runs in the device's primary context on the default stream. Nothing is ever reset, and no clock, power or other
//! setting of the device is changed.

mod attributes;
mod calls;
mod cores;
mod device;
mod error;
mod jit;
mod library;
mod marks;
mod memory;
mod nvml;
mod select;
mod texture;

use std::ffi::{CString, c_int, c_void};
use std::ptr;

use calls::{Context, Device, FunctionHandle};
use library::Driver;
pub use library::LIBRARY_VARIABLE;

use super::{
    DeviceFacts, DevicePtr, Error, Function, FunctionAttribute, Gpu, Launch, Listed, Module, Resources, Result,
    Telemetry, Texture,
};
use crate::units::Bytes;

/// Every device that the driver sees, in the driver's order (that of `nvidia-smi` may differ: it goes by PCI address).
///
/// # Errors
///
/// There is no driver, it is too old or does not start, or it sees no device.
pub fn devices() -> Result<Vec<Listed>> {
    device::list(&Driver::open()?)
}

/// A device in use. It belongs to the thread that opened it.
pub struct Cuda {
    driver: Driver,
    device: Device,
    context: Context,
    facts: DeviceFacts,
    monitor: nvml::Monitor,
    memory: memory::Allocations,
    modules: Vec<jit::Loaded>,
    functions: Vec<FunctionHandle>,
    textures: texture::Textures,
    marks: marks::Marks,
}

impl Cuda {
    /// Opens the device named by `auto` (the first), `cuda:N`, a UUID (`GPU-…` or `MIG-…`, or as much of it as is unique) or
    /// a PCI address (`0000:1b:00.0` or `1b:00.0`).
    ///
    /// # Errors
    ///
    /// What [`devices`] can fail with, no such device, or a device that gives no context.
    pub fn open(selector: &str) -> Result<Self> {
        let driver = Driver::open()?;
        let listed = device::list(&driver)?;
        let listed = select::select(selector, &listed)?;
        let device = device::handle(&driver, listed.ordinal)?;
        let facts = device::facts(&driver, device, listed)?;
        let mut context = ptr::null_mut();
        // SAFETY: `context` is valid for the write; the retained context is released in `drop`.
        unsafe { driver.device_primary_ctx_retain(&mut context, device) }?;
        let monitor = nvml::Monitor::open(&facts);
        let mut cuda = Cuda {
            driver,
            device,
            context,
            facts,
            monitor,
            memory: memory::Allocations::default(),
            modules: Vec::new(),
            functions: Vec::new(),
            textures: texture::Textures::default(),
            marks: marks::Marks::default(),
        };
        cuda.facts.free_memory = cuda.memory()?.0.0;
        cuda.facts.driver_version = cuda.monitor.driver_version();
        Ok(cuda)
    }

    /// The driver, with this device's context current: another `Cuda` may have been used on this thread in between.
    fn current(&self) -> Result<&Driver> {
        // SAFETY: the context is retained until `drop`.
        unsafe { self.driver.ctx_set_current(self.context) }?;
        Ok(&self.driver)
    }

    fn module(&self, module: Module) -> Result<&jit::Loaded> {
        self.modules
            .get(module.0)
            .ok_or_else(|| Error::Unsupported { reason: format!("module {} is not of this device", module.0) })
    }

    fn handle(&self, function: Function) -> Result<FunctionHandle> {
        self.functions
            .get(function.0)
            .copied()
            .ok_or_else(|| Error::Unsupported { reason: format!("function {} is not of this device", function.0) })
    }

    /// Gives back what was made in the context. Failures are passed over: with a lost context every call fails, and the
    /// driver has let go by itself.
    fn release(&mut self) -> Result<()> {
        self.current()?;
        let driver = &self.driver;
        self.textures.destroy_all(driver);
        self.marks.destroy(driver);
        for loaded in &self.modules {
            // SAFETY: a live module, not used again; its functions neither.
            let _ = unsafe { driver.module_unload(loaded.module) };
        }
        self.memory.free_all(driver);
        // SAFETY: no context is a valid argument.
        unsafe { driver.ctx_set_current(ptr::null_mut()) }
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        let _ = self.release();
        // SAFETY: retained once in `open`, released once here; nothing of the context is used after it.
        let _ = unsafe { self.driver.device_primary_ctx_release(self.device) };
    }
}

fn unsupported(reason: String) -> Error {
    Error::Unsupported { reason }
}

impl Gpu for Cuda {
    fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    fn telemetry(&mut self) -> Telemetry {
        self.monitor.telemetry()
    }

    fn memory(&mut self) -> Result<(Bytes, Bytes)> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: both are valid for the writes.
        unsafe { self.current()?.mem_get_info(&mut free, &mut total) }?;
        Ok((Bytes(free as u64), Bytes(total as u64)))
    }

    fn allocate(&mut self, bytes: Bytes) -> Result<DevicePtr> {
        self.current()?;
        self.memory.allocate(&self.driver, bytes)
    }

    fn allocate_pinned(&mut self, bytes: Bytes) -> Result<DevicePtr> {
        self.current()?;
        self.memory.allocate_pinned(&self.driver, bytes)
    }

    fn free(&mut self, memory: DevicePtr) -> Result<()> {
        self.current()?;
        self.memory.free(&self.driver, memory)
    }

    fn write(&mut self, to: DevicePtr, data: &[u8]) -> Result<()> {
        memory::write(self.current()?, &self.memory, to, data)
    }

    fn read(&mut self, from: DevicePtr, data: &mut [u8]) -> Result<()> {
        memory::read(self.current()?, &self.memory, from, data)
    }

    fn clear(&mut self, memory: DevicePtr, bytes: Bytes) -> Result<()> {
        if !bytes.0.is_multiple_of(4) {
            return Err(unsupported(format!("{bytes} are no whole number of 32-bit words to clear")));
        }
        if bytes.0 == 0 {
            return Ok(());
        }
        // SAFETY: the driver checks that the range is memory of this context.
        unsafe { self.current()?.memset_d32(memory.0, 0, (bytes.0 / 4) as usize) }
    }

    fn load(&mut self, ptx: &str) -> Result<Module> {
        let loaded = jit::load(self.current()?, ptx)?;
        self.modules.push(loaded);
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

    fn machine_code(&self, module: Module) -> Option<&[u8]> {
        self.modules.get(module.0)?.machine_code.as_deref()
    }

    fn function(&mut self, module: Module, name: &str) -> Result<Function> {
        let driver = self.current()?;
        let text = symbol_name(name)?;
        let mut function = ptr::null_mut();
        // SAFETY: the module is live, the name NUL-terminated, `function` valid for the write.
        unsafe { driver.module_get_function(&mut function, self.module(module)?.module, text.as_ptr()) }
            .map_err(|failed| absent(failed, "entry point", name))?;
        self.functions.push(function);
        Ok(Function(self.functions.len() - 1))
    }

    fn symbol(&mut self, module: Module, name: &str) -> Result<(DevicePtr, Bytes)> {
        let driver = self.current()?;
        let text = symbol_name(name)?;
        let (mut address, mut bytes) = (0, 0);
        // SAFETY: the module is live, the name NUL-terminated, the others valid for the writes.
        unsafe { driver.module_get_global(&mut address, &mut bytes, self.module(module)?.module, text.as_ptr()) }
            .map_err(|failed| absent(failed, "variable", name))?;
        Ok((DevicePtr(address), Bytes(bytes as u64)))
    }

    fn set_attribute(&mut self, function: Function, attribute: FunctionAttribute) -> Result<()> {
        let handle = self.handle(function)?;
        let number = |value: u64| c_int::try_from(value).unwrap_or(c_int::MAX);
        let driver = self.current()?;
        // SAFETY: the function is of a module that stays loaded.
        let set = |attribute, value| unsafe { driver.func_set_attribute(handle, attribute, number(value)) };
        let set = match attribute {
            FunctionAttribute::MaxDynamicShared(bytes) => set(attributes::FUNCTION_MAX_DYNAMIC_SHARED, bytes.0),
            FunctionAttribute::Carveout(percent) => set(attributes::FUNCTION_CARVEOUT, u64::from(percent)),
            FunctionAttribute::BankWidth(width) => {
                let configuration = attributes::shared_banks(width)
                    .ok_or_else(|| unsupported("a driver can be asked for banks of 4 or 8 B, no others".into()))?;
                // SAFETY: as above.
                unsafe { driver.func_set_shared_mem_config(handle, configuration) }
            }
        };
        set.map_err(|failed| match error::code(&failed) {
            Some(error::INVALID_VALUE | error::NOT_SUPPORTED) => unsupported(match attribute {
                FunctionAttribute::MaxDynamicShared(bytes) => format!(
                    "this device does not give a block {bytes} of dynamic shared memory (at most {}, static included)",
                    Bytes(self.facts.shared_per_block_optin.unwrap_or(self.facts.shared_per_block))
                ),
                FunctionAttribute::Carveout(percent) => {
                    format!("this device does not take a preferred shared-memory carveout of {percent} %")
                }
                FunctionAttribute::BankWidth(_) => {
                    "this device does not let the width of shared memory's banks be chosen".into()
                }
            }),
            _ => failed,
        })
    }

    fn texture(&mut self, memory: DevicePtr, bytes: Bytes, _texel: Bytes) -> Result<Texture> {
        let texels = bytes.0 / 4;
        if let Some(most) = self.facts.max_linear_texture.filter(|&most| texels > most) {
            return Err(unsupported(format!(
                "a linear texture of this device has at most {most} texels, not {texels}"
            )));
        }
        self.current()?;
        self.textures.create(&self.driver, memory, bytes)
    }

    fn destroy_texture(&mut self, texture: Texture) -> Result<()> {
        self.current()?;
        self.textures.destroy(&self.driver, texture)
    }

    fn launch(&mut self, function: Function, launch: Launch, parameters: &[u64]) -> Result<()> {
        let driver = self.current()?;
        let function = self.handle(function)?;
        let shared = u32::try_from(launch.shared.0)
            .map_err(|_| unsupported(format!("no block can have {} of shared memory", launch.shared)))?;
        // As one buffer with its size, so that the driver reads no more than there is, whatever the kernel declares.
        let mut bytes = size_of_val(parameters);
        let mut extra: [*mut c_void; 5] = [
            calls::LAUNCH_BUFFER_POINTER,
            parameters.as_ptr().cast_mut().cast(),
            calls::LAUNCH_BUFFER_SIZE,
            (&raw mut bytes).cast(),
            calls::LAUNCH_END,
        ];
        let (no_parameters, stream) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the function is of a loaded module. The driver only reads `extra`, `bytes` and the parameters, and before
        // the call returns. What the kernel itself does is on the device; it gets no pointer to memory that Rust manages.
        unsafe {
            driver.launch_kernel(
                function,
                launch.blocks,
                1,
                1,
                launch.threads,
                1,
                1,
                shared,
                stream,
                no_parameters,
                extra.as_mut_ptr(),
            )
        }
    }

    fn synchronize(&mut self) -> Result<()> {
        // SAFETY: no arguments.
        unsafe { self.current()?.ctx_synchronize() }
    }

    fn mark(&mut self) -> Result<f64> {
        self.current()?;
        self.marks.mark(&self.driver)
    }
}

fn symbol_name(name: &str) -> Result<CString> {
    CString::new(name).map_err(|_| unsupported(format!("{name:?} is no name of a symbol")))
}

/// A symbol that the module does not have, by name. The driver says only "not found".
fn absent(failed: Error, what: &str, name: &str) -> Error {
    match failed {
        Error::Call { call, code: code @ error::NOT_FOUND, name: symbol, lost, .. } => {
            Error::Call { call, code, name: symbol, meaning: format!("the module has no {what} `{name}`"), lost }
        }
        other => other,
    }
}
