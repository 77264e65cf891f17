//! The topology as a drawing: one SM with its caches and the loads that reach them, how addresses are translated, the L2 with
//! its partitions, and the memories beyond.
//!
//! `model` says what is drawn, from findings alone: what no finding says is not in the drawing either. `facts` says what is
//! written in it, and `layout` gives it places, one below the other, so that it can be read on a telephone.

mod facts;
mod layout;
mod model;

use super::svg::Picture;
use strata_model::topology::Topology;

/// Name of the drawing, among the pictures of a report.
pub(super) const NAME: &str = "topology";

/// The drawing; none of a topology without memories.
pub(super) fn picture(topology: &Topology) -> Option<Picture> {
    model::Drawing::of(topology).map(|drawing| layout::picture(&drawing))
}
