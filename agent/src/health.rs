//! `/livez` and `/readyz` of the pod, for the kubelet.

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

use crate::status::Condition;

/// Connections at once; the kubelet needs one.
const MOST_CONNECTIONS: usize = 16;
/// Most time for a request's head, and for a connection as a whole.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where the probes go, bound and ready.
#[derive(Debug)]
pub struct Probes {
    listener: TcpListener,
    condition: watch::Receiver<Condition>,
}

impl Probes {
    /// Listens at `address`.
    pub async fn bind(
        address: SocketAddr,
        condition: watch::Receiver<Condition>,
    ) -> std::io::Result<Self> {
        let listener = match TcpListener::bind(address).await {
            // A node without IPv6 has no `[::]`; the manifest cannot know.
            Err(_) if address.ip() == Ipv6Addr::UNSPECIFIED => {
                TcpListener::bind((Ipv4Addr::UNSPECIFIED, address.port())).await?
            }
            bound => bound?,
        };
        Ok(Self {
            listener,
            condition,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers until the future is dropped.
    pub async fn serve(self) {
        let places = std::sync::Arc::new(Semaphore::new(MOST_CONNECTIONS));
        loop {
            let Ok(place) = std::sync::Arc::clone(&places).acquire_owned().await else {
                return;
            };
            let stream = match self.listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    debug!(%error, "a probe's connection was not accepted");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let condition = self.condition.clone();
            tokio::spawn(async move {
                let service = service_fn(move |request: Request<Incoming>| {
                    let answer = answer(request.uri().path(), &condition.borrow());
                    async move { Ok::<_, Infallible>(answer) }
                });
                let connection = hyper::server::conn::http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(PATIENCE)
                    .keep_alive(false)
                    .serve_connection(TokioIo::new(stream), service);
                // A probe that breaks off is the kubelet's business.
                let _ = tokio::time::timeout(PATIENCE, connection).await;
                drop(place);
            });
        }
    }
}

/// Alive as long as it answers; ready while it holds a tunnel.
fn answer(path: &str, condition: &Condition) -> Response<Full<Bytes>> {
    let (status, text) = match path {
        "/livez" => (StatusCode::OK, "ok\n".to_owned()),
        "/readyz" => {
            let text = format!("{}: {}\n", condition.reason, condition.message);
            let ready = if condition.connected {
                StatusCode::OK
            } else {
                StatusCode::SERVICE_UNAVAILABLE
            };
            (ready, text)
        }
        _ => (
            StatusCode::NOT_FOUND,
            "there is /livez and /readyz\n".to_owned(),
        ),
    };
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_is_ready_while_it_holds_a_tunnel_and_alive_in_any_case() {
        let mut condition = Condition::starting();
        for (connected, path, wanted) in [
            (false, "/livez", 200),
            (false, "/readyz", 503),
            (true, "/readyz", 200),
            (true, "/metrics", 404),
        ] {
            condition.connected = connected;
            assert_eq!(
                answer(path, &condition).status(),
                wanted,
                "{path} {connected}"
            );
        }
    }
}
