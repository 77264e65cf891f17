//! Answering experiments from a recording, by their content.

use std::ops::Deref;

use super::{Entry, Missing, Recording};
use strata_model::experiment::Experiment;
use strata_model::samples::{Failure, Samples};
use strata_model::source::Source;
use strata_model::topology::{RunInfo, Selection};

/// The entries of a recording, as a slice in the order in which they were taken, with an index by content.
#[derive(Debug)]
pub struct Entries {
    list: Vec<Entry>,
    /// Places in `list`, sorted by experiment. Only current entries, and of equal experiments only the last.
    by_experiment: Vec<u32>,
    /// Places in `list`, sorted by number.
    by_number: Vec<u32>,
}

impl Entries {
    pub(super) fn new(list: Vec<Entry>) -> Self {
        let entry = |place: u32| &list[place as usize];
        let mut by_number: Vec<u32> = (0..list.len() as u32).collect();
        let mut by_experiment: Vec<u32> =
            by_number.iter().copied().filter(|&place| entry(place).is_current()).collect();
        by_experiment.sort_unstable_by(|&a, &b| (&entry(a).experiment, b).cmp(&(&entry(b).experiment, a)));
        by_experiment.dedup_by(|a, b| entry(*a).experiment == entry(*b).experiment);
        by_number.sort_by_key(|&place| entry(place).number);
        Entries { list, by_experiment, by_number }
    }

    /// The entry of an experiment, if this program's kernel measures what the recorded one did. Of several the last.
    pub fn find(&self, experiment: &Experiment) -> Option<&Entry> {
        let found = self.by_experiment.binary_search_by(|&place| self.list[place as usize].experiment.cmp(experiment));
        found.ok().map(|index| &self.list[self.by_experiment[index] as usize])
    }

    /// The entry with this number; of several the first.
    pub fn by_number(&self, number: u32) -> Option<&Entry> {
        let index = self.by_number.partition_point(|&place| self.list[place as usize].number < number);
        self.by_number.get(index).map(|&place| &self.list[place as usize]).filter(|entry| entry.number == number)
    }
}

impl Deref for Entries {
    type Target = [Entry];

    fn deref(&self) -> &[Entry] {
        &self.list
    }
}

impl Recording {
    /// What the device answered to an experiment. The recorded failure where it failed; [`Failure::NotRecorded`] where
    /// it was not asked, or with another version of the kernel; another failure if it may have been in what is lost.
    pub fn answer(&self, experiment: &Experiment) -> Result<Samples, Failure> {
        self.entries.find(experiment).map_or_else(|| Err(self.lacks()), |entry| entry.outcome.clone())
    }

    fn lacks(&self) -> Failure {
        if self.lost.iter().all(|lost| lost.missing == Missing::Nothing) {
            return Failure::NotRecorded;
        }
        Failure::failed("the recording is damaged, and this experiment is not in what is left of it")
    }

    /// Whether the recording is not all that was written: it was cut, or something in it is damaged.
    pub fn is_incomplete(&self) -> bool {
        self.cut.is_some() || !self.lost.is_empty()
    }

    /// The number that an experiment had in the recorded run.
    pub fn number_of(&self, experiment: &Experiment) -> Option<u32> {
        self.entries.find(experiment).map(|entry| entry.number)
    }

    /// The experiment that had this number in the recorded run, whatever the version of its kernel.
    pub fn by_number(&self, number: u32) -> Option<&Entry> {
        self.entries.by_number(number)
    }

    /// Whether it holds timings that another tool took, about which nothing can be asked.
    pub fn is_imported(&self) -> bool {
        self.entries.iter().any(|entry| matches!(entry.experiment, Experiment::Imported(_)))
    }

    /// Entries that are kept and not answered with, because their kernel has another version in this program.
    pub fn outdated(&self) -> usize {
        self.entries.iter().filter(|entry| !entry.is_current()).count()
    }

    /// What a discovery was asked for. Older recordings do not say whether that was bandwidth, too, which they have or have not;
    /// what came later was not measured yet.
    pub fn selection(&self) -> Selection {
        let has_streams = || self.entries.iter().any(|entry| matches!(entry.experiment, Experiment::Stream(_)));
        let of_older = || Selection { only: self.run_info().only, bandwidth: has_streams(), ..Selection::default() };
        self.selection.clone().unwrap_or_else(of_older)
    }

    /// How the recorded run was made, with a warning for all that a replay lacks.
    pub fn run_info(&self) -> RunInfo {
        let mut run = self.end.clone().unwrap_or_else(|| {
            let duration_s = self.entries.last().map_or(self.header.run.duration_s, |entry| entry.at_s);
            RunInfo { duration_s, ..self.header.run.clone() }
        });
        if let Some(selection) = &self.selection {
            run.only.clone_from(&selection.only);
        }
        run.disturbances.clone_from(&self.seen);
        run.host.clone_from(&self.host);
        run.board.clone_from(&self.board);
        if let Some(cut) = &self.cut {
            run.warnings.push(format!(
                "the recording ends early, at byte {}: {}; later measurements are missing",
                cut.offset, cut.reason
            ));
        }
        run.warnings.extend(self.lost.iter().map(|lost| match lost.missing {
            Missing::Nothing => lost.to_string(),
            _ => format!("{lost}; what depends on that is unknown"),
        }));
        if let [(number, why), others @ ..] = self.impossible.as_slice() {
            let others = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
            run.warnings.push(format!("experiment {number}{others} of the recording is left out: {why}"));
        }
        match self.outdated() {
            0 => {}
            count => run.warnings.push(format!(
                "{count} of {} recorded experiments are not used: the kernels of this version measure something else; \
                 record again, or use strata {}",
                self.entries.len(),
                run.tool_version
            )),
        }
        run
    }
}

impl Source for Recording {
    fn run(&mut self, batch: &[Experiment]) -> Vec<Result<Samples, Failure>> {
        (&*self).run(batch)
    }

    fn number(&self, experiment: &Experiment) -> Option<u32> {
        self.number_of(experiment)
    }
}

/// A recording is not changed by its answers, so a shared one is a source too.
impl Source for &Recording {
    fn run(&mut self, batch: &[Experiment]) -> Vec<Result<Samples, Failure>> {
        batch.iter().map(|experiment| self.answer(experiment)).collect()
    }

    fn number(&self, experiment: &Experiment) -> Option<u32> {
        self.number_of(experiment)
    }
}
