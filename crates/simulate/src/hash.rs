//! A hash function whose result never changes between versions of Drover.

/// Computes the FNV-1a hash, which distributes names evenly. The result is the same on every
/// machine and in every version.
pub(crate) fn fnv1a(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}
