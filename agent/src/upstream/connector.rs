//! TCP and TLS to the API server, within a bounded time.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use drover_tunnel::ReadAhead;
use http::Uri;
use hyper_util::client::legacy::connect::dns::GaiResolver;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tower::Service as _;

use super::CONNECT_TIMEOUT;

/// Most time for TCP, divided among the addresses of the API server's name: one that drops what it
/// is sent must leave time for the others, and for TLS.
const TCP_TIMEOUT: Duration = Duration::from_secs(4);
/// Silence after which the API server's machine is asked whether it lives, how often, and how many
/// times. There is no limit on unacknowledged bytes beside it: Linux would apply that to a peer,
/// too, that lives and does not read, such as a process in a pod that leaves its input alone.
const ALIVE: (Duration, Duration, u32) = (Duration::from_secs(30), Duration::from_secs(10), 3);

/// Opens connections to one host and port.
#[derive(Clone)]
pub(super) struct Connector {
    address: Uri,
    tcp: HttpConnector,
    name: ServerName<'static>,
    tls: TlsConnector,
}

/// A connection that the pool can hold.
pub(super) struct Pooled(TokioIo<TlsStream<ReadAhead<TcpStream>>>);

impl Connector {
    /// `address` is `https://host[:port]`.
    pub(super) fn new(address: Uri, name: ServerName<'static>, tls: Arc<ClientConfig>) -> Self {
        Self {
            address,
            tcp: tcp(GaiResolver::new()),
            name,
            tls: tls.into(),
        }
    }

    pub(super) async fn open(&self) -> io::Result<TokioIo<TlsStream<ReadAhead<TcpStream>>>> {
        let attempt = async {
            let connecting = self.tcp.clone().call(self.address.clone());
            let tcp = connecting.await.map_err(io::Error::other)?.into_inner();
            self.tls
                .connect(self.name.clone(), ReadAhead::new(tcp))
                .await
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

/// Makes TCP connections that notice when the other machine is gone.
fn tcp<R>(resolver: R) -> HttpConnector<R> {
    let mut connector = HttpConnector::new_with_resolver(resolver);
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(TCP_TIMEOUT));
    let (silence, interval, times) = ALIVE;
    connector.set_keepalive(Some(silence));
    connector.set_keepalive_interval(Some(interval));
    connector.set_keepalive_retries(Some(times));
    connector
}

impl tower::Service<Uri> for Connector {
    type Response = Pooled;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Pooled>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// The URI is not looked at: there is one place to go.
    fn call(&mut self, _: Uri) -> Self::Future {
        let connector = self.clone();
        Box::pin(async move { connector.open().await.map(Pooled) })
    }
}

impl Connection for Pooled {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl hyper::rt::Read for Pooled {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: hyper::rt::ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl hyper::rt::Write for Pooled {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(cx, bufs)
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use tokio::net::{TcpListener, TcpSocket};
    use tokio::time::timeout;

    use super::*;

    /// A listener that drops what else it is sent: its queue is full, and nobody accepts.
    async fn black_hole() -> (TcpListener, Vec<TcpStream>) {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
        let listener = socket.listen(1).unwrap();
        let mut queued = Vec::new();
        let address = listener.local_addr().unwrap();
        let patience = Duration::from_millis(500);
        while let Ok(connected) = timeout(patience, TcpStream::connect(address)).await {
            queued.push(connected.unwrap());
        }
        (listener, queued)
    }

    #[tokio::test]
    async fn address_that_drops_everything_does_not_hide_the_next_one() {
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
