//! The options of `strata explain`.

use clap::Args;

/// `strata explain`
#[derive(Args, Debug)]
pub struct Explain {
    /// An attribute, alone or of an element (size, l1.size), an element (l1), or a term (stride; `strata glossary` lists all)
    #[arg(value_name = "NAME")]
    pub name: String,
}
