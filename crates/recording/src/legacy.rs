//! Experiments of versions 2 and 3: one structure for all kinds, of which each used some fields.
//!
//! Fields that a kind did not use are dropped, whatever they hold: they made no difference to what was measured. What no
//! kernel could run (a disturbance without a partner) is no experiment of version 4, and the error says so.

use serde::Deserialize;
use strata_model::experiment::{
    AccessWidth, BankWidth, Chase, Clock, Disturb, Experiment, Imported, LoadPath, Order, Partner, PatternRun, Place,
    Prepare, Timing, WARP, Walk, Warp,
};
use strata_model::import::Series;
use strata_model::pattern::Pattern;
use strata_model::units::Bytes;

use super::experiments::Recorded;

/// One experiment.
#[derive(Deserialize)]
pub struct Legacy {
    kernel: Kernel,
    path: LoadPath,
    /// Bytes walked; 0 of imported timings whose files do not say.
    footprint: Bytes,
    /// Distance of neighbouring elements; 0 as above; the width of an access by the lanes of a warp.
    stride: Bytes,
    order: AnyOrder,
    warm_laps: u32,
    /// Loads or pairs of them; microseconds, of the clock.
    timed_loads: u32,
    rounds: u32,
    walk: Walk,
    prepare: Prepare,
    alone: bool,
    sm: Option<u32>,
    allocation: u32,
    carveout: Option<u8>,
    partner: Option<Partner>,
    seed: u64,
    repeat: u32,
}

/// What the kernel measured. `Pattern` came with version 3, `Imported` later.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
enum Kernel {
    Clock,
    Lap,
    PerLoad,
    PerTwoLoads,
    Disturb,
    Warp,
    Pattern,
    Imported,
}

/// Orders of chains, and what took their place in the other kinds. The last two came as those of [`Kernel`] did.
#[derive(Deserialize)]
enum AnyOrder {
    Sequential,
    Random,
    Scattered { granule: Bytes },
    Paged { page: Bytes, lines: u32 },
    Listed { offsets: Vec<u64> },
    Pages { granule: Bytes, lines: u32, shuffled: bool },
    Lanes { offsets: Vec<u64>, bank_width: Option<Bytes> },
    Pattern(Pattern),
    Imported(Series),
}

impl AnyOrder {
    fn of_a_chain(self) -> Result<Order, String> {
        Ok(match self {
            AnyOrder::Sequential => Order::Sequential,
            AnyOrder::Random => Order::Random,
            AnyOrder::Scattered { granule } => Order::Scattered { granule },
            AnyOrder::Paged { page, lines } => Order::Paged { page, lines },
            AnyOrder::Listed { offsets } => Order::Listed { offsets },
            AnyOrder::Pages { granule, lines, shuffled } => Order::Pages { granule, lines, shuffled },
            AnyOrder::Lanes { .. } => return Err("the elements of a warp's lanes are no chain".into()),
            AnyOrder::Pattern(_) => return Err("a pattern is no chain that could be chased".into()),
            AnyOrder::Imported(_) => return Err("a series that another tool timed is no chain".into()),
        })
    }
}

impl Recorded for Legacy {
    fn experiment(self) -> Result<Experiment, String> {
        if self.partner.is_some() && self.kernel != Kernel::Disturb {
            return Err("only a disturbance has a partner".into());
        }
        match self.kernel {
            Kernel::Clock => {
                Ok(Clock { span_us: self.timed_loads, sm: self.sm.unwrap_or(0), repeat: self.repeat }.into())
            }
            Kernel::PerLoad => {
                let timing = Timing::EachLoad { loads: self.timed_loads, walk: self.walk };
                self.chase(timing)
            }
            Kernel::PerTwoLoads if self.walk == Walk::Resident => {
                Err("pairs of loads are timed straight on: a window of them need not fit a lap".into())
            }
            Kernel::PerTwoLoads => {
                let timing = Timing::EachPair { pairs: self.timed_loads };
                self.chase(timing)
            }
            Kernel::Lap => {
                let timing = Timing::Laps { loads: self.timed_loads, rounds: self.rounds };
                self.chase(timing)
            }
            Kernel::Disturb => self.disturb(),
            Kernel::Warp => self.warp(),
            Kernel::Pattern => self.pattern(),
            Kernel::Imported => self.imported(),
        }
    }

    fn listed(&self) -> u64 {
        match &self.order {
            AnyOrder::Listed { offsets } | AnyOrder::Lanes { offsets, .. } => size_of_val(offsets.as_slice()) as u64,
            _ => 0,
        }
    }
}

impl Legacy {
    fn place(&self) -> Place {
        let Legacy { sm, allocation, carveout, alone, .. } = *self;
        Place { sm, allocation, carveout_percent: carveout, alone }
    }

    fn chase(self, timing: Timing) -> Result<Experiment, String> {
        let place = self.place();
        let Legacy { path, footprint, stride, order, warm_laps, prepare, seed, repeat, .. } = self;
        let order = order.of_a_chain()?;
        Ok(Chase { path, footprint, stride, order, timing, warm_laps, prepare, place, seed, repeat }.into())
    }

    fn disturb(self) -> Result<Experiment, String> {
        let place = self.place();
        let Legacy { path, footprint, stride, order, timed_loads: loads, .. } = self;
        let Legacy { warm_laps, prepare, partner, seed, repeat, .. } = self;
        let order = order.of_a_chain()?;
        let partner = partner.ok_or("a disturbance has a partner")?;
        Ok(Disturb { path, footprint, stride, order, loads, warm_laps, partner, prepare, place, seed, repeat }.into())
    }

    fn warp(self) -> Result<Experiment, String> {
        let place = self.place();
        let AnyOrder::Lanes { offsets, bank_width } = self.order else {
            return Err("a warp's loads need an element for each lane".into());
        };
        if self.path != LoadPath::Shared {
            return Err(format!("the lanes of a warp load from shared memory, not by {}", self.path));
        }
        let offsets: Box<[u64; WARP]> = offsets
            .try_into()
            .map_err(|offsets: Vec<u64>| format!("{} elements for the {WARP} lanes of a warp", offsets.len()))?;
        Ok(Warp {
            offsets,
            width: AccessWidth::try_from(self.stride)?,
            bank_width: bank_width.map(BankWidth::try_from).transpose()?,
            footprint: self.footprint,
            warm_loads: self.warm_laps,
            loads: self.timed_loads,
            rounds: self.rounds,
            place,
            repeat: self.repeat,
        }
        .into())
    }

    fn pattern(self) -> Result<Experiment, String> {
        let AnyOrder::Pattern(pattern) = self.order else { return Err("a pattern kernel needs a pattern".into()) };
        let Legacy { path, rounds, prepare, carveout: carveout_percent, seed, repeat, .. } = self;
        Ok(PatternRun { pattern, path, rounds, prepare, carveout_percent, seed, repeat }.into())
    }

    fn imported(self) -> Result<Experiment, String> {
        let AnyOrder::Imported(series) = self.order else { return Err("imported loads need a series".into()) };
        let said = |bytes: Bytes| (bytes.0 > 0).then_some(bytes);
        let Legacy { path, footprint, stride, timed_loads: loads, repeat, .. } = self;
        Ok(Imported { series, path, footprint: said(footprint), stride: said(stride), loads, repeat }.into())
    }
}
