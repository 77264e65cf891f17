//! A simulated GPU: it interprets the same PTX text that the driver gets, over a modelled memory hierarchy.
//!
//! Reading order: [`machine`] (what a machine file says), `model` (caches, translation, memory, clock, noise), `ptx` (text to
//! instructions), `exec` (instructions to cycles), `launch` and `modules` (what a driver does besides), this file (the [`Gpu`]
//! made of them). It runs PTX directly, so it cannot show a compiler's faults.

mod exec;
mod facts;
mod launch;
pub mod machine;
pub mod model;
mod modules;
pub mod ptx;

use std::sync::Arc;

use rustc_hash::FxHashMap;

use exec::{Passes, State, Turns};
use machine::Machine;
use model::atomics::Lines;
use model::clock::{Clock, Slices};
use model::hierarchy::Hierarchy;
use model::instructions::Instructions;
use model::link::Link;
use model::memory::Memory;
use model::ports::Width;
use model::texture::{self, Texels};
use modules::{Callable, Loaded};
use strata_gpu::{
    Array, Copy, DeviceFacts, DevicePtr, Error, Function, Gpu, Launch, Mig, Module, OtherProcesses, Resources, Result,
    Telemetry, Texture,
};
use strata_model::facts::PeerFacts;
use strata_model::units::Bytes;

/// Where device memory begins.
const DEVICE_BASE: u64 = 1 << 33;
/// Where memory of another GPU begins.
const PEER_BASE: u64 = 1 << 44;
/// Where pinned host memory begins.
const HOST_BASE: u64 = 1 << 45;
/// Allocations of at least this begin at a multiple of it, as the driver maps memory in such pages.
const LARGE_PAGE: u64 = 2 << 20;
/// Smaller allocations begin at multiples of this.
const SMALL_STEP: u64 = 512;
/// Instructions after which a kernel is stopped: many times what the longest kernel of this program executes.
const BUDGET: u64 = 1 << 32;
/// First compute capability of which a part of the L2 can be set aside.
const WINDOWS: (u32, u32) = (8, 0);
/// A simulated GPU.
pub struct Sim {
    machine: Machine,
    facts: DeviceFacts,
    state: State,
    modules: Vec<Option<Loaded>>,
    functions: Vec<Callable>,
    /// Where its memory begins.
    device_base: u64,
    next_texture: u64,
    used: u64,
    marked: Option<u64>,
    budget: u64,
    walks: bool,
    lost: Option<Error>,
}

impl Sim {
    /// A GPU of this machine, switched on; `seed` is for noise and for policies that draw.
    pub fn new(machine: Machine, seed: u64) -> Self {
        let hierarchy = Hierarchy::new(&machine, seed);
        let state = State {
            memory: Memory::default(),
            clock: Clock::new(&machine.spec.clock),
            allocations: Vec::new(),
            last_allocation: 0,
            atomics: Lines::new(hierarchy.device_line(), machine.spec.pipeline.atomic_rate),
            hierarchy,
            instructions: Instructions::new(&machine, seed),
            shared_free: vec![0; machine.spec.device.multiprocessors.get() as usize],
            turns: (0..machine.spec.device.multiprocessors.get()).map(|_| Turns::new(&machine.spec)).collect(),
            passes: Passes::NONE,
            textures: FxHashMap::default(),
            cluster_barriers: Vec::new(),
            phase_ended: false,
            remote: None,
            now: 0,
            slices: Slices::NONE,
            bus: [Width::new(machine.spec.memory.host_bandwidth), Width::new(machine.spec.memory.host_bandwidth)],
            link: None,
        };
        Sim {
            facts: facts::facts(&machine),
            machine,
            state,
            modules: Vec::new(),
            functions: Vec::new(),
            device_base: DEVICE_BASE,
            next_texture: 1,
            used: 0,
            marked: None,
            budget: BUDGET,
            walks: true,
            lost: None,
        }
    }

    /// With another limit on the instructions of a launch.
    pub fn with_budget(mut self, budget: u64) -> Self {
        self.budget = budget;
        self
    }

    /// With device memory that begins so many large pages further on: where a driver puts it differs from process to process.
    pub fn beginning_at(mut self, pages: u64) -> Self {
        self.device_base = DEVICE_BASE + pages * LARGE_PAGE;
        self
    }

    /// With access to the memory of a GPU of the other machine over this link.
    pub fn linked(mut self, link: &machine::spec::Link, other: &Machine) -> Self {
        self.state.link = Some(Link::new(link, other, 0));
        let theirs = facts::facts(other);
        self.facts.peer = Some(PeerFacts {
            name: theirs.name,
            l2_size: theirs.l2_size,
            free_memory: theirs.free_memory,
            ..PeerFacts::default()
        });
        self
    }

    /// With every instruction interpreted by itself: the reference for what is otherwise carried out as a whole (lanes that go
    /// on alone, and the inner loops of chases). The samples are the same; only the time that they take differs.
    pub fn interpreted(mut self) -> Self {
        self.walks = false;
        self
    }

    /// Shared with another process, which has its turns as `slices` says.
    pub fn shared(mut self, slices: Slices) -> Self {
        self.state.slices = slices;
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

    /// The lowest free address from `base` on where so many bytes fit, as drivers, too, use again what was freed.
    fn place(&self, base: u64, bytes: u64) -> u64 {
        let bytes = bytes.max(1);
        let step = if bytes >= LARGE_PAGE / 2 { LARGE_PAGE } else { SMALL_STEP };
        let after = self.state.allocations.iter().filter(|(start, _)| *start >= base);
        let mut address = base.next_multiple_of(step);
        for &(start, size) in after {
            if address + bytes <= start {
                break;
            }
            address = (start + size.max(1)).next_multiple_of(step);
        }
        address
    }

    fn reserve(&mut self, bytes: u64) -> Result<u64> {
        self.usable()?;
        let total = self.machine.spec.device.memory.0;
        if bytes == 0 {
            return Err(Self::failed("allocate", 1, "CUDA_ERROR_INVALID_VALUE", "nothing was asked for", false));
        }
        if self.used + bytes > total {
            let (needed, free, total) = (Bytes(bytes), Bytes(total - self.used), Bytes(total));
            return Err(Error::OutOfMemory { needed, free, total });
        }
        self.used += bytes;
        let address = self.place(self.device_base, bytes);
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

    /// A handle of a texture.
    fn bind(&mut self, texels: Texels) -> Texture {
        let handle = self.next_texture;
        self.next_texture += 1;
        self.state.textures.insert(handle, texels);
        Texture(handle)
    }

    fn full() -> Error {
        let meaning = "more memory was written than a simulation may take; a smaller footprint does";
        Self::failed("write", 2, "CUDA_ERROR_OUT_OF_MEMORY", meaning, false)
    }
}

/// Whether an address is in another GPU's memory.
fn is_on_peer(address: u64) -> bool {
    (PEER_BASE..HOST_BASE).contains(&address)
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
        let address = self.place(HOST_BASE, bytes.0);
        self.remember(address, bytes.0);
        Ok(DevicePtr(address))
    }

    fn allocate_on_peer(&mut self, bytes: Bytes) -> Result<DevicePtr> {
        self.usable()?;
        let Some(peer) = &self.facts.peer else { return Err(Error::without_peer()) };
        let (total, others) = (Bytes(peer.free_memory), self.state.allocations.iter());
        let used: u64 = others.filter(|(start, _)| is_on_peer(*start)).map(|(_, bytes)| bytes).sum();
        if used + bytes.0 > total.0 {
            return Err(Error::OutOfMemory { needed: bytes, free: Bytes(total.0 - used), total });
        }
        let address = self.place(PEER_BASE, bytes.0);
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
        if start < PEER_BASE {
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

    fn transfer(&mut self, copies: &[Copy]) -> Result<f64> {
        self.usable()?;
        let over_link = copies.iter().any(|copy| is_on_peer(copy.to.0) || is_on_peer(copy.from.0));
        let spec = &self.machine.spec;
        let (way, key) = match &spec.link {
            Some(link) if over_link => (link.bandwidth.map(|rate| (rate, link.cycles)), "link.bandwidth"),
            _ => (spec.memory.host_bandwidth.map(|rate| (rate, spec.memory.host_cycles)), "host_bandwidth"),
        };
        let Some((rate, latency)) = way else {
            let reason = format!("the machine file of the simulated {} does not state its `{key}`", self.facts.name);
            return Err(Error::Unsupported { reason });
        };
        let mut each_way = [0, 0];
        for copy in copies {
            self.inside("transfer", copy.from, copy.bytes.0)?;
            self.inside("transfer", copy.to, copy.bytes.0)?;
            let mut bytes = vec![0; copy.bytes.0 as usize];
            self.state.memory.read(copy.from.0, &mut bytes);
            self.state.memory.write(copy.to.0, &bytes).map_err(|_| Self::full())?;
            each_way[usize::from(copy.to.0 < PEER_BASE)] += copy.bytes.0;
        }
        let longest = each_way[0].max(each_way[1]);
        let begun = self.state.now;
        self.state.now += latency.get() + rate.cycles(longest);
        Ok((self.state.clock.nanoseconds(self.state.now) - self.state.clock.nanoseconds(begun)) / 1e3)
    }

    fn clear(&mut self, memory: DevicePtr, bytes: Bytes) -> Result<()> {
        self.usable()?;
        self.inside("clear", memory, bytes.0)?;
        self.state.memory.clear(memory.0, bytes.0);
        match &mut self.state.link {
            Some(link) if is_on_peer(memory.0) => link.overwrite(memory.0, bytes.0),
            _ => self.state.hierarchy.overwrite(memory.0, bytes.0),
        }
        Ok(())
    }

    fn load(&mut self, text: &str) -> Result<Module> {
        self.usable()?;
        let module = self.compiled(text)?;
        self.instance(Arc::new(module))
    }

    fn load_again(&mut self, module: Module) -> Result<Module> {
        self.usable()?;
        let module = Arc::clone(&self.loaded(module)?.module);
        self.instance(module)
    }

    fn unload(&mut self, module: Module) -> Result<()> {
        self.usable()?;
        self.loaded(module)?;
        let unloaded = self.modules[module.0].take();
        unloaded.map_or(Ok(()), |loaded| self.give_back(&loaded.variables))
    }

    fn resources(&mut self, function: Function) -> Result<Resources> {
        self.usable()?;
        self.callable(function)?;
        let reason = "a simulated machine runs PTX itself: no compiler gives it registers, and none spills";
        Err(Error::Unsupported { reason: reason.into() })
    }

    fn machine_code(&self, _: Module) -> Option<&[u8]> {
        None
    }

    fn function(&mut self, module: Module, name: &str) -> Result<Function> {
        self.usable()?;
        if !self.loaded(module)?.module.entries.contains_key(name) {
            return Err(Self::failed("function", 500, "CUDA_ERROR_NOT_FOUND", format!("no entry `{name}`"), false));
        }
        self.functions.push(Callable { module: module.0, name: name.into() });
        Ok(Function(self.functions.len() - 1))
    }

    fn symbol(&mut self, module: Module, name: &str) -> Result<(DevicePtr, Bytes)> {
        self.usable()?;
        let found = self.loaded(module)?.variables.get(name);
        found
            .map(|&(address, bytes)| (DevicePtr(address), Bytes(bytes)))
            .ok_or_else(|| Self::failed("symbol", 500, "CUDA_ERROR_NOT_FOUND", format!("no variable `{name}`"), false))
    }

    fn configure(&mut self, function: Function, launch: &Launch) -> Result<()> {
        self.usable()?;
        self.callable(function)?;
        self.possible(launch)
    }

    fn texture(&mut self, memory: DevicePtr, bytes: Bytes, texel: Bytes) -> Result<Texture> {
        self.usable()?;
        let texel = match texel.0 {
            1 | 4 | 8 | 16 => texel.0 as u8,
            _ => {
                let reason = format!("textures are made of texels of 1, 4, 8 or 16 B, not of {texel}");
                return Err(Error::Unsupported { reason });
            }
        };
        self.inside("texture", memory, bytes.0)?;
        Ok(self.bind(Texels::Linear { base: memory.0, bytes: bytes.0, texel }))
    }

    fn array(&mut self, array: &Array<'_>) -> Result<Texture> {
        self.usable()?;
        array.check()?;
        let (width, height, depth) = (u64::from(array.width), u64::from(array.height), array.depth.map(u64::from));
        let base = self.reserve(texture::array_bytes(width, height, depth))?;
        let texels = Texels::Array { base, width, height, depth, sampling: array.sampling };
        for (number, texel) in (0..).zip(array.texels) {
            let coordinates = [number % width, number / width % height, number / width / height];
            let at = texels.at(coordinates).map_or(base, |(at, _)| at);
            if self.state.memory.write(at, &texel.to_le_bytes()).is_err() {
                self.free(DevicePtr(base))?;
                return Err(Self::full());
            }
        }
        Ok(self.bind(texels))
    }

    fn destroy_texture(&mut self, texture: Texture) -> Result<()> {
        self.usable()?;
        match self.state.textures.remove(&texture.0) {
            Some(Texels::Linear { .. }) => Ok(()),
            Some(Texels::Array { base, .. }) => self.free(DevicePtr(base)),
            None => Err(Error::Unsupported { reason: format!("texture {:#x} is not of this device", texture.0) }),
        }
    }

    fn launch(&mut self, function: Function, launch: &Launch, parameters: &[u64]) -> Result<()> {
        self.run(function, launch, parameters)
    }

    fn set_aside_l2(&mut self, most: bool) -> Result<()> {
        self.usable()?;
        if self.facts.compute_capability < WINDOWS {
            return Err(Error::Unsupported {
                reason: format!("the simulated {} sets no part of its L2 aside", self.facts.name),
            });
        }
        if !most {
            self.state.hierarchy.release();
        }
        Ok(())
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
