//! Modules of a simulated GPU, and the functions of them that have been asked for.

use std::collections::HashMap;
use std::sync::Arc;

use super::Sim;
use super::model::hierarchy::Way;
use super::ptx::{self, Entry, Op, Space};
use strata_gpu::{DevicePtr, Error, Function, Gpu, Module, Result};

/// A loaded module.
pub(super) struct Loaded {
    /// What it is, shared by all that were loaded from one text.
    pub module: Arc<ptx::Module>,
    /// Addresses and sizes of its variables.
    pub variables: HashMap<String, (u64, u64)>,
}

/// A function that has been asked for.
#[derive(Clone)]
pub(super) struct Callable {
    /// Place of its module.
    pub module: usize,
    /// Its name.
    pub name: String,
}

fn unsupported(reason: String) -> Error {
    Error::Unsupported { reason }
}

impl Sim {
    /// A module that is loaded.
    pub(super) fn loaded(&self, module: Module) -> Result<&Loaded> {
        match self.modules.get(module.0) {
            Some(Some(loaded)) => Ok(loaded),
            Some(None) => Err(unsupported(format!("module {} has been unloaded", module.0))),
            None => Err(unsupported(format!("module {} is not of this device", module.0))),
        }
    }

    /// A function whose module is loaded.
    pub(super) fn callable(&self, function: Function) -> Result<&Callable> {
        let callable = self
            .functions
            .get(function.0)
            .ok_or_else(|| unsupported(format!("function {} is not of this device", function.0)))?;
        self.loaded(Module(callable.module)).map(|_| callable)
    }

    /// Reads a text.
    pub(super) fn compiled(&self, text: &str) -> Result<ptx::Module> {
        let module = ptx::module(text).map_err(|fault| Error::Compile {
            code: 218,
            name: "CUDA_ERROR_INVALID_PTX".into(),
            log: format!("simulator: {fault}"),
        })?;
        match module.entries.values().find_map(|entry| self.missing(entry)) {
            Some(reason) => Err(Error::Unsupported { reason }),
            None => Ok(module),
        }
    }

    /// Gives a module its variables, all or none.
    pub(super) fn instance(&mut self, module: Arc<ptx::Module>) -> Result<Module> {
        let mut variables = HashMap::new();
        for (name, bytes) in &module.variables {
            match self.reserve((*bytes).max(1)) {
                Ok(address) => {
                    variables.insert(name.clone(), (address, *bytes));
                }
                Err(failed) => {
                    self.give_back(&variables)?;
                    return Err(failed);
                }
            }
        }
        self.modules.push(Some(Loaded { module, variables }));
        Ok(Module(self.modules.len() - 1))
    }

    /// Frees variables.
    pub(super) fn give_back(&mut self, variables: &HashMap<String, (u64, u64)>) -> Result<()> {
        variables.values().try_for_each(|&(address, _)| self.free(DevicePtr(address)))
    }

    /// Why this machine cannot run an entry, if it cannot.
    fn missing(&self, entry: &Entry) -> Option<String> {
        entry.code.iter().find_map(|inst| {
            let (way, what) = match inst.op {
                Op::Load(Space::GlobalNc) => (Way::GlobalNc, "ld.global.nc"),
                Op::Texture(_) | Op::Sample => (Way::Texture, "tex"),
                Op::Fma => {
                    let reason = "a simulated machine has no limit on arithmetic throughput: what arithmetic costs beside \
                                  loads cannot be measured on it";
                    return Some(reason.into());
                }
                _ => return None,
            };
            (!self.state.hierarchy.has(way)).then(|| format!("the simulated {} has no {what}", self.facts.name))
        })
    }
}
