//! Bank conflicts of an access, remembered: a loop of a kernel makes the same access again and again.

use crate::model::banks::Banks;

/// How many passes the banks need for the access that was computed last.
pub(crate) struct Passes {
    of: Option<(Banks, u64)>,
    addresses: Vec<u64>,
    passes: u32,
}

impl Passes {
    /// Nothing has been reckoned.
    pub const NONE: Passes = Passes { of: None, addresses: Vec::new(), passes: 1 };

    /// [`Banks::passes`].
    pub fn by(&mut self, banks: Banks, addresses: &[u64], bytes: u64) -> u32 {
        if self.of != Some((banks, bytes)) || self.addresses != addresses {
            self.of = Some((banks, bytes));
            self.addresses.clear();
            self.addresses.extend_from_slice(addresses);
            self.passes = banks.passes(addresses, bytes);
        }
        self.passes
    }
}
