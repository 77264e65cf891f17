//! Options whose values have names: completions list them, and a wrong one is refused with those that are near.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, Command, Error};
use gpu_strata::characterization::PartName;
use gpu_strata::topology::Wanted;
use gpu_strata::{Effort, Machine, Recording, check_device_name, check_device_names};

/// GPUs that completions propose: a host has up to eight. `strata devices` lists those that are there.
const GPUS: u32 = 8;

/// Elements that a GPU can be asked for, and their attributes.
#[derive(Clone)]
pub struct Elements;

impl TypedValueParser for Elements {
    type Value = Wanted;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<Wanted, Error> {
        TypedValueParser::parse_ref(&Wanted::of_a_gpu, command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue>>> {
        Some(Box::new(Wanted::all().map(|wanted| PossibleValue::new(wanted.to_string()))))
    }
}

/// Parts of a characterization.
pub fn parts() -> impl TypedValueParser<Value = PartName> {
    PossibleValuesParser::new(PartName::ALL.map(PartName::key)).try_map(|name| name.parse())
}

/// Efforts.
pub fn efforts() -> impl TypedValueParser<Value = Effort> {
    let named = |name: String| Effort::from_name(&name).ok_or_else(|| format!("no effort `{name}`"));
    PossibleValuesParser::new(Effort::ALL.map(Effort::name)).try_map(named)
}

/// Recordings that come with this program.
pub fn examples() -> impl TypedValueParser<Value = String> {
    PossibleValuesParser::new(Recording::examples())
}

/// Names of devices. Whether a device is there, the driver says.
#[derive(Clone)]
pub struct Devices {
    /// Also `all`, and lists of names.
    several: bool,
}

impl Devices {
    /// One device.
    pub const ONE: Devices = Devices { several: false };
    /// One device or several.
    pub const ONE_OR_SEVERAL: Devices = Devices { several: true };
}

impl TypedValueParser for Devices {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, Error> {
        let check = if self.several { check_device_names } else { check_device_name };
        let parse = move |name: &str| match check(name) {
            Ok(()) => Ok(name.to_owned()),
            Err(error) => Err(error.to_string()),
        };
        TypedValueParser::parse_ref(&parse, command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue>>> {
        let gpus = (0..GPUS).map(|number| format!("cuda:{number}"));
        let machines = Machine::names().map(|name| format!("sim:{name}"));
        let all = self.several.then(|| "all".to_owned());
        Some(Box::new(["auto".to_owned()].into_iter().chain(all).chain(gpus).chain(machines).map(PossibleValue::new)))
    }
}

/// Names of simulated machines, or a file.
#[derive(Clone)]
pub struct Machines;

impl TypedValueParser for Machines {
    type Value = String;

    fn parse_ref(&self, _: &Command, _: Option<&Arg>, value: &OsStr) -> Result<String, Error> {
        // Whether it is there, the library says: it may be a file.
        Ok(value.to_string_lossy().into_owned())
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue>>> {
        Some(Box::new(Machine::names().map(PossibleValue::new)))
    }
}
