//! The road to the server: which one, how it is verified, and what it is asked.

mod call;
mod dial;
mod proxy;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use drover_api::ids::ClusterUid;
use http::Uri;
use rustls::ClientConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use thiserror::Error;

use crate::registration::data;

pub use call::CallError;
pub use dial::{DialError, Skew};
pub use proxy::{HopError, Proxy, ProxyUrl, ProxyUrlError};

/// Key of the binding ConfigMap that holds the Cluster's UID.
const CLUSTER_UID: &str = data::CLUSTER_UID;

/// Why the manifest's binding cannot be used.
#[derive(Debug, Error)]
pub enum BindingError {
    /// A key is absent or empty.
    #[error(
        "ConfigMap drover-agent-server has no {0}; apply the manifest of \"drover cluster import\" again"
    )]
    Missing(&'static str),
    /// The URL is not an https origin.
    #[error("ConfigMap drover-agent-server: server-url must be https://host[:port], not {0:?}")]
    Url(String),
    /// The CA certificate is not PEM.
    #[error("ConfigMap drover-agent-server: server-ca.crt holds no PEM certificate")]
    Authority,
    /// A certificate in it cannot be a root.
    #[error("ConfigMap drover-agent-server: a certificate in server-ca.crt cannot be used: {0}")]
    Root(#[source] rustls::Error),
}

/// Which server, verified by which roots, and as which Cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerBinding {
    /// Host as the URL spells it, without brackets.
    pub host: String,
    /// Port of the URL.
    pub port: u16,
    /// The only roots trusted, DER.
    pub roots: Vec<CertificateDer<'static>>,
    /// UID of the Cluster that this cluster is.
    pub cluster_uid: ClusterUid,
}

impl ServerBinding {
    /// Reads the ConfigMap of the manifest.
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
            cluster_uid: ClusterUid::new(get(CLUSTER_UID)?),
        })
    }

    /// Host and port, for people and for the `Host` header.
    pub fn authority(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

/// Host without brackets, and port.
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

/// A server that can be dialled.
#[derive(Clone)]
pub struct Server {
    binding: Arc<ServerBinding>,
    name: ServerName<'static>,
    tls: Arc<ClientConfig>,
    source: Option<IpAddr>,
    proxy: Option<Proxy>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("authority", &self.binding.authority())
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Prepares TLS that trusts the binding's roots and no others.
    pub fn new(binding: Arc<ServerBinding>) -> Result<Self, BindingError> {
        let mut roots = rustls::RootCertStore::empty();
        for root in &binding.roots {
            roots.add(root.clone()).map_err(BindingError::Root)?;
        }
        let name = ServerName::try_from(binding.host.clone())
            .map_err(|_| BindingError::Url(binding.host.clone()))?;
        let mut tls = ClientConfig::builder()
            .with_root_certificates(roots)
            .with_no_client_auth();
        // The tunnel's opening is an HTTP/1.1 upgrade.
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self {
            binding,
            name,
            tls: Arc::new(tls),
            source: None,
            proxy: None,
        })
    }

    /// The same server, dialled from this address of the machine where the server's is of the same
    /// family.
    #[must_use]
    pub const fn dialled_from(mut self, source: Option<IpAddr>) -> Self {
        self.source = source;
        self
    }

    /// The same server, dialled through this proxy.
    #[must_use]
    pub fn dialled_through(mut self, proxy: Option<Proxy>) -> Self {
        self.proxy = proxy;
        self
    }

    /// Which server this is.
    pub fn binding(&self) -> &ServerBinding {
        &self.binding
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binding_names_the_key_that_is_wrong() {
        let certificate = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n";
        let read = |url: &str, ca: &str, uid: &str| {
            ServerBinding::read(&BTreeMap::from([
                (data::SERVER_URL.to_owned(), url.to_owned()),
                (data::SERVER_CA.to_owned(), ca.to_owned()),
                (CLUSTER_UID.to_owned(), uid.to_owned()),
            ]))
        };
        for (url, ca, uid, wanted) in [
            ("", certificate, "u", "server-url"),
            ("http://h", certificate, "u", "server-url"),
            ("https://h/path", certificate, "u", "server-url"),
            ("https://a@h", certificate, "u", "server-url"),
            ("https://h", "", "u", "server-ca.crt"),
            ("https://h", "not pem", "u", "server-ca.crt"),
            ("https://h", certificate, " ", "cluster-uid"),
        ] {
            let error = read(url, ca, uid).unwrap_err().to_string();
            assert!(error.contains(wanted), "{error}");
        }
        let good = read("https://[::1]:8443", certificate, "u").unwrap();
        assert_eq!((good.host.as_str(), good.port), ("::1", 8443));
        assert_eq!(good.authority(), "[::1]:8443");
        assert_eq!(read("https://h", certificate, "u").unwrap().port, 443);
    }
}
