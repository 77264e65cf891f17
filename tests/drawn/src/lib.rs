//! Machines to test discovery on, for tests and for `cargo xtask agreement`: drawn at random, and changed in one property.

mod change;
mod machine;
mod recent;
mod second;

pub use change::{Change, Changed};
pub use machine::{Drawn, Hostility, Noise, machine};
pub use recent::recent;
pub use second::{Second, second};
