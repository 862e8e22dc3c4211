//! Random secrets of tickets and cookies.

use drover_entropy::NoRandomness;
use std::fmt::{self, Write as _};
use subtle::ConstantTimeEq as _;

/// A secret of 256 random bits, as 64 hexadecimal digits.
#[derive(Clone)]
pub(crate) struct Secret(String);

impl Secret {
    pub(crate) fn random() -> Result<Self, NoRandomness> {
        Ok(Self(hex(&drover_entropy::random::<32>()?)))
    }

    /// Compares in constant time.
    pub(crate) fn matches(&self, presented: &str) -> bool {
        self.0.as_bytes().ct_eq(presented.as_bytes()).into()
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(hidden)")
    }
}

/// Returns bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_random_and_hidden_in_debug_output() {
        let (one, other) = (Secret::random().unwrap(), Secret::random().unwrap());
        assert_eq!(one.expose().len(), 64);
        assert!(one.matches(one.expose()) && !one.matches(other.expose()));
        assert!(!one.matches("") && !one.matches(&one.expose()[1..]));
        assert!(!format!("{one:?}").contains(one.expose()));
    }
}
