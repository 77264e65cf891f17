//! How much a run measures.

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effort {
    /// One allocation.
    Quick,
    /// Several allocations and SMs.
    Standard,
    /// More of both and finer steps.
    Thorough,
}

impl Effort {
    /// All of them, the least first.
    pub const ALL: [Effort; 3] = [Effort::Quick, Effort::Standard, Effort::Thorough];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Effort::Quick => "quick",
            Effort::Standard => "standard",
            Effort::Thorough => "thorough",
        }
    }

    /// The effort of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Effort::ALL.into_iter().find(|e| e.name() == name)
    }

    /// One of three values.
    pub fn choose<T>(self, quick: T, standard: T, thorough: T) -> T {
        match self {
            Effort::Quick => quick,
            Effort::Standard => standard,
            Effort::Thorough => thorough,
        }
    }
}
