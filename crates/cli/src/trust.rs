//! Whether a server's certificate is to be believed.
//!
//! ```text
//! --ca-file ─────────────► those authorities only
//! --ca-fingerprint ──────► the shown certificate with that SHA-256, as the only authority
//! remembered context ────► what was believed then
//! otherwise ─────────────► the system's roots; if they do not know it, show and ask once
//! ```

use std::sync::{Arc, OnceLock};

use aws_lc_rs::digest::{SHA256, digest};
use drover_tls::pem::to_pem;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};
use x509_parser::prelude::{FromDer, X509Certificate};

/// Who may vouch for a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// The authorities that this machine knows.
    SystemRoots,
    /// These and no others.
    Authorities(Authorities),
}

/// Certificates of authorities, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Authorities(Vec<CertificateDer<'static>>);

/// Why a server is not believed.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The given authorities are none.
    #[error(
        "{from} holds no certificate in PEM form{detail}; give the file of the server's authority"
    )]
    NoCertificates {
        /// Where they were looked for.
        from: String,
        /// What is wrong with it, if something can be said.
        detail: String,
    },
    /// The given fingerprint is none.
    #[error(
        "{0:?} is no SHA-256 fingerprint; write SHA256: and 64 hexadecimal digits, colons between them or not"
    )]
    Fingerprint(String),
    /// The server shows another authority than the one that was named.
    #[error(
        "{server} shows no certificate with the fingerprint {wanted}; it shows {shown}\n\
         Somebody may be in between. Compare the fingerprint with the one that the server printed \
         when it started."
    )]
    OtherFingerprint {
        /// Its address.
        server: String,
        /// What was named.
        wanted: Fingerprint,
        /// What it shows.
        shown: String,
    },
    /// Its authority is not among what it shows, so it cannot be remembered.
    #[error(
        "{0} is vouched for by an authority that this machine does not know and that it does not show; give it with --ca-file"
    )]
    AuthorityNotShown(String),
    /// What was believed before does not vouch for the server any more.
    #[error(
        "{server} is not vouched for by the authority that was trusted at the last login ({reason})\n\
         Somebody may be in between. If its authority was replaced, get the new one's fingerprint \
         from whoever runs the server and run: drover login {server} --ca-fingerprint SHA256:…"
    )]
    Changed {
        /// Its address.
        server: String,
        /// What the check said.
        reason: String,
    },
    /// The given authorities do not vouch for it.
    #[error("{server} is not vouched for by the given authority: {reason}")]
    NotVouchedFor {
        /// Its address.
        server: String,
        /// What the check said.
        reason: String,
    },
    /// This build's cryptography cannot do TLS.
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] rustls::Error),
}

/// SHA-256 of a certificate; shown as `SHA256:AB:CD:…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// That of a certificate in DER form.
    pub(crate) fn of(certificate: &[u8]) -> Self {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest(&SHA256, certificate).as_ref());
        Self(bytes)
    }

    /// Reads `SHA256:` and 64 hexadecimal digits; prefix and colons are optional.
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
    /// Reads the certificates of a PEM file; `from` says where they come from, for the error.
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

    /// The certificates as a PEM file.
    pub(crate) fn to_pem(&self) -> String {
        to_pem(&self.0)
    }

    /// A TLS client that believes these authorities only.
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

/// The certificates that a server showed: its own first.
#[derive(Debug)]
pub(crate) struct Shown(Vec<CertificateDer<'static>>);

impl Shown {
    /// The one with the given fingerprint, as the only authority.
    pub(crate) fn with_fingerprint(
        &self,
        wanted: Fingerprint,
        server: &str,
    ) -> Result<Authorities, TrustError> {
        let found = self.0.iter().find(|der| Fingerprint::of(der) == wanted);
        let line =
            |der: &CertificateDer<'_>| format!("\n  {} ({})", Fingerprint::of(der), subject(der));
        found
            .map(|der| Authorities(vec![der.clone()]))
            .ok_or_else(|| TrustError::OtherFingerprint {
                server: server.to_owned(),
                wanted,
                shown: self.0.iter().map(line).collect(),
            })
    }

    /// The authority at the end of the chain, with its name and fingerprint, if it is there.
    pub(crate) fn authority(
        &self,
        server: &str,
    ) -> Result<(Authorities, String, Fingerprint), TrustError> {
        let root = self.0.iter().find(|der| is_root(der));
        let root = root.ok_or_else(|| TrustError::AuthorityNotShown(server.to_owned()))?;
        Ok((
            Authorities(vec![root.clone()]),
            subject(root),
            Fingerprint::of(root),
        ))
    }
}

/// Whether a certificate is an authority that vouches for itself.
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

/// Notes what a server shows and then hangs up: nothing is ever sent to it.
#[derive(Debug)]
pub(crate) struct Look {
    provider: Arc<CryptoProvider>,
    shown: OnceLock<Vec<CertificateDer<'static>>>,
}

impl Look {
    /// Something to note with, and the TLS client that uses it.
    pub(crate) fn new() -> Result<(Arc<Self>, ClientConfig), TrustError> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let look = Arc::new(Self {
            provider: Arc::clone(&provider),
            shown: OnceLock::new(),
        });
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(Arc::clone(&look) as Arc<dyn ServerCertVerifier>)
            .with_no_client_auth();
        Ok((look, config))
    }

    /// What was shown, if a connection came that far.
    pub(crate) fn shown(&self) -> Option<Shown> {
        self.shown.get().cloned().map(Shown)
    }
}

impl ServerCertVerifier for Look {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let all = std::iter::once(end_entity).chain(intermediates);
        self.shown
            .get_or_init(|| all.map(|der| der.clone().into_owned()).collect());
        Err(rustls::Error::InvalidCertificate(
            CertificateError::UnknownIssuer,
        ))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_read_in_every_usual_spelling() {
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
    fn what_is_no_fingerprint_is_refused() {
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
    fn authorities_survive_their_pem_file() {
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
    fn a_file_without_certificates_is_refused_by_name() {
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
