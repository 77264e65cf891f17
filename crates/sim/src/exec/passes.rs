//! Bank conflicts of an access, remembered: a loop of a kernel makes the same access again and again, or one that lies some rows
//! further on.

use crate::model::banks::Banks;

/// How many passes the banks need for the access that was computed last.
pub(crate) struct Passes {
    of: Option<(Banks, u64)>,
    /// From the beginning of the row of the first one.
    addresses: Vec<u64>,
    passes: u32,
}

impl Passes {
    /// Nothing has been reckoned.
    pub const NONE: Passes = Passes { of: None, addresses: Vec::new(), passes: 1 };

    /// [`Banks::passes`].
    pub fn by(&mut self, banks: Banks, addresses: &[u64], bytes: u64) -> u32 {
        let row = addresses.first().map_or(0, |first| first / banks.row() * banks.row());
        let from_row = addresses.iter().map(|address| address.wrapping_sub(row));
        if self.of != Some((banks, bytes)) || !from_row.clone().eq(self.addresses.iter().copied()) {
            self.of = Some((banks, bytes));
            self.addresses.clear();
            self.addresses.extend(from_row);
            self.passes = banks.passes(addresses, bytes);
        }
        self.passes
    }
}
