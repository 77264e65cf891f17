//! Execution of kernels: warps in order with a scoreboard, blocks on SMs, one launch.
//!
//! Time passes where an instruction waits for an operand, so a kernel that reads the clock before the load has come back
//! measures nonsense here as on the chip.

mod access;
mod alu;
mod cluster;
mod copies;
mod issue;
mod launch;
mod order;
mod passes;
mod place;
mod plain;
mod requests;
mod shared;
mod sm;
mod turns;
mod walk;
mod warp;

pub(super) use copies::CopyCosts;
pub(super) use launch::{Fault, Grid, LaneCosts, State, run};
pub(super) use passes::Passes;
pub(super) use place::Clustered;
pub(super) use turns::Turns;
pub(super) use warp::LANES;
