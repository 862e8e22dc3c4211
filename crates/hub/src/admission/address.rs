//! The address of the server's admission webhook for calls from an external hub.

use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use thiserror::Error;

use super::review::PATH;

/// The address of the webhook: a URL, or a Service on the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A URL that consists of scheme, host and port.
    Url(String),
    /// A Service on the hub.
    Service {
        /// The Service's namespace.
        namespace: String,
        /// The Service's name.
        name: String,
        /// The Service's port. The default is 443.
        port: u16,
    },
}

/// The text of a webhook address is invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "invalid address: use https://HOST[:PORT], or NAMESPACE/NAME[:PORT] for a Service on the hub"
)]
pub struct AddressError;

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        if text.contains("://") {
            let uri: http::Uri = text.parse().map_err(|_| AddressError)?;
            let plain = uri.scheme_str() == Some("https") && matches!(uri.path(), "" | "/");
            let host = uri.host().is_some_and(|host| !host.is_empty());
            let authority = uri.authority().ok_or(AddressError)?.as_str();
            if !plain || !host || uri.query().is_some() || authority.contains('@') {
                return Err(AddressError);
            }
            return Ok(Self::Url(format!("https://{authority}")));
        }
        let (namespace, rest) = text.split_once('/').ok_or(AddressError)?;
        let (name, port) = match rest.split_once(':') {
            Some((name, port)) => (name, port.parse().map_err(|_| AddressError)?),
            None => (rest, 443),
        };
        let label = |text: &str| {
            let fits =
                |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
            !text.is_empty() && text.len() <= 63 && text.bytes().all(fits)
        };
        if !label(namespace) || !label(name) || port == 0 {
            return Err(AddressError);
        }
        Ok(Self::Service {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            port,
        })
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Url(url) => f.write_str(url),
            Self::Service {
                namespace,
                name,
                port,
            } => write!(f, "{namespace}/{name}:{port}"),
        }
    }
}

impl Address {
    /// Returns the DNS name or IP address that the server's certificate must contain for this
    /// address.
    pub fn certificate_name(&self) -> Option<String> {
        match self {
            Self::Url(url) => {
                let uri: http::Uri = url.parse().ok()?;
                Some(uri.host()?.trim_matches(['[', ']']).to_ascii_lowercase())
            }
            Self::Service {
                namespace, name, ..
            } => Some(format!("{name}.{namespace}.svc")),
        }
    }

    pub(super) fn client_config(&self, trust: Option<&str>, segment: &str) -> Value {
        let path = format!("{PATH}/{segment}");
        let mut config = match self {
            Self::Url(url) => json!({ "url": format!("{url}{path}") }),
            Self::Service {
                namespace,
                name,
                port,
            } => json!({ "service": {
                "namespace": namespace, "name": name, "port": port, "path": path,
            } }),
        };
        if let Some(trust) = trust {
            config["caBundle"] = STANDARD.encode(trust).into();
        }
        config
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn webhook_address_must_be_an_https_host_or_a_service() {
        for (text, expected) in [
            (
                "https://drover.example:8443",
                Some("https://drover.example:8443"),
            ),
            ("https://drover.example/", Some("https://drover.example")),
            ("drover-system/drover", Some("drover-system/drover:443")),
            (
                "drover-system/drover:8443",
                Some("drover-system/drover:8443"),
            ),
            ("http://drover.example", None),
            ("https://drover.example/path", None),
            ("https://me@drover.example", None),
            ("https://", None),
            ("drover", None),
            ("a/b/c", None),
            ("A/b", None),
            ("a/b:0", None),
            ("a/b:x", None),
        ] {
            let got = text
                .parse::<Address>()
                .ok()
                .map(|address| address.to_string());
            assert_eq!(got.as_deref(), expected, "{text}");
        }
    }
}
