//! Requests whose path or body contains a number.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Placeholder in a path or body. The load generator replaces the placeholder with the request
/// number, in eight digits.
pub(crate) const NUMBER: &str = "########";
/// Placeholder in a path or body. The load generator replaces the placeholder with the repeating
/// number of [`Numbers`].
pub(crate) const REPEATING_NUMBER: &str = "~~~~~~~~";

const DIGITS: usize = 8;

/// A sequence of numbers for requests. All connections share one sequence.
#[derive(Debug)]
pub(crate) struct Numbers {
    next: AtomicU64,
    round: u64,
    /// The generator multiplies the request number by this factor. The product determines the
    /// repeating number.
    stride: u64,
}

/// The golden ratio as a 64-bit fraction. The multiples of this number are evenly distributed.
const SCATTERING: u64 = 0x9E37_79B9_7F4A_7C15;

impl Default for Numbers {
    fn default() -> Self {
        Self::in_rounds_of(1)
    }
}

impl Numbers {
    /// Creates a sequence that starts at 0. The value of [`REPEATING_NUMBER`] restarts after
    /// `round` requests.
    pub(crate) const fn in_rounds_of(round: u64) -> Self {
        Self {
            next: AtomicU64::new(0),
            round,
            stride: 1,
        }
    }

    /// Creates a sequence that starts at 0. The value of [`REPEATING_NUMBER`] is pseudo-random and
    /// below `round`.
    pub(crate) const fn scattered_over(round: u64) -> Self {
        Self {
            stride: SCATTERING,
            ..Self::in_rounds_of(round)
        }
    }

    const fn turn(&self, number: u64) -> u64 {
        // Use the upper half, because the lower bits of multiples repeat soon.
        let scattered = number.wrapping_mul(self.stride);
        if self.stride == 1 {
            scattered % self.round
        } else {
            (scattered >> 32) % self.round
        }
    }
}

/// The bytes of a request, with the offsets of the placeholders in these bytes.
pub(super) struct Numbered {
    bytes: Vec<u8>,
    numbers: Vec<usize>,
    turns: Vec<usize>,
    source: Arc<Numbers>,
}

impl Numbered {
    pub(super) fn new(text: String, source: Arc<Numbers>) -> Self {
        let places = |mark: &str| text.match_indices(mark).map(|(place, _)| place).collect();
        Self {
            numbers: places(NUMBER),
            turns: places(REPEATING_NUMBER),
            bytes: text.into_bytes(),
            source,
        }
    }

    /// Inserts the next numbers, and returns the bytes of the request.
    pub(super) fn next(&mut self) -> &[u8] {
        if self.numbers.is_empty() && self.turns.is_empty() {
            return &self.bytes;
        }
        let number = self.source.next.fetch_add(1, Ordering::Relaxed);
        for &place in &self.numbers {
            write(&mut self.bytes[place..place + DIGITS], number);
        }
        for &place in &self.turns {
            let turn = self.source.turn(number);
            write(&mut self.bytes[place..place + DIGITS], turn);
        }
        &self.bytes
    }
}

/// Fills the slice with the last decimal digits of a number.
fn write(digits: &mut [u8], mut number: u64) {
    for digit in digits.iter_mut().rev() {
        *digit = b"0123456789"[usize::try_from(number % 10).unwrap_or(0)];
        number /= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pseudorandom_request_numbers_are_evenly_distributed() {
        let source = Numbers::scattered_over(100);
        let mut met = [0_u32; 100];
        for number in 0..10_000 {
            met[usize::try_from(source.turn(number)).unwrap()] += 1;
        }
        assert!(met.iter().all(|times| (50..200).contains(times)), "{met:?}");
        assert_ne!(source.turn(1), source.turn(0) + 1);
    }

    #[test]
    fn request_numbers_are_unique_and_repeating_numbers_restart_after_each_round() {
        let source = Arc::new(Numbers::in_rounds_of(2));
        let text = format!("{NUMBER} of {REPEATING_NUMBER}");
        let mut one = Numbered::new(text.clone(), Arc::clone(&source));
        let mut other = Numbered::new(text, source);
        assert_eq!(one.next(), b"00000000 of 00000000");
        assert_eq!(other.next(), b"00000001 of 00000001");
        assert_eq!(one.next(), b"00000002 of 00000000");
    }
}
