//! A hash function whose result is the same in all versions.

/// Computes FNV-1a, which distributes names evenly and is the same on every machine and in every
/// version.
pub(crate) fn fnv1a(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}
