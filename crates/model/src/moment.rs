//! The time of a run: RFC 3339 or null for a reader of a result. A recording keeps the text, which is empty where nobody knows the
//! time, so recordings stay as they are.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub fn serialize<S: Serializer>(time: &str, serializer: S) -> Result<S::Ok, S::Error> {
    if serializer.is_human_readable() {
        Some(time).filter(|time| !time.is_empty()).serialize(serializer)
    } else {
        time.serialize(serializer)
    }
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    if deserializer.is_human_readable() {
        Ok(Option::deserialize(deserializer)?.unwrap_or_default())
    } else {
        String::deserialize(deserializer)
    }
}
