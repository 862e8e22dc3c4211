//! Tests of requests through the tunnel that need no protocol upgrade.

use std::time::Duration;

use bytes::Bytes;
use drover_testkit::tunnel::TunnelPair;
use drover_tunnel::ServeError;
use drover_tunnel::tunnel::{AbortReason, BodyError, ClosedReason, HeadTimeout, SendError, State};
use futures::stream::{self, StreamExt};
use http::{HeaderMap, HeaderName, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody};
use tokio::sync::mpsc;
use tower::ServiceExt;

use crate::agent::{agent, full, get, text};

#[tokio::test]
async fn request_and_response_pass_through_the_tunnel_unchanged() {
    let pair = TunnelPair::open(agent(|request| async move {
        let sent = request.headers().get("x-sent").cloned();
        let seen = format!(
            "{} {}",
            request.method(),
            request.uri().path_and_query().unwrap()
        );
        let body = request.into_body().collect().await.unwrap().to_bytes();
        let mut answer = Response::new(full(format!("{seen} {}", body.len())));
        *answer.status_mut() = StatusCode::IM_A_TEAPOT;
        answer
            .headers_mut()
            .extend(sent.map(|sent| (HeaderName::from_static("x-seen"), sent)));
        answer
    }))
    .await;
    let request = Request::post("/api/v1/pods?watch=1")
        .header("x-sent", "wanted")
        .body(Full::new(Bytes::from(vec![7; 3 << 20])))
        .unwrap();
    let response = pair.tunnel.send(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::IM_A_TEAPOT);
    assert_eq!(response.headers()["x-seen"], "wanted");
    assert_eq!(text(response).await, "POST /api/v1/pods?watch=1 3145728");
    assert_eq!(
        text(pair.tunnel.send(get("/healthz")).await.unwrap()).await,
        "GET /healthz 0"
    );
}

#[tokio::test]
async fn http_trailers_are_forwarded_in_both_directions() {
    let pair = TunnelPair::open(agent(|request| async move {
        let sent = request.into_body().collect().await.unwrap();
        let trailers = sent.trailers().cloned().unwrap_or_default();
        let body = full("body").with_trailers(async move { Some(Ok(trailers)) });
        Response::new(body.boxed_unsync())
    }))
    .await;
    let trailers = HeaderMap::from_iter([(HeaderName::from_static("x-sum"), "7".parse().unwrap())]);
    let body = Full::new(Bytes::from_static(b"ask"))
        .with_trailers(std::future::ready(Some(Ok(trailers.clone()))));
    let response = pair
        .tunnel
        .send(Request::post("/").body(body).unwrap())
        .await
        .unwrap();
    let got = response.into_body().collect().await.unwrap();
    assert_eq!(got.trailers(), Some(&trailers));
    assert_eq!(got.to_bytes(), "body");
}

/// Guard whose drop sends a message on a channel.
struct Dropped(mpsc::UnboundedSender<&'static str>, &'static str);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.send(self.1);
    }
}

#[tokio::test]
async fn cancelled_request_is_cancelled_at_the_agent() {
    let (dropped, mut drops) = mpsc::unbounded_channel();
    let (arrived, mut arrivals) = mpsc::unbounded_channel();
    let pair = TunnelPair::open(agent(move |request| {
        let (dropped, arrived) = (dropped.clone(), arrived.clone());
        async move {
            if request.uri().path() == "/head" {
                let _guard = Dropped(dropped, "head");
                arrived.send(()).unwrap();
                return std::future::pending().await;
            }
            let guard = Dropped(dropped, "body");
            let quiet = stream::once(async { Ok(Frame::data(Bytes::from_static(b"first"))) })
                .chain(stream::once(async move {
                    let _guard = guard;
                    std::future::pending().await
                }));
            Response::new(StreamBody::new(quiet).boxed_unsync())
        }
    }))
    .await;
    let tunnel = pair.tunnel.clone();
    let waiting = tokio::spawn(async move { tunnel.send(get("/head")).await });
    arrivals.recv().await.unwrap();
    waiting.abort();
    assert_eq!(drops.recv().await, Some("head"));
    let mut body = pair.tunnel.send(get("/watch")).await.unwrap().into_body();
    assert_eq!(
        body.frame().await.unwrap().unwrap().into_data().unwrap(),
        "first"
    );
    drop(body);
    assert_eq!(drops.recv().await, Some("body"));
    assert_eq!(pair.tunnel.stats().open_streams, 0);
}

#[tokio::test]
async fn failed_request_body_resets_the_request_at_the_agent() {
    let (seen, mut saw) = mpsc::unbounded_channel();
    let pair = TunnelPair::open(agent(move |request| {
        let seen = seen.clone();
        async move {
            seen.send(request.into_body().collect().await.is_err())
                .unwrap();
            Response::new(full("partial"))
        }
    }))
    .await;
    let broken = stream::iter([
        Ok(Frame::data(Bytes::from_static(b"half"))),
        Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset)),
    ]);
    let request = Request::post("/").body(StreamBody::new(broken)).unwrap();
    let _gave_up = pair.tunnel.send(request).await;
    assert_eq!(
        saw.recv().await,
        Some(true),
        "a truncated body must not look complete"
    );
}

#[tokio::test]
async fn empty_data_frames_do_not_close_the_tunnel() {
    let pair = TunnelPair::open(agent(|request| async move {
        let got = request.into_body().collect().await.unwrap().to_bytes();
        Response::new(StreamBody::new(stream::iter(mostly_empty(got))).boxed_unsync())
    }))
    .await;
    for _ in 0..3 {
        let body = StreamBody::new(stream::iter(mostly_empty(Bytes::from_static(b"data"))));
        let response = pair
            .tunnel
            .send(Request::post("/").body(body).unwrap())
            .await
            .unwrap();
        assert_eq!(text(response).await, "data");
    }
}

fn mostly_empty(data: Bytes) -> Vec<Result<Frame<Bytes>, hyper::Error>> {
    let mut frames = vec![Bytes::new(); 200];
    frames[150] = data;
    frames
        .into_iter()
        .map(|data| Ok(Frame::data(data)))
        .collect()
}

#[tokio::test]
async fn expect_100_continue_does_not_delay_the_body() {
    let pair = TunnelPair::open(agent(|request| async move {
        assert_eq!(request.headers()["expect"], "100-continue");
        Response::new(full(
            request.into_body().collect().await.unwrap().to_bytes(),
        ))
    }))
    .await;
    let request = Request::put("/")
        .header("expect", "100-continue")
        .body(Full::new(Bytes::from_static(b"sent")))
        .unwrap();
    assert_eq!(text(pair.tunnel.send(request).await.unwrap()).await, "sent");
}

#[tokio::test]
async fn hop_by_hop_headers_are_not_forwarded() {
    let pair = TunnelPair::open(agent(|request| async move {
        let names: Vec<_> = request.headers().keys().map(HeaderName::as_str).collect();
        Response::new(full(names.join(",")))
    }))
    .await;
    let request = Request::get("/")
        .header("connection", "keep-alive, X-Hop")
        .header("keep-alive", "5")
        .header("x-hop", "1")
        .header("te", "gzip")
        .header("transfer-encoding", "chunked")
        .header("x-kept", "1")
        .body(crate::agent::empty())
        .unwrap();
    assert_eq!(
        text(pair.tunnel.send(request).await.unwrap()).await,
        "x-kept"
    );
}

#[tokio::test(start_paused = true)]
async fn request_without_response_head_fails_at_its_timeout() {
    let pair = TunnelPair::open(agent(|_| std::future::pending())).await;
    let mut request = get("/");
    let limit = Duration::from_secs(30);
    request.extensions_mut().insert(HeadTimeout(limit));
    let error = pair.tunnel.send(request).await.unwrap_err();
    assert!(
        matches!(error, SendError::HeadTimeout(after) if after == limit),
        "{error}"
    );
    assert!(!error.retry_is_safe());
    assert_eq!(pair.tunnel.stats().open_streams, 0);
}

#[tokio::test(start_paused = true)]
async fn draining_agent_finishes_running_requests_and_rejects_new_requests() {
    let (release, released) = tokio::sync::watch::channel(false);
    let pair = TunnelPair::open(agent(move |_| {
        let mut released = released.clone();
        async move {
            released.wait_for(|done| *done).await.unwrap();
            Response::new(full("finished"))
        }
    }))
    .await;
    let tunnel = pair.tunnel.clone();
    let under_way = tokio::spawn(async move { tunnel.send(get("/slow")).await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    pair.shutdown.cancel();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(pair.tunnel.state(), State::Draining);
    let refused = pair.tunnel.send(get("/more")).await.unwrap_err();
    assert!(matches!(refused, SendError::Draining), "{refused}");
    assert!(refused.retry_is_safe());
    release.send(true).unwrap();
    assert_eq!(text(under_way.await.unwrap().unwrap()).await, "finished");
    pair.agent.await.unwrap().unwrap();
    assert_eq!(pair.driver.await.unwrap(), ClosedReason::ByAgent);
}

#[tokio::test(start_paused = true)]
async fn drain_of_a_tunnel_with_a_pending_request_times_out() {
    let pair = TunnelPair::open(agent(|_| std::future::pending())).await;
    let tunnel = pair.tunnel.clone();
    let watch = tokio::spawn(async move { tunnel.send(get("/watch")).await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    pair.shutdown.cancel();
    let ended = pair.agent.await.unwrap().unwrap_err();
    assert!(matches!(ended, ServeError::DrainTimeout(_)), "{ended}");
    assert!(matches!(
        watch.await.unwrap().unwrap_err(),
        SendError::Lost(_)
    ));
}

#[tokio::test]
async fn all_users_of_a_closed_tunnel_receive_the_close_reason() {
    let pair = TunnelPair::open(agent(|request| async move {
        if request.uri().path() == "/never" {
            return std::future::pending().await;
        }
        Response::new(StreamBody::new(stream::pending()).boxed_unsync())
    }))
    .await;
    let mut watch = pair.tunnel.send(get("/watch")).await.unwrap().into_body();
    let tunnel = pair.tunnel.clone();
    let waiting = tokio::spawn(async move { tunnel.send(get("/never")).await });
    pair.tunnel.ping().await.unwrap();
    pair.tunnel.close("the cluster was deleted");
    let reason = ClosedReason::ByServer("the cluster was deleted".into());
    assert_eq!(pair.tunnel.closed().await, reason);
    assert!(watch.frame().await.unwrap().is_err());
    let lost = waiting.await.unwrap().unwrap_err();
    assert!(
        matches!(&lost, SendError::Lost(why) if *why == reason),
        "{lost:?}"
    );
    let late = pair.tunnel.send(get("/late")).await.unwrap_err();
    assert!(
        matches!(&late, SendError::Closed(why) if *why == reason),
        "{late:?}"
    );
    assert!(late.retry_is_safe() && !lost.retry_is_safe());
    assert_eq!(pair.tunnel.ping().await.unwrap_err(), reason);
    assert_eq!(pair.tunnel.state(), State::Closed(reason));
}

#[tokio::test]
async fn tunnel_closes_after_its_last_handle_is_dropped() {
    let TunnelPair {
        tunnel,
        driver,
        agent,
        ..
    } = TunnelPair::open(agent(|_| async { Response::new(full("")) })).await;
    drop(tunnel);
    assert_eq!(driver.await.unwrap(), ClosedReason::Dropped);
    agent.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn stream_of_stalled_reader_is_reset_and_idle_watch_stays_open() {
    let (dropped, mut drops) = mpsc::unbounded_channel();
    let pair = TunnelPair::open(agent(move |request| {
        let dropped = dropped.clone();
        async move {
            if request.uri().path() == "/watch" {
                let guard = Dropped(dropped, "watch");
                let quiet = stream::once(async move {
                    tokio::time::sleep(Duration::from_hours(1)).await;
                    drop(guard);
                    Ok(Frame::data(Bytes::from_static(b"event")))
                });
                return Response::new(StreamBody::new(quiet).boxed_unsync());
            }
            let data = Bytes::from_static(&[b'l'; 1024]);
            let guard = Dropped(dropped, "logs");
            let lines = stream::repeat_with(move || {
                let _held_by_the_body = &guard;
                Ok(Frame::data(data.clone()))
            });
            Response::new(StreamBody::new(lines).boxed_unsync())
        }
    }))
    .await;
    let mut watch = pair.tunnel.send(get("/watch")).await.unwrap().into_body();
    let mut logs = pair.tunnel.send(get("/logs")).await.unwrap().into_body();
    logs.frame().await.unwrap().unwrap();
    tokio::time::sleep(Duration::from_secs(50)).await;
    assert_eq!(pair.tunnel.stats().open_streams, 2);
    tokio::time::sleep(Duration::from_secs(15)).await;
    let stats = pair.tunnel.stats();
    assert_eq!(
        (
            stats.open_streams,
            stats.stalled_streams,
            stats.buffered_bytes
        ),
        (1, 1, 0)
    );
    let error = logs.frame().await.unwrap().unwrap_err();
    assert!(
        matches!(error, BodyError::Aborted(AbortReason::Stalled(_))),
        "{error}"
    );
    assert_eq!(
        drops.recv().await,
        Some("logs"),
        "the agent ended the log stream"
    );
    assert!(drops.try_recv().is_err(), "the agent did not end the watch");
    assert_eq!(
        watch.frame().await.unwrap().unwrap().into_data().unwrap(),
        "event"
    );
}

#[tokio::test(start_paused = true)]
async fn requested_ping_does_not_shorten_the_keepalive_timeout() {
    let pair = TunnelPair::open(agent(|_| async { Response::new(full("served")) })).await;
    pair.frozen.send_replace(true);
    let silence = Duration::from_secs(20);
    assert!(
        tokio::time::timeout(silence, pair.tunnel.ping())
            .await
            .is_err()
    );
    pair.frozen.send_replace(false);
    let response = pair.tunnel.send(get("/")).await.unwrap();
    assert_eq!(text(response).await, "served");
    pair.tunnel.ping().await.unwrap();
}

#[tokio::test]
async fn tower_client_sends_requests_through_the_tunnel() {
    let pair = TunnelPair::open(agent(|_| async { Response::new(full("served")) })).await;
    let response = pair.tunnel.clone().oneshot(get("/version")).await.unwrap();
    assert_eq!(text(response).await, "served");
}
