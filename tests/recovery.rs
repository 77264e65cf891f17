//! Discovery on the machines that come with strata, held against their files: the recovery table.

mod sim;

use gpu_strata::gpu::sim::machine::Machine;
use gpu_strata::probe::Effort;
use sim::expect::{Verdict, judge};

#[test]
fn try_one() {
    let Ok(name) = std::env::var("MACHINE") else { return };
    let machine = Machine::named(&name).unwrap();
    let outcome = sim::discovery(&machine, Effort::Standard, 1);
    let rows = sim::truth::rows(&machine, &outcome.seen);
    for (row, verdict) in judge(&outcome.topology, &rows) {
        let f = sim::finding(&outcome.topology, row.element, row.attribute);
        if verdict != Verdict::Right {
            println!(
                "{name} {}.{}: truth {} found {} [{:?} {:?}] {:?}",
                row.element,
                row.attribute,
                row.expect.shown(),
                f.value,
                f.low,
                f.high,
                verdict
            );
        }
    }
    println!("{name}: {} rows", rows.len());
}
