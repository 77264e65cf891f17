//! What accesses leave in a cache.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::experiment::Access;

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
