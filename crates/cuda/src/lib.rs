//! The CUDA driver as a [`Gpu`], opened at run time: building needs no toolkit, and a machine without a driver gets an error
//! that says so.
//!
//! `calls` lists the driver's calls, `library` opens it, `device` and `select` say what there is, `jit` makes modules of
//! kernels, `modules` keeps them, `memory`, `array` and `texture` keep what is allocated, `launch` runs, `marks` takes the time,
//! `transfer` has the copy engines, `peer` reaches another GPU, `nvml` watches, `board` tells of the board. All `unsafe` code of the crate is in this folder.
//!
//! Everything runs in the device's primary context: on the default stream, but for copies by the copy engines. Nothing is ever
//! reset, and no clock, power or other setting of the device is changed.

// The only part of strata with `unsafe`: each block says why it is sound.
#![allow(unsafe_code)]

mod array;
mod attributes;
mod board;
mod calls;
mod cores;
mod device;
mod error;
mod jit;
mod launch;
mod library;
mod marks;
mod memory;
mod modules;
mod nvml;
mod peer;
mod select;
mod texture;
mod transfer;

use std::ptr;
use std::time::Duration;

use calls::{Context, Device};
use library::Driver;
pub use library::LIBRARY_VARIABLE;

use strata_gpu::{
    Array, BoardFacts, Code, Copy, DeviceFacts, DevicePtr, Error, Function, Glance, Gpu, Launch, Listed, Module,
    Resources, Result, Telemetry, Texture,
};
use strata_model::units::Bytes;

/// Every device that the driver sees, in the driver's order (that of `nvidia-smi` may differ: it goes by PCI address).
///
/// # Errors
///
/// There is no driver, it is too old or does not start, or it sees no device.
pub fn devices() -> Result<Vec<Listed>> {
    device::list(&Driver::open()?)
}

/// The device that a selector names, as [`Cuda::open`] takes it, without a context on it: nothing that runs there is disturbed.
///
/// # Errors
///
/// What [`devices`] can fail with, and no such device.
pub fn find(selector: &str) -> Result<Listed> {
    let listed = devices()?;
    select::select(selector, &listed).cloned()
}

/// A device in use. It belongs to the thread that opened it.
pub struct Cuda {
    driver: Driver,
    device: Device,
    context: Context,
    facts: DeviceFacts,
    monitor: nvml::Monitor,
    memory: memory::Allocations,
    modules: modules::Modules,
    textures: texture::Textures,
    marks: marks::Marks,
    engines: transfer::Engines,
    peer: Option<peer::Peer>,
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
            modules: modules::Modules::default(),
            textures: texture::Textures::default(),
            marks: marks::Marks::default(),
            engines: transfer::Engines::default(),
            peer: None,
        };
        cuda.facts.free_memory = cuda.memory()?.0.0;
        cuda.facts.driver_version = cuda.monitor.driver_version();
        Ok(cuda)
    }

    /// As [`Cuda::open`], with access to the memory of another device, which the second selector names.
    ///
    /// # Errors
    ///
    /// As [`Cuda::open`], of either device, and [`Error::Unsupported`] where the driver gives no such access.
    pub fn open_linked(selector: &str, other: &str) -> Result<Self> {
        let mut cuda = Cuda::open(selector)?;
        let listed = device::list(&cuda.driver)?;
        let listed = select::select(other, &listed)?;
        let (peer, mut facts) = peer::Peer::open(&cuda.driver, (cuda.device, cuda.context), listed)?;
        if let Some((up, generation)) = cuda.monitor.nvlinks() {
            (facts.nvlinks, facts.nvlink_generation) = (Some(up), generation);
        }
        (cuda.facts.peer, cuda.peer) = (Some(facts), Some(peer));
        Ok(cuda)
    }

    /// The driver, with this device's context current: another `Cuda` may have been used on this thread in between.
    fn current(&self) -> Result<&Driver> {
        // SAFETY: the context is retained until `drop`.
        unsafe { self.driver.ctx_set_current(self.context) }?;
        Ok(&self.driver)
    }

    /// Gives back what was made in the context. Failures are passed over: with a lost context every call fails, and the
    /// driver has let go by itself.
    fn release(&mut self) -> Result<()> {
        self.current()?;
        let driver = &self.driver;
        self.textures.destroy_all(driver);
        self.marks.destroy(driver);
        self.engines.destroy(driver);
        self.modules.unload_all(driver);
        self.memory.free_all(driver);
        if let Some(mut peer) = self.peer.take() {
            peer.release(driver);
        }
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

    fn glance(&mut self) -> Glance {
        self.monitor.glance()
    }

    fn bus_traffic(&mut self) -> Option<u64> {
        self.monitor.bus_traffic()
    }

    fn board(&mut self) -> Option<BoardFacts> {
        self.monitor.board()
    }

    fn memory(&mut self) -> Result<(Bytes, Bytes)> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: both are valid for the writes.
        unsafe { self.current()?.mem_get_info(&mut free, &mut total) }?;
        Ok((Bytes(free as u64), Bytes(total as u64)))
    }

    fn allocate(&mut self, bytes: Bytes) -> Result<DevicePtr> {
        self.current()?;
        self.memory.allocate(&self.driver, bytes).map_err(|failed| match (error::code(&failed), self.memory()) {
            (Some(error::OUT_OF_MEMORY), Ok((free, total))) => Error::OutOfMemory { needed: bytes, free, total },
            _ => failed,
        })
    }

    fn allocate_pinned(&mut self, bytes: Bytes) -> Result<DevicePtr> {
        self.current()?;
        self.memory.allocate_pinned(&self.driver, bytes)
    }

    fn allocate_on_peer(&mut self, bytes: Bytes) -> Result<DevicePtr> {
        match &mut self.peer {
            Some(peer) => peer.allocate(&self.driver, bytes),
            None => Err(Error::without_peer()),
        }
    }

    fn free(&mut self, memory: DevicePtr) -> Result<()> {
        if let Some(peer) = &mut self.peer
            && peer.free(&self.driver, memory)?
        {
            return Ok(());
        }
        self.current()?;
        self.memory.free(&self.driver, memory)
    }

    fn write(&mut self, to: DevicePtr, data: &[u8]) -> Result<()> {
        memory::write(self.current()?, &self.memory, to, data)
    }

    fn read(&mut self, from: DevicePtr, data: &mut [u8]) -> Result<()> {
        memory::read(self.current()?, &self.memory, from, data)
    }

    fn transfer(&mut self, copies: &[Copy]) -> Result<f64> {
        self.current()?;
        self.engines.transfer(&self.driver, (self.context, self.peer.as_mut()), &self.memory, copies)
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
        self.load_all(&[Code::optimised(ptx)]).remove(0)
    }

    fn load_all(&mut self, codes: &[Code<'_>]) -> Vec<Result<Module>> {
        if let Err(failed) = self.current() {
            return vec![Err(failed); codes.len()];
        }
        let target = jit::Target { context: self.context, capability: self.facts.compute_capability };
        self.modules.load_all(&self.driver, target, codes)
    }

    fn load_again(&mut self, module: Module) -> Result<Module> {
        self.current()?;
        self.modules.load_again(&self.driver, module)
    }

    fn unload(&mut self, module: Module) -> Result<()> {
        self.current()?;
        self.modules.unload(&self.driver, module)
    }

    fn resources(&mut self, function: Function) -> Result<Resources> {
        self.modules.resources(self.current()?, function)
    }

    fn machine_code(&self, module: Module) -> Option<&[u8]> {
        self.modules.machine_code(module)
    }

    fn load_time(&self, module: Module) -> Option<Duration> {
        self.modules.load_time(module)
    }

    fn function(&mut self, module: Module, name: &str) -> Result<Function> {
        self.current()?;
        self.modules.function(&self.driver, module, name)
    }

    fn symbol(&mut self, module: Module, name: &str) -> Result<(DevicePtr, Bytes)> {
        self.modules.symbol(self.current()?, module, name)
    }

    fn configure(&mut self, function: Function, launch: &Launch) -> Result<()> {
        self.current()?;
        let (handle, given) = self.modules.given(function)?;
        launch::configure(&self.driver, handle, given, launch, &self.facts)
    }

    fn texture(&mut self, memory: DevicePtr, bytes: Bytes, texel: Bytes) -> Result<Texture> {
        let texels = bytes.0 / texel.0.max(1);
        if let Some(most) = self.facts.max_linear_texture.filter(|&most| texels > most) {
            return Err(unsupported(format!(
                "a linear texture of this device has at most {most} texels, not {texels}"
            )));
        }
        self.current()?;
        self.textures.create(&self.driver, memory, bytes, texel)
    }

    fn array(&mut self, array: &Array<'_>) -> Result<Texture> {
        self.current()?;
        self.textures.create_array(&self.driver, array)
    }

    fn destroy_texture(&mut self, texture: Texture) -> Result<()> {
        self.current()?;
        self.textures.destroy(&self.driver, texture)
    }

    fn launch(&mut self, function: Function, launch: &Launch, parameters: &[u64]) -> Result<()> {
        // A driver that does not tell is asked by the launch itself.
        if launch.cluster.is_some() && device::launches_clusters(&self.driver, self.device) == Some(false) {
            return Err(launch::no_clusters(&self.facts));
        }
        self.configure(function, launch)?;
        let driver = &self.driver;
        if launch.cluster.is_some() || launch.window.is_some() {
            return launch::with_attributes(driver, self.modules.handle(function)?, launch, parameters);
        }
        if !launch.cooperative {
            return launch::launch(driver, self.modules.handle(function)?, launch, parameters);
        }
        let handle = self.modules.handle_taking(function, parameters.len())?;
        // As above.
        if device::launches_together(driver, self.device) == Some(false) {
            return Err(launch::not_together());
        }
        launch::together(driver, handle, launch, parameters)
    }

    fn set_aside_l2(&mut self, most: bool) -> Result<()> {
        self.synchronize()?;
        let bytes = if most {
            device::number(&self.driver, self.device, attributes::Attribute::MAX_PERSISTING_L2_CACHE_SIZE)?
        } else {
            0
        };
        // A part of a divided GPU says that there is none.
        if most && bytes == 0 {
            return Err(unsupported("this device sets no part of its L2 aside".into()));
        }
        launch::set_aside_l2(&self.driver, bytes as usize)
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
