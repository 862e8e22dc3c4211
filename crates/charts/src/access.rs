//! The address, the credential and the TLS settings of a Helm repository or registry.

use secrecy::SecretString;

/// Scheme of OCI registries.
const OCI: &str = "oci://";

/// A user name and a password for a repository.
#[derive(Clone, Debug)]
pub struct Credential {
    /// The user name.
    pub username: String,
    /// The password.
    pub password: SecretString,
}

/// The credential and the TLS settings for a repository.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Credential for the host of the address. No other host receives the credential, except the token
    /// service of a registry in the same domain.
    pub credential: Option<Credential>,
    /// Certificate authorities in addition to the system's (PEM).
    pub authorities: String,
    /// True to accept each certificate.
    pub insecure_skip_tls_verify: bool,
    /// True for a registry without TLS.
    pub plain_http: bool,
}

/// An entry of a Secret is missing or is not valid text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the entry {0} of the Secret is missing or is not UTF-8 text")]
pub struct EntryError(pub &'static str);

/// An address of a chart that is neither http, https nor oci.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the address {0:?} of the chart does not begin with https://, http:// or oci://")]
pub struct AddressError(pub String);

impl Access {
    /// Adds the entries of a Secret in Fleet's format: `username`, `password`, `cacerts`,
    /// `insecureSkipVerify` and `basicHTTP`.
    ///
    /// # Errors
    ///
    /// An entry is not UTF-8, or only one of `username` and `password` exists.
    pub fn with_secret<'a>(
        mut self,
        entry: impl Fn(&str) -> Option<&'a [u8]>,
    ) -> Result<Self, EntryError> {
        let text = |name: &'static str| match entry(name).map(std::str::from_utf8) {
            None => Ok(None),
            Some(text) => text.map(Some).map_err(|_| EntryError(name)),
        };
        let flag = |name| Ok::<_, EntryError>(text(name)?.is_some_and(is_true));
        self.credential = match (text("username")?, text("password")?) {
            (Some(username), Some(password)) => Some(Credential {
                username: username.to_owned(),
                password: SecretString::from(password),
            }),
            (None, None) => None,
            (Some(_), None) => return Err(EntryError("password")),
            (None, Some(_)) => return Err(EntryError("username")),
        };
        if let Some(authorities) = text("cacerts")? {
            authorities.clone_into(&mut self.authorities);
        }
        self.insecure_skip_tls_verify |= flag("insecureSkipVerify")?;
        self.plain_http = flag("basicHTTP")?;
        Ok(self)
    }
}

/// Reads a flag as Go's `strconv.ParseBool`. Another text is false, because the flags weaken TLS.
fn is_true(text: &str) -> bool {
    matches!(text, "1" | "t" | "T" | "TRUE" | "true" | "True")
}

/// Returns the repository and the chart of a request for the fields `repo` and `chart` of Fleet's Helm
/// options.
///
/// # Errors
///
/// The address is neither http, https nor oci.
pub fn address(repo: &str, chart: &str) -> Result<(String, String), AddressError> {
    if repo.starts_with(OCI) {
        // As in Fleet, the address of a registry contains the name of the chart.
        return Ok((String::new(), repo.to_owned()));
    }
    let address = if repo.is_empty() { chart } else { repo };
    if is_http(address) || repo.is_empty() && chart.starts_with(OCI) {
        return Ok((repo.to_owned(), chart.to_owned()));
    }
    Err(AddressError(address.to_owned()))
}

/// Returns the repository and the chart of a request for a dependency of a chart. Returns `None` for a
/// repository of another type than http, https or oci.
#[must_use]
pub fn dependency_address(repository: &str, name: &str) -> Option<(String, String)> {
    if repository.starts_with(OCI) {
        let chart = format!("{}/{name}", repository.trim_end_matches('/'));
        return Some((String::new(), chart));
    }
    is_http(repository).then(|| (repository.to_owned(), name.to_owned()))
}

fn is_http(address: &str) -> bool {
    address.starts_with("https://") || address.starts_with("http://")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(entries: &[(&str, &'static str)]) -> Result<Access, EntryError> {
        Access::default().with_secret(|name| {
            let found = entries.iter().find(|(key, _)| *key == name);
            found.map(|(_, text)| text.as_bytes())
        })
    }

    #[test]
    fn incomplete_secrets_are_rejected_and_unclear_flags_are_false() {
        for (half, missing) in [("username", "password"), ("password", "username")] {
            assert_eq!(access(&[(half, "x")]).err(), Some(EntryError(missing)));
        }
        let access = access(&[("insecureSkipVerify", "yes"), ("basicHTTP", "true")]).unwrap();
        assert!(!access.insecure_skip_tls_verify && access.plain_http);
    }

    #[test]
    fn only_http_and_oci_addresses_are_fetched() {
        let pair = |repo: &str, chart: &str| Ok((repo.to_owned(), chart.to_owned()));
        let repo = "https://charts.example";
        assert_eq!(address(repo, "web"), pair(repo, "web"));
        assert_eq!(address("", "https://x/a.tgz"), pair("", "https://x/a.tgz"));
        assert_eq!(address("", "oci://x/a"), pair("", "oci://x/a"));
        assert_eq!(address("oci://x/a", "ignored"), pair("", "oci://x/a"));
        for (repo, chart) in [
            ("", "git::https://x/a"),
            ("", "github.com/a/b"),
            ("", "file:///etc/passwd"),
            ("file:///etc", "passwd"),
            ("@alias", "web"),
        ] {
            assert!(address(repo, chart).is_err(), "{repo} {chart}");
        }
    }

    #[test]
    fn dependencies_in_local_folders_have_no_address() {
        let expected = Some((String::new(), "oci://x/y/db".to_owned()));
        assert_eq!(dependency_address("oci://x/y/", "db"), expected);
        assert!(dependency_address("https://x", "db").is_some());
        for local in ["", "file://../db", "@alias", "alias:x"] {
            assert_eq!(dependency_address(local, "db"), None, "{local}");
        }
    }
}
