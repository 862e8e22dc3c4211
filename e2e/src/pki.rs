//! Creates the certificates of a test cluster.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
};

/// The reason why a certificate or key cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum PkiError {
    /// The certificate cannot be created.
    #[error("cannot create the certificate of {subject}")]
    Sign {
        /// Common name of the certificate.
        subject: String,
        /// Error of the certificate library.
        source: rcgen::Error,
    },
    /// A file cannot be read or written.
    #[error("cannot store the certificate or key {path}")]
    Store {
        /// Path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// A certificate and its private key, both as PEM.
#[derive(Clone)]
pub struct KeyedCertificate {
    /// The certificate, as PEM.
    pub certificate: String,
    /// The private key in PKCS #8, as PEM.
    pub key: String,
}

impl std::fmt::Debug for KeyedCertificate {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("KeyedCertificate")
            .field("certificate", &self.certificate)
            .finish_non_exhaustive()
    }
}

/// The file paths of a certificate and its key.
#[derive(Clone, Debug)]
pub(crate) struct CertificateFiles {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl CertificateFiles {
    /// Returns the folder that contains the certificate file and the key file.
    pub(crate) fn folder(&self) -> &Path {
        self.key.parent().unwrap_or_else(|| Path::new("."))
    }
}

impl KeyedCertificate {
    /// Writes the certificate to `NAME.crt` and the key to `NAME.key` in `folder`.
    pub(crate) fn write(&self, folder: &Path, name: &str) -> Result<CertificateFiles, PkiError> {
        let files = CertificateFiles {
            certificate: folder.join(format!("{name}.crt")),
            key: folder.join(format!("{name}.key")),
        };
        write(&files.certificate, &self.certificate)?;
        write(&files.key, &self.key)?;
        Ok(files)
    }
}

/// A certificate authority of a test cluster.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    /// Opens the authority whose key is in `folder`. If `folder` contains no key, creates a key.
    /// Creates the certificate from the key, and writes the certificate to `folder`.
    pub(crate) fn open(folder: &Path, name: &str) -> Result<Self, PkiError> {
        let failed = |source| PkiError::Sign {
            subject: name.to_owned(),
            source,
        };
        let key_path = folder.join(format!("{name}.key"));
        let key = open_key(&key_path)?;
        let mut params = subject(name, None);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let issuer = CertifiedIssuer::self_signed(params, key).map_err(failed)?;
        write(&folder.join(format!("{name}.crt")), &issuer.pem())?;
        Ok(Self { issuer })
    }

    /// Returns the authority's certificate as PEM.
    pub(crate) fn certificate(&self) -> String {
        self.issuer.pem()
    }

    /// Creates a client certificate for a user with at most one group. The certificate library
    /// supports only one group.
    pub(crate) fn client(
        &self,
        user: &str,
        group: Option<&str>,
    ) -> Result<KeyedCertificate, PkiError> {
        let mut params = subject(user, group);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(user, params)
    }

    /// Creates a server certificate for these DNS names and IP addresses.
    pub(crate) fn server(
        &self,
        name: &str,
        alternatives: &[String],
    ) -> Result<KeyedCertificate, PkiError> {
        let mut params = subject(name, None);
        let names = CertificateParams::new(alternatives).map_err(|source| PkiError::Sign {
            subject: name.to_owned(),
            source,
        })?;
        params.subject_alt_names = names.subject_alt_names;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign(name, params)
    }

    fn sign(
        &self,
        subject: &str,
        mut params: CertificateParams,
    ) -> Result<KeyedCertificate, PkiError> {
        let failed = |source| PkiError::Sign {
            subject: subject.to_owned(),
            source,
        };
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate().map_err(failed)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(failed)?;
        Ok(KeyedCertificate {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        })
    }
}

/// Reads the private key (P-256, PKCS #8) at `path`. Creates the key if the file does not exist.
pub(crate) fn open_key(path: &Path) -> Result<KeyPair, PkiError> {
    let failed = |source| PkiError::Sign {
        subject: path.display().to_string(),
        source,
    };
    if path.exists() {
        let text = fs::read_to_string(path).map_err(|source| PkiError::Store {
            path: path.to_owned(),
            source,
        })?;
        return KeyPair::from_pem(&text).map_err(failed);
    }
    let key = KeyPair::generate().map_err(failed)?;
    write(path, &key.serialize_pem())?;
    Ok(key)
}

fn subject(name: &str, group: Option<&str>) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    if let Some(group) = group {
        params
            .distinguished_name
            .push(DnType::OrganizationName, group);
    }
    params
}

/// Writes a file that only its owner can read.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), PkiError> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    fs::OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|source| PkiError::Store {
            path: path.to_owned(),
            source,
        })
}
