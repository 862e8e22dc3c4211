use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Empty, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http2 as server;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::ServerName;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::upstream::boxed;

const CHUNK: usize = 1024;

/// An API server for tests. The response to `/endless` never ends. A request for `/silent` receives
/// no response. The response to any other path contains the path.
#[derive(Clone, Default)]
struct ApiServer {
    served: Arc<AtomicUsize>,
    /// Number of chunks that the API server has produced for `/endless`.
    chunks: Arc<AtomicUsize>,
    stop: CancellationToken,
    /// Cancel this token to stop all reads and writes of the connections. The connections stay open.
    hang: CancellationToken,
}

impl ApiServer {
    /// Opens a connection to the API server. The spawned task ends when the connection closes.
    async fn connect(&self, multiplexer: &Multiplexer) -> JoinHandle<()> {
        let (near, far) = tokio::io::duplex(64 * 1024);
        let this = self.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            let this = this.clone();
            async move {
                this.served.fetch_add(1, Ordering::SeqCst);
                if request.uri().path() == "/silent" {
                    std::future::pending::<()>().await;
                }
                Ok::<_, Infallible>(this.answer(&request))
            }
        });
        let (stop, hang) = (self.stop.clone(), self.hang.clone());
        let serving = tokio::spawn(async move {
            let connection = server::Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(far), service);
            let mut connection = std::pin::pin!(connection);
            tokio::select! {
                // A cancelled request can end the connection with an error.
                _ = connection.as_mut() => return,
                () = hang.cancelled() => std::future::pending().await,
                () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
            }
            let _ = connection.await;
        });
        connection::start(near, multiplexer).await.unwrap();
        serving
    }

    fn answer(&self, request: &Request<Incoming>) -> Response<BoxBody<Bytes, Infallible>> {
        if request.uri().path() != "/endless" {
            let text = format!("{} {}", request.uri(), request.headers().len());
            return Response::new(Full::from(text).boxed());
        }
        let chunks = Arc::clone(&self.chunks);
        let chunk = move || {
            chunks.fetch_add(1, Ordering::SeqCst);
            Ok(Frame::data(Bytes::from_static(&[0; CHUNK])))
        };
        Response::new(BodyExt::boxed(StreamBody::new(
            futures::stream::repeat_with(chunk),
        )))
    }
}

fn multiplexer() -> Multiplexer {
    Multiplexer::new(Authority::from_static("api:6443"))
}

/// Returns a connector for an address without an API server.
fn connector() -> Connector {
    let tls = rustls::ClientConfig::builder()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let name = ServerName::try_from("api").unwrap();
    Connector::new(Uri::from_static("https://127.0.0.1:1"), name, tls)
}

/// Sends a request. Returns `None` if the multiplexer returns the request.
async fn send(multiplexer: &Multiplexer, path: &str) -> Option<Response<ResponseBody>> {
    let request = Request::get(path).header("host", "other");
    let request = request.body(boxed(Empty::new())).unwrap();
    match multiplexer.send(request, &connector()).await {
        Ok(response) => Some(response),
        Err(SendError::Retry(request)) => {
            assert_eq!(request.headers()["host"], "other");
            None
        }
        Err(SendError::Reset(error)) => panic!("{error}"),
    }
}

async fn text(response: Option<Response<ResponseBody>>) -> String {
    let read = response.unwrap().into_body().collect().await.unwrap();
    String::from_utf8(read.to_bytes().to_vec()).unwrap()
}

#[tokio::test]
async fn concurrent_reads_share_one_connection_to_the_configured_api_server() {
    let (server, multiplexer) = (ApiServer::default(), multiplexer());
    let serving = server.connect(&multiplexer).await;
    let reads = (0..STREAMS_PER_CONNECTION)
        .map(|_| async { text(send(&multiplexer, "/a?b=c").await).await });
    for answer in futures::future::join_all(reads).await {
        assert_eq!(answer, "https://api:6443/a?b=c 0");
    }
    assert_eq!(server.served.load(Ordering::SeqCst), STREAMS_PER_CONNECTION);
    assert!(!serving.is_finished());
}

#[tokio::test]
async fn reads_use_the_first_connection_with_a_free_stream() {
    let (first, second, multiplexer) = (ApiServer::default(), ApiServer::default(), multiplexer());
    let _serving = first.connect(&multiplexer).await;
    let _serving_second = second.connect(&multiplexer).await;
    let served = || [&first, &second].map(|server| server.served.load(Ordering::SeqCst));
    let mut open = Vec::new();
    for _ in 0..STREAMS_PER_CONNECTION {
        open.push(send(&multiplexer, "/endless").await.unwrap());
    }
    assert_eq!(served(), [STREAMS_PER_CONNECTION, 0]);
    text(send(&multiplexer, "/a").await).await;
    assert_eq!(served(), [STREAMS_PER_CONNECTION, 1]);
    open.pop();
    text(send(&multiplexer, "/a").await).await;
    assert_eq!(served(), [STREAMS_PER_CONNECTION + 1, 1]);
}

#[tokio::test]
async fn request_without_a_free_stream_is_returned_to_the_caller() {
    let (server, multiplexer) = (ApiServer::default(), multiplexer());
    assert!(send(&multiplexer, "/a").await.is_none(), "no connection");
    let _serving = server.connect(&multiplexer).await;
    let mut open = Vec::new();
    for _ in 0..STREAMS_PER_CONNECTION {
        open.push(send(&multiplexer, "/endless").await.unwrap());
    }
    assert!(send(&multiplexer, "/a").await.is_none(), "no free stream");
    open.pop();
    assert!(send(&multiplexer, "/a").await.is_some());
}

#[tokio::test]
async fn unread_response_is_limited_to_its_window_and_delays_no_other_read() {
    let (server, multiplexer) = (ApiServer::default(), multiplexer());
    let _serving = server.connect(&multiplexer).await;
    let _unread = send(&multiplexer, "/endless").await.unwrap();
    let mut before = 0;
    loop {
        assert!(text(send(&multiplexer, "/a").await).await.contains("/a"));
        tokio::time::sleep(Duration::from_millis(20)).await;
        let chunks = server.chunks.load(Ordering::SeqCst);
        if chunks == before && chunks > 0 {
            break;
        }
        before = chunks;
    }
    // The server also buffers some bytes.
    assert!(before * CHUNK <= 1024 * 1024, "{before}");
}

#[tokio::test]
async fn connection_with_many_cancelled_reads_receives_no_new_requests() {
    let (server, multiplexer) = (ApiServer::default(), multiplexer());
    let serving = server.connect(&multiplexer).await;
    let kept = send(&multiplexer, "/endless").await.unwrap();
    for _ in 0..MAX_CANCELLED {
        drop(send(&multiplexer, "/endless").await.unwrap());
    }
    assert!(send(&multiplexer, "/a").await.is_none());
    let mut body = kept.into_body();
    for _ in 0..1000 {
        body.frame().await.unwrap().unwrap();
    }
    drop(body);
    serving.await.unwrap();
}

#[tokio::test]
async fn unread_responses_of_removed_connections_count_toward_the_limit() {
    let (server, multiplexer) = (ApiServer::default(), multiplexer());
    let mut unread = Vec::new();
    let mut serving = Vec::new();
    for _ in 0..MAX_CONNECTIONS {
        serving.push(server.connect(&multiplexer).await);
        for _ in 0..STREAMS_PER_CONNECTION - 1 {
            unread.extend(send(&multiplexer, "/endless").await);
        }
        for _ in 0..MAX_CANCELLED {
            drop(send(&multiplexer, "/endless").await);
        }
    }
    assert_eq!(unread.len(), MAX_STREAMS);
    drop(unread);
    assert_eq!(multiplexer.state.lock().open, 0);
}

#[tokio::test]
async fn read_is_returned_to_the_caller_if_its_connection_fails() {
    let (server, multiplexer) = (ApiServer::default(), multiplexer());
    let serving = server.connect(&multiplexer).await;
    let reading = send(&multiplexer, "/silent");
    let failing = async {
        while server.served.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        serving.abort();
    };
    let (response, ()) = tokio::join!(reading, failing);
    assert!(response.is_none());
}

#[tokio::test(start_paused = true)]
async fn read_on_a_silent_connection_is_returned_to_the_caller_within_seven_seconds() {
    let (server, multiplexer) = (ApiServer::default(), multiplexer());
    let _serving = server.connect(&multiplexer).await;
    tokio::time::sleep(Duration::from_secs(40)).await;
    let started = Instant::now();
    let hanging = async {
        while server.served.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        server.hang.cancel();
    };
    let (response, ()) = tokio::join!(send(&multiplexer, "/silent"), hanging);
    assert!(response.is_none());
    assert!(started.elapsed() <= Duration::from_secs(7));
    assert!(send(&multiplexer, "/a").await.is_none());
}

#[tokio::test(start_paused = true)]
async fn connection_without_a_response_to_its_first_ping_is_not_used() {
    let (near, _far) = tokio::io::duplex(64 * 1024);
    let multiplexer = multiplexer();
    let error = connection::start(near, &multiplexer).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the API server did not respond within 5 s"
    );
    assert!(send(&multiplexer, "/a").await.is_none());
}

#[tokio::test]
async fn complete_responses_do_not_count_as_cancelled() {
    let (server, multiplexer) = (ApiServer::default(), multiplexer());
    let _serving = server.connect(&multiplexer).await;
    for _ in 0..2 * MAX_CANCELLED {
        text(send(&multiplexer, "/a").await).await;
    }
}

#[tokio::test]
async fn request_after_a_shutdown_of_the_api_server_is_returned_to_the_caller() {
    let (server, multiplexer) = (ApiServer::default(), multiplexer());
    let serving = server.connect(&multiplexer).await;
    text(send(&multiplexer, "/a").await).await;
    server.stop.cancel();
    serving.await.unwrap();
    assert!(send(&multiplexer, "/a").await.is_none());
}

#[tokio::test(start_paused = true)]
async fn idle_connection_is_closed() {
    let (server, multiplexer) = (ApiServer::default(), multiplexer());
    let serving = server.connect(&multiplexer).await;
    text(send(&multiplexer, "/a").await).await;
    tokio::time::sleep(Duration::from_secs(50)).await;
    assert!(!serving.is_finished());
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert!(serving.is_finished());
}
