//! The domain whose subdomains are the host names of port forwards.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Number of characters of the first label: 128 random bits as hexadecimal digits.
pub(crate) const LABEL: usize = 32;
/// Maximum length of a domain. A host name has at most 253 characters.
const MAX_DOMAIN: usize = 253 - LABEL - 1;
/// Maximum length of a label of a host name.
const MAX_LABEL: usize = 63;

/// The domain of port forwards. Each port forward has the host name `<label>.<domain>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForwardDomain(String);

/// The text is not a domain for port forwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "a forward domain is a DNS name with at least two labels and without a port, for example \
     forwards.drover.example"
)]
pub struct InvalidDomain;

impl ForwardDomain {
    /// Returns the domain for a server that only this machine can reach. Browsers resolve all names
    /// below `localhost` to this machine (RFC 6761).
    pub fn loopback() -> Self {
        Self("forwards.localhost".to_owned())
    }

    /// Returns the name for the server's certificate.
    pub fn certificate_name(&self) -> String {
        format!("*.{}", self.0)
    }

    /// Returns true if a host is the domain or a name below the domain.
    pub fn contains(&self, host: &str) -> bool {
        let rest = host.len().checked_sub(self.0.len());
        rest.is_some_and(|rest| {
            host.is_char_boundary(rest)
                && host[rest..].eq_ignore_ascii_case(&self.0)
                && (rest == 0 || host[..rest].ends_with('.'))
        })
    }

    /// Returns the label of a host name of a port forward: 32 hexadecimal digits in lower case.
    pub(crate) fn label<'a>(&self, host: &'a str) -> Option<&'a str> {
        let label = host.get(..LABEL).filter(|_| self.contains(host))?;
        let is_label = label
            .bytes()
            .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        (is_label && host.len() == LABEL + 1 + self.0.len()).then_some(label)
    }

    /// Returns the host name of a port forward.
    pub(crate) fn host(&self, label: &str) -> String {
        format!("{label}.{}", self.0)
    }
}

impl FromStr for ForwardDomain {
    type Err = InvalidDomain;

    fn from_str(text: &str) -> Result<Self, InvalidDomain> {
        let is_label = |label: &str| {
            let middle = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
            !label.is_empty()
                && label.len() <= MAX_LABEL
                && label.bytes().all(middle)
                && !label.starts_with('-')
                && !label.ends_with('-')
        };
        let last = text.rsplit('.').next().unwrap_or_default();
        // The last label of an IPv4 address consists of digits.
        let is_name = text.len() <= MAX_DOMAIN
            && text.contains('.')
            && text.split('.').all(is_label)
            && last.bytes().any(|byte| byte.is_ascii_alphabetic());
        is_name
            .then(|| Self(text.to_ascii_lowercase()))
            .ok_or(InvalidDomain)
    }
}

impl fmt::Display for ForwardDomain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domain_is_a_dns_name_with_two_labels() {
        let parse = |text: &str| {
            text.parse::<ForwardDomain>()
                .map(|domain| domain.to_string())
        };
        assert_eq!(
            parse("Forwards.Drover.Example").unwrap(),
            "forwards.drover.example"
        );
        assert_eq!(parse("forwards.localhost").unwrap(), "forwards.localhost");
        for text in [
            "",
            "localhost",
            "10.0.0.1",
            "[::1]",
            "a.example:8443",
            "https://a.example",
            "*.a.example",
            ".a.example",
            "a.example.",
            "a..example",
            "-a.example",
            "ä.example",
            &format!("a.{}", "b".repeat(64)),
            &"a.".repeat(200),
        ] {
            assert_eq!(parse(text), Err(InvalidDomain), "{text}");
        }
    }

    #[test]
    fn only_names_below_the_domain_are_contained() {
        let domain: ForwardDomain = "forwards.example".parse().unwrap();
        for host in [
            "forwards.example",
            "a.forwards.example",
            "A.B.FORWARDS.example",
        ] {
            assert!(domain.contains(host), "{host}");
        }
        for host in [
            "example",
            "aforwards.example",
            "forwards.example.org",
            "ä",
            "",
        ] {
            assert!(!domain.contains(host), "{host}");
        }
    }

    #[test]
    fn label_has_128_bits() {
        let domain: ForwardDomain = "forwards.example".parse().unwrap();
        let label = "0123456789abcdef0123456789abcdef";
        assert_eq!(domain.label(&domain.host(label)), Some(label));
        for host in [
            "forwards.example",
            "a.forwards.example",
            "0123456789ABCDEF0123456789abcdef.forwards.example",
            "0123456789abcdef0123456789abcdef.a.forwards.example",
            "0123456789abcdef0123456789abcdef.other.example",
            "x.0123456789abcdef0123456789abcdef.forwards.example",
            "0123456789abcdef0123456789abcdefforwards.example",
        ] {
            assert_eq!(domain.label(host), None, "{host}");
        }
    }
}
