//! Machines to test discovery on, for tests and for `cargo xtask agreement`: drawn at random, and changed in one property.

mod change;
mod machine;

pub use change::{Change, Changed};
pub use machine::{Drawn, Hostility, Noise, machine};
