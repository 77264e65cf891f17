//! How much L1 a kernel gets, from a result: by the launches that were measured, and by their neighbours and the rule for those
//! that were not.

use serde::Serialize;
use strata_model::attribute::{BY_LAUNCH, LaunchRow, Launches};
use strata_model::facts::{DeviceFacts, Limit};
use strata_model::topology::Topology;
use strata_model::units::Bytes;

/// What a launch of a kernel states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Threads of a block.
    pub threads_per_block: u32,
    /// Shared memory of a block, static and dynamic.
    pub shared_per_block: Bytes,
}

/// What an answer rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// This launch was measured.
    Measured,
    /// Launches of more and of fewer threads, with more and with less shared memory, were measured.
    Neighbours,
    /// The L1 of this device is the same for all launches.
    Fixed,
}

/// The L1 that kernels of one launch shape get.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LaunchedL1 {
    /// The device.
    pub device: String,
    /// Its UUID.
    pub uuid: Option<String>,
    /// Threads of a block.
    pub threads_per_block: u32,
    /// Shared memory of a block.
    pub shared_per_block: Bytes,
    /// Blocks that an SM can hold at a time, if registers do not limit them further.
    pub blocks_per_sm: u32,
    /// What limits them.
    pub limited_by: Limit,
    /// Shared memory of all these blocks, with what the system keeps of each.
    pub shared_needed: Bytes,
    /// Shared memory that is set aside on an SM; null where it is not known.
    pub shared_configured: Option<Bytes>,
    /// Usable capacity. Between measured launches that differ it is the rule's; null where there is no rule.
    pub size: Option<Bytes>,
    /// Lower end of the interval of `size`.
    pub low: Bytes,
    /// Upper end of the interval of `size`.
    pub high: Bytes,
    /// What the answer rests on.
    pub basis: Basis,
    /// The L1 with a carveout hint, by the smallest hint that gives it.
    pub with_hint: Vec<LaunchRow>,
}

/// How much L1 a kernel gets on the device of a result.
///
/// # Errors
///
/// What is wrong with the launch, or why the result does not say.
pub fn l1(topology: &Topology, launch: Launch) -> Result<LaunchedL1, String> {
    let Launch { threads_per_block, shared_per_block } = launch;
    let facts = &topology.device;
    possible(facts, launch)?;
    let finding = topology.l1().finding(BY_LAUNCH);
    let finding = finding.ok_or("the result does not say: `l1.by_launch` was not measured; run `strata discover`")?;
    let Some(Launches(rows)) = finding.get() else {
        return Err(format!("the result does not say: {}", finding.reason.as_deref().unwrap_or("no reason was given")));
    };
    let (with_hint, without): (Vec<LaunchRow>, Vec<LaunchRow>) =
        rows.iter().partition(|row| row.carveout_percent.is_some());
    let (blocks_per_sm, limited_by) = facts.resident_blocks(threads_per_block, shared_per_block);
    let block = facts.shared_of_block(shared_per_block);
    let shared_needed = Bytes(block.0.saturating_mul(u64::from(blocks_per_sm)));
    let (basis, near) = match with_hint.as_slice() {
        [only] if without.iter().all(|row| row.size == only.size) => (Basis::Fixed, vec![*only]),
        _ => neighbours(facts, launch, &without),
    };
    // Between measured launches the rule may be right where all neighbours are wrong: the number of blocks falls in steps. Where
    // it is not known what all hints set aside, there is no rule.
    let all_known = with_hint.iter().all(|row| row.shared_configured.is_some());
    let by_rule = with_hint.iter().filter(|row| row.shared_configured.is_some_and(|all| all >= shared_needed));
    let by_rule = by_rule.min_by_key(|row| row.shared_configured).filter(|_| all_known && basis == Basis::Neighbours);
    let all: Vec<&LaunchRow> = near.iter().chain(by_rule).collect();
    let (Some(low), Some(high), Some(first)) =
        (all.iter().map(|row| row.low).min(), all.iter().map(|row| row.high).max(), all.first())
    else {
        return Err("the result does not say: no launch was measured".to_owned());
    };
    // The rule decides between neighbours that differ.
    let alike = near.iter().all(|row| (row.shared_configured, row.size) == (first.shared_configured, first.size));
    let says = by_rule.filter(|_| !alike).unwrap_or(first);
    let agreed = alike || by_rule.is_some();
    Ok(LaunchedL1 {
        device: facts.name.clone(),
        uuid: facts.uuid.clone(),
        threads_per_block,
        shared_per_block,
        blocks_per_sm,
        limited_by,
        shared_needed,
        shared_configured: says.shared_configured.filter(|_| agreed),
        size: agreed.then_some(says.size),
        low,
        high,
        basis,
        // A hint that is too small for one block is raised.
        with_hint: with_hint.into_iter().filter(|row| row.shared_configured.is_none_or(|all| all >= block)).collect(),
    })
}

fn possible(facts: &DeviceFacts, launch: Launch) -> Result<(), String> {
    let unknown = [
        (facts.max_threads_per_multiprocessor == 0, "threads"),
        (facts.max_blocks_per_multiprocessor.is_none(), "blocks"),
        (facts.shared_per_multiprocessor == 0, "bytes of shared memory"),
    ];
    if let Some((_, what)) = unknown.iter().find(|(unknown, _)| *unknown) {
        return Err(format!("the result does not say how many {what} an SM can hold: the driver did not tell"));
    }
    let (threads, most) = (launch.threads_per_block, facts.max_threads_per_block);
    if !(1..=most).contains(&threads) {
        return Err(format!("a block of this GPU has 1 to {most} threads, not {threads}"));
    }
    let most = facts.most_shared_per_block();
    if launch.shared_per_block > most {
        return Err(format!(
            "a block of this GPU has at most {most} of shared memory, not {}",
            launch.shared_per_block
        ));
    }
    Ok(())
}

/// The measured launches around this one, or itself.
fn neighbours(facts: &DeviceFacts, launch: Launch, measured: &[LaunchRow]) -> (Basis, Vec<LaunchRow>) {
    // A block takes whole warps.
    let warp = facts.warp_size.max(1);
    let threads = launch.threads_per_block.div_ceil(warp).saturating_mul(warp);
    let is_own = |row: &&LaunchRow| row.threads_per_block == threads && row.shared_per_block == launch.shared_per_block;
    if let Some(own) = measured.iter().find(is_own) {
        return (Basis::Measured, vec![*own]);
    }
    let around = |of: fn(&LaunchRow) -> u64, at: u64| {
        let all = || measured.iter().map(of);
        let (below, above) = (all().filter(|x| *x <= at).max(), all().filter(|x| *x >= at).min());
        [below, above].map(|near| near.or(below).or(above).unwrap_or(at))
    };
    let threads = around(|row| row.threads_per_block.into(), threads.into());
    let shared = around(|row| row.shared_per_block.0, launch.shared_per_block.0);
    let near =
        |row: &&LaunchRow| threads.contains(&row.threads_per_block.into()) && shared.contains(&row.shared_per_block.0);
    let found: Vec<LaunchRow> = measured.iter().filter(near).copied().collect();
    // Where a neighbour was left out, any launch may be like this one.
    (
        Basis::Neighbours,
        if found.len() < 4 && threads[0] != threads[1] && shared[0] != shared[1] { measured.to_vec() } else { found },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_model::topology::{ElementName, Finding, RunInfo};

    /// Rows like an H200's, in KiB: threads, shared memory, hint, what is set aside, L1.
    const ROWS: [(u32, u64, Option<u8>, u64, u64); 8] = [
        (1024, 0, Some(0), 8, 241),
        (1024, 0, Some(15), 64, 185),
        (1024, 0, Some(44), 132, 117),
        (1024, 0, Some(86), 228, 21),
        (1024, 8, None, 64, 185),
        (1024, 16, None, 64, 185),
        (512, 8, None, 64, 185),
        (512, 16, None, 132, 117),
    ];

    fn topology(rows: &[(u32, u64, Option<u8>, u64, u64)]) -> Topology {
        let device = DeviceFacts {
            name: "a GPU".to_owned(),
            warp_size: 32,
            max_threads_per_block: 1024,
            max_threads_per_multiprocessor: 2048,
            max_blocks_per_multiprocessor: Some(32),
            shared_per_block: 48 << 10,
            shared_per_block_optin: Some(227 << 10),
            shared_per_multiprocessor: 228 << 10,
            shared_reserved_per_block: Some(1024),
            ..DeviceFacts::default()
        };
        let row = |&(threads_per_block, shared, carveout_percent, configured, size): &_| LaunchRow {
            threads_per_block,
            blocks_per_sm: device.resident_blocks(threads_per_block, Bytes::kib(shared)).0,
            shared_per_block: Bytes::kib(shared),
            carveout_percent,
            shared_configured: Some(Bytes::kib(configured)),
            size: Bytes::kib(size),
            low: Bytes::kib(size - 1),
            high: Bytes::kib(size),
        };
        let rows = Launches(rows.iter().map(row).collect());
        let mut topology = Topology {
            schema: String::new(),
            device,
            run: RunInfo::default(),
            elements: std::collections::BTreeMap::new(),
            replayed_from: None,
        };
        topology.elements.entry(ElementName::L1).or_default().set(BY_LAUNCH, Finding::measured(rows, "by hand"));
        topology
    }

    fn ask(threads_per_block: u32, kib: u64) -> Result<LaunchedL1, String> {
        l1(&topology(&ROWS), Launch { threads_per_block, shared_per_block: Bytes::kib(kib) })
    }

    #[test]
    fn what_was_measured_is_the_answer() {
        let answer = ask(512, 16).unwrap();
        assert_eq!((answer.basis, answer.size), (Basis::Measured, Some(Bytes::kib(117))));
        assert_eq!((answer.blocks_per_sm, answer.limited_by), (4, Limit::Threads));
        assert_eq!((answer.shared_needed, answer.shared_configured), (Bytes::kib(68), Some(Bytes::kib(132))));
        // A hint for less than one block is raised.
        assert_eq!(answer.with_hint.len(), 3);
        assert_eq!(ask(1000, 16).unwrap(), LaunchedL1 { threads_per_block: 1000, ..ask(1024, 16).unwrap() });
    }

    #[test]
    fn between_measured_launches_the_interval_holds_them_all() {
        let same = ask(1024, 12).unwrap();
        assert_eq!((same.basis, same.size), (Basis::Neighbours, Some(Bytes::kib(185))));
        let differ = ask(600, 12).unwrap();
        assert_eq!((differ.size, differ.low, differ.high), (Some(Bytes::kib(185)), Bytes::kib(116), Bytes::kib(185)));
        // The rule: two blocks of 65 KiB need the next division.
        let beyond = ask(1024, 64).unwrap();
        assert_eq!((beyond.low, beyond.high), (Bytes::kib(116), Bytes::kib(185)));
    }

    #[test]
    fn a_fixed_cache_is_the_same_for_all() {
        let fixed = topology(&ROWS[..1]);
        let answer = l1(&fixed, Launch { threads_per_block: 7, shared_per_block: Bytes(4) }).unwrap();
        assert_eq!((answer.basis, answer.size), (Basis::Fixed, Some(Bytes::kib(241))));
    }

    #[test]
    fn what_cannot_be_launched_or_was_not_measured_is_said() {
        assert!(ask(2000, 0).unwrap_err().contains("1 to 1024 threads, not 2000"));
        assert!(ask(0, 0).unwrap_err().contains("1 to 1024 threads"));
        assert!(ask(32, 228).unwrap_err().contains("at most 227 KiB"));
        let mut without = topology(&ROWS);
        without.elements.clear();
        let launch = Launch { threads_per_block: 32, shared_per_block: Bytes(0) };
        assert!(l1(&without, launch).unwrap_err().contains("was not measured"));
        without.elements.entry(ElementName::L1).or_default().set(BY_LAUNCH, Finding::unknown("it was dark"));
        assert!(l1(&without, launch).unwrap_err().contains("it was dark"));
    }
}
