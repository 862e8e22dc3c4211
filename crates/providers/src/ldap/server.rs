//! Where a directory is, and by whom its certificate may be signed.

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

/// When TLS begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tls {
    /// With the connection: `ldaps://`.
    First,
    /// After StartTLS (RFC 4511 §4.14): `ldap://`.
    AfterStart,
}

/// Where a directory is.
#[derive(Clone, Debug)]
pub(super) struct Server {
    tls: Tls,
    host: String,
    port: u16,
    certificate_name: ServerName<'static>,
}

impl Server {
    /// Reads `ldaps://host[:port]` or `ldap://host[:port]`.
    pub(super) fn parse(text: &str) -> Result<Self, ProviderError> {
        let wrong = |problem: &str| ProviderError::Misconfigured {
            field: "ldap.servers",
            problem: format!("{problem}; write ldaps://host or ldap://host, with :port if needed"),
        };
        let url = Url::parse(text).map_err(|_| wrong("one is no URL"))?;
        let (tls, port) = match url.scheme() {
            "ldaps" => (Tls::First, 636),
            "ldap" => (Tls::AfterStart, 389),
            _ => return Err(wrong("one has another scheme")),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong("one holds a name or a password"));
        }
        if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
            return Err(wrong("one has more than a host and a port"));
        }
        let host = match url.host() {
            Some(Host::Domain(name)) if !name.is_empty() => name.to_ascii_lowercase(),
            Some(Host::Ipv4(address)) => address.to_string(),
            Some(Host::Ipv6(address)) => address.to_string(),
            _ => return Err(wrong("one has no host")),
        };
        let certificate_name = ServerName::try_from(host.clone())
            .map_err(|_| wrong("one has a host that no certificate can be for"))?;
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
            Tls::First => "ldaps",
            Tls::AfterStart => "ldap",
        };
        if self.host.contains(':') {
            return write!(f, "{scheme}://[{}]:{}", self.host, self.port);
        }
        write!(f, "{scheme}://{}:{}", self.host, self.port)
    }
}

/// Makes TLS that believes these authorities only, or the system's.
pub(super) fn tls_that_believes(ca_bundle: Option<&str>) -> Result<TlsConnector, ProviderError> {
    let wrong = |problem: String| ProviderError::Misconfigured {
        field: "ldap.caBundle",
        problem,
    };
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong(format!("TLS cannot be had: {error}")))?;
    let builder = match ca_bundle {
        Some(pem) => builder.with_root_certificates(roots(pem).map_err(wrong)?),
        None => builder.with_platform_verifier().map_err(|error| {
            wrong(format!(
                "no authorities can be had from the system ({error}); give those of the \
                 directory's certificates, PEM"
            ))
        })?,
    };
    Ok(TlsConnector::from(Arc::new(builder.with_no_client_auth())))
}

fn roots(pem: &str) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        let certificate = certificate
            .map_err(|_| "it is not PEM: give certificates of authorities".to_owned())?;
        roots
            .add(certificate)
            .map_err(|error| format!("one of its certificates is no authority's: {error}"))?;
    }
    if roots.is_empty() {
        return Err("it holds no certificate: give those of authorities, PEM".to_owned());
    }
    Ok(roots)
}
