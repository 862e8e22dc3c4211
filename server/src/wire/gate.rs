//! The service for all requests: the check that this server is the leader, the proxy, the routes,
//! and the security headers of all responses.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::{Body, HttpBody as _};
use axum::extract::Request;
use axum::response::{IntoResponse as _, Response};
use drover_port_forwards::{Destination, PortForwards};
use drover_proxy::{Proxy, is_proxied};
use http::header::{
    CONTENT_LENGTH, CONTENT_SECURITY_POLICY, STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderValue, Method};
use tower::{Service, ServiceExt as _};

use super::certificate::Certificate;
use drover_http_edge::status::Status;
use drover_hub::lease::{Leadership, LeaseState};

/// The `Content-Security-Policy` of responses without a policy: no content and no framing.
const POLICY: &str =
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// Value of the HSTS header: one year, for this host only. The value omits `includeSubDomains`,
/// because the directive affects all subdomains.
const HSTS: &str = "max-age=31536000";

/// Selects whether responses contain the HSTS header (RFC 6797).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hsts {
    /// Responses set HSTS, because the certificate comes from files.
    On,
    /// Responses do not set HSTS, because the certificate comes from the server's own CA. Browsers
    /// that trust the CA would reject a different CA for one year.
    Off,
}

impl Hsts {
    pub(super) fn with(certificate: &Certificate) -> Self {
        if certificate.is_given() {
            Self::On
        } else {
            Self::Off
        }
    }
}

/// The service for all requests. Clones share the modules.
#[derive(Clone)]
pub(super) struct Gate(Arc<Modules>);

struct Modules {
    proxy: Arc<Proxy>,
    forwards: PortForwards,
    routes: Router,
    leadership: Leadership,
    hsts: Hsts,
}

impl Gate {
    /// Creates the service from the proxy and the routes of all other modules.
    pub(super) fn new(
        proxy: Arc<Proxy>,
        forwards: PortForwards,
        routes: Router,
        leadership: Leadership,
        hsts: Hsts,
    ) -> Self {
        Self(Arc::new(Modules {
            proxy,
            forwards,
            routes,
            leadership,
            hsts,
        }))
    }
}

impl Service<Request> for Gate {
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let modules = Arc::clone(&self.0);
        match modules
            .forwards
            .destination(request.uri(), request.headers())
        {
            Destination::Drover => {}
            Destination::Forward(label) => {
                return Box::pin(async move {
                    Ok(modules.serve_forward(label.as_deref(), request).await)
                });
            }
            Destination::Ambiguous => return Box::pin(async move { Ok(modules.ambiguous()) }),
        }
        // Boxed, because otherwise every idle connection reserves memory for a proxied request.
        if is_proxied(request.uri().path()) {
            Box::pin(async move { Ok(modules.serve_proxied(request).await) })
        } else {
            Box::pin(async move { Ok(modules.serve_routes(request).await) })
        }
    }
}

impl Modules {
    /// Serves a request to a cluster or to the hub. Most requests are proxied requests, so these
    /// requests do not pass through the router and its layers.
    async fn serve_proxied(&self, request: Request) -> Response {
        let method = request.method().clone();
        let mut response = match self.refusal(request.uri().path()) {
            Some(refusal) => refusal,
            None => self.proxy.serve(request).await,
        };
        complete_head(&method, &mut response);
        protect(response.headers_mut(), self.hsts);
        response
    }

    /// Serves a request for a host name of a port forward. The program in the pod sets the headers of
    /// its responses, because the host name serves no page of Drover.
    async fn serve_forward(&self, label: Option<&str>, request: Request) -> Response {
        match self.refusal("") {
            Some(mut refusal) => {
                protect(refusal.headers_mut(), self.hsts);
                refusal
            }
            None => self.forwards.serve(label, request).await,
        }
    }

    /// Refuses a request that names the server and a port forward.
    fn ambiguous(&self) -> Response {
        let text = "the request has two different hosts: send the same host in all headers";
        let mut response = Status::bad_request(text).into_response();
        protect(response.headers_mut(), self.hsts);
        response
    }

    async fn serve_routes(&self, request: Request) -> Response {
        let mut response = match self.refusal(request.uri().path()) {
            Some(refusal) => refusal,
            None => match self.routes.clone().oneshot(request).await {
                Ok(response) => response,
                Err(never) => match never {},
            },
        };
        protect(response.headers_mut(), self.hsts);
        response
    }

    /// Returns the error response while this server does not hold the Lease. Health checks and
    /// metrics are always allowed.
    fn refusal(&self, path: &str) -> Option<Response> {
        let state = self.leadership.state();
        if state.may_serve() || matches!(path, "/livez" | "/readyz" | "/metrics") {
            return None;
        }
        let message = match state {
            LeaseState::Waiting { holder } if !holder.is_empty() => format!(
                "this server waits while {holder} is active; send requests only to servers whose \
                 /readyz responds with 200"
            ),
            _ => "this server does not serve requests yet; try again in a few seconds".to_owned(),
        };
        Some(Status::unavailable(message, 5).into_response())
    }
}

/// Sets `Content-Length` and removes the body of a response to `HEAD`, like axum's router. A
/// successful response to `CONNECT` has no content length (RFC 9110 section 9.3.6).
fn complete_head(method: &Method, response: &mut Response) {
    if method == Method::CONNECT && response.status().is_success() {
        return;
    }
    if !response.headers().contains_key(CONTENT_LENGTH)
        && let Some(length) = response.body().size_hint().exact()
    {
        response.headers_mut().insert(CONTENT_LENGTH, length.into());
    }
    if method == Method::HEAD {
        *response.body_mut() = Body::empty();
    }
}

/// Sets the security headers of a response. Does not replace the content security policy of the web
/// UI and of responses from clusters.
fn protect(headers: &mut HeaderMap, hsts: Hsts) {
    let policy = headers.entry(CONTENT_SECURITY_POLICY);
    policy.or_insert(HeaderValue::from_static(POLICY));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if hsts == Hsts::On {
        headers.insert(STRICT_TRANSPORT_SECURITY, HeaderValue::from_static(HSTS));
    }
}

#[cfg(test)]
mod tests {
    use drover_agent_gateway::tunnels::Tunnels;
    use drover_audit::{Audit, Destination};
    use drover_hub::{Hub, Keys, Stores};
    use drover_identity::{Authenticator, LastUse};
    use drover_proxy::OpenStreams;
    use drover_telemetry::Metrics;

    use super::*;

    /// Creates the service without clusters. The hub is unreachable.
    fn gate(folder: &tempfile::TempDir, routes: Router, hsts: Hsts) -> Gate {
        let unreachable = tower::service_fn(async |_: http::Request<kube::client::Body>| {
            Err::<http::Response<kube::client::Body>, _>(std::io::Error::other("no hub"))
        });
        let client = kube::Client::new(unreachable, "default");
        let hub = Hub::new(client, Stores::synced_empty(), Keys::generate().unwrap());
        let metrics = Metrics::new();
        let destination = Destination::named(folder.path().join("audit"));
        let audit = Audit::open(&destination, &metrics).unwrap();
        let authenticator = Authenticator::new(hub.clone(), LastUse::default());
        let (tunnels, open) = (Tunnels::new(&metrics), OpenStreams::new());
        let signed_in = authenticator.clone();
        let proxy = Arc::new(Proxy::new(hub, signed_in, tunnels, open, audit, metrics));
        let domain = "forwards.example".parse().unwrap();
        let forwards = PortForwards::new(Arc::clone(&proxy), authenticator, Some(domain));
        Gate::new(proxy, forwards, routes, Leadership::alone(), hsts)
    }

    #[tokio::test]
    async fn hosts_of_port_forwards_and_routes_of_drover_are_separate() {
        let folder = tempfile::tempdir().unwrap();
        let routes = Router::new().fallback(async || "drover");
        let gate = gate(&folder, routes, Hsts::Off);
        let label = "0123456789abcdef0123456789abcdef";
        let body = async |hosts: &[&str], path: &str| {
            let mut request = http::Request::get(path);
            for host in hosts {
                request = request.header("host", *host);
            }
            let request = request.body(Body::empty()).unwrap();
            let response = gate.clone().oneshot(request).await.unwrap();
            let status = response.status().as_u16();
            let bytes = axum::body::to_bytes(response.into_body(), 4096)
                .await
                .unwrap();
            (status, String::from_utf8(bytes.to_vec()).unwrap())
        };
        let below = format!("{label}.forwards.example:8443");
        for path in ["/", "/v1/users", "/k8s/clusters/a/api", "/livez"] {
            for host in [
                &*below,
                "forwards.example",
                "a.forwards.example",
                "FORWARDS.example.",
            ] {
                let (status, text) = body(&[host], path).await;
                assert_eq!(status, 401, "{host} {path}");
                assert!(text.contains("port forward"), "{host} {path}: {text}");
            }
            let (status, text) = body(&[&below, "drover.example"], path).await;
            assert_eq!(status, 400, "{path}");
            assert!(text.contains("two different hosts"), "{path}: {text}");
        }
        for host in ["drover.example", "example", "xforwards.example"] {
            assert_eq!(
                body(&[host], "/").await,
                (200, "drover".to_owned()),
                "{host}"
            );
            let (status, text) = body(&[host], "/k8s/clusters/a/api").await;
            assert_eq!(status, 401, "{host}");
            assert!(text.contains("Status"), "{host}: {text}");
        }
    }

    #[tokio::test]
    async fn responses_of_the_proxy_have_the_same_head_as_responses_of_a_route() {
        let folder = tempfile::tempdir().unwrap();
        let gate = gate(&folder, Router::new(), Hsts::On);
        for (method, has_body) in [(Method::GET, true), (Method::HEAD, false)] {
            let request = http::Request::builder().method(&method);
            let request = request.uri("/k8s/clusters/a/api").body(Body::empty());
            let response = gate.clone().oneshot(request.unwrap()).await.unwrap();
            assert_eq!(response.status(), 401, "{method}");
            let headers = response.headers();
            assert_eq!(headers[STRICT_TRANSPORT_SECURITY], HSTS);
            assert_eq!(headers[CONTENT_SECURITY_POLICY], POLICY);
            assert_eq!(headers[X_CONTENT_TYPE_OPTIONS], "nosniff");
            assert_ne!(headers[CONTENT_LENGTH], "0");
            assert_eq!(!response.body().is_end_stream(), has_body, "{method}");
        }
    }

    #[tokio::test]
    async fn hsts_header_is_set_only_if_certificate_files_are_configured() {
        for (hsts, expected) in [(Hsts::On, Some(HSTS)), (Hsts::Off, None)] {
            let folder = tempfile::tempdir().unwrap();
            let gate = gate(&folder, Router::new(), hsts);
            let answer = gate.oneshot(Request::new(Body::empty())).await.unwrap();
            let header = answer.headers().get(STRICT_TRANSPORT_SECURITY);
            assert_eq!(header.map(|v| v.to_str().unwrap()), expected, "{hsts:?}");
        }
        assert_eq!(Hsts::with(&Certificate::self_signed()), Hsts::Off);
    }
}
