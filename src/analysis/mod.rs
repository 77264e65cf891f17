//! Pure statistics.
#![allow(missing_docs)]
pub mod bootstrap;
pub mod change_point;
pub mod growth;
pub mod ks;
pub mod reduction;
pub mod robust;
pub mod search;
