//! The URL of a Kubernetes API.

use std::fmt;

use http::Uri;
use thiserror::Error;

/// Maximum length of a URL, in bytes.
const MAX_LENGTH: usize = 2048;

/// A text that is not the https URL of a Kubernetes API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the URL must be https://HOST[:PORT][/PATH], without a user, a query and a fragment")]
pub struct HttpsUrlError;

/// An https URL without a user, a query and a fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpsUrl {
    host: String,
    port: u16,
    path: String,
}

impl HttpsUrl {
    /// Parses a URL. Removes `/` at the end of the path.
    ///
    /// # Errors
    ///
    /// The URL has another scheme than https, no host, or a user, a query, a fragment or `..`.
    pub fn parse(text: &str) -> Result<Self, HttpsUrlError> {
        let text = text.trim();
        if text.len() > MAX_LENGTH || text.contains('#') {
            return Err(HttpsUrlError);
        }
        let uri: Uri = text.parse().map_err(|_| HttpsUrlError)?;
        let authority = uri.authority().ok_or(HttpsUrlError)?;
        let path = uri.path().trim_end_matches('/');
        let has_dots = path.split('/').any(|part| matches!(part, "." | ".."));
        let is_plain = uri.scheme_str() == Some("https")
            && !authority.as_str().contains('@')
            && uri.query().is_none()
            && !has_dots
            && !path.contains(['%', '\\']);
        let host = authority.host();
        let host = host.strip_prefix('[').unwrap_or(host);
        let host = host.strip_suffix(']').unwrap_or(host);
        let port = match authority.port() {
            Some(port) => port.as_u16(),
            None if authority.as_str().ends_with(':') => return Err(HttpsUrlError),
            None => 443,
        };
        if !is_plain || host.is_empty() {
            return Err(HttpsUrlError);
        }
        Ok(Self {
            host: host.to_owned(),
            port,
            path: path.to_owned(),
        })
    }

    /// Returns the host without brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the port, 443 by default.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the path without `/` at the end. Empty for no path.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }
}

impl fmt::Display for HttpsUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, path } = self;
        if host.contains(':') {
            write!(f, "https://[{host}]:{port}{path}")
        } else {
            write!(f, "https://{host}:{port}{path}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_https_urls_are_accepted() {
        for (text, expected) in [
            ("https://a.example", "https://a.example:443"),
            (" https://a.example:6443/ ", "https://a.example:6443"),
            ("https://[fd00::1]:6443", "https://[fd00::1]:6443"),
            (
                "https://a/k8s/clusters/local/",
                "https://a:443/k8s/clusters/local",
            ),
        ] {
            assert_eq!(HttpsUrl::parse(text).unwrap().to_string(), expected);
        }
        for text in [
            "",
            "a.example",
            "http://a.example",
            "https://",
            "https://user@a.example",
            "https://a.example?x=1",
            "https://a.example#x",
            "https://a.example/../x",
            "https://a.example/%2e%2e/x",
            "file:///etc/passwd",
        ] {
            assert_eq!(HttpsUrl::parse(text), Err(HttpsUrlError), "{text}");
        }
    }
}
