//! The health of a node: each of its GPUs, and each link between them, against the policy of its product.

use std::time::Duration;

use strata_report::health;
use strata_report::report;

use crate::error::{Error, Result};
use crate::policy::Policy;

pub use strata_report::health::{Count as GpuCount, Examined, Outcome, Verdict};

/// What was found of a node.
#[derive(Clone, Debug)]
pub struct Health {
    /// All of it, as the JSON document has it.
    pub document: health::Health,
}

/// Holds each GPU and each link against the policy of its product. `count` says how many GPUs there should be, and `took` how long it was until
/// all were measured.
///
/// The measurements are the caller's, so that a driver that never answers can be left to another process, as `strata check` does.
pub fn check_node(policies: &[Policy], examined: Vec<Examined>, count: Option<GpuCount>, took: Duration) -> Health {
    let policies: Vec<_> = policies.iter().map(Policy::inner).collect();
    Health { document: health::check(&policies, examined, count, took.as_secs_f64()) }
}

impl Health {
    /// What came of it.
    pub fn verdict(&self) -> Verdict {
        self.document.verdict
    }

    /// One line for the node, one for each GPU, and one for each link. `status` stands before the first one.
    pub fn text(&self, status: Option<&str>) -> String {
        report::health::text(&self.document, status)
    }

    /// Everything as JSON; [`Schema::Health`](crate::Schema::Health) describes it.
    ///
    /// # Errors
    ///
    /// [`Error::Report`], if a value cannot be written as JSON.
    pub fn json(&self) -> Result<String> {
        report::json(&self.document).map_err(Error::report("the health as JSON"))
    }
}
