//! The client of the server. Dials the server with TLS, directly or through an HTTP proxy, and
//! calls its API.

mod call;
mod dial;
mod proxy;

use std::net::IpAddr;
use std::sync::Arc;

use rustls::pki_types::{InvalidDnsNameError, ServerName};
use rustls::{ClientConfig, RootCertStore};

use crate::binding::{BindingError, ServerBinding, authority};

pub use call::CallError;
pub use dial::{ClockSkew, DialError};
pub use proxy::{Proxy, ProxyError, ProxyUrl, ProxyUrlError};

/// A client of the server.
#[derive(Clone)]
pub struct Server {
    host: Arc<str>,
    port: u16,
    name: ServerName<'static>,
    tls: Arc<ClientConfig>,
    source: Option<IpAddr>,
    proxy: Option<Proxy>,
    keep_alive: bool,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("authority", &self.authority())
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Creates a client that trusts only the CA certificates of the binding.
    pub fn new(binding: &ServerBinding) -> Result<Self, BindingError> {
        let mut roots = RootCertStore::empty();
        for root in &binding.roots {
            roots.add(root.clone()).map_err(BindingError::Root)?;
        }
        Self::at(&binding.host, binding.port, roots)
            .map_err(|_| BindingError::Url(binding.host.clone()))
    }

    /// Creates a client of a server without a binding. `host` has no brackets.
    ///
    /// # Errors
    ///
    /// The host is neither a DNS name nor an IP address.
    pub fn at(host: &str, port: u16, roots: RootCertStore) -> Result<Self, InvalidDnsNameError> {
        let name = ServerName::try_from(host.to_owned())?;
        let mut tls = ClientConfig::builder()
            .with_root_certificates(roots)
            .with_no_client_auth();
        // The tunnel opens with an HTTP/1.1 upgrade.
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self {
            host: Arc::from(host),
            port,
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

    /// Returns the host and the port, for messages and the `Host` header.
    pub fn authority(&self) -> String {
        authority(&self.host, self.port)
    }
}
