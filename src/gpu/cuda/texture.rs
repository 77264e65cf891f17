//! Linear textures: the descriptions that `cuda.h` asks for, and the objects made.

use std::collections::HashSet;
use std::ffi::c_int;
use std::ptr;

use super::calls::Calls;
use crate::gpu::{DevicePtr, Error, Result, Texture};
use crate::units::Bytes;

/// A `CUDA_RESOURCE_DESC` of a linear resource. The union is as large as its largest member, 32 `int`.
#[repr(C)]
pub(super) struct ResourceDescription {
    kind: u32,
    linear: LinearResource,
    reserved: [u64; 13],
    flags: u32,
}

/// The member `linear` of the union in `CUDA_RESOURCE_DESC`.
#[repr(C)]
struct LinearResource {
    address: u64,
    format: u32,
    channels: u32,
    bytes: usize,
}

/// A `CUDA_TEXTURE_DESC`.
#[repr(C)]
#[derive(Default)]
pub(super) struct TextureDescription {
    address_mode: [u32; 3],
    filter_mode: u32,
    flags: u32,
    max_anisotropy: u32,
    mipmap_filter_mode: u32,
    mipmap_level_bias: f32,
    mipmap_level_clamp: [f32; 2],
    border_color: [f32; 4],
    reserved: [c_int; 12],
}

/// `CU_RESOURCE_TYPE_LINEAR`.
const RESOURCE_LINEAR: u32 = 2;
/// `CU_AD_FORMAT_UNSIGNED_INT32`.
pub(super) const FORMAT_U32: u32 = 3;
/// `CU_TRSF_READ_AS_INTEGER`.
const TEXTURE_READ_AS_INTEGER: u32 = 1;
/// The texture objects that have been made and not destroyed.
#[derive(Default)]
pub(super) struct Textures(HashSet<u64>);

impl Textures {
    /// A linear texture of 32-bit unsigned texels, read as such. A context must be current.
    pub fn create(&mut self, calls: &Calls, memory: DevicePtr, bytes: Bytes) -> Result<Texture> {
        let resource = ResourceDescription {
            kind: RESOURCE_LINEAR,
            linear: LinearResource { address: memory.0, format: FORMAT_U32, channels: 1, bytes: bytes.0 as usize },
            reserved: [0; 13],
            flags: 0,
        };
        let description = TextureDescription { flags: TEXTURE_READ_AS_INTEGER, ..TextureDescription::default() };
        let mut texture = 0;
        // SAFETY: both descriptions are laid out as in `cuda.h` and valid for reads, `texture` for the write; no view.
        unsafe { calls.tex_object_create(&mut texture, &resource, &description, ptr::null()) }?;
        self.0.insert(texture);
        Ok(Texture(texture))
    }

    /// Destroys one that was made here.
    pub fn destroy(&mut self, calls: &Calls, texture: Texture) -> Result<()> {
        if !self.0.remove(&texture.0) {
            return Err(Error::Unsupported { reason: format!("texture {:#x} is not of this device", texture.0) });
        }
        // SAFETY: a live texture object of this context; it has just been forgotten, so it is destroyed once.
        unsafe { calls.tex_object_destroy(texture.0) }
    }

    /// Destroys what is left, whether or not that succeeds.
    pub fn destroy_all(&mut self, calls: &Calls) {
        for texture in self.0.drain() {
            // SAFETY: a live texture object of this context, forgotten with this.
            let _ = unsafe { calls.tex_object_destroy(texture) };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};

    use super::*;

    #[test]
    fn descriptions_are_laid_out_as_in_the_header() {
        assert_eq!(size_of::<ResourceDescription>(), 144);
        assert_eq!(offset_of!(ResourceDescription, linear), 8);
        assert_eq!(offset_of!(LinearResource, bytes), 16);
        assert_eq!(offset_of!(ResourceDescription, flags), 136);
        assert_eq!(size_of::<TextureDescription>(), 104);
        assert_eq!(offset_of!(TextureDescription, border_color), 40);
    }
}
