//! Verification of the server's certificate.
//!
//! ```text
//! --ca-file ─────────────► these certificate authorities only
//! --ca-fingerprint ──────► the presented certificate with this SHA-256, as the only authority
//! stored context ────────► the stored authority, or the authorities of the system
//! otherwise ─────────────► the authorities of the system. If verification fails, ask the user once
//! ```

use aws_lc_rs::digest::{SHA256, digest};
use drover_tls::pem::to_pem;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use x509_parser::prelude::{FromDer, X509Certificate};

/// The trusted certificate authorities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// The certificate authorities that the operating system trusts.
    SystemRoots,
    /// The client trusts only these certificate authorities.
    Authorities(Authorities),
}

/// Certificates of at least one certificate authority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Authorities(Vec<CertificateDer<'static>>);

/// The error of verifying a server.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The PEM file or text contains no certificates.
    #[error(
        "cannot read a PEM certificate from {from}{detail}; use the certificate file of the \
         server's certificate authority"
    )]
    NoCertificates {
        /// Source of the PEM text, such as a path.
        from: String,
        /// Error of the parser, if any.
        detail: String,
    },
    /// The fingerprint cannot be parsed.
    #[error(
        "cannot use {text:?} as a SHA-256 fingerprint; write SHA256: and 64 hexadecimal digits, \
         with or without colons", text = .0
    )]
    Fingerprint(String),
    /// The expected fingerprint differs from the fingerprints of all certificates that the server
    /// presents.
    #[error(
        "{server} presents no certificate with the fingerprint {expected_fingerprint}. Presented \
         certificates: {presented_certificates}\nThe connection may be intercepted. Compare the \
         fingerprint with the fingerprint that the server printed at its start.",
         expected_fingerprint = .expected, presented_certificates = .shown
    )]
    OtherFingerprint {
        /// Address of the server.
        server: String,
        /// The expected fingerprint.
        expected: Fingerprint,
        /// Fingerprints of the presented certificates.
        shown: String,
    },
    /// The certificate chain that the server sends does not contain the certificate of the server's
    /// authority.
    #[error(
        "cannot verify {server}: this machine does not trust the certificate authority of the \
         server, and the server does not present the certificate of this authority; use --ca-file",
         server = .0
    )]
    AuthorityNotPresented(String),
    /// The server's certificate is not signed by the certificate authority that the context stores.
    #[error(
        "cannot verify {server} with the certificate authority of the last login: {reason}\nThe \
         connection may be intercepted. If the certificate authority was replaced, get the \
         fingerprint of the new certificate authority from the operator of the server and run: \
         drover login {server} --ca-fingerprint SHA256:…"
    )]
    AuthorityChanged {
        /// Address of the server.
        server: String,
        /// Error of the certificate verification.
        reason: String,
    },
    /// The server's certificate is not signed by the authorities that the user selected or
    /// confirmed.
    #[error("cannot verify {server} with the given certificate authority: {reason}")]
    NotSigned {
        /// Address of the server.
        server: String,
        /// Error of the certificate verification.
        reason: String,
    },
    /// The TLS client cannot be created.
    #[error("cannot set up TLS: {cause}", cause = .0)]
    Tls(#[from] rustls::Error),
}

/// SHA-256 of a certificate, printed as `SHA256:AB:CD:…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Computes the fingerprint of a certificate in DER form.
    pub(crate) fn of(certificate: &[u8]) -> Self {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest(&SHA256, certificate).as_ref());
        Self(bytes)
    }

    /// Parses `SHA256:` and 64 hexadecimal digits. The prefix and the colons are optional.
    pub(crate) fn parse(text: &str) -> Result<Self, TrustError> {
        let wrong = || TrustError::Fingerprint(text.to_owned());
        let upper = text.trim().to_ascii_uppercase();
        let digits: String = upper
            .strip_prefix("SHA256:")
            .unwrap_or(&upper)
            .chars()
            .filter(|c| *c != ':')
            .collect();
        if digits.len() != 64 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(wrong());
        }
        let mut bytes = [0; 32];
        for (i, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).map_err(|_| wrong())?;
        }
        Ok(Self(bytes))
    }
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SHA256")?;
        self.0.iter().try_for_each(|byte| write!(f, ":{byte:02X}"))
    }
}

impl Authorities {
    /// Parses a PEM file. Errors contain `from` as the source.
    pub(crate) fn from_pem(pem: &[u8], from: &str) -> Result<Self, TrustError> {
        let none = |detail: String| TrustError::NoCertificates {
            from: from.to_owned(),
            detail,
        };
        let certificates: Vec<_> = CertificateDer::pem_slice_iter(pem)
            .collect::<Result<_, _>>()
            .map_err(|error| none(format!(" ({error})")))?;
        if certificates.is_empty() {
            return Err(none(String::new()));
        }
        let mut store = RootCertStore::empty();
        for certificate in &certificates {
            store
                .add(certificate.clone())
                .map_err(|error| none(format!(" ({error})")))?;
        }
        Ok(Self(certificates))
    }

    /// Encodes the certificates as PEM.
    pub(crate) fn to_pem(&self) -> String {
        to_pem(&self.0)
    }

    /// Creates the configuration of a TLS client that trusts these authorities only.
    pub(crate) fn tls(&self) -> Result<ClientConfig, TrustError> {
        let mut store = RootCertStore::empty();
        for certificate in &self.0 {
            store.add(certificate.clone())?;
        }
        Ok(ClientConfig::builder()
            .with_root_certificates(store)
            .with_no_client_auth())
    }
}

/// The certificates that a server presented, the server's own certificate first.
#[derive(Debug)]
pub(crate) struct PresentedCertificates(Vec<CertificateDer<'static>>);

impl From<&[CertificateDer<'static>]> for PresentedCertificates {
    fn from(certificates: &[CertificateDer<'static>]) -> Self {
        Self(certificates.to_vec())
    }
}

impl PresentedCertificates {
    /// Returns [`Authorities`] with only the certificate that has this fingerprint.
    pub(crate) fn with_fingerprint(
        &self,
        expected: Fingerprint,
        server: &str,
    ) -> Result<Authorities, TrustError> {
        let found = self.0.iter().find(|der| Fingerprint::of(der) == expected);
        let line =
            |der: &CertificateDer<'_>| format!("\n  {} ({})", Fingerprint::of(der), subject(der));
        found
            .map(|der| Authorities(vec![der.clone()]))
            .ok_or_else(|| TrustError::OtherFingerprint {
                server: server.to_owned(),
                expected,
                shown: self.0.iter().map(line).collect(),
            })
    }

    /// Returns the certificate authority of the chain, with its name and fingerprint.
    pub(crate) fn authority(
        &self,
        server: &str,
    ) -> Result<(Authorities, String, Fingerprint), TrustError> {
        let root = self.0.iter().find(|der| is_root(der));
        let root = root.ok_or_else(|| TrustError::AuthorityNotPresented(server.to_owned()))?;
        Ok((
            Authorities(vec![root.clone()]),
            subject(root),
            Fingerprint::of(root),
        ))
    }
}

/// Reports whether a certificate is a self-signed certificate authority.
fn is_root(der: &[u8]) -> bool {
    X509Certificate::from_der(der).is_ok_and(|(_, certificate)| {
        certificate.is_ca() && certificate.subject() == certificate.issuer()
    })
}

fn subject(der: &[u8]) -> String {
    X509Certificate::from_der(der).map_or_else(
        |_| "unreadable".to_owned(),
        |(_, certificate)| certificate.subject().to_string(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_are_parsed_in_all_notations() {
        let print = Fingerprint::of(b"certificate");
        let shown = print.to_string();
        assert!(shown.starts_with("SHA256:") && shown.len() == 6 + 32 * 3);
        let bare: String = shown[7..].chars().filter(|c| *c != ':').collect();
        for text in [
            shown.clone(),
            shown.to_lowercase(),
            bare.clone(),
            format!("sha256:{bare}"),
        ] {
            assert_eq!(Fingerprint::parse(&text).unwrap(), print, "{text}");
        }
    }

    #[test]
    fn invalid_fingerprints_are_rejected() {
        let short = "AB:".repeat(31);
        for text in [
            "",
            "SHA256:",
            short.as_str(),
            &"zz".repeat(32),
            &"é".repeat(32),
        ] {
            assert!(Fingerprint::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn certificate_authorities_round_trip_through_pem() {
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = rcgen::CertificateParams::new(Vec::new())
            .unwrap()
            .self_signed(&key)
            .unwrap();
        let read = Authorities::from_pem(certificate.pem().as_bytes(), "x").unwrap();
        assert_eq!(
            Authorities::from_pem(read.to_pem().as_bytes(), "x").unwrap(),
            read
        );
    }

    #[test]
    fn error_for_a_file_without_certificates_contains_its_path() {
        for pem in [
            "",
            "hello",
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        ] {
            let error = Authorities::from_pem(pem.as_bytes(), "ca.pem").unwrap_err();
            assert!(error.to_string().contains("ca.pem"), "{error}");
        }
    }
}
