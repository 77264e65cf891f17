//! Which experiments of a batch may share a launch.

use strata_kernels::Program;
use strata_model::experiment::{Experiment, Kernel, LoadPath, Order, Partner, Prepare, WARP};
use strata_model::units::Bytes;

/// Experiments with equal keys differ only in what a job says.
#[derive(Clone, Debug, PartialEq)]
struct Key {
    program: Program,
    carveout: Option<u8>,
    block: u32,
    /// The constant bank holds one chain (and a partner's) at a time.
    constants: Option<(Experiment, Option<Partner>)>,
    /// Shared memory of a block depends on the chain only for the shared path.
    shared_chain: Option<Bytes>,
    /// Banks are chosen for a whole launch.
    bank_width: Option<Bytes>,
}

impl Key {
    fn of(experiment: &Experiment) -> Self {
        let partner_path = experiment.partner.as_ref().map(|p| p.path);
        let uses_constants = experiment.path == LoadPath::Constant || partner_path == Some(LoadPath::Constant);
        // Only what shapes the chain matters; the rest is set to one value so that it does not separate.
        let constants = uses_constants.then(|| {
            let mut chain =
                Experiment::chase(experiment.kernel, experiment.path, experiment.footprint, experiment.stride);
            (chain.order, chain.seed) = (experiment.order.clone(), experiment.seed);
            (chain, experiment.partner.map(|p| Partner { thread: 0, block: 0, ..p }))
        });
        Key {
            program: Program::of(experiment),
            carveout: experiment.carveout,
            block: block(experiment),
            constants,
            shared_chain: (experiment.path == LoadPath::Shared).then_some(experiment.footprint),
            bank_width: match experiment.order {
                Order::Lanes { bank_width, .. } => bank_width,
                _ => None,
            },
        }
    }
}

/// Threads of the block that runs an experiment.
pub(super) fn block(experiment: &Experiment) -> u32 {
    if experiment.kernel == Kernel::Warp { WARP as u32 } else { experiment.partner.as_ref().map_or(1, |p| p.block) }
}

/// Splits a batch into launches of at most `sms` experiments; numbers are indices into the batch. Experiments that must be
/// alone, or whose L2 must be prepared, get a launch each; so do listed chains, which then lie where the allocation begins,
/// as a nested chain does. Within a launch no SM is named twice.
pub(super) fn launches(batch: &[(usize, &Experiment)], sms: usize) -> Vec<Vec<usize>> {
    let mut open: Vec<(Key, Vec<u32>, Vec<usize>)> = Vec::new();
    let mut done = Vec::new();
    for &(index, experiment) in batch {
        let listed = matches!(experiment.order, Order::Listed { .. });
        let pattern = experiment.kernel == Kernel::Pattern;
        if experiment.alone || listed || pattern || experiment.prepare != Prepare::Nothing {
            done.push(vec![index]);
            continue;
        }
        let key = Key::of(experiment);
        let place = open.iter_mut().find(|(k, taken, members)| {
            *k == key && members.len() < sms && experiment.sm.is_none_or(|sm| !taken.contains(&sm))
        });
        match place {
            Some((_, taken, members)) => {
                taken.extend(experiment.sm);
                members.push(index);
            }
            None => open.push((key, experiment.sm.into_iter().collect(), vec![index])),
        }
    }
    done.extend(open.into_iter().map(|(_, _, members)| members));
    done.sort_by_key(|members| members[0]);
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chase(path: LoadPath, footprint: u64) -> Experiment {
        Experiment::chase(Kernel::PerLoad, path, Bytes(footprint), Bytes(64))
    }

    fn split(batch: &[Experiment], sms: usize) -> Vec<Vec<usize>> {
        launches(&batch.iter().enumerate().collect::<Vec<_>>(), sms)
    }

    #[test]
    fn private_experiments_share_a_launch_up_to_one_an_sm() {
        let batch: Vec<_> = (1..=5).map(|i| chase(LoadPath::GlobalCa, i * 1024)).collect();
        assert_eq!(split(&batch, 4), [vec![0, 1, 2, 3], vec![4]]);
    }

    #[test]
    fn constants_share_a_launch_only_if_they_walk_the_same_chain() {
        let same = Experiment { repeat: 1, ..chase(LoadPath::Constant, 1024) };
        let batch = [chase(LoadPath::Constant, 1024), chase(LoadPath::Constant, 2048), same];
        assert_eq!(split(&batch, 4), [vec![0, 2], vec![1]]);
    }

    #[test]
    fn what_must_be_alone_is_alone_and_no_sm_is_named_twice() {
        let alone = Experiment { alone: true, ..chase(LoadPath::GlobalCg, 1024) };
        let on_two = Experiment { sm: Some(2), ..chase(LoadPath::GlobalCa, 1024) };
        let batch = [on_two.clone(), alone, on_two.clone(), chase(LoadPath::GlobalCa, 2048)];
        assert_eq!(split(&batch, 4), [vec![0, 3], vec![1], vec![2]]);
    }

    #[test]
    fn warps_share_a_launch_if_they_ask_for_the_same_banks() {
        let warp = |lane: u64, bank_width| Experiment {
            order: Order::Lanes { offsets: vec![4 * lane; WARP], bank_width },
            ..Experiment::chase(Kernel::Warp, LoadPath::Shared, Bytes(1024), Bytes(4))
        };
        let batch = [warp(0, None), warp(1, Some(Bytes(8))), warp(2, None), warp(3, Some(Bytes(8)))];
        assert_eq!(split(&batch, 4), [vec![0, 2], vec![1, 3]]);
        let wide = Experiment { stride: Bytes(8), ..warp(2, None) };
        assert_eq!(split(&[warp(0, None), wide], 4), [vec![0], vec![1]], "each width has a kernel of its own");
    }
}
