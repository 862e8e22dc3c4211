//! The pod's endpoints `/livez` and `/readyz` for the kubelet.

use std::convert::Infallible;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tracing::debug;

use crate::status::ConnectionStatus;

/// Maximum number of concurrent connections. The kubelet needs one.
const MAX_CONNECTIONS: usize = 16;
/// Maximum time for reading a request's head, and maximum duration of a connection.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The listener for the kubelet's probes.
#[derive(Debug)]
pub struct Probes {
    listener: TcpListener,
    status: watch::Receiver<ConnectionStatus>,
}

impl Probes {
    /// Binds the listener to `address`.
    pub async fn bind(
        address: SocketAddr,
        status: watch::Receiver<ConnectionStatus>,
    ) -> std::io::Result<Self> {
        let listener = match TcpListener::bind(address).await {
            // A node without IPv6 has no `[::]`, and the manifest is the same for all nodes.
            Err(_) if address.ip() == Ipv6Addr::UNSPECIFIED => {
                TcpListener::bind((Ipv4Addr::UNSPECIFIED, address.port())).await?
            }
            bound => bound?,
        };
        Ok(Self { listener, status })
    }

    /// Returns the local address of the listener.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Responds to probes until the future is dropped.
    pub async fn serve(self) {
        let permits = std::sync::Arc::new(Semaphore::new(MAX_CONNECTIONS));
        loop {
            let Ok(permit) = std::sync::Arc::clone(&permits).acquire_owned().await else {
                return;
            };
            let stream = match self.listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    debug!(%error, "cannot accept a probe's connection");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let status = self.status.clone();
            tokio::spawn(async move {
                let service = service_fn(move |request: Request<Incoming>| {
                    let answer = answer(request.uri().path(), &status.borrow());
                    async move { Ok::<_, Infallible>(answer) }
                });
                let connection = hyper::server::conn::http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(TIMEOUT)
                    .keep_alive(false)
                    .serve_connection(TokioIo::new(stream), service);
                // The kubelet retries a failed probe.
                let _ = tokio::time::timeout(TIMEOUT, connection).await;
                drop(permit);
            });
        }
    }
}

/// Returns the response for a path. `/livez` always returns 200. `/readyz` returns 200 while the
/// agent has a tunnel.
fn answer(path: &str, status: &ConnectionStatus) -> Response<Full<Bytes>> {
    let (code, text) = match path {
        "/livez" => (StatusCode::OK, "ok\n".to_owned()),
        "/readyz" => {
            let text = format!("{}: {}\n", status.reason, status.message);
            let ready = if status.connected {
                StatusCode::OK
            } else {
                StatusCode::SERVICE_UNAVAILABLE
            };
            (ready, text)
        }
        _ => (
            StatusCode::NOT_FOUND,
            "not found; use /livez or /readyz\n".to_owned(),
        ),
    };
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = code;
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readiness_probe_requires_a_tunnel_and_liveness_probe_always_succeeds() {
        let mut status = ConnectionStatus::starting();
        for (connected, path, expected) in [
            (false, "/livez", 200),
            (false, "/readyz", 503),
            (true, "/readyz", 200),
            (true, "/metrics", 404),
        ] {
            status.connected = connected;
            assert_eq!(
                answer(path, &status).status(),
                expected,
                "{path} {connected}"
            );
        }
    }
}
