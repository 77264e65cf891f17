//! Textures over linear memory and over CUDA arrays: the descriptions that `cuda.h` asks for, and the objects made.

use std::collections::HashMap;
use std::ffi::c_int;
use std::ptr;

use super::array;
use super::calls::{ArrayHandle, Calls};
use strata_gpu::{Array, DevicePtr, Error, Result, Texture};
use strata_model::pattern::Sampling;
use strata_model::units::Bytes;

/// A `CUDA_RESOURCE_DESC`.
#[repr(C)]
pub(super) struct ResourceDescription {
    kind: u32,
    resource: Resource,
    flags: u32,
}

/// The union in `CUDA_RESOURCE_DESC`, as large as its largest member, 32 `int`.
#[repr(C)]
union Resource {
    array: ArrayHandle,
    linear: LinearResource,
    reserved: [u64; 16],
}

/// The member `linear` of the union in `CUDA_RESOURCE_DESC`.
#[repr(C)]
#[derive(Clone, Copy)]
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

/// `CU_RESOURCE_TYPE_ARRAY`.
const RESOURCE_ARRAY: u32 = 0;
/// `CU_RESOURCE_TYPE_LINEAR`.
const RESOURCE_LINEAR: u32 = 2;
/// `CU_AD_FORMAT_UNSIGNED_INT8`.
const FORMAT_U8: u32 = 1;
/// `CU_AD_FORMAT_UNSIGNED_INT32`.
pub(super) const FORMAT_U32: u32 = 3;
/// `CU_AD_FORMAT_FLOAT`.
pub(super) const FORMAT_F32: u32 = 0x20;
/// `CU_TRSF_READ_AS_INTEGER`.
const TEXTURE_READ_AS_INTEGER: u32 = 1;
/// `CU_TRSF_NORMALIZED_COORDINATES`. Without it coordinates are numbers of texels.
const TEXTURE_NORMALIZED_COORDINATES: u32 = 2;
/// `CU_TR_FILTER_MODE_POINT`.
const FILTER_POINT: u32 = 0;
/// `CU_TR_FILTER_MODE_LINEAR`.
const FILTER_LINEAR: u32 = 1;
/// `CU_TR_ADDRESS_MODE_CLAMP`.
const ADDRESS_CLAMP: u32 = 1;

/// The texture objects that have been made and not destroyed, each with its array if it owns one.
#[derive(Default)]
pub(super) struct Textures(HashMap<u64, Option<ArrayHandle>>);

impl Textures {
    /// A linear texture of texels of one unsigned byte, or of one, two or four unsigned words, read as such. A context must be current.
    pub fn create(&mut self, calls: &Calls, memory: DevicePtr, bytes: Bytes, texel: Bytes) -> Result<Texture> {
        let (format, channels) = match texel.0 {
            1 => (FORMAT_U8, 1),
            4 | 8 | 16 => (FORMAT_U32, texel.0 as u32 / 4),
            _ => {
                let reason = format!("textures are made of texels of 1, 4, 8 or 16 B, not of {texel}");
                return Err(Error::Unsupported { reason });
            }
        };
        let mut resource = Resource { reserved: [0; 16] };
        resource.linear = LinearResource { address: memory.0, format, channels, bytes: bytes.0 as usize };
        let description = TextureDescription { flags: TEXTURE_READ_AS_INTEGER, ..TextureDescription::default() };
        self.object(calls, ResourceDescription { kind: RESOURCE_LINEAR, resource, flags: 0 }, &description, None)
    }

    /// A texture over a new CUDA array. Beyond the edge it gives what is at the edge. A context must be current.
    pub fn create_array(&mut self, calls: &Calls, wanted: &Array<'_>) -> Result<Texture> {
        let array = array::create(calls, wanted)?;
        let mut resource = Resource { reserved: [0; 16] };
        resource.array = array;
        let (filter_mode, flags) = match wanted.sampling {
            None => (FILTER_POINT, TEXTURE_READ_AS_INTEGER),
            Some(Sampling::Nearest) => (FILTER_POINT, 0),
            Some(Sampling::Normalized) => (FILTER_POINT, TEXTURE_NORMALIZED_COORDINATES),
            Some(Sampling::Linear) => (FILTER_LINEAR, 0),
        };
        let description = TextureDescription {
            address_mode: [ADDRESS_CLAMP; 3],
            filter_mode,
            flags,
            ..TextureDescription::default()
        };
        let resource = ResourceDescription { kind: RESOURCE_ARRAY, resource, flags: 0 };
        self.object(calls, resource, &description, Some(array)).inspect_err(|_| array::destroy(calls, array))
    }

    fn object(
        &mut self,
        calls: &Calls,
        resource: ResourceDescription,
        description: &TextureDescription,
        array: Option<ArrayHandle>,
    ) -> Result<Texture> {
        let mut texture = 0;
        // SAFETY: both descriptions are laid out as in `cuda.h` and valid for reads, `texture` for the write; no view.
        unsafe { calls.tex_object_create(&mut texture, &resource, description, ptr::null()) }?;
        self.0.insert(texture, array);
        Ok(Texture(texture))
    }

    /// Destroys one that was made here, and its array.
    pub fn destroy(&mut self, calls: &Calls, texture: Texture) -> Result<()> {
        let Some(array) = self.0.remove(&texture.0) else {
            return Err(Error::Unsupported { reason: format!("texture {:#x} is not of this device", texture.0) });
        };
        // SAFETY: a live texture object of this context; it has just been forgotten, so it is destroyed once.
        let destroyed = unsafe { calls.tex_object_destroy(texture.0) };
        if let Some(array) = array {
            array::destroy(calls, array);
        }
        destroyed
    }

    /// Destroys what is left, whether or not that succeeds.
    pub fn destroy_all(&mut self, calls: &Calls) {
        let left: Vec<u64> = self.0.keys().copied().collect();
        for texture in left {
            let _ = self.destroy(calls, Texture(texture));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    fn descriptions_are_laid_out_as_in_the_header() {
        assert_eq!(size_of::<ResourceDescription>(), 144);
        assert_eq!((offset_of!(ResourceDescription, resource), size_of::<Resource>()), (8, 128));
        assert_eq!(offset_of!(LinearResource, bytes), 16);
        assert_eq!(offset_of!(ResourceDescription, flags), 136);
        assert_eq!(size_of::<TextureDescription>(), 104);
        assert_eq!(offset_of!(TextureDescription, flags), 16);
        assert_eq!(offset_of!(TextureDescription, border_color), 40);
    }
}
