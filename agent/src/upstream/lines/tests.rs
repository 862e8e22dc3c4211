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

/// An API server of few words: `/endless` never ends, everything else is its own path.
#[derive(Clone, Default)]
struct Place {
    carried_out: Arc<AtomicUsize>,
}

impl Place {
    /// A new connection to it; the task ends when the connection has.
    async fn connect(&self) -> (Line<Pipe>, JoinHandle<()>) {
        let (near, far) = tokio::io::duplex(64 * 1024);
        let carried_out = Arc::clone(&self.carried_out);
        let service = service_fn(move |request: Request<Incoming>| {
            carried_out.fetch_add(1, Ordering::SeqCst);
            async move { Ok::<_, Infallible>(answer(request).await) }
        });
        let serving = tokio::spawn(async move {
            let connection = server::Builder::new().serve_connection(TokioIo::new(far), service);
            // A connection that the other end closes under an answer is an error, as it should be.
            let _ = connection.await;
        });
        (Line::new(TokioIo::new(near)).await.unwrap(), serving)
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
            // Answers at once, and reads what it is sent all the same.
            let (tell, told) = tokio::sync::oneshot::channel();
            tokio::spawn(async move {
                let sent = request.into_body().collect().await.unwrap().to_bytes();
                tell.send(sent.len()).unwrap();
            });
            let length = futures::stream::once(async move {
                let length = told.await.unwrap().to_string();
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

async fn read(response: Response<Answer<Pipe>>) -> Bytes {
    response.into_body().collect().await.unwrap().to_bytes()
}

#[tokio::test]
async fn one_connection_carries_one_request_after_the_other() {
    let (place, idle) = (Place::default(), Idle::default());
    let (line, _serving) = place.connect().await;
    let first = line.exchange(request("/first", ""), &idle).await;
    assert_eq!(read(first.map_err(|e| e.error).unwrap()).await, "/first");
    for (path, body, wanted) in [
        ("/second", "", "/second"),
        ("/nothing", "", ""),
        ("/echo", "what was sent", "what was sent"),
        ("/last", "not read by anybody", "/last"),
    ] {
        let response = idle.exchange(request(path, body)).await.unwrap().unwrap();
        assert_eq!(read(response).await, wanted, "{path}");
    }
    assert_eq!(place.carried_out.load(Ordering::SeqCst), 5);
}

#[tokio::test]
async fn a_request_on_a_connection_that_was_closed_meanwhile_comes_back_and_is_carried_out_once() {
    let (place, idle) = (Place::default(), Idle::default());
    let (line, serving) = place.connect().await;
    let first = line.exchange(request("/first", ""), &idle).await;
    read(first.map_err(|e| e.error).unwrap()).await;
    serving.abort();
    assert!(serving.await.unwrap_err().is_cancelled());

    let unsent = idle.exchange(request("/echo", "once")).await.unwrap();
    let unsent = unsent.err().expect("there is no connection left");
    let (line, _serving) = place.connect().await;
    let second = line.exchange(unsent, &idle).await;
    assert_eq!(read(second.map_err(|e| e.error).unwrap()).await, "once");
    assert_eq!(place.carried_out.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn an_answer_that_nobody_reads_on_closes_its_connection() {
    let (place, idle) = (Place::default(), Idle::default());
    let (line, serving) = place.connect().await;
    let watch = line.exchange(request("/endless", ""), &idle).await;
    let mut watch = watch.map_err(|e| e.error).unwrap().into_body();
    let frame = watch.frame().await.unwrap().unwrap();
    assert_eq!(frame.into_data().unwrap(), "line");
    drop(watch);
    serving.await.unwrap();
    let next = idle.exchange(request("/next", "")).await.unwrap();
    assert!(next.is_err(), "it was not kept");
}

#[tokio::test]
async fn a_request_given_up_before_its_answer_closes_its_connection() {
    let (near, far) = tokio::io::duplex(1024);
    let line = Line::new(TokioIo::new(near)).await.unwrap();
    let idle = Idle::default();
    let waiting = line.exchange(request("/silent", ""), &idle);
    let given_up = tokio::time::timeout(Duration::from_millis(10), waiting).await;
    assert!(given_up.is_err());
    let mut far = far;
    let mut seen = Vec::new();
    // The head, and then the end.
    tokio::io::AsyncReadExt::read_to_end(&mut far, &mut seen)
        .await
        .unwrap();
    assert!(seen.starts_with(b"POST /silent HTTP/1.1\r\n"));
}

#[tokio::test]
async fn what_is_sent_arrives_though_nobody_reads_the_answer_yet() {
    const LENGTH: usize = 1 << 20;
    let (place, idle) = (Place::default(), Idle::default());
    let (line, serving) = place.connect().await;
    let (upload, body) = futures::channel::mpsc::channel(0);
    let body: Body = StreamBody::new(body).boxed_unsync();
    let request = Request::post("/early").header("host", "api").body(body);
    let early = line.exchange(request.unwrap(), &idle).await;
    let answer = early.map_err(|e| e.error).unwrap();
    let chunk = || Ok::<_, drover_tunnel::BoxError>(Frame::data(Bytes::from(vec![0; 1 << 14])));
    let chunks = futures::stream::iter((0..LENGTH >> 14).map(|_| Ok(chunk())));
    // Far more than the pipe between them holds.
    futures::StreamExt::forward(chunks, upload).await.unwrap();
    assert_eq!(read(answer).await, LENGTH.to_string());
    serving.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_is_closed_in_time_and_those_used_since_stay() {
    let (place, idle) = (Place::default(), Idle::default());
    let mut ends = Vec::new();
    for _ in 0..2 {
        let (line, serving) = place.connect().await;
        idle.put(line);
        ends.push(serving);
    }
    tokio::time::sleep(IDLE_TIME / 2).await;
    let used = idle.exchange(request("/used", "")).await.unwrap().unwrap();
    read(used).await;
    tokio::time::sleep(IDLE_TIME * 3 / 4).await;
    assert!(ends[0].is_finished(), "the one that nobody used");
    assert!(!ends[1].is_finished());
    tokio::time::sleep(IDLE_TIME).await;
    assert!(ends[1].is_finished());
    assert!(!idle.0.lock().swept, "nobody looks where nothing is");
}

#[tokio::test]
async fn only_so_many_idle_connections_are_kept() {
    let (place, idle) = (Place::default(), Idle::default());
    for _ in 0..MOST + 3 {
        idle.put(place.connect().await.0);
    }
    assert_eq!(idle.0.lock().lines.len(), MOST);
}
