//! Discovery on modelled machines finds the machine.

mod model;

use gpu_strata::discover::{Question, discover};
use gpu_strata::probe::Effort;
use gpu_strata::report;
use gpu_strata::topology::{RunInfo, Topology};
use model::{Machine, Model};

fn topology(machine: &Machine) -> Topology {
    let question = Question { only: vec![], effort: Effort::Quick, seed: 1 };
    let facts = machine.facts();
    let found = discover(&mut Model(machine.clone()), &facts, &question, &mut |_| {});
    report::assemble(facts, RunInfo::default(), found, None)
}

#[test]
fn show() {
    for m in [Machine::unified(), Machine::split()] {
        let t = topology(&m);
        println!("{}", report::text(&t));
    }
}
