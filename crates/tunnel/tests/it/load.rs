//! Tests with many concurrent streams. Most of the streams stall or are cancelled.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use drover_testkit::tunnel::{TunnelPair, open_options, websocket_pair};
use drover_tunnel::tunnel::{Body, Tunnel};
use drover_tunnel::{ServeOptions, serve};
use futures::stream::{self, FuturesUnordered, StreamExt};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::agent::{AnyBody, agent, full, get, text};
use crate::raw::{END_HEADERS, END_STREAM, HEADERS, RST_STREAM, RawAgent, SETTINGS, frame};

/// Long timeout. The load tests check progress, not speed.
const TIMEOUT: Duration = Duration::from_mins(3);

/// Returns an endless body whose frames have `frame` bytes.
fn endless(frame: usize) -> AnyBody {
    let data = Bytes::from(vec![b'x'; frame]);
    let frames = stream::repeat_with(move || Ok(Frame::data(data.clone())));
    StreamBody::new(frames).boxed_unsync()
}

/// Responds to requests for test paths. `/endless/SIZE` never ends, `/never` never responds,
/// `/sink` reads the complete body, and `/ignore` neither reads nor ends. All other paths respond
/// immediately.
async fn answer(request: Request<hyper::body::Incoming>) -> Response<AnyBody> {
    let path = request.uri().path().to_owned();
    let body = match path.split('/').collect::<Vec<_>>()[..] {
        ["", "endless", size] => endless(size.parse().unwrap()),
        ["", "ignore"] => {
            // The unread body is kept until the response is dropped.
            let unread = Arc::new(request);
            let frames = stream::repeat_with(move || {
                let _held = &unread;
                Ok(Frame::data(Bytes::from_static(&[b'i'; 8192])))
            });
            StreamBody::new(frames).boxed_unsync()
        }
        ["", "never"] => return std::future::pending().await,
        ["", "sink"] => {
            let mut body = request.into_body();
            while let Some(Ok(_)) = body.frame().await {}
            full("read")
        }
        _ => full("here"),
    };
    Response::new(body)
}

async fn pair() -> TunnelPair {
    let mut options = open_options();
    // The tests stall streams on purpose, possibly for a long time on a slow machine.
    options.stall_after = Duration::from_hours(1);
    TunnelPair::open_with(agent(answer), options, ServeOptions::default()).await
}

/// Sends a request through the tunnel. Returns the time until the response arrived.
async fn probe(tunnel: &Tunnel) -> Duration {
    let started = std::time::Instant::now();
    let answered = timeout(TIMEOUT, tunnel.send(get("/probe")))
        .await
        .expect("the tunnel responds in time");
    assert_eq!(text(answered.unwrap()).await, "here");
    started.elapsed()
}

/// Opens `readers` endless responses, and reads no data. Waits until all stream windows are full.
async fn stall(tunnel: &Tunnel, readers: usize, frame: usize) -> Vec<Response<Body>> {
    let mut owned = Vec::new();
    for _ in 0..readers {
        owned.push(
            tunnel
                .send(get(&format!("/endless/{frame}")))
                .await
                .unwrap(),
        );
        if owned.len().is_multiple_of(20) {
            probe(tunnel).await;
        }
    }
    let full_windows = readers * 256 * 1024;
    let filled = async {
        while tunnel.stats().bytes_in < full_windows as u64 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(TIMEOUT, filled)
        .await
        .expect("the readers' windows fill up");
    owned
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stalled_readers_of_small_frames_do_not_delay_other_requests() {
    let pair = pair().await;
    let owned = stall(&pair.tunnel, 200, 64).await;
    for _ in 0..100 {
        probe(&pair.tunnel).await;
    }
    assert_eq!(
        pair.tunnel.stats().open_streams,
        owned.len(),
        "{:?}",
        pair.tunnel
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stalled_readers_of_large_frames_do_not_delay_other_requests() {
    let pair = pair().await;
    let owned = stall(&pair.tunnel, 200, 16 * 1024).await;
    for _ in 0..100 {
        probe(&pair.tunnel).await;
    }
    assert_eq!(
        pair.tunnel.stats().open_streams,
        owned.len(),
        "{:?}",
        pair.tunnel
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stalled_reader_of_64_byte_frames_does_not_close_the_tunnel() {
    let pair = pair().await;
    let mut owned = stall(&pair.tunnel, 1, 64).await;
    probe(&pair.tunnel).await;
    // The reader receives all data when it continues.
    let mut body = owned.remove(0).into_body();
    for _ in 0..10_000 {
        assert_eq!(
            body.frame()
                .await
                .unwrap()
                .unwrap()
                .into_data()
                .unwrap()
                .len(),
            64
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_cancelled_requests_do_not_close_the_tunnel() {
    let pair = pair().await;
    let unanswered: FuturesUnordered<_> = (0..9_990)
        .map(|_| pair.tunnel.send(get("/never")))
        .collect();
    let mut unanswered = unanswered;
    let all = timeout(Duration::from_secs(2), unanswered.next()).await;
    assert!(all.is_err(), "/never does not respond");
    assert_eq!(pair.tunnel.stats().open_streams, 9_990);
    drop(unanswered);
    assert_eq!(pair.tunnel.stats().open_streams, 0);
    probe(&pair.tunnel).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_dropped_response_bodies_do_not_close_the_tunnel() {
    let pair = pair().await;
    for _ in 0..100 {
        let sends = (0..100).map(|_| pair.tunnel.send(get("/endless/1024")));
        let answers = futures::future::join_all(sends).await;
        assert!(answers.iter().all(Result::is_ok));
    }
    probe(&pair.tunnel).await;
    assert_eq!(pair.tunnel.stats().open_streams, 0);
}

/// Returns an endless upload body, and a counter of the sent bytes.
fn upload(
    path: &str,
    taken: &Arc<AtomicU64>,
) -> Request<impl http_body::Body<Data = Bytes, Error = Infallible> + Send + use<>> {
    let taken = Arc::clone(taken);
    let data = Bytes::from_static(&[b'u'; 16 * 1024]);
    let frames = stream::repeat_with(move || {
        taken.fetch_add(data.len() as u64, Ordering::Relaxed);
        Ok(Frame::data(data.clone()))
    });
    Request::post(path).body(StreamBody::new(frames)).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stalled_uploads_and_downloads_do_not_block_other_requests() {
    let pair = pair().await;
    let (down, up) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let (tunnel, down) = (pair.tunnel.clone(), Arc::clone(&down));
        tasks.spawn(async move {
            let mut body = tunnel
                .send(get("/endless/16384"))
                .await
                .unwrap()
                .into_body();
            while let Some(Ok(frame)) = body.frame().await {
                let bytes = frame.into_data().map_or(0, |data| data.len());
                down.fetch_add(bytes as u64, Ordering::Relaxed);
            }
        });
        let (tunnel, request) = (pair.tunnel.clone(), upload("/sink", &up));
        tasks.spawn(async move { drop(tunnel.send(request).await) });
    }
    let mut stalled = Vec::new();
    for _ in 0..30 {
        // Both sides of these streams send but do not read.
        let ignored = Arc::default();
        stalled.push(pair.tunnel.send(upload("/ignore", &ignored)).await.unwrap());
        let before = (down.load(Ordering::Relaxed), up.load(Ordering::Relaxed));
        let moving = async {
            while down.load(Ordering::Relaxed) < before.0 + (1 << 20)
                || up.load(Ordering::Relaxed) < before.1 + (1 << 20)
            {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(TIMEOUT, moving)
            .await
            .expect("other requests progress in both directions");
        probe(&pair.tunnel).await;
    }
    assert_eq!(pair.tunnel.stats().open_streams, 8 + 8 + stalled.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_requests_receive_their_own_responses() {
    let pair = TunnelPair::open(agent(|request| async move {
        Response::new(full(request.uri().path().to_owned()))
    }))
    .await;
    let wrong = AtomicUsize::new(0);
    stream::iter(0..2_000)
        .for_each_concurrent(256, |n| {
            let (tunnel, wrong) = (&pair.tunnel, &wrong);
            async move {
                let path = format!("/{n}");
                if text(tunnel.send(get(&path)).await.unwrap()).await != path {
                    wrong.fetch_add(1, Ordering::Relaxed);
                }
            }
        })
        .await;
    assert_eq!(wrong.into_inner(), 0);
}

/// Tests resets that arrive together with their requests. The agent cannot process such a request.
/// By default, HTTP/2 libraries close a connection at the 21st reset of this kind.
#[tokio::test]
async fn ten_thousand_requests_with_immediate_reset_do_not_stop_the_agent() {
    let (agent_end, server_end) = websocket_pair();
    let stop = CancellationToken::new();
    tokio::spawn(serve(
        agent_end,
        agent(answer),
        ServeOptions::default(),
        stop,
    ));
    let mut server = RawAgent::on(server_end);
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend(frame(SETTINGS, 0, 0, &[]));
    // GET / with the http scheme, encoded with HPACK's static table.
    let get = [0x82, 0x84, 0x86];
    for n in 0..10_000 {
        bytes.extend(frame(HEADERS, END_HEADERS | END_STREAM, 2 * n + 1, &get));
        bytes.extend(frame(RST_STREAM, 0, 2 * n + 1, &8_u32.to_be_bytes()));
    }
    bytes.extend(frame(HEADERS, END_HEADERS | END_STREAM, 20_001, &get));
    server.bytes(&bytes).await.unwrap();
    let answered = async { while server.request().await != 20_001 {} };
    timeout(TIMEOUT, answered)
        .await
        .expect("the last request receives a response");
}
