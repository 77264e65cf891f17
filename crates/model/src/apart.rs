//! Gives a part of a run to a reader of a result, and nothing to a recording, which keeps that part in a block of its own. So the
//! run can have new parts, and older recordings are still read.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub fn serialize<T: Serialize, S: Serializer>(part: &Option<T>, serializer: S) -> Result<S::Ok, S::Error> {
    if serializer.is_human_readable() { part.serialize(serializer) } else { serializer.serialize_unit() }
}

pub fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    if deserializer.is_human_readable() { Option::deserialize(deserializer) } else { Ok(None) }
}
