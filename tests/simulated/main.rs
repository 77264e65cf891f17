//! Discovery and characterization on simulated machines, and the simulator itself.
//!
//! One program for all of it: it is linked once, and long tests run beside short ones.

mod addresses;
mod agreement;
mod atomics;
mod bandwidth;
mod banks;
mod characterize;
mod costs;
mod damaged_machines;
mod die;
mod discover;
mod equal;
mod instructions;
mod links;
mod machine_files;
mod machine_reference;
mod only;
mod partitions;
mod random_machines;
mod recovery;
mod residency;
mod round_trip;
mod second_machines;
mod sim;
mod simulator;
mod slices;
mod tlb_domains;
mod watch;
mod written_machines;

#[path = "../surface/published/mod.rs"]
mod published;
