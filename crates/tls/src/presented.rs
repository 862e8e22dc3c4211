//! The certificates that a server presents in a TLS handshake.

use std::sync::{Arc, OnceLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, SignatureScheme};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

/// A verifier that records the presented certificates and trusts none of them.
///
/// A client with this verifier must send no data.
#[derive(Debug)]
pub struct CertificateRecorder {
    provider: Arc<CryptoProvider>,
    handshake: Handshake,
    presented: OnceLock<Vec<CertificateDer<'static>>>,
}

/// The end of the handshake in which a [`CertificateRecorder`] records certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handshake {
    /// The handshake fails with [`CertificateError::UnknownIssuer`], so that the client sends no
    /// request.
    Fails,
    /// The handshake completes, so that the server logs no error.
    Completes,
}

impl CertificateRecorder {
    /// Creates a recorder and the TLS configuration that uses it.
    pub fn new(handshake: Handshake) -> Result<(Arc<Self>, ClientConfig), rustls::Error> {
        let provider = Arc::new(default_provider());
        let recorder = Arc::new(Self {
            provider: Arc::clone(&provider),
            handshake,
            presented: OnceLock::new(),
        });
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(Arc::clone(&recorder) as Arc<dyn ServerCertVerifier>)
            .with_no_client_auth();
        Ok((recorder, config))
    }

    /// Returns the server's certificates, its own certificate first. Returns `None` if the server
    /// presented no certificates.
    pub fn certificates(&self) -> Option<&[CertificateDer<'static>]> {
        self.presented.get().map(Vec::as_slice)
    }
}

impl ServerCertVerifier for CertificateRecorder {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let all = std::iter::once(end_entity).chain(intermediates);
        self.presented
            .get_or_init(|| all.map(|der| der.clone().into_owned()).collect());
        match self.handshake {
            Handshake::Fails => Err(CertificateError::UnknownIssuer.into()),
            Handshake::Completes => Ok(ServerCertVerified::assertion()),
        }
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
