//! The server that an agent connects to, as the import manifest defines it.

use std::collections::BTreeMap;

use drover_api::ids::ClusterUid;
use http::Uri;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use thiserror::Error;

/// Name of the ConfigMap with the binding. The import manifest creates the ConfigMap.
pub const BINDING_CONFIG_MAP: &str = "drover-agent-server";

/// Keys in the data of the ConfigMap [`BINDING_CONFIG_MAP`].
pub mod data {
    /// Key of the server's URL, `https://host:port`.
    pub const SERVER_URL: &str = "server-url";
    /// Key of the CA certificates in PEM. The agent trusts only these CA certificates.
    pub const SERVER_CA: &str = "server-ca.crt";
    /// Key of the Cluster's UID.
    pub const CLUSTER_UID: &str = "cluster-uid";
}

/// The binding in the manifest is not valid.
#[derive(Debug, Error)]
pub enum BindingError {
    /// The ConfigMap lacks a key, or its value is empty.
    #[error(
        "ConfigMap drover-agent-server has no {key}; apply the manifest of \"drover cluster \
         import\" again", key = .0
    )]
    Missing(&'static str),
    /// The server URL is not an https origin.
    #[error(
        "ConfigMap drover-agent-server: server-url must be https://host[:port], not {url:?}",
        url = .0
    )]
    Url(String),
    /// The value of the CA key is not PEM.
    #[error("ConfigMap drover-agent-server: server-ca.crt contains no PEM certificate")]
    Authority,
    /// rustls rejects one of the CA certificates.
    #[error(
        "ConfigMap drover-agent-server: a certificate in server-ca.crt cannot be used: {cause}",
        cause = .0
    )]
    Root(#[source] rustls::Error),
}

/// The address and trusted CA certificates of the server, and the UID of the Cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerBinding {
    /// Host of the server URL, without brackets.
    pub host: String,
    /// Port of the server URL, 443 by default.
    pub port: u16,
    /// The trusted CA certificates, in DER.
    pub roots: Vec<CertificateDer<'static>>,
    /// UID of the Cluster object to which the agent belongs.
    pub cluster_uid: ClusterUid,
}

impl ServerBinding {
    /// Parses the data of [`BINDING_CONFIG_MAP`].
    pub fn read(map: &BTreeMap<String, String>) -> Result<Self, BindingError> {
        let get = |key| {
            map.get(key)
                .map(|text| text.trim())
                .filter(|text| !text.is_empty())
                .ok_or(BindingError::Missing(key))
        };
        let url = get(data::SERVER_URL)?;
        let (host, port) = origin(url).ok_or_else(|| BindingError::Url(url.to_owned()))?;
        let roots: Vec<_> = CertificateDer::pem_slice_iter(get(data::SERVER_CA)?.as_bytes())
            .collect::<Result<_, _>>()
            .map_err(|_| BindingError::Authority)?;
        if roots.is_empty() {
            return Err(BindingError::Authority);
        }
        Ok(Self {
            host,
            port,
            roots,
            cluster_uid: ClusterUid::new(get(data::CLUSTER_UID)?),
        })
    }

    /// Returns the host and the port, for messages and the `Host` header.
    pub fn authority(&self) -> String {
        authority(&self.host, self.port)
    }
}

/// Returns a host without brackets and a port as the authority of a URL.
pub(crate) fn authority(host: &str, port: u16) -> String {
    if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }
}

/// Returns the host without brackets, and the port.
fn origin(url: &str) -> Option<(String, u16)> {
    let uri: Uri = url.parse().ok()?;
    let authority = uri.authority()?;
    let plain = uri.scheme_str() == Some("https")
        && !authority.as_str().contains('@')
        && matches!(uri.path(), "" | "/")
        && uri.query().is_none();
    let host = authority
        .host()
        .trim_start_matches('[')
        .trim_end_matches(']');
    (plain && !host.is_empty()).then(|| (host.to_owned(), authority.port_u16().unwrap_or(443)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binding_error_names_the_invalid_key() {
        let certificate = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n";
        let read = |url: &str, ca: &str, uid: &str| {
            ServerBinding::read(&BTreeMap::from([
                (data::SERVER_URL.to_owned(), url.to_owned()),
                (data::SERVER_CA.to_owned(), ca.to_owned()),
                (data::CLUSTER_UID.to_owned(), uid.to_owned()),
            ]))
        };
        for (url, ca, uid, expected) in [
            ("", certificate, "u", "server-url"),
            ("http://h", certificate, "u", "server-url"),
            ("https://h/path", certificate, "u", "server-url"),
            ("https://a@h", certificate, "u", "server-url"),
            ("https://h", "", "u", "server-ca.crt"),
            ("https://h", "not pem", "u", "server-ca.crt"),
            ("https://h", certificate, " ", "cluster-uid"),
        ] {
            let error = read(url, ca, uid).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let good = read("https://[::1]:8443", certificate, "u").unwrap();
        assert_eq!((good.host.as_str(), good.port), ("::1", 8443));
        assert_eq!(good.authority(), "[::1]:8443");
        assert_eq!(read("https://h", certificate, "u").unwrap().port, 443);
    }
}
