//! The facts of the device and the run in MT4G's summary. Its findings are not read: what the timings show is ours to say, and
//! `strata compare` sets the two side by side.

use serde::Deserialize;

use strata_model::facts::DeviceFacts;
use strata_model::import;
use strata_model::units::Bytes;

/// Most characters that are shown of a time that is no date.
const LONGEST_TIME: usize = 40;

/// The parts that are used; any may be missing. Newer versions add keys.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Summary {
    general: General,
    compute: Compute,
    memory: Memory,
    meta: Meta,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct General {
    name: Option<String>,
    vendor: Option<String>,
    clock_rate: Amount,
    compute_capability: Capability,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Capability {
    major: u32,
    minor: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Compute {
    max_blocks_per_multi_processor: Option<u32>,
    max_threads_per_block: u32,
    max_threads_per_multi_processor: u32,
    multi_processor_count: u32,
    number_of_cores_per_multi_processor: Option<u32>,
    regs_per_block: u32,
    regs_per_multi_processor: u32,
    warp_size: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Memory {
    constant: Constant,
    l1: FirstLevel,
    l2: SecondLevel,
    main: Main,
    shared: Shared,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Constant {
    total_const_mem: Amount,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct FirstLevel {
    #[serde(rename = "globalL1CacheSupported")]
    global: Option<bool>,
    #[serde(rename = "localL1CacheSupported")]
    local: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct SecondLevel {
    size: Amount,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Main {
    memory_bus_width: Amount,
    memory_clock_rate: Amount,
    total_global_mem: Amount,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Shared {
    reserved_shared_mem_per_block: Option<Amount>,
    shared_mem_per_block: Amount,
    shared_mem_per_multi_processor: Amount,
}

/// A number with its unit; the units are always the same: bytes, bits, kHz.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Amount {
    value: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Meta {
    gpu_compiler: Option<String>,
    timestamp: Option<String>,
}

impl Summary {
    /// Facts of the device; what the summary lacks is 0 or absent. `gpu` is its name, if the summary has none.
    pub fn facts(&self, gpu: &str) -> DeviceFacts {
        let Summary { general, compute, memory, .. } = self;
        let khz = |amount: Amount| u32::try_from(amount.value).unwrap_or(0);
        let nvidia = general.vendor.as_deref() == Some("NVIDIA");
        DeviceFacts {
            name: general.name.clone().unwrap_or_else(|| gpu.to_owned()),
            // Another vendor's numbers are no compute capability.
            compute_capability: if nvidia {
                (general.compute_capability.major, general.compute_capability.minor)
            } else {
                (0, 0)
            },
            multiprocessors: compute.multi_processor_count,
            cores_per_multiprocessor: compute.number_of_cores_per_multi_processor,
            warp_size: compute.warp_size,
            max_threads_per_block: compute.max_threads_per_block,
            max_threads_per_multiprocessor: compute.max_threads_per_multi_processor,
            max_blocks_per_multiprocessor: compute.max_blocks_per_multi_processor,
            registers_per_block: compute.regs_per_block,
            registers_per_multiprocessor: compute.regs_per_multi_processor,
            shared_per_block: memory.shared.shared_mem_per_block.value,
            shared_per_multiprocessor: if self.is_sum() {
                0
            } else {
                memory.shared.shared_mem_per_multi_processor.value
            },
            shared_reserved_per_block: memory.shared.reserved_shared_mem_per_block.map(|amount| amount.value),
            constant_memory: memory.constant.total_const_mem.value,
            total_memory: memory.main.total_global_mem.value,
            l2_size: memory.l2.size.value,
            global_l1_cache: memory.l1.global,
            local_l1_cache: memory.l1.local,
            clock_khz: khz(general.clock_rate),
            memory_clock_khz: khz(memory.main.memory_clock_rate),
            memory_bus_bits: khz(memory.main.memory_bus_width),
            ..DeviceFacts::default()
        }
    }

    /// What the summary says that cannot be, in words.
    pub fn doubt(&self) -> Option<String> {
        let (stated, count) = (self.memory.shared.shared_mem_per_multi_processor, self.compute.multi_processor_count);
        self.is_sum().then(|| {
            format!(
                "the summary says {} of shared memory for one multiprocessor; that is what a block may use times {count}, \
                 the number of multiprocessors, so it is not used",
                Bytes(stated.value)
            )
        })
    }

    fn is_sum(&self) -> bool {
        let shared = &self.memory.shared;
        let stated = shared.shared_mem_per_multi_processor.value;
        import::is_sum(stated, shared.shared_mem_per_block.value, self.compute.multi_processor_count)
    }

    /// When the timings were taken, if the summary says it as RFC 3339 in UTC.
    pub fn timestamp(&self) -> Option<&str> {
        self.meta.timestamp.as_deref().filter(|stated| humantime::parse_rfc3339(stated).is_ok())
    }

    /// What the summary says of that time otherwise, in words.
    pub fn no_date(&self) -> Option<String> {
        let stated = self.meta.timestamp.as_deref().filter(|stated| !stated.is_empty())?;
        let shown: String = stated.chars().take(LONGEST_TIME).collect();
        self.timestamp().is_none().then(|| {
            format!(
                "the summary says that the timings were taken at `{shown}`; that is no date in UTC (such as \
                 2026-11-21T20:24:15Z), so their time is unknown"
            )
        })
    }

    /// What compiled the kernels.
    pub fn compiler(&self) -> Option<&str> {
        self.meta.gpu_compiler.as_deref()
    }
}
