//! The hash MD5 (RFC 1321), which the project's TLS library does not offer.

const SHIFTS: [[u32; 4]; 4] = [
    [7, 12, 17, 22],
    [5, 9, 14, 20],
    [4, 11, 16, 23],
    [6, 10, 15, 21],
];

/// Returns the MD5 hash of `input`.
pub(super) fn md5(input: &[u8]) -> [u8; 16] {
    let mut padded = input.to_vec();
    padded.push(0x80);
    while padded.len() % 64 != 56 {
        padded.push(0);
    }
    let bits = (input.len() as u64).wrapping_mul(8);
    padded.extend(bits.to_le_bytes());

    let mut state = [0x6745_2301_u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    for block in padded.chunks_exact(64) {
        let mut words = [0_u32; 16];
        for (word, bytes) in words.iter_mut().zip(block.as_chunks::<4>().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        let next = rounds(state, &words);
        for (sum, value) in state.iter_mut().zip(next) {
            *sum = sum.wrapping_add(value);
        }
    }
    let mut out = [0; 16];
    for (bytes, word) in out.as_chunks_mut::<4>().0.iter_mut().zip(state) {
        *bytes = word.to_le_bytes();
    }
    out
}

fn rounds([mut a, mut b, mut c, mut d]: [u32; 4], words: &[u32; 16]) -> [u32; 4] {
    for (step, constant) in constants().enumerate() {
        let (mixed, word) = match step / 16 {
            0 => ((b & c) | (!b & d), step),
            1 => ((d & b) | (!d & c), (5 * step + 1) % 16),
            2 => (b ^ c ^ d, (3 * step + 5) % 16),
            _ => (c ^ (b | !d), (7 * step) % 16),
        };
        let sum = a
            .wrapping_add(mixed)
            .wrapping_add(constant)
            .wrapping_add(words[word]);
        (a, d, c) = (d, c, b);
        b = b.wrapping_add(sum.rotate_left(SHIFTS[step / 16][step % 4]));
    }
    [a, b, c, d]
}

/// Returns the 64 constants of the steps: the first 32 bits of the fractions of `|sin(step + 1)|`.
fn constants() -> impl Iterator<Item = u32> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the product is at least 0 and less than 2^32"
    )]
    (1..=64_u32).map(|step| (f64::from(step).sin().abs() * 4_294_967_296.0) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_equal_the_examples_of_the_rfc() {
        for (text, expected) in [
            ("", "d41d8cd98f00b204e9800998ecf8427e"),
            ("abc", "900150983cd24fb0d6963f7d28e17f72"),
            (
                "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
                "57edf4a22be3c955ac49da2e2107b67a",
            ),
        ] {
            assert_eq!(crate::names::hex(&md5(text.as_bytes())), expected, "{text}");
        }
    }
}
