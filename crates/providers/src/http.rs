//! What every request to a provider over HTTP keeps to: TLS only, no redirects, a limit of time and one
//! of size.

use std::time::Duration;

use reqwest::{Certificate, ClientBuilder, Response, redirect};
use rustls::crypto::{CryptoProvider, aws_lc_rs};

/// Longest body of an answer that is read, in bytes.
pub(crate) const MOST_BYTES: usize = 1024 * 1024;

/// The authorities in a bundle (PEM); `None` if it holds none.
pub(crate) fn authorities(bundle: &str) -> Option<Vec<Certificate>> {
    let found = Certificate::from_pem_bundle(bundle.as_bytes()).ok()?;
    (!found.is_empty()).then_some(found)
}

/// A client that believes these authorities only, or else the system's, and gives each request so long.
pub(crate) fn client(authorities: Option<Vec<Certificate>>, patience: Duration) -> ClientBuilder {
    if CryptoProvider::get_default().is_none() {
        // Fails only if another thread was faster, with the one provider that there is.
        let _ = aws_lc_rs::default_provider().install_default();
    }
    let builder = reqwest::Client::builder()
        .https_only(true)
        // A redirect could carry a code, a token or a secret to somebody else.
        .redirect(redirect::Policy::none())
        .timeout(patience)
        .user_agent(concat!("drover/", env!("CARGO_PKG_VERSION")));
    match authorities {
        Some(authorities) => builder.tls_certs_only(authorities),
        None => builder,
    }
}

/// The whole body of an answer; `None` if it is longer than [`MOST_BYTES`].
pub(crate) async fn body(response: &mut Response) -> reqwest::Result<Option<Vec<u8>>> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > MOST_BYTES {
            return Ok(None);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Some(body))
}
