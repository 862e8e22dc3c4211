//! Repository URLs.

use secrecy::SecretString;
use url::{Host, Url};

use crate::error::{GitError, printable};
use crate::request::Auth;

/// A parsed repository URL, without credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Location {
    /// Smart HTTP. The URL has neither user, query, fragment nor a trailing slash.
    Http(Url),
    Ssh {
        user: String,
        host: String,
        port: u16,
        path: String,
    },
}

/// The longest URL, in bytes.
const MAX_URL: usize = 2048;

fn invalid(reason: impl Into<String>) -> GitError {
    GitError::InvalidUrl {
        reason: reason.into(),
    }
}

impl Location {
    /// Parses a URL. Returns the credentials in the URL separately.
    pub(crate) fn parse(text: &str) -> Result<(Self, Option<Auth>), GitError> {
        let text = text.trim();
        if text.len() > MAX_URL || text.chars().any(|char| char.is_control() || char == ' ') {
            return Err(invalid(
                "it is too long, or contains spaces or control characters",
            ));
        }
        if !text.contains("://") {
            return Self::parse_scp(text).map(|location| (location, None));
        }
        let url = Url::parse(text).map_err(|error| invalid(error.to_string()))?;
        match url.scheme() {
            "http" | "https" => Ok(Self::of_http(url)),
            "ssh" | "git+ssh" => Self::of_ssh(&url).map(|location| (location, None)),
            other => Err(invalid(format!(
                "the scheme {:?} is not supported",
                printable(other)
            ))),
        }
    }

    fn of_http(mut url: Url) -> (Self, Option<Auth>) {
        let decode = |text: &str| percent_decoded(text).unwrap_or_else(|| text.to_owned());
        let auth = (!url.username().is_empty() || url.password().is_some()).then(|| Auth::Basic {
            username: decode(url.username()),
            password: SecretString::from(decode(url.password().unwrap_or_default())),
        });
        // Setting parts of an http URL cannot fail: the URL has a host.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        url.set_query(None);
        url.set_fragment(None);
        let path = url.path().trim_end_matches('/').to_owned();
        url.set_path(&path);
        (Self::Http(url), auth)
    }

    fn of_ssh(url: &Url) -> Result<Self, GitError> {
        let host = match url.host() {
            Some(Host::Ipv6(address)) => address.to_string(),
            Some(host) => host.to_string(),
            None => return Err(invalid("it has no host")),
        };
        let user =
            percent_decoded(url.username()).ok_or_else(|| invalid("the user name is not UTF-8"))?;
        let path = percent_decoded(url.path()).ok_or_else(|| invalid("the path is not UTF-8"))?;
        // `ssh://host/~user/repository` names a folder of a user.
        let path = path
            .strip_prefix("/~")
            .map(|rest| format!("~{rest}"))
            .unwrap_or(path);
        Self::ssh(&user, &host, url.port().unwrap_or(22), &path)
    }

    fn parse_scp(text: &str) -> Result<Self, GitError> {
        let (authority, path) = text
            .split_once(':')
            .ok_or_else(|| invalid("it has no scheme and no host"))?;
        let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        Self::ssh(user, host, 22, path)
    }

    fn ssh(user: &str, host: &str, port: u16, path: &str) -> Result<Self, GitError> {
        let plain = |char: char| char.is_ascii_alphanumeric() || "-._:".contains(char);
        if host.is_empty() || host.starts_with('-') || !host.chars().all(plain) {
            return Err(invalid("the host name is invalid"));
        }
        if path.is_empty() || path == "/" || path.starts_with('-') || path.contains('\0') {
            return Err(invalid("it has no path of a repository"));
        }
        Ok(Self::Ssh {
            user: if user.is_empty() { "git" } else { user }.to_owned(),
            host: host.to_ascii_lowercase(),
            port,
            path: path.to_owned(),
        })
    }

    /// Returns the URL for messages and for the name of the cache.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Http(url) => url.to_string(),
            Self::Ssh {
                user,
                host,
                port,
                path,
            } => {
                let user = printable(user);
                let slash = if path.starts_with('/') { "" } else { "/" };
                format!("ssh://{user}@{host}:{port}{slash}{}", printable(path))
            }
        }
    }

    /// Returns the host for messages.
    pub(crate) fn host(&self) -> String {
        match self {
            Self::Http(url) => authority(url),
            Self::Ssh { host, port, .. } => format!("{host}:{port}"),
        }
    }

    /// Returns the host without the port.
    pub(crate) fn host_name(&self) -> &str {
        match self {
            Self::Http(url) => url.host_str().unwrap_or_default(),
            Self::Ssh { host, .. } => host,
        }
    }

    /// Reports whether both locations have the same scheme, host and port. Only then are
    /// credentials of one location sent to the other.
    pub(crate) fn same_server(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Http(one), Self::Http(two)) => one.origin() == two.origin(),
            (
                Self::Ssh { host, port, .. },
                Self::Ssh {
                    host: other_host,
                    port: other_port,
                    ..
                },
            ) => host == other_host && port == other_port,
            _ => false,
        }
    }

    /// Returns the URL of a submodule. A relative URL starts with `./` or `../`, and is relative to
    /// this repository.
    pub(crate) fn submodule(&self, url: &str) -> Result<(Self, Option<Auth>), GitError> {
        if !url.starts_with("./") && !url.starts_with("../") {
            return Self::parse(url);
        }
        let path = match self {
            Self::Http(base) => base.path(),
            Self::Ssh { path, .. } => path,
        };
        let mut parts: Vec<&str> = path.split('/').collect();
        for part in url.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    // The first part of an absolute path is empty.
                    let removed = parts.pop();
                    if removed.is_none_or(str::is_empty) {
                        return Err(invalid("the submodule's relative URL leaves the server"));
                    }
                }
                name => parts.push(name),
            }
        }
        let path = parts.join("/");
        match self {
            Self::Http(base) => {
                let mut url = base.clone();
                url.set_path(&path);
                Ok((Self::Http(url), None))
            }
            Self::Ssh {
                user, host, port, ..
            } => Ok((Self::ssh(user, host, *port, &path)?, None)),
        }
    }
}

/// Returns the host and port of an HTTP URL.
pub(crate) fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port()
        .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

fn percent_decoded(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let code = (byte == b'%')
            .then(|| text.get(at + 1..at + 3))
            .flatten()
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        decoded.push(code.unwrap_or(byte));
        at += if code.is_some() { 3 } else { 1 };
    }
    String::from_utf8(decoded).ok()
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    fn shown(text: &str) -> Result<String, GitError> {
        Location::parse(text).map(|(location, _)| location.shown())
    }

    #[test]
    fn supported_forms_of_urls_are_parsed() {
        for (text, expected) in [
            ("https://host/a/b.git/", "https://host/a/b.git"),
            ("https://host:8443/a?x#y", "https://host:8443/a"),
            ("ssh://git@host/a", "ssh://git@host:22/a"),
            ("ssh://host:2222/~me/a", "ssh://git@host:2222/~me/a"),
            (
                "git@github.com:owner/name.git",
                "ssh://git@github.com:22/owner/name.git",
            ),
            ("me@host:/srv/a.git", "ssh://me@host:22/srv/a.git"),
        ] {
            assert_eq!(shown(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn other_schemes_options_and_empty_paths_are_rejected() {
        for text in [
            "file:///etc",
            "git://host/a",
            "ext::sh -c id",
            "/etc/passwd",
            "ssh://-oProxyCommand=id/a",
            "git@-oProxyCommand:a",
            "git@host:-oProxyCommand",
            "ssh://host/",
            "",
        ] {
            assert!(
                matches!(shown(text), Err(GitError::InvalidUrl { .. })),
                "{text}"
            );
        }
    }

    #[test]
    fn credentials_in_a_url_are_separated_from_the_location() {
        let (location, auth) = Location::parse("https://me:p%40ss@host/a").unwrap();
        assert_eq!(location.shown(), "https://host/a");
        let Some(Auth::Basic { username, password }) = auth else {
            panic!("no credentials");
        };
        assert_eq!(
            (username.as_str(), password.expose_secret()),
            ("me", "p@ss")
        );
    }

    #[test]
    fn relative_submodule_urls_stay_on_the_server() {
        let (base, _) = Location::parse("https://host/group/main.git").unwrap();
        let (other, _) = base.submodule("../lib.git").unwrap();
        assert_eq!(other.shown(), "https://host/group/lib.git");
        assert!(base.same_server(&other));
        assert!(base.submodule("../../../../x").is_err());
        let (foreign, _) = base.submodule("https://other/lib.git").unwrap();
        assert!(!base.same_server(&foreign));
    }
}
