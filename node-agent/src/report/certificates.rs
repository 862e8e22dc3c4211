//! Reads the expiry of serving certificates on the node.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use drover_api::kinds::CertificateExpiry;
use drover_tls::presented::{CertificateRecorder, Handshake};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use x509_parser::prelude::{FromDer as _, X509Certificate};

/// Timeout of the connection and the handshake.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Returns the expiry of the certificate that a server presents. Returns `None` if no server responds.
pub(super) async fn expiry(component: &str, address: SocketAddr) -> Option<CertificateExpiry> {
    let read = tokio::time::timeout(TIMEOUT, certificate(address)).await;
    let certificate = read.ok()??;
    let (_, parsed) = X509Certificate::from_der(&certificate).ok()?;
    let expires_at = Timestamp::from_second(parsed.validity().not_after.timestamp()).ok()?;
    Some(CertificateExpiry {
        component: component.to_owned(),
        expires_at: Time(expires_at),
    })
}

/// Returns the certificate of a server. Ends the connection after the handshake, without a request. An
/// expired certificate is a fact to report.
async fn certificate(address: SocketAddr) -> Option<CertificateDer<'static>> {
    let (recorder, config) = CertificateRecorder::new(Handshake::Completes).ok()?;
    let stream = TcpStream::connect(address).await.ok()?;
    let connector = TlsConnector::from(Arc::new(config));
    let name = ServerName::IpAddress(address.ip().into());
    connector.connect(name, stream).await.ok()?;
    recorder.certificates()?.first().cloned()
}
