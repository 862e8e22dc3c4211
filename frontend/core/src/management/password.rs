//! Generates passwords.

/// The characters of passwords: 32 unambiguous characters, so that each character has 5 random
/// bits.
const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
/// The number of characters per group.
const GROUP: usize = 4;
/// The number of random bytes for a password. Each byte selects a character.
pub const BYTES: usize = 24;

/// Returns a password of 120 random bits in six groups of four characters.
pub fn of_bytes(random: &[u8; BYTES]) -> String {
    let mut text = String::with_capacity(BYTES + BYTES / GROUP);
    for (place, byte) in random.iter().enumerate() {
        if place > 0 && place % GROUP == 0 {
            text.push('-');
        }
        text.push(char::from(LETTERS[usize::from(byte % 32)]));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn generated_password_depends_on_each_random_byte() {
        let distinct: BTreeSet<u8> = LETTERS.iter().copied().collect();
        assert_eq!(distinct.len(), 32, "all characters are different");
        let mut random = [0; BYTES];
        let first = of_bytes(&random);
        assert_eq!(first, "aaaa-aaaa-aaaa-aaaa-aaaa-aaaa");
        for place in 0..BYTES {
            random[place] = 31;
            let other = of_bytes(&random);
            assert_eq!(other.matches('9').count(), 1, "{other}");
            random[place] = 0;
        }
    }
}
