//! Facts of a device that publications state: numbers of a data sheet or of the driver, which no element has.

use std::fmt;
use std::str::FromStr;

use strata_model::facts::DeviceFacts;

/// What stands before the key of a fact: `device.multiprocessors`.
pub const DEVICE: &str = "device";

macro_rules! facts {
    ($($(#[$doc:meta])* $name:ident $key:literal $unit:expr, $of:expr;)*) => {
        /// A fact of a device.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Fact {
            $($(#[$doc])* $name,)*
        }

        impl Fact {
            /// All of them.
            pub const ALL: &'static [Fact] = &[$(Fact::$name,)*];

            /// Its key, behind `device.`.
            pub const fn key(self) -> &'static str {
                match self {
                    $(Fact::$name => $key,)*
                }
            }

            /// Its unit; `None` of a count.
            pub const fn unit(self) -> Option<&'static str> {
                match self {
                    $(Fact::$name => $unit,)*
                }
            }

            /// What the driver says of this device; `None` where it says nothing.
            pub fn of(self, facts: &DeviceFacts) -> Option<f64> {
                let of: fn(&DeviceFacts) -> Option<f64> = match self {
                    $(Fact::$name => $of,)*
                };
                of(facts)
            }
        }
    };
}

/// A number of which 0 says that nobody knows it.
fn known(number: impl Into<f64>) -> Option<f64> {
    Some(number.into()).filter(|number| *number > 0.0)
}

/// A clock in kHz as MHz.
fn mhz(khz: u32) -> Option<f64> {
    const KHZ_PER_MHZ: f64 = 1000.0;
    known(khz).map(|khz| khz / KHZ_PER_MHZ)
}

facts! {
    /// Streaming multiprocessors.
    Multiprocessors "multiprocessors" None, |facts| known(facts.multiprocessors);
    /// FP32 cores of a multiprocessor.
    CoresPerMultiprocessor "cores_per_multiprocessor" None, |facts| facts.cores_per_multiprocessor.and_then(known);
    /// FP32 cores of the device.
    Cores "cores" None, |facts| {
        known(facts.multiprocessors).zip(facts.cores_per_multiprocessor).map(|(sms, cores)| sms * f64::from(cores))
    };
    /// Threads of a warp.
    WarpSize "warp_size" None, |facts| known(facts.warp_size);
    /// Most threads of a block.
    MaxThreadsPerBlock "max_threads_per_block" None, |facts| known(facts.max_threads_per_block);
    /// Most threads resident on a multiprocessor.
    MaxThreadsPerMultiprocessor "max_threads_per_multiprocessor" None, |facts| known(facts.max_threads_per_multiprocessor);
    /// 32-bit registers of a block.
    RegistersPerBlock "registers_per_block" None, |facts| known(facts.registers_per_block);
    /// Shared memory of a block without asking for more.
    SharedPerBlock "shared_per_block" Some("B"), |facts| known(facts.shared_per_block as f64);
    /// Constant memory that a module may declare.
    ConstantMemory "constant_memory" Some("B"), |facts| known(facts.constant_memory as f64);
    /// Peak SM clock.
    Clock "clock" Some("MHz"), |facts| mhz(facts.clock_khz);
    /// Peak memory clock.
    MemoryClock "memory_clock" Some("MHz"), |facts| mhz(facts.memory_clock_khz);
    /// Width of the memory bus.
    MemoryBus "memory_bus" Some("bits"), |facts| known(facts.memory_bus_bits);
    /// Peak rate of single-precision arithmetic. The driver does not state it.
    PeakFlops "peak_flops" Some("TFLOPS"), |_| None;
    /// Peak bandwidth of the device memory. The driver does not state it.
    PeakBandwidth "peak_bandwidth" Some("B/s"), |_| None;
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.key())
    }
}

impl FromStr for Fact {
    type Err = String;

    fn from_str(key: &str) -> Result<Self, Self::Err> {
        let found = Fact::ALL.iter().find(|fact| fact.key() == key);
        found.copied().ok_or_else(|| {
            let all: Vec<&str> = Fact::ALL.iter().map(|fact| fact.key()).collect();
            format!("no fact `{key}` of a device; there are {}", all.join(", "))
        })
    }
}
