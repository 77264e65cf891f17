//! Misses by footprint.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::units::Bytes;

/// Share of the loads that miss at one footprint. In JSON a list: footprint and share, and the ends of the interval where it
/// is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Footprint in bytes.
    pub footprint: Bytes,
    /// Share of the loads that miss, 0 to 1.
    pub share: f64,
    /// Lowest and highest share that another measurement is expected to show.
    pub interval: Option<(f64, f64)>,
}

impl Step {
    /// Of a footprint in bytes, without an interval.
    pub fn new(footprint: u64, share: f64) -> Self {
        Step { footprint: Bytes(footprint), share, interval: None }
    }
}

/// Misses by footprint, in ascending order of footprints.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Curve(pub Vec<Step>);

impl Curve {
    /// With the shares to four digits.
    pub fn rounded(steps: &[Step]) -> Self {
        let round = |share: f64| (share * 1e4).round() / 1e4;
        let rounded = |step: &Step| Step {
            share: round(step.share),
            interval: step.interval.map(|(low, high)| (round(low), round(high))),
            ..*step
        };
        Curve(steps.iter().map(rounded).collect())
    }
}

impl Serialize for Step {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.interval {
            None => (self.footprint, self.share).serialize(serializer),
            Some((low, high)) => (self.footprint, self.share, low, high).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Step {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Alone(Bytes, f64),
            Within(Bytes, f64, f64, f64),
        }
        let written = Written::deserialize(deserializer).map_err(|_| {
            de::Error::custom("a point of a curve is [footprint, share] or [footprint, share, low, high]")
        })?;
        Ok(match written {
            Written::Alone(footprint, share) => Step { footprint, share, interval: None },
            Written::Within(footprint, share, low, high) => Step { footprint, share, interval: Some((low, high)) },
        })
    }
}

impl JsonSchema for Step {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Step".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "array",
            "prefixItems": [
                { "type": "integer", "minimum": 0 },
                { "type": "number" },
                { "type": "number" },
                { "type": "number" }
            ],
            "minItems": 2,
            "maxItems": 4,
            "items": false
        })
    }
}
