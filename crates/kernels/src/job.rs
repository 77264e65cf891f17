//! The parameters and results of a kernel: sixteen 64-bit fields for each SM.
//!
//! One job lies ready for each SM that has something to do. The first block that arrives there takes it by swapping
//! `armed` to 0; every other block leaves at once. So a launch can give every SM an experiment of its own, or a single SM
//! while the others stay idle, without asking the scheduler for anything.

/// Number of 64-bit fields of a job.
pub const FIELDS: usize = 16;
/// Size of a job in device memory, in bytes.
pub const JOB_BYTES: u64 = 8 * FIELDS as u64;

/// A job as it lies in device memory. Units: loads, unless said otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Job {
    /// 1 while the job waits for a block, 0 once taken.
    pub armed: u64,
    /// Where the chain starts: an address, or an index for textures and constants.
    pub start: u64,
    /// Texture object of the chain.
    pub texture: u64,
    /// Loads of a lap.
    pub lap: u64,
    /// Laps before the first timed load (passes, for the filling kernel).
    pub warm_laps: u64,
    /// Loads to time (microseconds, for the kernels that spin).
    pub timed_loads: u64,
    /// Times that shared memory holds before they are written out.
    pub window: u64,
    /// Whole laps between windows; none to walk straight on.
    pub laps_between: u64,
    /// Address for the times.
    pub out: u64,
    /// Address of the list of offsets, in units of four bytes.
    pub order: u64,
    /// Distance of elements in units of four bytes, 0 where they follow the list; rounds, for the lap kernel.
    pub stride_or_rounds: u64,
    /// Start of the partner's chain.
    pub partner_start: u64,
    /// Texture object of the partner's chain.
    pub partner_texture: u64,
    /// Loads that the partner walks; overwritten with where its chain ended.
    pub partner_loads: u64,
    /// The partner's thread; overwritten with the address of memory that the kernel itself provides.
    pub partner_thread: u64,
    /// Written by the kernel: where the chain ended.
    pub end: u64,
}

/// Names of the fields in a kernel template, with their byte offsets.
pub const OFFSETS: [(&str, u64); 20] = [
    ("armed", 0),
    ("start", 8),
    ("texture", 16),
    ("lap", 24),
    ("warm_laps", 32),
    ("timed_loads", 40),
    ("window", 48),
    ("laps_between", 56),
    ("out", 64),
    ("order", 72),
    ("stride", 80),
    ("rounds", 80),
    ("partner_start", 88),
    ("partner_texture", 96),
    ("partner_loads", 104),
    ("partner_end", 104),
    ("partner_thread", 112),
    ("origin", 112),
    ("end", 120),
    ("size", JOB_BYTES),
];

impl Job {
    /// The fields in order, little-endian.
    pub fn to_bytes(self) -> [u8; JOB_BYTES as usize] {
        let fields: [u64; FIELDS] = [
            self.armed,
            self.start,
            self.texture,
            self.lap,
            self.warm_laps,
            self.timed_loads,
            self.window,
            self.laps_between,
            self.out,
            self.order,
            self.stride_or_rounds,
            self.partner_start,
            self.partner_texture,
            self.partner_loads,
            self.partner_thread,
            self.end,
        ];
        let mut bytes = [0; JOB_BYTES as usize];
        for (chunk, field) in bytes.chunks_exact_mut(8).zip(fields) {
            chunk.copy_from_slice(&field.to_le_bytes());
        }
        bytes
    }
}

/// What a finished job's memory says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// A block took the job.
    pub taken: bool,
    /// Where the chain ended.
    pub end: u64,
    /// Where the partner's chain ended.
    pub partner_end: u64,
    /// Address of memory that the kernel provided itself (shared, local).
    pub origin: u64,
}

impl Done {
    /// Reads the fields that the kernel writes.
    pub fn from_bytes(bytes: &[u8; JOB_BYTES as usize]) -> Self {
        let field = |offset: usize| {
            let mut raw = [0; 8];
            raw.copy_from_slice(&bytes[offset..offset + 8]);
            u64::from_le_bytes(raw)
        };
        Done { taken: field(0) == 0, partner_end: field(104), origin: field(112), end: field(120) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_named_offsets_are_those_of_the_bytes() {
        let job = Job { armed: 1, start: 2, out: 3, stride_or_rounds: 4, partner_thread: 5, end: 6, ..Job::default() };
        let bytes = job.to_bytes();
        let at = |name: &str| {
            let offset = OFFSETS.iter().find(|(n, _)| *n == name).unwrap().1 as usize;
            u64::from_le_bytes(bytes[offset..offset + 8].try_into().unwrap())
        };
        assert_eq!(["armed", "start", "out", "rounds", "partner_thread", "end"].map(at), [1, 2, 3, 4, 5, 6]);
        assert_eq!(bytes.len() as u64, JOB_BYTES);
    }
}
