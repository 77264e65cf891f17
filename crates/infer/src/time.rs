//! About how much of a run's time has passed. It places a progress bar, and nothing else depends on it.

use strata_model::characterization::PartName;
use strata_model::topology::ElementName;

/// Share of what is left of a question that a batch of its experiments is taken to need: nobody knows how many follow.
const OF_A_BATCH: f64 = 0.25;

/// About how long the questions of an element take, in thousandths of a discovery: as on the simulated Tesla K20c. An element
/// whose questions others answer takes next to nothing. The order of magnitude is the same on a GPU.
pub fn of_element(name: ElementName) -> u32 {
    match name {
        ElementName::L1 => 281,
        ElementName::Texture => 131,
        ElementName::ReadOnly => 106,
        ElementName::ConstantL1 => 63,
        ElementName::ConstantL15 => 5,
        ElementName::Shared => 9,
        ElementName::Local | ElementName::Host => 2,
        ElementName::L2 => 288,
        ElementName::TlbL1 => 113,
        ElementName::ConstantUniform
        | ElementName::Dram
        | ElementName::TlbL2
        | ElementName::TlbL3
        | ElementName::Die
        | ElementName::DistributedShared
        | ElementName::AsyncCopy
        | ElementName::InstructionL0
        | ElementName::InstructionL1
        | ElementName::InstructionL15
        | ElementName::PeerL2
        | ElementName::PeerDram
        | ElementName::ScalarL1 => 0,
    }
}

/// About how long a part takes, in experiments: each is a launch of some microseconds, and the launch takes most of its time.
pub fn of_part(name: PartName) -> u32 {
    match name {
        PartName::Locality => 172,
        PartName::Synchronization => 1254,
        PartName::Coalescing => 813,
        PartName::Spilling => 363,
        PartName::Banks => 217,
        PartName::Constant => 45,
        PartName::ReadOnly | PartName::Operands => 99,
        PartName::Texture2d => 57,
        PartName::Histogram => 30,
        PartName::Intensity => 66,
        PartName::Texture3d => 60,
        PartName::Roofline => 1412,
    }
}

/// The time of a run of questions.
pub struct Time {
    /// Of the questions that are not done, in their order.
    open: std::vec::IntoIter<u32>,
    all: f64,
    /// What the questions took that are done.
    done: f64,
    /// What is left of the question that is open, from 1 to 0.
    left: f64,
    /// A question is open; what is measured besides belongs to none.
    asked: bool,
}

impl Time {
    /// Of questions with these weights.
    pub fn of(weights: Vec<u32>) -> Self {
        // A question that takes next to nothing takes a little, so that the bar ends with the last one.
        let weights: Vec<u32> = weights.into_iter().map(|weight| weight.max(1)).collect();
        let all = weights.iter().map(|weight| f64::from(*weight)).sum::<f64>().max(1.0);
        Time { open: weights.into_iter(), all, done: 0.0, left: 1.0, asked: false }
    }

    fn now(&self) -> f64 {
        self.open.as_slice().first().map_or(0.0, |weight| f64::from(*weight))
    }

    /// The next question begins.
    pub fn question_begins(&mut self) {
        self.asked = true;
    }

    /// A batch was measured.
    pub fn batch_done(&mut self) {
        if self.asked {
            self.left *= 1.0 - OF_A_BATCH;
        }
    }

    /// The open question was answered.
    pub fn question_done(&mut self) {
        self.done += self.now();
        self.open.next();
        self.left = 1.0;
        self.asked = false;
    }

    /// Share of the time that has passed.
    pub fn share(&self) -> f64 {
        (self.done + self.now() * (1.0 - self.left)) / self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_follows_time_and_not_the_number_of_questions() {
        let mut time = Time::of(vec![96, 3, 0]);
        time.batch_done();
        let mut shares = vec![time.share()];
        for _ in 0..3 {
            time.question_begins();
            time.batch_done();
            shares.push(time.share());
            time.question_done();
            shares.push(time.share());
        }
        assert_eq!(shares, [0.0, 0.24, 0.96, 0.9675, 0.99, 0.9925, 1.0]);
        time.batch_done();
        assert_eq!((time.share(), Time::of(Vec::new()).share()), (1.0, 0.0));
    }
}
