use std::net::SocketAddr;

use axum::body::Body;
use axum::extract::ConnectInfo;
use futures::FutureExt as _;

use super::*;

const HERE: [u8; 4] = [198, 51, 100, 1];
const THERE: [u8; 4] = [198, 51, 100, 2];

/// Reviews for a hub that never answers.
fn reviews() -> Reviews {
    let silent = tower::service_fn(|_: http::Request<kube::client::Body>| {
        futures::future::pending::<Result<http::Response<kube::client::Body>, tower::BoxError>>()
    });
    let authorizer = WriteAuthorizer {
        client: kube::Client::new(silent, "default"),
        stores: crate::Stores::new(),
    };
    let reviews = Reviews::new(authorizer, "secret");
    reviews.server_is("drover:server");
    reviews
}

fn from(address: [u8; 4], body: Body) -> Request {
    Request::post(PATH)
        .extension(ConnectInfo(SocketAddr::from((address, 1))))
        .body(body)
        .unwrap()
}

/// A body of this length that does not arrive.
fn dripping(bytes: usize) -> Body {
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
    let asked = json!({ "request": {
        "uid": "1", "resource": resource, "name": "x", "operation": "CREATE",
        "userInfo": { "username": "drover:user:1" }, "object": object,
    } });
    Body::from(serde_json::to_vec(&asked).unwrap())
}

/// One that is decided at once.
fn plain() -> Body {
    question(&json!({ "group": "", "resource": "pods" }), &json!({}))
}

/// One for which a role has to be read.
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

async fn ask(reviews: &Reviews, request: Request) -> Result<Response, Status> {
    review(reviews, request).await
}

#[tokio::test]
async fn only_who_knows_the_secret_path_asks_the_rules() {
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
async fn reviews_that_never_arrive_from_one_network_keep_no_hub_waiting() {
    let reviews = reviews();
    let mut waiting: Vec<_> = (0..PLACES.1)
        .map(|_| Box::pin(ask(&reviews, from(HERE, dripping(10)))))
        .collect();
    for one in &mut waiting {
        assert!(one.now_or_never().is_none(), "the body is being read");
    }
    assert_eq!(reviews.room.available_permits(), AT_ONCE, "none is decided");
    let refused = ask(&reviews, from(HERE, plain())).await.unwrap_err();
    assert_eq!(refused.code(), 429);
    assert!(ask(&reviews, from(THERE, plain())).await.is_ok());
    drop(waiting);
    assert!(ask(&reviews, from(HERE, plain())).await.is_ok());
}

#[tokio::test]
async fn a_review_takes_as_much_room_as_it_may_need() {
    let large = || dripping(LARGEST * PLACE);
    // A length that is not said may be any.
    let unsaid = || {
        let never = futures::stream::pending::<Result<Bytes, std::io::Error>>();
        Body::from_stream(never)
    };
    let bodies: [&dyn Fn() -> Body; 2] = [&large, &unsaid];
    for body in bodies {
        let reviews = reviews();
        let mut waiting: Vec<_> = (0..PLACES.1 / LARGEST)
            .map(|_| Box::pin(ask(&reviews, from(HERE, body()))))
            .collect();
        for one in &mut waiting {
            assert!(one.now_or_never().is_none(), "the body is being read");
        }
        let refused = ask(&reviews, from(HERE, plain())).await.unwrap_err();
        assert_eq!(refused.code(), 429);
    }
    let reviews = reviews();
    let too_large = dripping(LARGEST * PLACE + 1);
    let refused = ask(&reviews, from(HERE, too_large)).await.unwrap_err();
    assert_eq!(refused.code(), 413);
}

#[tokio::test(start_paused = true)]
async fn no_more_reviews_are_decided_at_once_than_there_is_room_for() {
    let reviews = reviews();
    let mut deciding: Vec<_> = (0..AT_ONCE)
        .map(|_| Box::pin(ask(&reviews, from(HERE, binding()))))
        .collect();
    for one in &mut deciding {
        assert!(one.now_or_never().is_none(), "it reads a role");
    }
    assert_eq!(reviews.room.available_permits(), 0);
    // It waits for its turn, and is decided when there is room.
    let mut next = Box::pin(ask(&reviews, from(THERE, plain())));
    assert!((&mut next).now_or_never().is_none());
    deciding.pop();
    assert!(next.await.is_ok());
    // For a while, that is: the hub does not wait for ever either.
    deciding.push(Box::pin(ask(&reviews, from(HERE, binding()))));
    for one in &mut deciding {
        assert!(one.now_or_never().is_none());
    }
    let refused = ask(&reviews, from(THERE, plain())).await.unwrap_err();
    assert_eq!(refused.code(), 429);
}
