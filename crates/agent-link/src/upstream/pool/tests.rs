use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Empty, Full, StreamBody};
use hyper::server::conn::http1 as server;
use hyper::service::service_fn;
use tokio::io::DuplexStream;
use tokio::task::JoinHandle;

use super::*;

type Pipe = TokioIo<DuplexStream>;

/// An API server for tests. The response to `/endless` never ends. The response to any other path
/// contains the path.
#[derive(Clone, Default)]
struct ApiServer {
    served: Arc<AtomicUsize>,
}

impl ApiServer {
    /// Opens a connection to the API server. The spawned task ends when the connection closes.
    async fn connect(&self) -> (PooledConnection<Pipe>, JoinHandle<()>) {
        let (near, far) = tokio::io::duplex(64 * 1024);
        let served = Arc::clone(&self.served);
        let service = service_fn(move |request: Request<Incoming>| {
            served.fetch_add(1, Ordering::SeqCst);
            async move { Ok::<_, Infallible>(answer(request).await) }
        });
        let serving = tokio::spawn(async move {
            let connection = server::Builder::new().serve_connection(TokioIo::new(far), service);
            // A connection that the client closes during a response returns an error, as the test
            // expects.
            let _ = connection.await;
        });
        (
            PooledConnection::new(TokioIo::new(near)).await.unwrap(),
            serving,
        )
    }
}

async fn answer(request: Request<Incoming>) -> Response<BoxBody<Bytes, Infallible>> {
    match request.uri().path().to_owned().as_str() {
        "/endless" => {
            let first = futures::stream::iter([Ok(Frame::data(Bytes::from_static(b"line")))]);
            let rest = futures::stream::pending();
            Response::new(StreamBody::new(futures::StreamExt::chain(first, rest)).boxed())
        }
        "/early" => {
            // Respond first and then read the request.
            let (sender, received) = tokio::sync::oneshot::channel();
            tokio::spawn(async move {
                let sent = request.into_body().collect().await.unwrap().to_bytes();
                sender.send(sent.len()).unwrap();
            });
            let length = futures::stream::once(async move {
                let length = received.await.unwrap().to_string();
                Ok(Frame::data(Bytes::from(length)))
            });
            Response::new(StreamBody::new(Box::pin(length)).boxed())
        }
        "/nothing" => Response::new(Empty::new().boxed()),
        "/echo" => {
            let body = request.into_body().collect().await.unwrap().to_bytes();
            Response::new(Full::from(body).boxed())
        }
        path => Response::new(Full::from(path.to_owned()).boxed()),
    }
}

fn request(path: &str, body: &'static str) -> Request<Body> {
    let body = Full::from(body).map_err(|never| match never {});
    Request::post(path)
        .header("host", "api")
        .body(body.boxed_unsync())
        .unwrap()
}

async fn read(response: Response<ResponseBody<Pipe>>) -> Bytes {
    response.into_body().collect().await.unwrap().to_bytes()
}

#[tokio::test]
async fn connection_is_reused_for_later_requests() {
    let (server, idle) = (ApiServer::default(), IdlePool::default());
    let (pooled, _serving) = server.connect().await;
    let first = pooled.send(request("/first", ""), &idle).await;
    assert_eq!(read(first.map_err(|e| e.error).unwrap()).await, "/first");
    for (path, body, expected) in [
        ("/second", "", "/second"),
        ("/nothing", "", ""),
        ("/echo", "request body", "request body"),
        ("/last", "ignored", "/last"),
    ] {
        let response = idle.send(request(path, body)).await.unwrap().unwrap();
        assert_eq!(read(response).await, expected, "{path}");
    }
    assert_eq!(server.served.load(Ordering::SeqCst), 5);
}

#[tokio::test]
async fn unsent_request_of_a_closed_connection_can_be_sent_on_a_new_connection() {
    let (server, idle) = (ApiServer::default(), IdlePool::default());
    let (pooled, serving) = server.connect().await;
    let first = pooled.send(request("/first", ""), &idle).await;
    read(first.map_err(|e| e.error).unwrap()).await;
    serving.abort();
    assert!(serving.await.unwrap_err().is_cancelled());

    let unsent = idle.send(request("/echo", "once")).await.unwrap();
    let unsent = unsent.err().expect("there is no connection left");
    let (pooled, _serving) = server.connect().await;
    let second = pooled.send(unsent, &idle).await;
    assert_eq!(read(second.map_err(|e| e.error).unwrap()).await, "once");
    assert_eq!(server.served.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn dropped_response_closes_its_connection() {
    let (server, idle) = (ApiServer::default(), IdlePool::default());
    let (pooled, serving) = server.connect().await;
    let watch = pooled.send(request("/endless", ""), &idle).await;
    let mut watch = watch.map_err(|e| e.error).unwrap().into_body();
    let frame = watch.frame().await.unwrap().unwrap();
    assert_eq!(frame.into_data().unwrap(), "line");
    drop(watch);
    serving.await.unwrap();
    let next = idle.send(request("/next", "")).await.unwrap();
    assert!(next.is_err(), "the connection was not kept");
}

#[tokio::test]
async fn dropped_request_closes_its_connection() {
    let (near, far) = tokio::io::duplex(1024);
    let pooled = PooledConnection::new(TokioIo::new(near)).await.unwrap();
    let idle = IdlePool::default();
    let waiting = pooled.send(request("/silent", ""), &idle);
    let cancelled = tokio::time::timeout(Duration::from_millis(10), waiting).await;
    assert!(cancelled.is_err());
    let mut far = far;
    let mut seen = Vec::new();
    // Read the head and then the end of the stream.
    tokio::io::AsyncReadExt::read_to_end(&mut far, &mut seen)
        .await
        .unwrap();
    assert!(seen.starts_with(b"POST /silent HTTP/1.1\r\n"));
}

#[tokio::test]
async fn request_body_can_be_sent_after_the_response_head_is_received() {
    const LENGTH: usize = 1 << 20;
    let (server, idle) = (ApiServer::default(), IdlePool::default());
    let (pooled, serving) = server.connect().await;
    let (upload, body) = futures::channel::mpsc::channel(0);
    let body: Body = StreamBody::new(body).boxed_unsync();
    let request = Request::post("/early").header("host", "api").body(body);
    let early = pooled.send(request.unwrap(), &idle).await;
    let answer = early.map_err(|e| e.error).unwrap();
    let chunk = || Ok::<_, drover_tunnel::BoxError>(Frame::data(Bytes::from(vec![0; 1 << 14])));
    let chunks = futures::stream::iter((0..LENGTH >> 14).map(|_| Ok(chunk())));
    // The body is much larger than the pipe's buffer.
    futures::StreamExt::forward(chunks, upload).await.unwrap();
    assert_eq!(read(answer).await, LENGTH.to_string());
    serving.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn expired_idle_connection_is_closed_and_connection_in_use_stays_open() {
    let (server, idle) = (ApiServer::default(), IdlePool::default());
    let mut ends = Vec::new();
    for _ in 0..2 {
        let (pooled, serving) = server.connect().await;
        idle.put(pooled);
        ends.push(serving);
    }
    tokio::time::sleep(IDLE_TIMEOUT / 2).await;
    let used = idle.send(request("/used", "")).await.unwrap().unwrap();
    read(used).await;
    tokio::time::sleep(IDLE_TIMEOUT * 3 / 4).await;
    assert!(ends[0].is_finished(), "the unused connection");
    assert!(!ends[1].is_finished());
    tokio::time::sleep(IDLE_TIMEOUT).await;
    assert!(ends[1].is_finished());
    assert!(
        !idle.0.lock().sweeping,
        "no task runs without idle connections"
    );
}

#[tokio::test]
async fn number_of_idle_connections_is_limited() {
    let (server, idle) = (ApiServer::default(), IdlePool::default());
    for _ in 0..MAX_IDLE + 3 {
        idle.put(server.connect().await.0);
    }
    assert_eq!(idle.0.lock().connections.len(), MAX_IDLE);
}
