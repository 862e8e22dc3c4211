//! Random bytes, random passwords and random delays, from the operating system's generator.
//!
//! *Owns* all uses of randomness outside cryptographic protocols. *Never* waits or retries.

pub mod backoff;

use aws_lc_rs::rand::{SecureRandom as _, SystemRandom};
use secrecy::SecretString;
use thiserror::Error;

/// The error of the operating system's random generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("cannot generate random data: the system's random generator failed")]
pub struct NoRandomness;

/// Returns random bytes from the operating system.
pub fn random<const N: usize>() -> Result<[u8; N], NoRandomness> {
    let mut bytes = [0; N];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| NoRandomness)?;
    Ok(bytes)
}

/// Returns a random one-time password: 20 characters, 100 bits.
pub fn random_password() -> Result<SecretString, NoRandomness> {
    const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let text: String = random::<20>()?
        .iter()
        .map(|byte| char::from(ALPHABET[usize::from(byte & 31)]))
        .collect();
    Ok(SecretString::from(text))
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    #[test]
    fn random_passwords_have_sufficient_length_and_are_unique() {
        let (one, two) = (random_password().unwrap(), random_password().unwrap());
        assert_eq!(one.expose_secret().len(), 20);
        assert_ne!(one.expose_secret(), two.expose_secret());
    }
}
