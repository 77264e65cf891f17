//! What the stand-in remembers.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Mutex, MutexGuard};

use crate::{Code, INVALID_CONTEXT, NOT_INITIALIZED};

/// As much memory as one allocation is aligned to.
#[derive(Clone, Copy)]
#[repr(C, align(512))]
pub struct Block(pub [u8; 512]);

/// One allocation, of host memory in either case.
pub struct Allocation {
    pub blocks: Vec<Block>,
    pub bytes: u64,
    pub pinned: bool,
    /// Its address on the device, if that has been asked for and is another.
    pub on_device: Option<u64>,
}

/// A module: its text, and the variables that have been asked for, by name.
pub struct Module {
    pub text: String,
    pub variables: HashMap<String, u64>,
}

/// A function: its module, the bytes of its parameters, the dynamic shared memory that it has been given, and whether its
/// clusters may be larger than any device has them.
#[derive(Default)]
pub struct Function {
    pub module: usize,
    pub parameter_bytes: usize,
    pub max_shared: u32,
    pub large_clusters: bool,
    /// Per cent of the most shared memory, as asked for.
    pub carveout: Option<u8>,
    /// Width of banks in bytes, as asked for.
    pub bank_width: Option<u64>,
}

/// A CUDA array of 32-bit texels, row by row.
pub struct Array {
    pub width: usize,
    pub height: usize,
    /// What it was made for: `CUarray_format`.
    pub format: u32,
    pub texels: Vec<u32>,
}

/// Everything.
#[derive(Default)]
pub struct Model {
    pub initialized: bool,
    pub retained: [u32; 2],
    pub allocations: BTreeMap<u64, Allocation>,
    pub modules: HashMap<usize, Module>,
    pub functions: HashMap<usize, Function>,
    pub links: HashMap<usize, crate::link::Link>,
    pub arrays: HashMap<usize, Array>,
    /// The array of each texture that reads one.
    pub textures: HashMap<u64, Option<usize>>,
    /// Milliseconds at each event's record.
    pub events: HashMap<usize, Option<f64>>,
    /// When what was queued on each stream is done.
    pub streams: HashMap<usize, f64>,
    /// When everything before the last launch is done.
    pub milliseconds: f64,
    /// A kernel has gone wrong: everything fails with this.
    pub poisoned: Option<Code>,
    /// Devices with access to the memory of others.
    pub accesses: HashSet<(usize, usize)>,
    /// Bytes of device memory that other processes hold.
    pub held: u64,
    /// What runs the kernels.
    pub machine: crate::execute::Machine,
    last_handle: usize,
}

impl Model {
    /// A handle that no other thing has.
    pub fn handle(&mut self) -> usize {
        self.last_handle += 0x10;
        self.last_handle
    }

    /// Whether a range lies within one allocation.
    pub fn holds(&self, address: u64, bytes: u64) -> bool {
        let Some((&start, allocation)) = self.allocations.range(..=address).next_back() else { return false };
        (address - start).checked_add(bytes).is_some_and(|end| end <= allocation.bytes)
    }

    /// The device's address of a place in pinned memory that the host has at this address; none of other memory.
    pub fn on_device(&self, address: u64) -> Option<u64> {
        let (&start, allocation) = self.allocations.range(..=address).next_back()?;
        allocation.pinned.then(|| allocation.on_device.unwrap_or(start) + (address - start))
    }

    /// Bytes of device memory in use.
    pub fn used(&self) -> u64 {
        let arrays: usize = self.arrays.values().map(|array| 4 * array.texels.len()).sum();
        self.allocations.values().filter(|a| !a.pinned).map(|a| a.bytes).sum::<u64>() + arrays as u64
    }

    /// Ends the process if a handle was given and has been taken back: what is destroyed twice is a mistake that a driver
    /// need not notice.
    pub fn must_be_new(&self, what: &str, handle: usize) {
        if (1..=self.last_handle).contains(&handle) {
            eprintln!("fake-cuda: {what} {handle:#x} is destroyed twice");
            std::process::abort()
        }
    }

    /// Ends the process if anything is left that should have been given back.
    pub fn must_be_empty(&self) {
        let left = [
            ("allocations", self.allocations.len()),
            ("modules", self.modules.len()),
            ("links", self.links.len()),
            ("arrays", self.arrays.len()),
            ("textures", self.textures.len()),
            ("events", self.events.len()),
            ("streams", self.streams.len()),
        ];
        // After a fault nothing can be given back.
        if self.poisoned.is_none() && left.iter().any(|&(_, count)| count > 0) {
            eprintln!("fake-cuda: left in a context that is released: {left:?}");
            std::process::abort()
        }
    }
}

thread_local! {
    /// The device whose context is current in this thread.
    pub static CURRENT: Cell<Option<usize>> = const { Cell::new(None) };
}

static MODEL: Mutex<Option<Model>> = Mutex::new(None);

/// Calls `act` on the model, if the driver has been initialised.
pub fn initialized(act: impl FnOnce(&mut Model) -> Result<(), Code>) -> Code {
    let mut guard = lock();
    let model = guard.get_or_insert_default();
    if !model.initialized {
        return NOT_INITIALIZED;
    }
    act(model).err().unwrap_or(0)
}

/// Calls `act` on the model, if a living context is current and nothing has gone wrong in it.
pub fn in_context(act: impl FnOnce(&mut Model) -> Result<(), Code>) -> Code {
    initialized(|model| match (CURRENT.get(), model.poisoned) {
        (Some(device), None) if model.retained[device] > 0 => act(model),
        (_, Some(code)) => Err(code),
        _ => Err(INVALID_CONTEXT),
    })
}

/// Notes that the driver has been initialised.
pub fn initialize() {
    lock().get_or_insert_default().initialized = true;
}

fn lock() -> MutexGuard<'static, Option<Model>> {
    MODEL.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
