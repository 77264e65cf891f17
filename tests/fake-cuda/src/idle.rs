//! Kernels that do nothing; memory is the host's. What `execute` has instead, without a machine.

use crate::Code;

/// None.
#[derive(Default)]
pub struct Machine;

#[allow(clippy::unused_self, reason = "as with a machine")]
impl Machine {
    pub fn allocate(&mut self, _: u64, _: bool) -> Option<Result<u64, Code>> {
        None
    }

    pub fn free(&mut self, _: u64) {}

    pub fn write(&mut self, _: u64, _: &[u8]) -> Option<Result<(), Code>> {
        None
    }

    pub fn read(&mut self, _: u64, _: &mut [u8]) -> Option<Result<(), Code>> {
        None
    }

    pub fn copy(&mut self, _: u64, _: u64, _: u64) -> Option<Result<(), Code>> {
        None
    }

    pub fn clear(&mut self, _: u64, _: u64) -> Option<Result<(), Code>> {
        None
    }

    pub fn texture(&mut self, _: u64, _: u64, _: u64) -> Option<Result<u64, Code>> {
        None
    }

    pub fn destroy_texture(&mut self, _: u64) {}

    pub fn load(&mut self, _: usize, _: &str) -> Result<(), Code> {
        Ok(())
    }

    pub fn unload(&mut self, _: usize) {}

    pub fn function(&mut self, _: usize, _: usize, _: &str) -> Result<(), Code> {
        Ok(())
    }

    pub fn symbol(&mut self, _: usize, _: &str) -> Option<u64> {
        None
    }

    pub fn launch(&mut self, _: usize, _: [u32; 3], _: (Option<u8>, Option<u64>), _: &[u64]) -> Result<(), Code> {
        Ok(())
    }
}
