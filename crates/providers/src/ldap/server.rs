//! Server address and TLS configuration of a directory.

use std::fmt;
use std::sync::Arc;

use rustls::crypto::aws_lc_rs::default_provider;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio_rustls::TlsConnector;
use url::{Host, Url};

use crate::ProviderError;

/// Method by which a connection starts TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tls {
    /// TLS from the start: `ldaps://`.
    Immediate,
    /// TLS after the StartTLS operation (RFC 4511 §4.14): `ldap://`.
    AfterStartTls,
}

/// Address of a directory server.
#[derive(Clone, Debug)]
pub(super) struct Server {
    tls: Tls,
    host: String,
    port: u16,
    certificate_name: ServerName<'static>,
}

impl Server {
    /// Parses `ldaps://host[:port]` or `ldap://host[:port]`.
    pub(super) fn parse(text: &str) -> Result<Self, ProviderError> {
        let wrong = |problem: &str| ProviderError::Misconfigured {
            field: "ldap.servers",
            problem: format!("{problem}; write ldaps://host or ldap://host, with :port if needed"),
        };
        let url = Url::parse(text).map_err(|_| wrong("a server is not a URL"))?;
        let (tls, port) = match url.scheme() {
            "ldaps" => (Tls::Immediate, 636),
            "ldap" => (Tls::AfterStartTls, 389),
            _ => return Err(wrong("a server has another scheme")),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong("a server contains a user name or a password"));
        }
        if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
            return Err(wrong("a server has more than a host and a port"));
        }
        let host = match url.host() {
            Some(Host::Domain(name)) if !name.is_empty() => name.to_ascii_lowercase(),
            Some(Host::Ipv4(address)) => address.to_string(),
            Some(Host::Ipv6(address)) => address.to_string(),
            _ => return Err(wrong("a server has no host")),
        };
        let certificate_name = ServerName::try_from(host.clone())
            .map_err(|_| wrong("a server has an invalid host name"))?;
        Ok(Self {
            tls,
            host,
            port: url.port().unwrap_or(port),
            certificate_name,
        })
    }

    pub(super) fn tls(&self) -> Tls {
        self.tls
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn certificate_name(&self) -> ServerName<'static> {
        self.certificate_name.clone()
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.tls {
            Tls::Immediate => "ldaps",
            Tls::AfterStartTls => "ldap",
        };
        if self.host.contains(':') {
            return write!(f, "{scheme}://[{}]:{}", self.host, self.port);
        }
        write!(f, "{scheme}://{}:{}", self.host, self.port)
    }
}

/// Creates a TLS connector that trusts only the certificate authorities of `ca_bundle`. Without
/// `ca_bundle`, the connector trusts the certificate authorities of the system.
pub(super) fn tls_connector(ca_bundle: Option<&str>) -> Result<TlsConnector, ProviderError> {
    let wrong = |problem: String| ProviderError::Misconfigured {
        field: "ldap.caBundle",
        problem,
    };
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong(format!("cannot configure TLS: {error}")))?;
    let builder = match ca_bundle {
        Some(pem) => builder.with_root_certificates(roots(pem).map_err(wrong)?),
        None => builder.with_platform_verifier().map_err(|error| {
            wrong(format!(
                "cannot load the certificate authorities of the system ({error}); enter those of the \
                 directory in PEM format"
            ))
        })?,
    };
    Ok(TlsConnector::from(Arc::new(builder.with_no_client_auth())))
}

fn roots(pem: &str) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        let certificate = certificate
            .map_err(|_| "the bundle is not PEM: enter certificates of authorities".to_owned())?;
        roots.add(certificate).map_err(|error| {
            format!("a certificate of the bundle is not a certificate authority: {error}")
        })?;
    }
    if roots.is_empty() {
        return Err(
            "the bundle contains no certificate: enter certificates of authorities in PEM format"
                .to_owned(),
        );
    }
    Ok(roots)
}
