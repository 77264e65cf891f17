//! What is loaded: modules, and the functions that have been asked for. A module that was unloaded leaves its place empty, so
//! that no handle of it reaches the driver again.

use std::ffi::{CString, c_int};
use std::ptr;
use std::time::Duration;

use super::attributes;
use super::calls::{Calls, FunctionHandle};
use super::error;
use super::jit::{self, Loaded, Target};
use super::launch::Given;
use strata_gpu::{Code, DevicePtr, Error, Function, Module, Resources, Result};
use strata_model::units::Bytes;

/// The modules and functions of a device.
#[derive(Default)]
pub(super) struct Modules {
    modules: Vec<Option<Loaded>>,
    functions: Vec<Entry>,
}

/// A function: the place of its module, the driver's handle, and its parameters where the text told them.
struct Entry {
    module: usize,
    handle: FunctionHandle,
    name: String,
    parameters: Option<usize>,
    given: Given,
}

fn unsupported(reason: String) -> Error {
    Error::Unsupported { reason }
}

impl Modules {
    fn get(&self, module: Module) -> Result<&Loaded> {
        match self.modules.get(module.0) {
            Some(Some(loaded)) => Ok(loaded),
            Some(None) => Err(unsupported(format!("module {} has been unloaded", module.0))),
            None => Err(unsupported(format!("module {} is not of this device", module.0))),
        }
    }

    fn keep(&mut self, loaded: Loaded) -> Module {
        self.modules.push(Some(loaded));
        Module(self.modules.len() - 1)
    }

    /// Compiles and loads each of these texts. The context must be current, here and in all that follows.
    pub fn load_all(&mut self, calls: &Calls, target: Target, codes: &[Code<'_>]) -> Vec<Result<Module>> {
        let loaded = jit::load_all(calls, target, codes);
        loaded.into_iter().map(|loaded| Ok(self.keep(loaded?))).collect()
    }

    /// Loads the machine code of a module once more.
    pub fn load_again(&mut self, calls: &Calls, module: Module) -> Result<Module> {
        let again = jit::load_again(calls, self.get(module)?)?;
        Ok(self.keep(again))
    }

    /// Unloads a module. It is forgotten first, so whatever the driver says it is unloaded once.
    pub fn unload(&mut self, calls: &Calls, module: Module) -> Result<()> {
        self.get(module)?;
        let Some(loaded) = self.modules[module.0].take() else { return Ok(()) };
        // SAFETY: a live module; it has just been forgotten, and `get` and `entry` refuse whatever would use it.
        unsafe { calls.module_unload(loaded.module) }
    }

    /// Unloads what is left, whether or not that succeeds.
    pub fn unload_all(&mut self, calls: &Calls) {
        for number in 0..self.modules.len() {
            let _ = self.unload(calls, Module(number));
        }
    }

    /// The machine code of a module, where the driver gave it.
    pub fn machine_code(&self, module: Module) -> Option<&[u8]> {
        self.get(module).ok()?.machine_code.as_deref()
    }

    /// How long a module took to compile and load.
    pub fn load_time(&self, module: Module) -> Option<Duration> {
        Some(self.get(module).ok()?.took)
    }

    /// Finds an entry point.
    pub fn function(&mut self, calls: &Calls, module: Module, name: &str) -> Result<Function> {
        let loaded = self.get(module)?;
        // The driver has one set of attributes for an entry point, however often it is asked for it.
        let same = |entry: &Entry| entry.module == module.0 && entry.name == name;
        if let Some(known) = self.functions.iter().position(same) {
            return Ok(Function(known));
        }
        let text = symbol_name(name)?;
        let mut handle = ptr::null_mut();
        // SAFETY: the module is live, the name NUL-terminated, `handle` valid for the write.
        unsafe { calls.module_get_function(&mut handle, loaded.module, text.as_ptr()) }
            .map_err(|failed| absent(failed, "entry point", name))?;
        let parameters = loaded.parameters.get(name).copied();
        let given = Given::default();
        self.functions.push(Entry { module: module.0, handle, name: name.to_owned(), parameters, given });
        Ok(Function(self.functions.len() - 1))
    }

    /// Finds a module variable: its address and size.
    pub fn symbol(&self, calls: &Calls, module: Module, name: &str) -> Result<(DevicePtr, Bytes)> {
        let text = symbol_name(name)?;
        let (mut address, mut bytes) = (0, 0);
        // SAFETY: the module is live, the name NUL-terminated, the others valid for the writes.
        unsafe { calls.module_get_global(&mut address, &mut bytes, self.get(module)?.module, text.as_ptr()) }
            .map_err(|failed| absent(failed, "variable", name))?;
        Ok((DevicePtr(address), Bytes(bytes as u64)))
    }

    fn entry(&self, function: Function) -> Result<&Entry> {
        let entry = self
            .functions
            .get(function.0)
            .ok_or_else(|| unsupported(format!("function {} is not of this device", function.0)))?;
        self.get(Module(entry.module)).map(|_| entry)
    }

    /// The driver's handle of a function whose module is loaded.
    pub fn handle(&self, function: Function) -> Result<FunctionHandle> {
        self.entry(function).map(|entry| entry.handle)
    }

    /// As [`Modules::handle`], with what the driver has given the function so far.
    pub fn given(&mut self, function: Function) -> Result<(FunctionHandle, &mut Given)> {
        self.entry(function)?;
        let entry = &mut self.functions[function.0];
        Ok((entry.handle, &mut entry.given))
    }

    /// As [`Modules::handle`], of a function that has exactly so many parameters of 64 bits.
    pub fn handle_taking(&self, function: Function, parameters: usize) -> Result<FunctionHandle> {
        let entry = self.entry(function)?;
        match entry.parameters {
            Some(known) if known == parameters => Ok(entry.handle),
            Some(known) => Err(unsupported(format!("`{}` has {known} parameters, not {parameters}", entry.name))),
            None => Err(unsupported(format!("`{}` has parameters that are not of 64 bits", entry.name))),
        }
    }

    /// What the compiler gave a function.
    pub fn resources(&self, calls: &Calls, function: Function) -> Result<Resources> {
        let handle = self.handle(function)?;
        let told = |attribute: c_int| {
            let mut value = 0;
            // SAFETY: the function is of a loaded module, `value` valid for the write.
            unsafe { calls.func_get_attribute(&mut value, attribute, handle) }?;
            u32::try_from(value).map_err(|_| unsupported(format!("the driver told {value} for attribute {attribute}")))
        };
        Ok(Resources {
            registers: told(attributes::FUNCTION_REGISTERS)?,
            local: Bytes(u64::from(told(attributes::FUNCTION_LOCAL)?)),
        })
    }
}

fn symbol_name(name: &str) -> Result<CString> {
    CString::new(name).map_err(|_| unsupported(format!("{name:?} is no name of a symbol")))
}

/// A symbol that the module does not have, by name. The driver says only "not found".
fn absent(failed: Error, what: &str, name: &str) -> Error {
    match failed {
        Error::Call { call, code: code @ error::NOT_FOUND, name: symbol, lost, .. } => {
            Error::Call { call, code, name: symbol, meaning: format!("the module has no {what} `{name}`"), lost }
        }
        other => other,
    }
}
