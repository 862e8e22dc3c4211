//! Security headers for all responses, and the check that this server is the leader.

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use http::header::{CONTENT_SECURITY_POLICY, STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderValue};

use super::certificate::Certificate;
use crate::ui;
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

/// Adds the security headers and the leader check to the routes of all modules.
pub(super) fn with_gate(routes: Router, leadership: Leadership, hsts: Hsts) -> Router {
    routes
        .fallback(ui::screen_or_not_found)
        .method_not_allowed_fallback(async || Status::method_not_allowed())
        .layer(middleware::from_fn_with_state((leadership, hsts), stand))
}

async fn stand(
    State((leadership, hsts)): State<(Leadership, Hsts)>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = only_when_serving(&leadership, request, next).await;
    protect(response.headers_mut(), hsts);
    response
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

/// Rejects requests while this server does not hold the Lease. Health checks and metrics are always
/// allowed.
async fn only_when_serving(leadership: &Leadership, request: Request, next: Next) -> Response {
    let state = leadership.state();
    if state.may_serve() || matches!(request.uri().path(), "/livez" | "/readyz" | "/metrics") {
        return next.run(request).await;
    }
    let message = match state {
        LeaseState::Waiting { holder } if !holder.is_empty() => format!(
            "this server waits while {holder} is active; send requests only to servers whose \
             /readyz responds with 200"
        ),
        _ => "this server does not serve requests yet; try again in a few seconds".to_owned(),
    };
    Status::unavailable(message, 5).into_response()
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use tower::ServiceExt as _;

    use super::*;

    #[tokio::test]
    async fn hsts_header_is_set_only_if_certificate_files_are_configured() {
        for (hsts, expected) in [(Hsts::On, Some(HSTS)), (Hsts::Off, None)] {
            let router = with_gate(Router::new(), Leadership::alone(), hsts);
            let answer = router.oneshot(Request::new(Body::empty())).await.unwrap();
            let header = answer.headers().get(STRICT_TRANSPORT_SECURITY);
            assert_eq!(header.map(|v| v.to_str().unwrap()), expected, "{hsts:?}");
        }
        assert_eq!(Hsts::with(&Certificate::self_signed()), Hsts::Off);
    }
}
