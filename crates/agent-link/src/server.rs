//! The client of the server. Dials the server with TLS, directly or through an HTTP proxy, and
//! calls its API.

mod call;
mod dial;
mod proxy;

use std::net::IpAddr;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;

use crate::binding::{BindingError, ServerBinding};

pub use call::CallError;
pub use dial::{ClockSkew, DialError};
pub use proxy::{Proxy, ProxyError, ProxyUrl, ProxyUrlError};

/// A client of the server whose address is in the binding.
#[derive(Clone)]
pub struct Server {
    binding: Arc<ServerBinding>,
    name: ServerName<'static>,
    tls: Arc<ClientConfig>,
    source: Option<IpAddr>,
    proxy: Option<Proxy>,
    keep_alive: bool,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("authority", &self.binding.authority())
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Creates a client that trusts only the CA certificates of the binding.
    pub fn new(binding: Arc<ServerBinding>) -> Result<Self, BindingError> {
        let mut roots = rustls::RootCertStore::empty();
        for root in &binding.roots {
            roots.add(root.clone()).map_err(BindingError::Root)?;
        }
        let name = ServerName::try_from(binding.host.clone())
            .map_err(|_| BindingError::Url(binding.host.clone()))?;
        let mut tls = ClientConfig::builder()
            .with_root_certificates(roots)
            .with_no_client_auth();
        // The tunnel opens with an HTTP/1.1 upgrade.
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self {
            binding,
            name,
            tls: Arc::new(tls),
            source: None,
            proxy: None,
            keep_alive: false,
        })
    }

    /// Sets the local address for outgoing connections. The client uses the local address if the
    /// server's address has the same family.
    #[must_use]
    pub const fn dialled_from(mut self, source: Option<IpAddr>) -> Self {
        self.source = source;
        self
    }

    /// Sets the HTTP proxy for the connections to the server.
    #[must_use]
    pub fn dialled_through(mut self, proxy: Option<Proxy>) -> Self {
        self.proxy = proxy;
        self
    }

    /// Configures the client for long-lived connections that carry requests: offers HTTP/2, and sends TCP
    /// keep-alive probes, because HTTP/1.1 has no pings.
    #[must_use]
    pub fn for_requests(mut self) -> Self {
        let mut tls = (*self.tls).clone();
        tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        self.tls = Arc::new(tls);
        self.keep_alive = true;
        self
    }

    /// Returns the binding of the server.
    pub fn binding(&self) -> &ServerBinding {
        &self.binding
    }
}
