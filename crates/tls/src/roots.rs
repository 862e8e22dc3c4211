//! CA certificates for agents and other clients.

use std::path::Path;

use rustls::RootCertStore;
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::server::ParsedCertificate;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, UnixTime};
use x509_parser::prelude::{FromDer as _, X509Certificate};

use super::{TlsError, read};
use crate::pem::to_pem;

/// A list of one or more CA certificates.
#[derive(Clone, Debug)]
pub struct Roots {
    certificates: Vec<CertificateDer<'static>>,
    anchors: RootCertStore,
}

impl Roots {
    /// Reads a file of certificates. Returns an error if the file contains a key, because Drover
    /// distributes the content to clients.
    pub fn read(path: &Path) -> Result<Self, TlsError> {
        let text = read(path)?;
        if let Some(kind) = foreign_block(&text) {
            return Err(TlsError::NotOnlyCertificates {
                path: path.to_owned(),
                kind: kind.to_owned(),
            });
        }
        let nothing = || TlsError::NoCertificate {
            path: path.to_owned(),
        };
        let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
        let found = found.map_err(|_| nothing())?;
        if found.is_empty() {
            return Err(nothing());
        }
        Self::of(found).map_err(|source| TlsError::NoAuthority {
            path: path.to_owned(),
            source,
        })
    }

    /// Returns the CA certificate at the end of a chain, or a self-signed leaf certificate.
    ///
    /// Returns `None` if the chain omits its root. Chains of public CAs usually omit the root, and
    /// public CAs replace their intermediate certificates.
    pub fn ending(chain: &str) -> Option<Self> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(chain.as_bytes()).collect();
        let last = chain.ok()?.pop()?;
        let (_, certificate) = X509Certificate::from_der(&last).ok()?;
        if certificate.issuer() != certificate.subject() {
            return None;
        }
        Self::of(vec![last.clone()]).ok()
    }

    fn of(certificates: Vec<CertificateDer<'static>>) -> Result<Self, rustls::Error> {
        let mut anchors = RootCertStore::empty();
        for certificate in &certificates {
            anchors.add(certificate.clone())?;
        }
        Ok(Self {
            certificates,
            anchors,
        })
    }

    /// Returns the certificates, in DER.
    pub fn certificates(&self) -> &[CertificateDer<'static>] {
        &self.certificates
    }

    /// Returns the certificates as PEM text.
    pub fn to_pem(&self) -> String {
        to_pem(&self.certificates)
    }

    /// Checks whether a client that trusts only these certificates accepts the chain at the given
    /// time. Ignores host names.
    pub fn verify_chain(
        &self,
        chain: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), rustls::Error> {
        let Some((leaf, others)) = chain.split_first() else {
            return Err(rustls::Error::NoCertificatesPresented);
        };
        let leaf = ParsedCertificate::try_from(leaf)?;
        let algorithms = default_provider().signature_verification_algorithms.all;
        verify_server_cert_signed_by_trust_anchor(&leaf, &self.anchors, others, now, algorithms)
    }
}

/// Returns the PEM label of the first block that is not a certificate, if any.
fn foreign_block(text: &str) -> Option<&str> {
    let begun = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("-----BEGIN "));
    begun
        .map(|label| label.trim_end_matches('-'))
        .find(|label| *label != "CERTIFICATE")
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

    use super::*;

    /// A test CA that signs leaf certificates.
    pub(crate) struct Authority {
        pub(crate) pem: String,
        issuer: Issuer<'static, KeyPair>,
    }

    impl Authority {
        pub(crate) fn new() -> Self {
            let key = KeyPair::generate().unwrap();
            let mut params = CertificateParams::default();
            params
                .distinguished_name
                .push(DnType::CommonName, "authority");
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            let pem = params.self_signed(&key).unwrap().pem();
            let issuer = Issuer::new(params, key);
            Self { pem, issuer }
        }

        /// Returns a leaf certificate and its key, both in PEM.
        pub(crate) fn leaf(&self, name: &str) -> (String, String) {
            let key = KeyPair::generate().unwrap();
            let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
            let leaf = params.signed_by(&key, &self.issuer).unwrap();
            (leaf.pem(), key.serialize_pem())
        }
    }

    fn written(text: &str) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ca.crt");
        std::fs::write(&path, text).unwrap();
        (folder, path)
    }

    fn chain(pem: &str) -> Vec<CertificateDer<'static>> {
        CertificateDer::pem_slice_iter(pem.as_bytes())
            .map(Result::unwrap)
            .collect()
    }

    #[test]
    fn error_for_a_ca_file_with_a_private_key_hides_the_key() {
        let Authority { pem, .. } = Authority::new();
        let key = KeyPair::generate().unwrap().serialize_pem();
        let sealed = key.replace("PRIVATE", "ENCRYPTED PRIVATE");
        let indented = key.replace("-----BEGIN", "  -----BEGIN");
        for beside in [&key, &sealed, &indented] {
            for text in [format!("{pem}{beside}"), format!("{beside}{pem}")] {
                let (_folder, path) = written(&text);
                let error = Roots::read(&path).unwrap_err().to_string();
                let named = error.contains("ca.crt") && error.contains("PRIVATE KEY");
                assert!(named, "{error}");
                let secret = key.lines().nth(1).unwrap();
                assert!(!error.contains(secret), "{error}");
            }
        }
    }

    #[test]
    fn trusted_ca_pem_contains_only_certificates() {
        let (one, two) = (Authority::new().pem, Authority::new().pem);
        let windows = two.replace('\n', "\r\n");
        let (_folder, path) = written(&format!("the password is hunter2\n{one}\n# two\n{windows}"));
        let roots = Roots::read(&path).unwrap();
        assert_eq!(chain(&roots.to_pem()), chain(&format!("{one}{two}")));
        let lines = roots.to_pem();
        let block = |line: &str| line.starts_with("-----") || STANDARD.decode(line).is_ok();
        assert!(lines.lines().all(block), "{lines}");
        assert!(!lines.contains("hunter2"), "{lines}");

        for text in ["", "nonsense"] {
            let (_folder, path) = written(text);
            let error = Roots::read(&path).unwrap_err().to_string();
            assert!(error.contains("ca.crt"), "{error}");
        }
    }

    #[test]
    fn clients_trust_the_ca_of_the_certificate_chain() {
        let authority = Authority::new();
        let (leaf, key) = authority.leaf("d.example");
        let alone = rcgen::generate_simple_self_signed(vec!["d.example".to_owned()]).unwrap();
        let ending = |text: &str| Roots::ending(text).map(|roots| chain(&roots.to_pem()));

        let whole = format!("{leaf}{}", authority.pem);
        assert_eq!(ending(&whole), Some(chain(&authority.pem)));
        // The file may also contain the key, which is not returned.
        assert_eq!(
            ending(&format!("{whole}{key}")),
            Some(chain(&authority.pem))
        );
        assert_eq!(ending(&leaf), None);
        // Create a chain that omits the CA of this certificate.
        let mut params = CertificateParams::default();
        params
            .distinguished_name
            .push(DnType::CommonName, "intermediate");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key_between = KeyPair::generate().unwrap();
        let between = params.signed_by(&key_between, &authority.issuer).unwrap();
        assert_eq!(ending(&format!("{leaf}{}", between.pem())), None);
        assert_eq!(ending(&alone.cert.pem()), Some(chain(&alone.cert.pem())));
        assert_eq!(ending("nonsense"), None);
    }

    #[test]
    fn ca_verifies_its_certificates_until_their_expiry() {
        let (authority, other) = (Authority::new(), Authority::new());
        let (leaf, _) = authority.leaf("d.example");
        let alone = rcgen::generate_simple_self_signed(vec!["d.example".to_owned()]).unwrap();
        let alone = alone.cert.pem();
        let both = format!("{}{}", other.pem, authority.pem);
        let now = UnixTime::now();
        let vouches = |roots: &str, shown: &str, now| {
            let roots = Roots::of(chain(roots)).unwrap();
            roots.verify_chain(&chain(shown), now).is_ok()
        };
        assert!(vouches(&authority.pem, &leaf, now));
        assert!(vouches(&both, &leaf, now));
        assert!(vouches(&alone, &alone, now));
        // The other CA has the same name but another key.
        assert!(!vouches(&other.pem, &leaf, now));
        assert!(!vouches(&authority.pem, "", now));
        let long_after = UnixTime::since_unix_epoch(Duration::from_hours(24 * 365 * 9000));
        assert!(!vouches(&authority.pem, &leaf, long_after));
    }
}
