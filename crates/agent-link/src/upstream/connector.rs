//! Opens TCP and TLS connections to the API server within a time limit.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use drover_tunnel::ReadAhead;
use http::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::GaiResolver;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio_rustls::TlsConnector;
use tower::Service as _;

use super::CONNECT_TIMEOUT;
use super::pool::Io;

/// Timeout of the TCP connection. The timeout is divided among the addresses of the API server's
/// name. After a timeout of one address, time remains for the next addresses and for TLS.
const TCP_TIMEOUT: Duration = Duration::from_secs(4);
/// TCP keep-alive: idle time, interval and number of probes. The agent does not set
/// `TCP_USER_TIMEOUT`, because Linux also applies this timeout to a responsive peer that does not
/// read. A process in a pod that ignores its input is such a peer.
const KEEP_ALIVE: (Duration, Duration, u32) = (Duration::from_secs(30), Duration::from_secs(10), 3);

/// A connector that opens connections to one host and port.
#[derive(Clone)]
pub(super) struct Connector {
    address: Uri,
    tcp: HttpConnector,
    name: ServerName<'static>,
    http1: TlsConnector,
    http2: TlsConnector,
}

/// The application protocols that a connection offers to the API server (ALPN).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Offer {
    /// HTTP/1.1 only.
    Http1,
    /// HTTP/2, or HTTP/1.1 if the API server does not support HTTP/2.
    Http2,
}

impl Connector {
    /// Creates a connector. `address` is `https://host[:port]`. The connector sets the application
    /// protocols of `tls`.
    pub(super) fn new(address: Uri, name: ServerName<'static>, mut tls: ClientConfig) -> Self {
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        let http1 = Arc::new(tls.clone());
        tls.alpn_protocols.insert(0, b"h2".to_vec());
        Self {
            address,
            tcp: tcp(GaiResolver::new()),
            name,
            http1: http1.into(),
            http2: Arc::new(tls).into(),
        }
    }

    pub(super) async fn open(&self, offer: Offer) -> io::Result<Io> {
        let tls = match offer {
            Offer::Http1 => &self.http1,
            Offer::Http2 => &self.http2,
        };
        let attempt = async {
            let connecting = self.tcp.clone().call(self.address.clone());
            let tcp = connecting.await.map_err(io::Error::other)?.into_inner();
            tls.connect(self.name.clone(), ReadAhead::new(tcp)).await
        };
        tokio::time::timeout(CONNECT_TIMEOUT, attempt)
            .await
            .map_err(|_| {
                io::Error::new(
                    io::ErrorKind::TimedOut,
                    format!("no connection within {} s", CONNECT_TIMEOUT.as_secs()),
                )
            })?
            .map(TokioIo::new)
    }
}

/// Opens TCP connections with keep-alive. Keep-alive probes detect a lost peer.
fn tcp<R>(resolver: R) -> HttpConnector<R> {
    let mut connector = HttpConnector::new_with_resolver(resolver);
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(TCP_TIMEOUT));
    let (idle, interval, probes) = KEEP_ALIVE;
    connector.set_keepalive(Some(idle));
    connector.set_keepalive_interval(Some(interval));
    connector.set_keepalive_retries(Some(probes));
    connector
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use tokio::net::{TcpListener, TcpSocket, TcpStream};
    use tokio::time::timeout;

    use super::*;

    /// Returns the address of a listener whose queue is full, so that new connections time out.
    async fn black_hole() -> (TcpListener, Vec<TcpStream>) {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
        let listener = socket.listen(1).unwrap();
        let mut queued = Vec::new();
        let address = listener.local_addr().unwrap();
        let wait = Duration::from_millis(500);
        while let Ok(connected) = timeout(wait, TcpStream::connect(address)).await {
            queued.push(connected.unwrap());
        }
        (listener, queued)
    }

    #[tokio::test]
    async fn next_address_is_tried_while_the_first_address_does_not_respond() {
        let (hole, _queued) = black_hole().await;
        let lives = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let addresses = [hole.local_addr().unwrap(), lives.local_addr().unwrap()];
        let resolver = tower::service_fn(move |_| async move {
            Ok::<_, io::Error>(
                addresses
                    .into_iter()
                    .collect::<Vec<SocketAddr>>()
                    .into_iter(),
            )
        });
        let connecting = tcp(resolver).call(Uri::from_static("https://api-server"));
        let connected = timeout(CONNECT_TIMEOUT, connecting).await.unwrap().unwrap();
        assert_eq!(connected.inner().peer_addr().unwrap(), addresses[1]);
    }
}
