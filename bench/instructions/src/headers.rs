//! The hot path of headers: removal of the client's identity headers, and addition of the user's
//! identity headers, for each proxied request.

use std::hint::black_box;

use drover_access::headers::{ImpersonationHeaders, strip_inbound};
use drover_access::names::{EXTRA_TOKEN_ID, GroupName, KubernetesIdentity, UserName};
use drover_api::ids::UserUid;
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::work::Work;

const REQUESTS: usize = 100;

/// The headers of a kubectl request behind a load balancer.
const HEADERS: &[(&str, &str)] = &[
    ("host", "drover.example.com"),
    (
        "user-agent",
        "kubectl/v1.36.0 (linux/amd64) kubernetes/0000000",
    ),
    (
        "accept",
        "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
    ),
    ("accept-encoding", "gzip"),
    (
        "authorization",
        "Bearer drover-abcdefghij:0123456789abcdefghijklmnopqrstuvwxyz",
    ),
    ("connection", "keep-alive, x-private"),
    ("x-private", "1"),
    ("x-forwarded-for", "192.0.2.1"),
    ("x-forwarded-proto", "https"),
    ("x-real-ip", "192.0.2.1"),
    ("impersonate-user", "system:admin"),
    ("impersonate-group", "system:masters"),
    ("kubectl-command", "kubectl get"),
    ("kubectl-session", "7e0f4f0a-8a4e-4d6e-9a7c-000000000000"),
    (
        "traceparent",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    ),
];

pub(crate) fn header_rewriting() -> Work {
    let mut request = HeaderMap::new();
    for (name, value) in HEADERS {
        request.append(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    }
    let groups = (0..8).filter_map(|n| GroupName::of("oidc", &format!("group-{n}")));
    let user = UserName::of(&UserUid::new("0b3f6a1e-1111-4222-8333-000000000000"));
    let identity =
        KubernetesIdentity::new(user, groups.collect()).with_extra(EXTRA_TOKEN_ID, "token-1");
    let identity = ImpersonationHeaders::of_user(&identity).expect("the names are visible ASCII");
    Box::new(move || {
        for _ in 0..REQUESTS {
            let mut headers = request.clone();
            strip_inbound(&mut headers);
            identity.set(&mut headers);
            black_box(&headers);
        }
    })
}
