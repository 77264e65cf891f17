//! What the driver says of the board, the clock, the pipeline, noise, and what lies behind the caches.

use super::dice::{Dice, KIB, MIB};
use super::text::Text;

/// Capabilities of real GPUs, in tenths.
const KNOWN: [u64; 17] = [20, 21, 30, 35, 37, 50, 52, 53, 60, 61, 70, 75, 80, 86, 89, 90, 100];
/// Capabilities that no GPU has.
const UNKNOWN: [u64; 5] = [39, 65, 79, 85, 95];
/// The capability of Volta, in tenths.
pub const VOLTA: u64 = 70;

/// What is known of a device before its caches are.
pub struct Device {
    /// Capability in tenths.
    pub capability: u64,
    /// SMs.
    pub sms: u64,
    /// Bytes of device memory.
    pub memory: u64,
    block: u64,
    threads: u64,
    blocks: u64,
    registers: u64,
    /// The driver states this share of the true size of the L2, as numerator and denominator.
    stated: (u64, u64),
}

/// What may be unusual.
#[derive(Clone, Copy)]
enum Change {
    OneSm,
    OddSms,
    SmallBlocks,
    OddBlocks,
    FewBlocks,
    FewRegisters,
    UnknownCapability,
    LittleMemory,
    OtherL2,
}

const CHANGES: [Change; 10] = [
    Change::OneSm,
    Change::OddSms,
    Change::SmallBlocks,
    Change::SmallBlocks,
    Change::OddBlocks,
    Change::FewBlocks,
    Change::FewRegisters,
    Change::UnknownCapability,
    Change::LittleMemory,
    Change::OtherL2,
];

impl Device {
    /// Limits of a device.
    pub fn draw(dice: &mut Dice) -> Self {
        let block = dice.pick(&[1024, 1024, 1024, 512]);
        let mut device = Device {
            capability: dice.pick(&KNOWN),
            sms: dice.pick(&[2, 2, 4, 4, 6, 8]),
            memory: dice.within(4000..=49000) * MIB,
            block,
            threads: dice.pick(&[1024, 1536, 2048, 2048]),
            blocks: dice.pick(&[8, 16, 16, 32]),
            registers: dice.pick(&[32768, 65536, 65536]),
            stated: (1, 1),
        };
        if dice.one_in(5) {
            dice.few(&CHANGES).into_iter().for_each(|change| device.change(dice, change));
        }
        device.note(dice);
        device
    }

    fn change(&mut self, dice: &mut Dice, change: Change) {
        match change {
            Change::OneSm => self.sms = 1,
            Change::OddSms => self.sms = dice.pick(&[3, 5, 7]),
            Change::SmallBlocks => (self.block, self.threads) = (dice.pick(&[64, 128]), dice.pick(&[256, 512, 768])),
            // Whole warps, but no power of two.
            Change::OddBlocks => (self.block, self.threads) = (dice.pick(&[96, 160, 416, 608, 992]), 1984),
            Change::FewBlocks => self.blocks = dice.within(1..=3),
            Change::FewRegisters => self.registers = dice.pick(&[8192, 16384]),
            Change::UnknownCapability => self.capability = dice.pick(&UNKNOWN),
            Change::LittleMemory => self.memory = dice.spread(96, 768) * MIB,
            Change::OtherL2 => self.stated = dice.pick(&[(8, 7), (4, 3), (3, 4), (2, 1)]),
        }
    }

    fn note(&self, dice: &mut Dice) {
        dice.note_if(self.sms == 1, "one sm");
        dice.note_if(self.sms > 1 && self.sms % 2 == 1, "odd number of sms");
        dice.note_if(self.block == 64, "64 threads a block");
        dice.note_if(self.block == 128, "128 threads a block");
        dice.note_if(!self.block.is_power_of_two(), "threads of a block no power of two");
        dice.note_if(self.blocks <= 3, "few resident blocks");
        dice.note_if(self.registers <= 16384, "few registers");
        dice.note_if(UNKNOWN.contains(&self.capability), "unknown compute capability");
        dice.note_if(self.memory < 1000 * MIB, "little memory");
        dice.note_if(self.stated != (1, 1), "driver states another l2 size");
    }

    /// Writes its table; `l2` is the true size of the L2.
    pub fn write(&self, dice: &mut Dice, text: &mut Text, l2: u64, seed: u64) {
        text.table("device");
        text.text("name", format_args!("Second {seed}"));
        text.text("chip", "Drawn at random");
        text.text("compute_capability", format_args!("{}.{}", self.capability / 10, self.capability % 10));
        text.value("multiprocessors", self.sms);
        text.value("cores_per_multiprocessor", dice.pick(&[32, 48, 64, 128, 192]));
        text.value("max_threads_per_block", self.block);
        text.value("max_threads_per_multiprocessor", self.threads);
        text.value("max_blocks_per_multiprocessor", self.blocks);
        text.value("registers_per_multiprocessor", self.registers);
        text.text("memory", format_args!("{} MiB", self.memory / MIB));
        text.value("l2", l2 * self.stated.0 / self.stated.1);
        text.value("memory_clock_mhz", dice.within(800..=4000));
        text.value("memory_bus_bits", 64 * dice.within(1..=96));
    }
}

/// What may be unusual about the clock.
#[derive(Clone, Copy)]
enum OfClock {
    Short,
    Long,
    FromTenth,
    Falls,
    Coarse,
}

/// Writes the clock's table.
pub fn clock(dice: &mut Dice, text: &mut Text, capability: u64) {
    let mhz = dice.within(500..=2600);
    let mut step = if capability < VOLTA { 1000 } else { 32 };
    let mut ramp = None;
    if dice.one_in(8) {
        for change in dice.few(&[OfClock::Short, OfClock::Long, OfClock::FromTenth, OfClock::Falls, OfClock::Coarse]) {
            match change {
                OfClock::Short => ramp = Some((mhz * dice.within(2..=9) / 10, dice.within(100..=5000))),
                OfClock::Long => ramp = Some((mhz * dice.within(2..=9) / 10, dice.within(20_000..=100_000))),
                OfClock::FromTenth => ramp = Some((mhz / 10, dice.spread(1000, 100_000))),
                OfClock::Falls => ramp = Some((mhz * dice.within(11..=15) / 10, dice.spread(1000, 100_000))),
                OfClock::Coarse => step = dice.pick(&[10_000, 100_000, 1_000_000]),
            }
        }
    }
    text.table("clock");
    text.value("mhz", mhz);
    text.value("timer_step_ns", step);
    dice.note_if(step > 1000, "coarse global timer");
    if let Some((from, us)) = ramp {
        text.value("ramp_from_mhz", from);
        text.value("ramp_us", us);
        dice.note_if(from < mhz && us < 20_000, "short clock ramp");
        dice.note_if(from < mhz && us >= 20_000, "long clock ramp");
        dice.note_if(from <= mhz / 10, "clock ramps from a tenth");
        dice.note_if(from > mhz, "clock falls at first");
    }
}

/// Writes the pipeline's table.
pub fn pipeline(dice: &mut Dice, text: &mut Text, seed: u64) {
    let mut arithmetic = dice.within(4..=20);
    let mut issue = dice.within(1..=2);
    let mut coalescing = dice.pick(&[32, 32, 64, 128, 128]);
    match dice.within(0..=24) {
        0 => (arithmetic, issue) = (dice.within(30..=70), dice.within(4..=12)),
        1 => coalescing = dice.pick(&[256, 512, 1024]),
        _ => {}
    }
    dice.note_if(arithmetic >= 30, "slow pipeline");
    dice.note_if(coalescing >= 256, "wide coalescing");
    text.table("pipeline");
    text.value("arithmetic", arithmetic);
    text.value("issue", issue);
    text.value("barrier", dice.within(5..=60));
    text.value("coalescing", coalescing);
    text.value("transaction", dice.within(0..=4));
    text.value("constant_word", dice.within(0..=8));
    text.value("atomic", dice.within(0..=9));
    // Drawn apart, so that nothing else of a machine changes.
    let mut apart = Dice::new(!seed);
    if apart.one_in(2) {
        text.value("atomic_line", apart.within(0..=40));
    }
    if apart.one_in(2) {
        text.value("delivery", apart.within(8..=128));
    }
    if apart.one_in(2) {
        text.value("barrier_warps", apart.within(0..=120));
    }
}

/// Writes the table of memory; `latency` is that of device memory.
pub fn memory(dice: &mut Dice, text: &mut Text, latency: u64) {
    text.table("memory");
    text.value("port", dice.within(0..=6));
    text.value("channels", dice.pick(&[1, 2, 3, 4, 6, 8, 12, 32]));
    text.value("host_cycles", latency + dice.within(300..=2500));
}

/// Writes the table of noise; a third of the machines is quiet.
pub fn noise(dice: &mut Dice, text: &mut Text) {
    if dice.one_in(3) {
        return;
    }
    let (has_jitter, has_smear, has_spikes) = dice.pick(&[
        (true, false, false),
        (true, false, false),
        (true, false, false),
        (false, true, false),
        (false, false, true),
        (false, false, true),
        (true, false, true),
        (true, true, true),
    ]);
    let jitter = if has_jitter { dice.pick(&[1, 2, 3, 4, 4, 6, 8, 10, 12]) } else { 0 };
    let smear = if has_smear { dice.within(1..=45) } else { 0 };
    // Rates in hundredths of a percent: 0.0005 to 0.05.
    let (rate, spike) = if has_spikes { (dice.spread(5, 500), dice.spread(5, 5000)) } else { (0, 0) };
    text.table("noise");
    text.value("jitter", jitter);
    text.value("smear", smear);
    text.value("spikes", format_args!("0.{rate:04}"));
    text.value("spike", spike);
    dice.note_if(jitter > 6, "large jitter");
    dice.note_if(smear > 0, "smear");
    dice.note_if(rate >= 200, "frequent spikes");
    if has_spikes {
        let size = usize::from(spike > 50) + usize::from(spike > 1000);
        let names = ["small spikes", "spikes", "large spikes"];
        let mixed = ["small spikes with jitter", "spikes with jitter", "large spikes with jitter"];
        dice.note(if has_jitter { mixed[size] } else { names[size] });
    }
}

/// Shared memory.
pub struct Shared {
    /// Bytes that a block may have without asking for more.
    pub per_block: u64,
    cycles: u64,
    conflict: u64,
    banks: u64,
    width: u64,
    modes: &'static str,
    atomic: Option<u64>,
}

/// What may be unusual about shared memory.
#[derive(Clone, Copy)]
enum OfShared {
    Little,
    FewBanks,
    ManyBanks,
    Quick,
    Slow,
    Wide,
    Atomic,
}

const OF_SHARED: [OfShared; 7] = [
    OfShared::Little,
    OfShared::FewBanks,
    OfShared::ManyBanks,
    OfShared::Quick,
    OfShared::Slow,
    OfShared::Wide,
    OfShared::Atomic,
];

impl Shared {
    /// Shared memory of a capability.
    pub fn draw(dice: &mut Dice, capability: u64) -> Self {
        let (width, modes) = if (30..40).contains(&capability) { (8, "[4, 8]") } else { (4, "[]") };
        let (cycles, conflict) = (dice.within(20..=50), dice.pick(&[1, 2, 2, 2, 4, 14]));
        let mut shared = Shared { per_block: 48 * KIB, cycles, conflict, banks: 32, width, modes, atomic: None };
        if dice.one_in(8) {
            dice.few(&OF_SHARED).into_iter().for_each(|change| shared.change(dice, change));
        }
        shared.note(dice);
        shared
    }

    fn change(&mut self, dice: &mut Dice, change: OfShared) {
        match change {
            OfShared::Little => self.per_block = dice.pick(&[16, 17, 24]) * KIB,
            // The format has powers of two only.
            OfShared::FewBanks => self.banks = dice.pick(&[4, 8, 16, 16]),
            OfShared::ManyBanks => self.banks = dice.pick(&[64, 128]),
            OfShared::Quick => (self.cycles, self.conflict) = (9, 1),
            OfShared::Slow => self.conflict = 37,
            OfShared::Wide => (self.width, self.modes) = (8, dice.pick(&["[]", "[8]", "[8, 4]"])),
            OfShared::Atomic => self.atomic = Some(dice.within(3..=60)),
        }
    }

    fn note(&self, dice: &mut Dice) {
        dice.note_if(self.per_block < 32 * KIB, "little shared memory");
        dice.note_if(self.banks < 32, "few banks");
        dice.note_if(self.banks > 32, "many banks");
        dice.note_if(self.cycles == 9, "shared memory of 9 cycles");
        dice.note_if(self.conflict == 37, "conflicts of 37 cycles");
        dice.note_if(self.width == 8 && self.modes != "[4, 8]", "banks of 8 bytes without a choice of 4 first");
        dice.note_if(self.atomic.is_some(), "atomics on shared memory with their own cost");
    }

    /// Writes its table; `most` is what the carveout leaves at most, if there is one.
    pub fn write(&self, dice: &mut Dice, text: &mut Text, capability: u64, most: Option<u64>) {
        let per_sm = most.unwrap_or_else(|| self.per_block + dice.pick(&[0, 0, 16, 48]) * KIB);
        text.table("shared");
        text.value("per_block", self.per_block);
        text.value("per_multiprocessor", per_sm);
        let reserved = if capability >= 80 { KIB } else { 0 };
        text.value("reserved_per_block", reserved);
        if capability >= VOLTA && per_sm - reserved > self.per_block {
            text.value("per_block_optin", per_sm - reserved);
        }
        text.value("cycles", self.cycles);
        text.value("banks", self.banks);
        text.value("bank_width", self.width);
        text.value("modes", self.modes);
        text.value("conflict", self.conflict);
        if let Some(atomic) = self.atomic {
            text.value("atomic", atomic);
        }
    }
}
