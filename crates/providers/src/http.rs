//! Common settings of all HTTP requests to providers: TLS only, no redirects, a timeout and a
//! maximum response size.

use std::time::Duration;

use reqwest::{Certificate, ClientBuilder, Response, redirect};
use rustls::crypto::{CryptoProvider, aws_lc_rs};

/// Maximum size of a response body, in bytes.
pub(crate) const MAX_BYTES: usize = 1024 * 1024;

/// Parses a PEM bundle of certificate authorities. Returns `None` if the bundle contains no
/// certificate.
pub(crate) fn authorities(bundle: &str) -> Option<Vec<Certificate>> {
    let found = Certificate::from_pem_bundle(bundle.as_bytes()).ok()?;
    (!found.is_empty()).then_some(found)
}

/// Returns a client builder with a timeout per request. The client trusts only these certificate
/// authorities. Without `authorities`, the client trusts the certificate authorities of the system.
pub(crate) fn client(authorities: Option<Vec<Certificate>>, timeout: Duration) -> ClientBuilder {
    if CryptoProvider::get_default().is_none() {
        // Fails only if another thread installed the same provider first.
        let _ = aws_lc_rs::default_provider().install_default();
    }
    let builder = reqwest::Client::builder()
        .https_only(true)
        // A redirect could send a code, a token or a secret to another server.
        .redirect(redirect::Policy::none())
        .timeout(timeout)
        .user_agent(concat!("drover/", env!("CARGO_PKG_VERSION")));
    match authorities {
        Some(authorities) => builder.tls_certs_only(authorities),
        None => builder,
    }
}

/// Reads the complete response body. Returns `None` if the body exceeds [`MAX_BYTES`].
pub(crate) async fn body(response: &mut Response) -> reqwest::Result<Option<Vec<u8>>> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > MAX_BYTES {
            return Ok(None);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Some(body))
}
