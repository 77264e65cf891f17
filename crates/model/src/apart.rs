//! Gives a part of a run to a reader of a result, and nothing to a recording, which keeps that part in a block of its own. So the
//! run can have new parts, and older recordings are still read.
//!
//! The part goes through a JSON value: its fields are compiled for that alone, and not for each reader and writer of results.

use serde::de::{DeserializeOwned, Error as _};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

pub fn serialize<T: Serialize, S: Serializer>(part: &Option<T>, serializer: S) -> Result<S::Ok, S::Error> {
    if !serializer.is_human_readable() {
        return serializer.serialize_unit();
    }
    serde_json::to_value(part).map_err(S::Error::custom)?.serialize(serializer)
}

pub fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    if !deserializer.is_human_readable() {
        return Ok(None);
    }
    serde_json::from_value(Value::deserialize(deserializer)?).map_err(D::Error::custom)
}
