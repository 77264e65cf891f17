//! The SM clock and the global timer: cycles against nanoseconds, and what they show while another process has its turn.

use crate::machine::spec;

/// Cycles of the SM clock as a function of time, with the ramp at the start of a run.
#[derive(Clone, Debug)]
pub struct Clock {
    mhz: f64,
    /// Clock and length in nanoseconds of the ramp.
    ramp: (f64, f64),
    step_ns: u64,
}

/// Turns of another process, in cycles of this one's work: after each `every` cycles the device is stopped for `stop` cycles, in
/// which both clocks go on. It shows in the clocks alone; the other process touches no memory.
#[derive(Clone, Copy, Debug)]
pub struct Slices {
    /// Cycles of work between two stops.
    pub every: u64,
    /// Cycles that a stop takes.
    pub stop: u64,
    /// Cycles of work after which the other process ends.
    pub until: u64,
}

impl Slices {
    /// No other process.
    pub const NONE: Slices = Slices { every: u64::MAX, stop: 0, until: 0 };

    /// What the clock shows after so many cycles of work.
    pub fn shown(self, worked: u64) -> u64 {
        worked + worked.min(self.until) / self.every.max(1) * self.stop
    }
}

/// What the global timer shows when a machine is switched on: any number that is no small one.
const TIMER_START_NS: u64 = 1_000_000_000;

impl Clock {
    /// The clock of a machine.
    pub fn new(clock: &spec::Clock) -> Self {
        let mhz = clock.mhz.get() as f64;
        let from = clock.ramp_from_mhz.map_or(mhz, |from| from.get() as f64);
        Clock { mhz, ramp: (from, clock.ramp_us.get() as f64 * 1e3), step_ns: clock.timer_step_ns.get() }
    }

    /// Nanoseconds since the machine was switched on, after so many cycles.
    pub fn nanoseconds(&self, cycles: u64) -> f64 {
        let (from, span) = self.ramp;
        let ramped = span * from / 1e3;
        let cycles = cycles as f64;
        if cycles <= ramped { cycles * 1e3 / from } else { span + (cycles - ramped) * 1e3 / self.mhz }
    }

    /// What the global timer shows after so many cycles.
    pub fn timer(&self, cycles: u64) -> u64 {
        let now = TIMER_START_NS + self.nanoseconds(cycles) as u64;
        now / self.step_ns * self.step_ns
    }

    /// The steady clock, in MHz.
    pub fn mhz(&self) -> f64 {
        self.mhz
    }
}
