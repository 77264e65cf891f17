//! How much L1 a kernel gets.

use strata_report::compare::Document;
use strata_report::launch::{self, LaunchedL1};
use strata_report::report;

pub use strata_report::launch::Launch;

use crate::answer::Terminal;
use crate::comparison::{Loaded, Side};
use crate::error::{Error, Result};

/// The L1 that kernels of one launch shape get.
#[derive(Clone, Debug)]
pub struct L1OfLaunch {
    /// Everything that is known, as the JSON document has it.
    pub document: LaunchedL1,
}

/// How much L1 a kernel gets on the device of a result: what is left beside the shared memory that the driver sets aside.
///
/// # Errors
///
/// [`Error::Unreadable`], [`Error::Recording`] or [`Error::Document`] for a file that is no result; [`Error::Input`] for a launch
/// that the device does not have, and for a result that does not say.
pub fn l1(side: Side, launch: Launch) -> Result<L1OfLaunch> {
    let Loaded::Document(Document::Topology(topology), _) = side.load()? else {
        return Err(Error::Input(
            "the L1 of a launch is part of a discovery; give a result of `strata discover`".into(),
        ));
    };
    Ok(L1OfLaunch { document: launch::l1(&topology, launch).map_err(Error::Input)? })
}

impl L1OfLaunch {
    /// As lines for people.
    pub fn text(&self, terminal: &Terminal) -> String {
        report::launched::text(&self.document, terminal)
    }

    /// As JSON.
    ///
    /// # Errors
    ///
    /// [`Error::Report`], if a value cannot be written as JSON, which none holds.
    pub fn json(&self) -> Result<String> {
        report::json(&self.document).map_err(Error::report("the answer as JSON"))
    }
}
