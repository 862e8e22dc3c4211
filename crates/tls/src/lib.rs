//! TLS certificates: the listener's chain and key, which can be replaced at run time, the CA
//! certificates that clients trust, and the certificates that servers present.
//!
//! *Owns* the parsing of certificate files, and the process's TLS provider. *Never* issues or
//! stores a certificate.

pub mod pem;
pub mod presented;
pub mod roots;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{Ticketer, default_provider};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use secrecy::{ExposeSecret as _, SecretString};
use thiserror::Error;

/// The reason why a certificate or key cannot be used.
#[derive(Debug, Error)]
pub enum TlsError {
    /// Drover cannot read a file.
    #[error("cannot read {path}")]
    File {
        /// Path of the unreadable file.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The content of the file is not PEM.
    #[error("the {content} is not PEM: the text must begin with -----BEGIN", content = .0)]
    Pem(&'static str),
    /// A file that Drover distributes to clients contains data other than certificates.
    #[error(
        "{path} contains a {kind}: the file must contain only certificates; remove all other data"
    )]
    NotOnlyCertificates {
        /// Path of the file that Drover distributes.
        path: PathBuf,
        /// PEM label of the unexpected data.
        kind: String,
    },
    /// A CA file contains no certificate.
    #[error("{path} contains no PEM certificate: use a file with the CA certificate")]
    NoCertificate {
        /// Path of the CA file.
        path: PathBuf,
    },
    /// A file contains a certificate that is not a valid CA.
    #[error("{path} contains an invalid CA certificate: use a file with valid CA certificates")]
    NoAuthority {
        /// Path of the file with the invalid CA certificate.
        path: PathBuf,
        /// Error of the certificate verifier.
        source: rustls::Error,
    },
    /// The listener's certificate does not chain to the CA certificates that agents trust.
    #[error(
        "agents would reject the certificate in {certificate}: the CA certificates in \
         {authority} do not verify this certificate. Renew the certificate, or set --tls-ca to \
         the CA that issued the certificate. A self-signed certificate needs basicConstraints \
         CA:FALSE",
        certificate = certificate.display(),
        authority = authority.display()
    )]
    UnverifiedCertificate {
        /// File with the certificate chain.
        certificate: PathBuf,
        /// File with the CA certificates for agents.
        authority: PathBuf,
        /// Error of the certificate verifier.
        source: Box<rustls::Error>,
    },
    /// The new listener certificate does not chain to the CA certificates that agents trust.
    #[error(
        "agents would reject the new certificate in {certificate}: the CA certificates that \
         agents trust (the content of {authority} at the server's start) do not verify this \
         certificate. Use a certificate of the same CA. To change the CA, restart the server and \
         import every cluster again",
        certificate = certificate.display(),
        authority = authority.display()
    )]
    OtherCa {
        /// File with the certificate chain.
        certificate: PathBuf,
        /// File with the CA certificates that agents already have.
        authority: PathBuf,
        /// Error of the certificate verifier.
        source: Box<rustls::Error>,
    },
    /// The key does not match the certificate, or rustls rejects the certificate or the key.
    #[error("the certificate and the private key do not match")]
    Rustls(#[from] rustls::Error),
}

/// A certificate chain and its private key, both in PEM.
#[derive(Clone)]
pub struct ServingCertificate {
    /// Certificate chain, leaf first.
    pub chain: String,
    /// Private key of the leaf certificate, in PKCS#8.
    pub key: SecretString,
}

impl std::fmt::Debug for ServingCertificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServingCertificate").finish_non_exhaustive()
    }
}

/// Reads a certificate chain and its key from files.
pub fn from_files(certificate: &Path, key: &Path) -> Result<ServingCertificate, TlsError> {
    Ok(ServingCertificate {
        chain: read(certificate)?,
        key: SecretString::from(read(key)?),
    })
}

fn read(path: &Path) -> Result<String, TlsError> {
    fs::read_to_string(path).map_err(|source| TlsError::File {
        path: path.to_owned(),
        source,
    })
}

/// The certificate that the listener presents to new connections. Clones share the certificate.
#[derive(Clone, Debug)]
pub struct ActiveCertificate(Arc<ArcSwap<CertifiedKey>>);

impl ActiveCertificate {
    /// Creates an active certificate from the chain and key in `serving`.
    pub fn new(serving: &ServingCertificate) -> Result<Self, TlsError> {
        Ok(Self(Arc::new(ArcSwap::from_pointee(certified(serving)?))))
    }

    /// Replaces the certificate. New connections use the new certificate.
    pub fn replace(&self, serving: &ServingCertificate) -> Result<(), TlsError> {
        self.0.store(Arc::new(certified(serving)?));
        Ok(())
    }

    /// Returns the current leaf certificate, in DER.
    pub fn leaf(&self) -> Option<CertificateDer<'static>> {
        self.0.load().cert.first().cloned()
    }

    /// Returns the TLS configuration of the listener: TLS 1.2 and 1.3, HTTP/2 and HTTP/1.1, session
    /// tickets.
    pub fn server_config(&self) -> Result<Arc<ServerConfig>, TlsError> {
        let builder = ServerConfig::builder_with_provider(Arc::new(default_provider()));
        let mut config = builder
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(self.clone()));
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        config.ticketer = Ticketer::new()?;
        Ok(Arc::new(config))
    }
}

impl ResolvesServerCert for ActiveCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.load_full())
    }
}

/// Parses the certificates of a chain, leaf first.
pub fn chain(serving: &ServingCertificate) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    CertificateDer::pem_slice_iter(serving.chain.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|_| TlsError::Pem("certificate chain"))
}

fn certified(serving: &ServingCertificate) -> Result<CertifiedKey, TlsError> {
    let chain = chain(serving)?;
    let key = PrivateKeyDer::from_pem_slice(serving.key.expose_secret().as_bytes())
        .map_err(|_| TlsError::Pem("private key"))?;
    Ok(CertifiedKey::from_der(chain, key, &default_provider())?)
}

/// Installs aws-lc-rs as the default TLS provider of this process.
pub fn install_provider() {
    if CryptoProvider::get_default().is_none() && default_provider().install_default().is_err() {
        tracing::debug!("another thread has installed the TLS provider");
    }
}
