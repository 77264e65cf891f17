//! The lower seam: what a GPU can be asked to do, and the plain facts it tells about itself.
//!
//! [`Gpu`] is implemented by `strata-cuda` (the driver, opened at run time) and `strata-sim` (a modelled machine). What an implementation cannot do it answers with
//! [`Error::Unsupported`], whose reason becomes the reason of a finding.

mod launch;

pub use launch::{Launch, Window};
pub use strata_model::disturbance::Glance;
pub use strata_model::facts::{
    BoardFacts, DeviceFacts, Listed, Mig, OtherProcesses, RemappedRows, Telemetry, Unavailable,
};

use std::time::Duration;

use strata_model::pattern::Sampling;
use strata_model::units::Bytes;

/// An address in the device's memory (or of host memory as the device sees it).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DevicePtr(pub u64);

impl DevicePtr {
    /// The address `bytes` further on.
    pub fn offset(self, bytes: u64) -> Self {
        DevicePtr(self.0 + bytes)
    }
}

/// A loaded module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Module(pub usize);

/// An entry point of a loaded module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Function(pub usize);

/// What a CUDA array holds, and how a texture reads it.
#[derive(Clone, Copy, Debug)]
pub struct Array<'t> {
    /// Texels of a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Layers of an array of three dimensions; none for an array of two.
    pub depth: Option<u32>,
    /// The texels' bits, row by row and layer by layer.
    pub texels: &'t [u32],
    /// Texels are numbers of floating point, and so are the coordinates that this is done with; none for unsigned numbers that are
    /// read by whole coordinates.
    pub sampling: Option<Sampling>,
}

impl<'t> Array<'t> {
    /// An array of two dimensions of unsigned texels.
    pub fn flat(width: u32, height: u32, texels: &'t [u32]) -> Self {
        Array { width, height, depth: None, texels, sampling: None }
    }

    /// What makes it impossible, if anything does: no texels, or another number than its sides make.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] with the reason.
    pub fn check(&self) -> Result<()> {
        let sides = [self.width, self.height, self.depth.unwrap_or(1)].map(u64::from);
        let texels = sides.into_iter().try_fold(1, u64::checked_mul);
        if texels == Some(self.texels.len() as u64) && !self.texels.is_empty() {
            return Ok(());
        }
        Err(Error::Unsupported { reason: format!("{} texels are no array of {}", self.texels.len(), self.sides()) })
    }

    /// "16 x 8" or "16 x 8 x 4".
    pub fn sides(&self) -> String {
        let flat = format!("{} x {}", self.width, self.height);
        self.depth.map_or(flat.clone(), |depth| format!("{flat} x {depth}"))
    }
}

/// A texture object, over linear memory or over a CUDA array of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Texture(pub u64);

/// A copy between device memory and pinned host memory or the memory of another GPU, either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copy {
    /// Where the bytes go.
    pub to: DevicePtr,
    /// Where they are.
    pub from: DevicePtr,
    /// How many.
    pub bytes: Bytes,
}

/// A text to compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code<'t> {
    /// PTX.
    pub text: &'t str,
    /// The compiler may move, merge and leave out instructions. If not, machine code has the instructions of the text in their order.
    pub optimised: bool,
}

impl<'t> Code<'t> {
    /// A text that the compiler may optimise.
    pub fn optimised(text: &'t str) -> Self {
        Code { text, optimised: true }
    }
}

/// What a compiler gave a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resources {
    /// 32-bit registers of a thread.
    pub registers: u32,
    /// Local memory of a thread: what the text declares, and what was spilled.
    pub local: Bytes,
}

/// What can go wrong below the seam.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is no driver, it is too old, or it lacks what is needed.
    #[error("{0}")]
    Driver(String),
    /// There is a driver and no such device.
    #[error("{0}")]
    NoDevice(String),
    /// A driver call failed. `name` and `meaning` are the driver's own words, where it has any.
    #[error("{call} failed: {name} ({code}): {meaning}{}", if *.lost { "; the device context is lost, so nothing further can run" } else { "" })]
    Call {
        /// The driver call.
        call: &'static str,
        /// Its result.
        code: i32,
        /// The result's symbol, such as `CUDA_ERROR_OUT_OF_MEMORY`.
        name: String,
        /// The result's description.
        meaning: String,
        /// The context is gone: every later call will fail as well.
        lost: bool,
    },
    /// There is not memory enough, which may be another process's doing.
    #[error(
        "{needed} of device memory were needed at once, and {free} of {total} were free; end what else holds the GPU's memory, or \
         choose another GPU"
    )]
    OutOfMemory {
        /// What was asked for.
        needed: Bytes,
        /// What was free.
        free: Bytes,
        /// What the device has.
        total: Bytes,
    },
    /// The driver's compiler rejected a kernel.
    #[error("the driver's compiler rejected kernel text: {name} ({code})\n{log}")]
    Compile {
        /// The driver's result.
        code: i32,
        /// The result's symbol.
        name: String,
        /// The compiler's own log.
        log: String,
    },
    /// This device or driver cannot do it.
    #[error("{reason}")]
    Unsupported {
        /// Why not.
        reason: String,
    },
}

impl Error {
    /// Memory of another GPU was asked for, and there is none.
    pub fn without_peer() -> Self {
        Error::Unsupported { reason: "this GPU was opened without another one whose memory it could reach".into() }
    }

    /// Whether there is no usable driver or device at all (exit status 3).
    pub fn is_absence(&self) -> bool {
        matches!(self, Error::Driver(_) | Error::NoDevice(_))
    }

    /// Whether every later call will fail as well.
    pub fn is_lost(&self) -> bool {
        matches!(self, Error::Call { lost: true, .. })
    }
}

/// The result of everything below the seam.
pub type Result<T> = std::result::Result<T, Error>;

/// One GPU. All kernel parameters are 64-bit; launches on one device run in order.
pub trait Gpu {
    /// What the device and its driver say of themselves.
    fn facts(&self) -> &DeviceFacts;

    /// Clocks, throttling, other processes, as far as they can be seen now.
    fn telemetry(&mut self) -> Telemetry;

    /// What can be seen quickly of the device's state, while a run goes on.
    fn glance(&mut self) -> Glance {
        Glance::default()
    }

    /// Bytes a second that cross the device's bus now, in the direction that has more; it takes some time to count them.
    fn bus_traffic(&mut self) -> Option<u64> {
        None
    }

    /// What the management library says of the board; nothing where there is no board or no such library. It takes more
    /// than 40 ms.
    fn board(&mut self) -> Option<BoardFacts> {
        None
    }

    /// Free and total device memory.
    fn memory(&mut self) -> Result<(Bytes, Bytes)>;

    /// Allocates device memory, at least 256-byte aligned.
    fn allocate(&mut self, bytes: Bytes) -> Result<DevicePtr>;

    /// Allocates pinned host memory that the device can load from; the address is the device's.
    fn allocate_pinned(&mut self, bytes: Bytes) -> Result<DevicePtr>;

    /// Allocates memory of the GPU at the other end of a link, which kernels of this one can load from and store to. A GPU that was
    /// opened without one has none.
    fn allocate_on_peer(&mut self, _bytes: Bytes) -> Result<DevicePtr> {
        Err(Error::without_peer())
    }

    /// Gives memory of any kind back.
    fn free(&mut self, memory: DevicePtr) -> Result<()>;

    /// Copies to the device and waits.
    fn write(&mut self, to: DevicePtr, data: &[u8]) -> Result<()>;

    /// Copies from the device and waits for everything launched before.
    fn read(&mut self, from: DevicePtr, data: &mut [u8]) -> Result<()>;

    /// Makes these copies by the device's copy engines, all at the same time, and waits for them: microseconds from the first one's
    /// begin to the last one's end, by the device. Everything queued before is done first.
    fn transfer(&mut self, copies: &[Copy]) -> Result<f64>;

    /// Sets `bytes` (a multiple of four) of device memory to zero, in order with launches.
    fn clear(&mut self, memory: DevicePtr, bytes: Bytes) -> Result<()>;

    /// Compiles PTX text, with all optimisations, and loads it.
    fn load(&mut self, ptx: &str) -> Result<Module>;

    /// Compiles and loads each of these texts, in their order; at the same time where that can be. A GPU
    /// without a compiler ignores what [`Code::optimised`] says.
    fn load_all(&mut self, codes: &[Code<'_>]) -> Vec<Result<Module>> {
        codes.iter().map(|code| self.load(code.text)).collect()
    }

    /// Loads a module that is loaded already a second time, without compiling it again: its variables are others, at addresses
    /// of their own, and zero.
    fn load_again(&mut self, module: Module) -> Result<Module>;

    /// Unloads a module. Its functions and variables may not be used again.
    fn unload(&mut self, module: Module) -> Result<()>;

    /// What the compiler gave a function; [`Error::Unsupported`] where no compiler has been at work.
    fn resources(&mut self, function: Function) -> Result<Resources>;

    /// The machine code that [`Gpu::load`] made, where there is any.
    fn machine_code(&self, module: Module) -> Option<&[u8]>;

    /// How long it took to compile and load a module; others may have been compiled at the same time. None where no compiler has
    /// been at work.
    fn load_time(&self, _module: Module) -> Option<Duration> {
        None
    }

    /// Finds an entry point.
    fn function(&mut self, module: Module, name: &str) -> Result<Function>;

    /// Finds a module variable: its address and size.
    fn symbol(&mut self, module: Module, name: &str) -> Result<(DevicePtr, Bytes)>;

    /// Makes a linear texture over device memory, of texels of one unsigned byte, or of one, two or four unsigned words.
    fn texture(&mut self, memory: DevicePtr, bytes: Bytes, texel: Bytes) -> Result<Texture>;

    /// Makes a CUDA array and a texture over it, which owns it. What it gives for coordinates beyond its edges is not the same
    /// everywhere.
    fn array(&mut self, array: &Array<'_>) -> Result<Texture>;

    /// Destroys a texture object, with its array if it owns one.
    fn destroy_texture(&mut self, texture: Texture) -> Result<()>;

    /// Asks for what a launch needs of its function: dynamic shared memory, the carveout, the width of banks. Nothing is asked
    /// for that the function has already. [`Gpu::launch`] does the same. Where it is done before, no such call stands between
    /// bringing the caches into a state and the launch.
    fn configure(&mut self, function: Function, launch: &Launch) -> Result<()>;

    /// Queues a kernel; [`Error::Unsupported`] where what the launch states cannot be had here.
    fn launch(&mut self, function: Function, launch: &Launch, parameters: &[u64]) -> Result<()>;

    /// Sets as much of the L2 aside for lines that persist as the device allows, or none of it; then no line persists any more. Everything
    /// queued before is done first. [`Error::Unsupported`] where nothing can be set aside.
    fn set_aside_l2(&mut self, _most: bool) -> Result<()> {
        Err(Error::Unsupported { reason: "this device sets no part of its L2 aside".into() })
    }

    /// Waits for everything queued; faults of earlier launches are reported here at the latest.
    fn synchronize(&mut self) -> Result<()>;

    /// Device time since the last call of `mark`, in microseconds, once all queued work is done (0 for the first).
    fn mark(&mut self) -> Result<f64>;
}
