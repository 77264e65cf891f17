//! `strata figures`: the figures of the papers, of results or of the GPU at hand.

use std::process::ExitCode;
use std::time::Instant;

use gpu_strata::characterization::Suite;
use gpu_strata::{FIGURES_PAGE, Side};

use super::files::side;
use super::folder::Folder;
use super::measuring::Meter;
use super::{Call, Fault, output};
use crate::cli::Figures;

/// Writes a page with pictures to a folder. Without results it measures them first.
pub fn run(arguments: &Figures, call: Call) -> Result<ExitCode, Fault> {
    let mut folder = Folder::open(&arguments.dir, "give the folder first, and the results after it")?;
    let (sides, complete) = match arguments.files.as_slice() {
        [] => measured(arguments, call)?,
        files => (files.iter().map(|file| side(file)).collect(), true),
    };
    let page = gpu_strata::figures(sides)?;
    // The pictures come first, so that no link points to a missing file.
    folder.fill(&page.pictures)?;
    let path = folder.write(FIGURES_PAGE, &page.text)?;
    output::stdout(&format!("{}: {} pictures\n", path.display(), page.pictures.len()))?;
    Ok(if complete { ExitCode::SUCCESS } else { output::partial() })
}

/// A discovery and a characterization of one GPU, and whether both are complete.
fn measured(arguments: &Figures, call: Call) -> Result<(Vec<Side>, bool), Fault> {
    let mut meter = Meter::open(&arguments.measuring, call)?;
    let answers = [
        meter.ask(call.started, None, |device, options| Ok(device.discover(options)?.into()))?,
        meter
            .ask(Instant::now(), None, |device, options| Ok(device.characterize(&Suite::default(), options)?.into()))?,
    ];
    let complete = !answers.iter().any(gpu_strata::Answer::is_partial);
    let side = |answer| Side::Answer(Box::new(answer), arguments.measuring.device.clone());
    Ok((answers.into_iter().map(side).collect(), complete))
}
