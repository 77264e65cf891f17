//! What accesses leave in a cache.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::experiment::Access;
use crate::units::Bytes;

/// What becomes of the lines of an access, beside those of a plain load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Effect {
    /// The cache has none of them right afterwards.
    NotKept,
    /// The cache has them, and evicts them before those of plain loads.
    EvictedFirst,
    /// Some go before those of plain loads, others do not.
    SomeEvictedFirst,
    /// They stay as those of plain loads do.
    AsPlain,
    /// They stay when those of plain loads are gone.
    EvictedLast,
    /// Some stay when those of plain loads are gone, others do not.
    SomeEvictedLast,
}

impl Effect {
    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Effect::NotKept => "not kept",
            Effect::EvictedFirst => "evicted first",
            Effect::SomeEvictedFirst => "some evicted first",
            Effect::AsPlain => "as a plain load",
            Effect::EvictedLast => "evicted last",
            Effect::SomeEvictedLast => "some evicted last",
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.words())
    }
}

/// An access, and what becomes of its lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct HintRow {
    /// The access.
    pub access: Access,
    /// What becomes of its lines.
    pub effect: Effect,
}

/// What accesses leave in a cache.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Hints(pub Vec<HintRow>);

impl Hints {
    /// What becomes of the lines of an access, if it was tried.
    pub fn of(&self, access: Access) -> Option<Effect> {
        self.0.iter().find(|row| row.access == access).map(|row| row.effect)
    }
}

/// An access that misses, and what the cache fetches for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct FetchRow {
    /// The access.
    pub access: Access,
    /// Bytes from the first one on that come with every one of them, in steps of 32.
    pub bytes: Bytes,
    /// Bytes that come with some of them.
    pub most: Bytes,
}

/// What a cache fetches for accesses that miss it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Fetches(pub Vec<FetchRow>);

impl Fetches {
    /// What is fetched for an access, if it was tried.
    pub fn of(&self, access: Access) -> Option<FetchRow> {
        self.0.iter().find(|row| row.access == access).copied()
    }
}

impl fmt::Display for FetchRow {
    /// `ld.global.L2::128B: 128 B`, or `ld.global.L2::256B: 128 B to 256 B`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.access, self.bytes)?;
        if self.most > self.bytes {
            write!(f, " to {}", self.most)?;
        }
        Ok(())
    }
}
