//! What a finding was read from, as a few points: enough for a picture, and no second copy of a recording's samples.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Mean load of a chain in cycles, by footprint in bytes; the band is the middle 80 % of its loads. Loads are raw: they include
/// the timing overhead.
pub const AVERAGE_LOAD: &str = "average_load";
/// Distance of a chain's loads from hits in cycles (root mean square), by footprint in bytes; without a band.
pub const DISTANCE: &str = "distance";
/// How many cycles longer than a hit the mean load of a chain takes after a partner's walk, by the partner's thread. A point is
/// for the threads of a warp: the first of them, the mean of all, and as band the least and the greatest.
pub const DISTURBANCE: &str = "disturbance";
/// Bytes a cycle of an SM, by the bytes that its loads have in flight; without a band. A point is a launch of the search.
pub const BANDWIDTH_BY_BYTES_IN_FLIGHT: &str = "bandwidth_by_bytes_in_flight";

/// Bytes a cycle of all SMs at work, by their number; they are taken from all partitions of the L2 in turn. A point is a launch that was
/// repeated, the band its least and greatest.
pub const BANDWIDTH_BY_SMS: &str = "bandwidth_by_sms";
/// As [`BANDWIDTH_BY_SMS`], where all SMs of one partition come before those of the next.
pub const BANDWIDTH_BY_SMS_OF_ONE_PARTITION_FIRST: &str = "bandwidth_by_sms_of_one_partition_first";
/// Bytes a cycle of all SMs, by the footprint that they go over together. Points as of [`BANDWIDTH_BY_SMS`].
pub const BANDWIDTH_BY_FOOTPRINT: &str = "bandwidth_by_footprint";

/// Bytes a cycle of an SM, by the blocks of its cluster; the band is what another run may find.
pub const BANDWIDTH_BY_CLUSTER_SIZE: &str = "bandwidth_by_cluster_size";

/// Cycles of a copy, by its bytes; the band holds several places in memory and SMs.
pub const LATENCY_BY_COPIED_BYTES: &str = "latency_by_copied_bytes";

/// Cycles of a burst of loads of an SM from the first load to the last answer, by their number; without a band. A point is the least of
/// several launches.
pub const TIME_BY_LOADS: &str = "time_by_loads";

/// Mean load of a chase in cycles, by the bytes a cycle that all other SMs read meanwhile; the band is what another run may find.
pub const LATENCY_BY_READ_BANDWIDTH: &str = "latency_by_read_bandwidth";
/// As [`LATENCY_BY_READ_BANDWIDTH`], while they write.
pub const LATENCY_BY_WRITE_BANDWIDTH: &str = "latency_by_write_bandwidth";
/// As [`LATENCY_BY_READ_BANDWIDTH`], while they copy; what is read and what is written counts.
pub const LATENCY_BY_COPY_BANDWIDTH: &str = "latency_by_copy_bandwidth";

/// Series by name. A name that this version does not know is kept and shown nowhere.
pub type AllSeries = BTreeMap<String, Vec<SeriesPoint>>;

/// A point of a series. In JSON a list: place and value, and the ends of the band where there is one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "Listed", into = "Listed")]
#[schemars(inline, with = "Listed")]
pub struct SeriesPoint {
    /// Place on the x axis.
    pub x: f64,
    /// The value.
    pub value: f64,
    /// Lower and upper end of the band.
    pub band: Option<(f64, f64)>,
}

#[derive(Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
enum Listed {
    Alone(f64, f64),
    Within(f64, f64, f64, f64),
}

impl From<Listed> for SeriesPoint {
    fn from(listed: Listed) -> Self {
        match listed {
            Listed::Alone(x, value) => SeriesPoint { x, value, band: None },
            Listed::Within(x, value, low, high) => SeriesPoint { x, value, band: Some((low, high)) },
        }
    }
}

impl From<SeriesPoint> for Listed {
    fn from(SeriesPoint { x, value, band }: SeriesPoint) -> Self {
        match band {
            None => Listed::Alone(x, value),
            Some((low, high)) => Listed::Within(x, value, low, high),
        }
    }
}
