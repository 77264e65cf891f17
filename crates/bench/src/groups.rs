//! Which experiments of a batch may share a launch.

use strata_kernels::Program;
use strata_model::experiment::{BankWidth, Chain, Experiment, LoadPath, Order, Partner, Prepare, WARP};
use strata_model::units::Bytes;

/// Experiments with equal keys differ only in what a job says.
#[derive(Clone, Debug, PartialEq)]
struct Key<'e> {
    program: Option<Program>,
    carveout: Option<u8>,
    block: u32,
    /// The constant bank holds one chain (and a partner's) at a time.
    constants: Option<(Chain<'e>, Option<Partner>)>,
    /// Shared memory of a block depends on the chain only for the shared path.
    shared_chain: Option<Bytes>,
    /// Shared memory of a block, where an experiment states it.
    shared: Option<Bytes>,
    /// Banks are chosen for a whole launch.
    bank_width: Option<BankWidth>,
}

impl<'e> Key<'e> {
    fn of(experiment: &'e Experiment) -> Self {
        let partner = experiment.partner();
        let uses_constants =
            [experiment.path(), partner.map(|p| p.path)].into_iter().flatten().any(|path| path == LoadPath::Constant);
        // Of the partner only its chain matters; the rest is set to one value so that it does not separate.
        let constants = experiment
            .chain()
            .filter(|_| uses_constants)
            .map(|chain| (chain, partner.map(|&p| Partner { thread: 0, block_threads: 0, ..p })));
        Key {
            program: Program::of(experiment),
            carveout: experiment.carveout_percent(),
            block: block(experiment),
            constants,
            shared_chain: experiment.footprint().filter(|_| experiment.path() == Some(LoadPath::Shared)),
            shared: match experiment {
                Experiment::Launched(launched) => Some(launched.shared_per_block),
                _ => None,
            },
            bank_width: match experiment {
                Experiment::Warp(warp) => warp.bank_width,
                _ => None,
            },
        }
    }
}

/// Threads of the block that runs an experiment.
pub(super) fn block(experiment: &Experiment) -> u32 {
    match experiment {
        Experiment::Warp(_) => WARP as u32,
        Experiment::Launched(launched) => launched.threads_per_block,
        other => other.partner().map_or(1, |partner| partner.block_threads),
    }
}

/// Splits a batch into launches of at most `sms` experiments; numbers are indices into the batch. Experiments that must be
/// alone, or whose L2 must be prepared, get a launch each; so do listed chains, which then lie where the allocation begins,
/// as a nested chain does. Within a launch no SM is named twice.
pub(super) fn launches(batch: &[(usize, &Experiment)], sms: usize) -> Vec<Vec<usize>> {
    let mut open: Vec<(Key<'_>, Vec<u32>, Vec<usize>)> = Vec::new();
    let mut done = Vec::new();
    for &(index, experiment) in batch {
        let listed = experiment.chain().is_some_and(|chain| matches!(chain.order, Order::Listed { .. }));
        if experiment.alone() || listed || experiment.prepare() != Prepare::Nothing {
            done.push(vec![index]);
            continue;
        }
        let key = Key::of(experiment);
        let place = open.iter_mut().find(|(k, taken, members)| {
            *k == key && members.len() < sms && experiment.sm().is_none_or(|sm| !taken.contains(&sm))
        });
        match place {
            Some((_, taken, members)) => {
                taken.extend(experiment.sm());
                members.push(index);
            }
            None => open.push((key, experiment.sm().into_iter().collect(), vec![index])),
        }
    }
    done.extend(open.into_iter().map(|(_, _, members)| members));
    done.sort_by_key(|members| members[0]);
    done
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_model::experiment::{AccessWidth, Chase, Place, Warp};

    fn chase(path: LoadPath, footprint: u64) -> Chase {
        Chase::each_load(path, Bytes(footprint), Bytes(64))
    }

    fn split(batch: &[impl Into<Experiment> + Clone], sms: usize) -> Vec<Vec<usize>> {
        let batch: Vec<Experiment> = batch.iter().cloned().map(Into::into).collect();
        launches(&batch.iter().enumerate().collect::<Vec<_>>(), sms)
    }

    #[test]
    fn private_experiments_share_a_launch_up_to_one_an_sm() {
        let batch: Vec<_> = (1..=5).map(|i| chase(LoadPath::GlobalCa, i * 1024)).collect();
        assert_eq!(split(&batch, 4), [vec![0, 1, 2, 3], vec![4]]);
    }

    #[test]
    fn constants_share_a_launch_only_if_they_walk_the_same_chain() {
        let same = Chase { repeat: 1, ..chase(LoadPath::Constant, 1024) };
        let batch = [chase(LoadPath::Constant, 1024), chase(LoadPath::Constant, 2048), same];
        assert_eq!(split(&batch, 4), [vec![0, 2], vec![1]]);
    }

    #[test]
    fn what_must_be_alone_is_alone_and_no_sm_is_named_twice() {
        let alone = Place { alone: true, ..Place::default() };
        let alone = Chase { place: alone, ..chase(LoadPath::GlobalCg, 1024) };
        let on_two = Chase { place: Place::on(2), ..chase(LoadPath::GlobalCa, 1024) };
        let batch = [on_two.clone(), alone, on_two.clone(), chase(LoadPath::GlobalCa, 2048)];
        assert_eq!(split(&batch, 4), [vec![0, 3], vec![1], vec![2]]);
    }

    #[test]
    fn warps_share_a_launch_if_they_ask_for_the_same_banks() {
        let warp = |lane: u64, bank_width| Warp {
            bank_width,
            ..Warp::new(AccessWidth::B4, [4 * lane; WARP], Bytes(1024), 64)
        };
        let batch = [warp(0, None), warp(1, Some(BankWidth::B8)), warp(2, None), warp(3, Some(BankWidth::B8))];
        assert_eq!(split(&batch, 4), [vec![0, 2], vec![1, 3]]);
        let wide = Warp { width: AccessWidth::B8, ..warp(2, None) };
        assert_eq!(split(&[warp(0, None), wide], 4), [vec![0], vec![1]], "each width has a kernel of its own");
    }
}
