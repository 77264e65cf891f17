//! FP32 cores of a multiprocessor, which no driver call reports.

/// Cores per multiprocessor by compute capability: the throughput of 32-bit floating-point additions in the table
/// "Throughput of Native Arithmetic Instructions" of NVIDIA's CUDA C++ Programming Guide, in which `helper_cuda.h` of NVIDIA's
/// CUDA samples (`_ConvertSMVer2Cores`) agrees. `None` for what neither lists.
pub(super) fn per_multiprocessor(capability: (u32, u32)) -> Option<u32> {
    Some(match capability {
        (2, 0) => 32,
        (2, 1) => 48,
        (3, 0 | 2 | 5 | 7) => 192,
        (5, 0 | 2 | 3) => 128,
        (6, 0) => 64,
        (6, 1 | 2) => 128,
        (7, 0 | 2 | 5) => 64,
        (8, 0) => 64,
        (8, 6 | 7 | 9) => 128,
        (9, 0) => 128,
        (10, 0 | 1 | 3) => 128,
        (11, 0) => 128,
        (12, 0 | 1) => 128,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::per_multiprocessor;

    #[test]
    fn unlisted_devices_have_no_number() {
        assert_eq!(per_multiprocessor((9, 0)), Some(128));
        assert_eq!(per_multiprocessor((8, 0)), Some(64));
        assert_eq!(per_multiprocessor((99, 0)), None);
    }
}
