use std::net::SocketAddr;

use axum::body::Body;
use axum::extract::ConnectInfo;
use futures::FutureExt as _;

use super::*;

const HERE: [u8; 4] = [198, 51, 100, 1];
const THERE: [u8; 4] = [198, 51, 100, 2];

/// Returns the state of the webhook route with a fake hub that never responds.
fn reviews() -> Reviews {
    let silent = tower::service_fn(|_: http::Request<kube::client::Body>| {
        futures::future::pending::<Result<http::Response<kube::client::Body>, tower::BoxError>>()
    });
    let authorizer = WriteAuthorizer {
        client: kube::Client::new(silent, "default"),
        stores: crate::Stores::new(),
    };
    let reviews = Reviews::new(authorizer, "secret");
    reviews.set_server_account("drover:server");
    reviews
}

fn from(address: [u8; 4], body: Body) -> Request {
    Request::post(PATH)
        .extension(ConnectInfo(SocketAddr::from((address, 1))))
        .body(body)
        .unwrap()
}

/// Returns a request body that declares `bytes` as its length and never sends data.
fn pending_body(bytes: usize) -> Body {
    #[derive(Debug)]
    struct Endless(u64);
    impl http_body::Body for Endless {
        type Data = Bytes;
        type Error = std::io::Error;
        fn poll_frame(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, std::io::Error>>> {
            std::task::Poll::Pending
        }
        fn size_hint(&self) -> http_body::SizeHint {
            http_body::SizeHint::with_exact(self.0)
        }
    }
    Body::new(Endless(bytes as u64))
}

fn question(resource: &Value, object: &Value) -> Body {
    let requested = json!({ "request": {
        "uid": "1", "resource": resource, "name": "x", "operation": "CREATE",
        "userInfo": { "username": "drover:user:1" }, "object": object,
    } });
    Body::from(serde_json::to_vec(&requested).unwrap())
}

/// Returns a review whose decision needs no request to the hub.
fn plain() -> Body {
    question(&json!({ "group": "", "resource": "pods" }), &json!({}))
}

/// Returns a review whose decision needs a request for a role to the hub.
fn binding() -> Body {
    let resource = json!({
        "group": "rbac.authorization.k8s.io", "resource": "clusterrolebindings",
    });
    let object = json!({
        "roleRef": { "kind": "ClusterRole", "name": "any" },
        "subjects": [{ "kind": "User", "name": "jane" }],
    });
    question(&resource, &object)
}

async fn send(reviews: &Reviews, request: Request) -> Result<Response, Status> {
    review(reviews, request).await
}

#[tokio::test]
async fn review_with_wrong_secret_path_segment_returns_404() {
    use tower::ServiceExt as _;
    for (segment, code) in [
        ("secret", 200),
        ("secreT", 404),
        ("secret2", 404),
        ("x", 404),
    ] {
        let request = Request::post(format!("{PATH}/{segment}"))
            .body(plain())
            .unwrap();
        let answer = router(reviews()).oneshot(request).await.unwrap();
        assert_eq!(answer.status(), code, "{segment}");
    }
}

#[tokio::test]
async fn slow_reviews_from_one_network_do_not_block_other_networks() {
    let reviews = reviews();
    let mut waiting: Vec<_> = (0..SLOT_LIMITS.1)
        .map(|_| Box::pin(send(&reviews, from(HERE, pending_body(10)))))
        .collect();
    for review in &mut waiting {
        assert!(review.now_or_never().is_none(), "the body is being read");
    }
    assert_eq!(
        reviews.decisions.available_permits(),
        MAX_CONCURRENT,
        "no review is decided"
    );
    let refused = send(&reviews, from(HERE, plain())).await.unwrap_err();
    assert_eq!(refused.code(), 429);
    assert!(send(&reviews, from(THERE, plain())).await.is_ok());
    drop(waiting);
    assert!(send(&reviews, from(HERE, plain())).await.is_ok());
}

#[tokio::test]
async fn review_with_large_or_unknown_body_size_takes_several_concurrency_slots() {
    let large = || pending_body(MAX_SLOTS * SLOT_BYTES);
    // A body without a declared length can have any size.
    let without_length = || {
        let never = futures::stream::pending::<Result<Bytes, std::io::Error>>();
        Body::from_stream(never)
    };
    let bodies: [&dyn Fn() -> Body; 2] = [&large, &without_length];
    for body in bodies {
        let reviews = reviews();
        let mut waiting: Vec<_> = (0..SLOT_LIMITS.1 / MAX_SLOTS)
            .map(|_| Box::pin(send(&reviews, from(HERE, body()))))
            .collect();
        for review in &mut waiting {
            assert!(review.now_or_never().is_none(), "the body is being read");
        }
        let refused = send(&reviews, from(HERE, plain())).await.unwrap_err();
        assert_eq!(refused.code(), 429);
    }
    let reviews = reviews();
    let too_large = pending_body(MAX_SLOTS * SLOT_BYTES + 1);
    let refused = send(&reviews, from(HERE, too_large)).await.unwrap_err();
    assert_eq!(refused.code(), 413);
}

#[tokio::test(start_paused = true)]
async fn number_of_concurrent_admission_decisions_is_limited() {
    let reviews = reviews();
    let mut deciding: Vec<_> = (0..MAX_CONCURRENT)
        .map(|_| Box::pin(send(&reviews, from(HERE, binding()))))
        .collect();
    for review in &mut deciding {
        assert!(review.now_or_never().is_none(), "the review reads a role");
    }
    assert_eq!(reviews.decisions.available_permits(), 0);
    // The next review waits until a decision slot is free.
    let mut next = Box::pin(send(&reviews, from(THERE, plain())));
    assert!((&mut next).now_or_never().is_none());
    deciding.pop();
    assert!(next.await.is_ok());
    // The wait ends with a timeout, because the hub's request times out as well.
    deciding.push(Box::pin(send(&reviews, from(HERE, binding()))));
    for review in &mut deciding {
        assert!(review.now_or_never().is_none());
    }
    let refused = send(&reviews, from(THERE, plain())).await.unwrap_err();
    assert_eq!(refused.code(), 429);
}
