//! The TLS certificate that all servers of a benchmark use.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem};
use rustls::{ClientConfig, RootCertStore, ServerConfig};

/// The reason why a certificate cannot be created or used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CertificateError {
    /// The certificate cannot be created.
    #[error("cannot create the certificate of the bench")]
    Make(#[from] rcgen::Error),
    /// A file cannot be written.
    #[error("cannot write {path}")]
    Write { path: PathBuf, source: io::Error },
    /// A PEM file cannot be read.
    #[error("cannot read {path}")]
    Read { path: PathBuf, source: pem::Error },
    /// The certificate cannot be used for TLS.
    #[error("cannot use {path} for TLS")]
    Use {
        path: PathBuf,
        source: rustls::Error,
    },
}

/// The files of a certificate for `127.0.0.1`: certificate, private key and CA certificate.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    pub(crate) authority: PathBuf,
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

/// Creates a CA and a certificate for loopback addresses in `folder`.
pub(crate) fn make(folder: &Path) -> Result<Files, CertificateError> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
    let key = KeyPair::generate()?;
    let leaf = CertificateParams::new(vec!["127.0.0.1".to_owned()])?.signed_by(&key, &authority)?;
    Ok(Files {
        authority: write(folder.join("bench-ca.crt"), &authority.pem())?,
        certificate: write(folder.join("bench.crt"), &leaf.pem())?,
        key: write(folder.join("bench.key"), &key.serialize_pem())?,
    })
}

fn write(path: PathBuf, text: &str) -> Result<PathBuf, CertificateError> {
    match fs::write(&path, text) {
        Ok(()) => Ok(path),
        Err(source) => Err(CertificateError::Write { path, source }),
    }
}

/// Creates a client configuration for HTTP/1.1 that trusts only the CA certificate in `path`.
pub(crate) fn client(path: &Path) -> Result<Arc<ClientConfig>, CertificateError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots.add(certificate).map_err(unusable(path))?;
    }
    let mut config = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// Creates a server configuration for HTTP/2 and HTTP/1.1.
pub(crate) fn server(
    certificate: &Path,
    key: &Path,
) -> Result<Arc<ServerConfig>, CertificateError> {
    let chain = certificates(certificate)?;
    let secret = PrivateKeyDer::from_pem_file(key).map_err(unreadable(key))?;
    let mut config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .map_err(unusable(certificate))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// Reads the certificates of a PEM file.
pub(crate) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect)
        .map_err(unreadable(path))
}

fn unreadable(path: &Path) -> impl FnOnce(pem::Error) -> CertificateError {
    move |source| CertificateError::Read {
        path: path.to_owned(),
        source,
    }
}

fn unusable(path: &Path) -> impl Fn(rustls::Error) -> CertificateError {
    move |source| CertificateError::Use {
        path: path.to_owned(),
        source,
    }
}
