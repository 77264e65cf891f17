//! Loads that the SM's own first cache answers, so that nothing that SMs share takes part.

use super::hierarchy::{Hierarchy, Requester, Way};

impl Hierarchy {
    /// Whether all of these addresses are in the SM's own caches, so that nothing that SMs share takes part. Changes
    /// nothing but what a launch empties.
    pub fn is_private(&mut self, way: Way, by: Requester, addresses: &[u64]) -> bool {
        let plan = &self.plan;
        let Some((route, _, kind)) = plan.first_in_sm(way) else { return false };
        let untranslated = route.translated > 0 || plan.tlbs.is_empty();
        let private = self.content.private(plan, by.sm);
        let cache = &private.caches[kind.place(by)].cache;
        let translated = |address| private.tlbs[0].as_ref().is_some_and(|tlb| tlb.holds(address));
        addresses.iter().all(|&address| cache.holds(address) && (untranslated || translated(address)))
    }

    /// [`Hierarchy::load`] if [`Hierarchy::is_private`]; otherwise nothing is changed.
    pub fn load_private(&mut self, way: Way, by: Requester, address: u64, bytes: u64, now: u64) -> Option<u64> {
        let plan = &self.plan;
        let (route, level, kind) = plan.first_in_sm(way)?;
        let private = self.content.private(plan, by.sm);
        let own = &mut private.caches[kind.place(by)];
        if route.translated == 0 && !plan.tlbs.is_empty() {
            let tlb = private.tlbs[0].as_mut()?;
            if !(tlb.holds(address) && own.cache.load_held(address)) {
                return None;
            }
            tlb.load(address);
        } else if !own.cache.load_held(address) {
            return None;
        }
        let waited = own.ports.wait(now, address) + own.read(now, level.bytes) + private.hand_out(route, now, bytes);
        Some(level.cycles + waited + self.noise.draw())
    }

    /// Brings a line that lies behind no cache of the device into the SM's first cache on this way.
    pub fn keep_private(&mut self, way: Way, by: Requester, address: u64) {
        let plan = &self.plan;
        let Some((_, _, kind)) = plan.first_in_sm(way) else { return };
        self.content.private(plan, by.sm).caches[kind.place(by)].cache.load_as(address, by.wishes.sm);
    }

    /// Loads of so many bytes of each of these sectors, each so many cycles after `now`, as [`Hierarchy::load`] does it for one after
    /// the other: cycles until the last value can be used. Only if the SM's first cache has all of them and needs no translation;
    /// otherwise nothing is changed. Sectors of a line are neighbours.
    pub fn load_row(&mut self, way: Way, by: Requester, sectors: &[(u64, u64)], bytes: u64, now: u64) -> Option<u64> {
        let plan = &self.plan;
        let (route, level, kind) = plan.first_in_sm(way)?;
        if route.translated == 0 && !plan.tlbs.is_empty() {
            return None;
        }
        let private = self.content.private(plan, by.sm);
        let place = kind.place(by);
        if !private.caches[place].cache.load_all_held(sectors) {
            return None;
        }
        let mut longest = 0;
        for &(address, after) in sectors {
            let asked = now + after;
            let own = &mut private.caches[place];
            let waited = own.ports.wait(asked, address) + own.read(asked, level.bytes);
            let waited = waited + private.hand_out(route, asked, bytes);
            longest = longest.max(after + waited + self.noise.draw());
        }
        Some(level.cycles + longest)
    }
}
