//! `strata roofline`: the roofline of a GPU, measured or out of a recording.

use std::process::ExitCode;

use gpu_strata::characterization::{PartName, Suite};

use super::files::{self, Files};
use super::node::NodeFiles;
use super::{Call, Fault, measuring, output, replay};
use crate::cli::Roofline;

/// Measures the part of a characterization that is a roofline, or reports it out of a recording.
pub fn run(arguments: &Roofline, call: Call) -> Result<ExitCode, Fault> {
    output::check_of_characterization(arguments.run.output.format)?;
    let Some(file) = &arguments.file else {
        let suite = Suite { parts: vec![PartName::Roofline], ..Suite::default() };
        return measuring::run(&arguments.run, None, call, |device, options| {
            Ok(device.characterize(&suite, options)?.into())
        });
    };
    let target = arguments.run.output.output.as_deref();
    Files::default().read(&arguments.file).written(target, "--output").check()?;
    let destinations = (output::Destination::open(&arguments.run.output)?, NodeFiles::default());
    let roofline = [PartName::Roofline.key()];
    replay::report(files::recording(file)?, &roofline, destinations, &arguments.run.output, call)
}
