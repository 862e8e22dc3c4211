//! Request handlers for the agents in tunnel tests.

use std::convert::Infallible;
use std::future::Future;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};

pub(crate) type AnyBody = UnsyncBoxBody<Bytes, hyper::Error>;

pub(crate) fn full(text: impl Into<Bytes>) -> AnyBody {
    Full::new(text.into())
        .map_err(|never| match never {})
        .boxed_unsync()
}

pub(crate) fn empty() -> Empty<Bytes> {
    Empty::new()
}

pub(crate) fn get(path: &str) -> Request<Empty<Bytes>> {
    Request::get(path)
        .header("host", "cluster")
        .body(empty())
        .unwrap()
}

/// Returns a service that responds with `answer`.
pub(crate) fn agent<F, Fut>(
    answer: F,
) -> impl Service<Request<Incoming>, Response = Response<AnyBody>, Error = Infallible, Future: Send>
+ Clone
+ Send
+ 'static
where
    F: Fn(Request<Incoming>) -> Fut + Clone + Send + 'static,
    Fut: Future<Output = Response<AnyBody>> + Send + 'static,
{
    service_fn(move |request| {
        let answer = answer(request);
        async move { Ok::<_, Infallible>(answer.await) }
    })
}

pub(crate) async fn text(response: Response<drover_tunnel::tunnel::Body>) -> String {
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(bytes.to_vec()).unwrap()
}
