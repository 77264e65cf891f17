//! Accepts or rejects results by the limits of a policy file.

use std::path::{Path, PathBuf};

use strata_model::topology::Wanted;
use strata_report::compare::{Document, MaxAge};
use strata_report::policy;
use strata_report::report;

use crate::answer::Terminal;
use crate::comparison::{Loaded, Side};
use crate::error::{Error, Result};

/// Limits for the results of one GPU product.
///
/// ```no_run
/// use gpu_strata::{Policy, Side};
///
/// let good = ["good1.json", "good2.json", "good3.strata"].map(Side::named);
/// Policy::of_good(good)?.write("h200.toml")?;
///
/// let accepted = Policy::open("h200.toml")?.check([Side::named("node.json")], Some("1h".parse()?))?;
/// println!("{}", if accepted.passes() { "accepted" } else { "rejected" });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Policy {
    policy: policy::Policy,
    /// The files that it was made from just now.
    inputs: Vec<PathBuf>,
}

impl Policy {
    /// Reads a policy file.
    ///
    /// # Errors
    ///
    /// [`Error::Policy`], with the line of the first defect.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Ok(Policy { policy: policy::Policy::read(path.as_ref())?, inputs: Vec::new() })
    }

    /// Makes a policy from results that are known to be good: two or more, of different runs of one product.
    ///
    /// # Errors
    ///
    /// As [`compare`](crate::compare()) for files that are no results, and [`Error::Policy`] for results that do not belong
    /// together.
    pub fn of_good(good: impl IntoIterator<Item = Side>) -> Result<Self> {
        let good: Vec<Side> = good.into_iter().collect();
        let inputs = good.iter().filter_map(|side| if let Side::File(path) = side { Some(path.clone()) } else { None });
        let inputs = inputs.collect();
        let policy = policy::Policy::of_good("policy", &documents(good, None)?)?;
        Ok(Policy { policy, inputs })
    }

    /// The product that it is for, as its driver names it.
    pub fn product(&self) -> &str {
        &self.policy.product
    }

    /// How many limits it has.
    pub fn limits(&self) -> usize {
        self.policy.limits()
    }

    /// Whether it is for links between GPUs of its product and not for the GPUs.
    pub fn is_of_links(&self) -> bool {
        self.policy.is_of_links()
    }

    /// What a discovery must measure so that each limit can be judged; all of it if there is none.
    pub fn wanted(&self) -> Vec<Wanted> {
        self.policy.wanted()
    }

    /// As reports have it.
    pub(crate) fn inner(&self) -> &policy::Policy {
        &self.policy
    }

    /// How many values of the good results have no limit; the file says which and why.
    pub fn left_out(&self) -> usize {
        self.policy.left_out()
    }

    /// How many results it was made from.
    pub fn made_from(&self) -> usize {
        self.policy.made_from.len()
    }

    /// Whether it was made from so few results that the limits of what varies are wide.
    pub fn is_wide(&self) -> bool {
        self.policy.made_from.len() < policy::ENOUGH
    }

    /// The text of its file.
    pub fn toml(&self) -> String {
        self.policy.toml()
    }

    /// Writes it to a file, which is replaced as a whole or not at all.
    ///
    /// # Errors
    ///
    /// [`Error::Policy`], if the file is one of the good results, if it exists and is not a policy, or if it cannot be written.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        policy::check_target(path.as_ref(), &self.inputs)?;
        Ok(policy::replace(path.as_ref(), &self.toml())?)
    }

    /// Holds results against the limits. With `max_age`, none of them may be older.
    ///
    /// # Errors
    ///
    /// As [`compare`](crate::compare()) for files that are no results or too old, and [`Error::Policy`] for results of another
    /// product or kind.
    pub fn check(&self, results: impl IntoIterator<Item = Side>, max_age: Option<MaxAge>) -> Result<Acceptance> {
        let documents = documents(results, max_age)?;
        if documents.is_empty() {
            return Err(Error::Input("no result to check; give one or more".into()));
        }
        Ok(Acceptance { document: self.policy.check(&documents)? })
    }
}

/// The results of files, each with its name.
fn documents(sides: impl IntoIterator<Item = Side>, max_age: Option<MaxAge>) -> Result<Vec<(Document, String)>> {
    let mut documents = Vec::new();
    for side in sides {
        for loaded in side.load_all()? {
            loaded.check_age(max_age)?;
            match loaded {
                Loaded::Document(document, name) => documents.push((document, name)),
                Loaded::Published(_) | Loaded::PublishedOfOther => {
                    return Err(Error::Input(
                        "published values are no result; give results of `strata discover --format json`, or recordings"
                            .into(),
                    ));
                }
            }
        }
    }
    Ok(documents)
}

/// Which results pass a policy.
#[derive(Clone, Debug)]
pub struct Acceptance {
    /// Every limit with what each result says, as the JSON document has it.
    pub document: policy::Acceptance,
}

impl Acceptance {
    /// Whether every result passes.
    pub fn passes(&self) -> bool {
        self.document.passes
    }

    /// As lines for people: what is outside first, then a count.
    pub fn text(&self, terminal: &Terminal) -> String {
        report::acceptance::text(&self.document, terminal)
    }

    /// Everything as JSON.
    ///
    /// # Errors
    ///
    /// [`Error::Report`], if a value cannot be written as JSON.
    pub fn json(&self) -> Result<String> {
        report::json(&self.document).map_err(Error::report("the acceptance as JSON"))
    }
}
