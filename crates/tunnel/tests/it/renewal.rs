//! Tests of the renewal of a tunnel that has used all stream IDs.

use std::time::Duration;

use drover_testkit::tunnel::{TunnelPair, open_options};
use drover_tunnel::ServeOptions;
use drover_tunnel::tunnel::{ClosedReason, SendError, State};
use futures::stream;
use http::Response;
use http_body_util::{BodyExt, StreamBody};
use tokio::time::Instant;

use crate::agent::{agent, full, get, text};

#[tokio::test(start_paused = true)]
async fn tunnel_at_its_request_limit_finishes_running_requests_before_it_closes() {
    let mut options = open_options();
    options.renew_after = 2;
    let served = agent(|request| async move {
        if request.uri().path() == "/watch" {
            return Response::new(StreamBody::new(stream::pending()).boxed_unsync());
        }
        tokio::time::sleep(Duration::from_secs(5)).await;
        Response::new(full("served"))
    });
    let pair = TunnelPair::open_with(served, options, ServeOptions::default()).await;
    let mut watch = pair.tunnel.send(get("/watch")).await.unwrap().into_body();
    let begin = Instant::now();
    let (first, last, refused) = tokio::join!(
        pair.tunnel.send(get("/slow")),
        pair.tunnel.send(get("/slow")),
        async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert_eq!(pair.tunnel.state(), State::Draining);
            pair.tunnel.send(get("/late")).await.unwrap_err()
        }
    );
    assert_eq!(text(first.unwrap()).await, "served");
    assert_eq!(text(last.unwrap()).await, "served");
    assert!(
        matches!(refused, SendError::Draining) && refused.retry_is_safe(),
        "{refused}"
    );
    let closed = pair.tunnel.closed().await;
    assert!(matches!(closed, ClosedReason::ByServer(_)), "{closed}");
    let waited = begin.elapsed();
    assert_eq!(
        waited.as_secs(),
        10,
        "a watch does not keep the tunnel open: {waited:?}"
    );
    assert!(watch.frame().await.unwrap().is_err());
}
