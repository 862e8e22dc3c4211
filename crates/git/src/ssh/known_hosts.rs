//! The `known_hosts` format of OpenSSH (see `sshd(8)`).

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::SshError;
use super::host_key::{fingerprint, key_type};

/// Most lines that the parser reads.
const MAX_LINES: usize = 10_000;

/// The known keys of one host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KnownKeys {
    /// The type and the content of each trusted key.
    trusted: Vec<(String, Vec<u8>)>,
    revoked: Vec<Vec<u8>>,
}

impl KnownKeys {
    /// Returns the keys of a host and port. Ignores lines that are not valid, and certificate
    /// authorities, which the client does not support.
    pub(crate) fn parse(text: &str, host: &str, port: u16) -> Self {
        let name = if port == 22 {
            host.to_ascii_lowercase()
        } else {
            format!("[{}]:{port}", host.to_ascii_lowercase())
        };
        let mut known = Self::default();
        for line in text.lines().take(MAX_LINES) {
            known.add(line.trim(), &name);
        }
        known
    }

    fn add(&mut self, line: &str, name: &str) -> Option<()> {
        let mut words = line.split_ascii_whitespace();
        let mut hosts = words.next().filter(|word| !word.starts_with('#'))?;
        let mut revoked = false;
        if hosts.starts_with('@') {
            if hosts != "@revoked" {
                return None;
            }
            revoked = true;
            hosts = words.next()?;
        }
        if !matches_host(hosts, name) {
            return None;
        }
        let named = words.next()?;
        let key = BASE64_STANDARD.decode(words.next()?).ok()?;
        let kind = key_type(&key)
            .ok()
            .filter(|kind| *kind == named)?
            .to_owned();
        if revoked {
            self.revoked.push(key);
        } else {
            self.trusted.push((kind, key));
        }
        Some(())
    }

    /// Reports whether a key of the type is trusted. The client asks for such a key first.
    pub(super) fn has_type(&self, kind: &str) -> bool {
        self.trusted.iter().any(|(known, _)| known == kind)
    }

    /// Checks a key of the host.
    pub(crate) fn check(&self, key: &[u8]) -> Result<(), SshError> {
        let algorithm = key_type(key)?.to_owned();
        let fingerprint = fingerprint(key);
        let is_revoked = self.revoked.iter().any(|revoked| revoked == key);
        if !is_revoked && self.trusted.iter().any(|(_, known)| known == key) {
            return Ok(());
        }
        if is_revoked || self.has_type(&algorithm) {
            return Err(SshError::ChangedHostKey {
                algorithm,
                fingerprint,
            });
        }
        Err(SshError::UnknownHostKey {
            algorithm,
            fingerprint,
        })
    }
}

/// Compares a host with a comma-separated list of patterns, or with a hashed name.
fn matches_host(hosts: &str, name: &str) -> bool {
    if let Some(hashed) = hosts.strip_prefix("|1|") {
        return matches_hash(hashed, name).unwrap_or(false);
    }
    let mut found = false;
    for pattern in hosts.split(',') {
        let (negated, pattern) = match pattern.strip_prefix('!') {
            Some(pattern) => (true, pattern),
            None => (false, pattern),
        };
        if matches_pattern(pattern.to_ascii_lowercase().as_bytes(), name.as_bytes()) {
            if negated {
                return false;
            }
            found = true;
        }
    }
    found
}

fn matches_hash(hashed: &str, name: &str) -> Option<bool> {
    let (salt, hash) = hashed.split_once('|')?;
    let key = hmac::Key::new(
        hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
        &BASE64_STANDARD.decode(salt).ok()?,
    );
    let hash = BASE64_STANDARD.decode(hash).ok()?;
    Some(hmac::verify(&key, name.as_bytes(), &hash).is_ok())
}

/// Compares a name with a pattern with `*` and `?`.
fn matches_pattern(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut position) = (0, 0);
    let mut star = None;
    while position < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, position));
                at += 1;
            }
            Some(byte) if *byte == b'?' || *byte == name[position] => {
                at += 1;
                position += 1;
            }
            _ => {
                let Some((star_at, star_position)) = star else {
                    return false;
                };
                at = star_at + 1;
                position = star_position + 1;
                star = Some((star_at, position));
            }
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ssh::wire::Writer;

    fn key(kind: &str, content: &str) -> Vec<u8> {
        Writer::default().string(kind).string(content).bytes
    }

    fn line(hosts: &str, key: &[u8]) -> String {
        let kind = key_type(key).unwrap();
        format!("{hosts} {kind} {} comment", BASE64_STANDARD.encode(key))
    }

    fn check(text: &str, host: &str, port: u16, key: &[u8]) -> Result<(), SshError> {
        KnownKeys::parse(text, host, port).check(key)
    }

    #[test]
    fn only_exact_key_of_the_host_and_port_is_accepted() {
        let (one, two) = (key("ssh-ed25519", "1"), key("ssh-ed25519", "2"));
        let text = format!("# x\n\nnonsense\n{}\n", line("other,host", &one));
        assert_eq!(check(&text, "HOST", 22, &one), Ok(()));
        assert!(matches!(
            check(&text, "host", 22, &two),
            Err(SshError::ChangedHostKey { .. })
        ));
        assert!(matches!(
            check(&text, "host", 2222, &one),
            Err(SshError::UnknownHostKey { .. })
        ));
        let rsa = key("ssh-rsa", "1");
        assert!(matches!(
            check(&text, "host", 22, &rsa),
            Err(SshError::UnknownHostKey { .. })
        ));
        assert!(matches!(
            check("", "host", 22, &one),
            Err(SshError::UnknownHostKey { .. })
        ));
    }

    #[test]
    fn patterns_ports_and_hashed_names_match() {
        let one = key("ssh-ed25519", "1");
        let tag = hmac::sign(
            &hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, b"salt"),
            b"host.example.com",
        );
        let hashed = format!(
            "|1|{}|{}",
            BASE64_STANDARD.encode("salt"),
            BASE64_STANDARD.encode(tag.as_ref())
        );
        for (hosts, port, accepted) in [
            ("*.example.com", 22, true),
            ("h?st.example.com", 22, true),
            ("*.example.com,!host.*", 22, false),
            ("[host.example.com]:2222", 2222, true),
            (hashed.as_str(), 22, true),
            (hashed.as_str(), 23, false),
            ("@cert-authority *", 22, false),
        ] {
            let result = check(&line(hosts, &one), "host.example.com", port, &one);
            assert_eq!(result.is_ok(), accepted, "{hosts}");
        }
    }

    #[test]
    fn revoked_key_is_rejected() {
        let one = key("ssh-ed25519", "1");
        let text = format!("{}\n{}", line("host", &one), line("@revoked *", &one));
        assert!(matches!(
            check(&text, "host", 22, &one),
            Err(SshError::ChangedHostKey { .. })
        ));
    }
}
