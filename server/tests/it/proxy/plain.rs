//! Tests of requests and responses that the proxy forwards unchanged.

use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Frame;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::client::{by, empty, get, open, open_http2, read, send};
use super::cluster::{Cluster, answer, fed, text};
use super::rig::{LIMIT, Rig, eventually};

#[tokio::test]
async fn cluster_receives_the_request_with_the_impersonated_user_and_returns_a_response() {
    let rig = Rig::new().await;
    let cluster = Cluster::echo();
    let _attached = cluster.attach(&rig, "a", "r1").await;
    let got = get(
        &rig,
        &rig.ann,
        "/k8s/clusters/a/api/v1/pods?limit=5&labelSelector=a%3Db",
    )
    .await;
    assert_eq!(got.code(), 200);
    assert_eq!(
        got.json()["uri"],
        "/api/v1/pods?limit=5&labelSelector=a%3Db"
    );
    assert!(got.head.headers.contains_key("drover-request-id"));
    let headers = cluster.only_head().headers;
    assert_eq!(headers["impersonate-user"], "drover:user:uid-ann");
    assert_eq!(headers["drover-lane"], "user");
    assert!(!headers.contains_key("authorization"));
    assert_eq!(
        headers["impersonate-extra-management.drover.dev%2fdisplay-name"],
        "ann the user"
    );
}

#[tokio::test]
async fn every_method_and_body_is_forwarded_over_both_http_versions() {
    let rig = Rig::new().await;
    let _attached = Cluster::echo().attach(&rig, "a", "r1").await;
    for method in ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
        let request = || {
            by(&rig.ann, method, "http://drover.example/k8s/clusters/a/x")
                .body(Full::from("hello"))
                .unwrap()
        };
        let mut one = request();
        *one.uri_mut() = "/k8s/clusters/a/x".parse().unwrap();
        let got = send(&rig, one).await.json();
        assert_eq!(
            (&got["method"], &got["body"]),
            (&method.into(), &"hello".into())
        );
        let (_sender, got) = open_http2(rig.address, request()).await;
        let got = read(got).await.json();
        assert_eq!(
            (&got["method"], &got["body"]),
            (&method.into(), &"hello".into())
        );
    }
}

#[tokio::test]
async fn errors_of_the_cluster_are_relayed_unchanged() {
    let rig = Rig::new().await;
    let cluster = Cluster::new(async |request: http::Request<_>| {
        let code: u16 = request.uri().path()[1..].parse().unwrap();
        let mut response = answer(code, format!("{{\"code\":{code}}}"));
        response
            .headers_mut()
            .insert("retry-after", "7".parse().unwrap());
        response
            .headers_mut()
            .insert("x-kubernetes-pf-flowschema-uid", "f".parse().unwrap());
        response
    });
    let _attached = cluster.attach(&rig, "a", "r1").await;
    for code in [
        400_u16, 401, 403, 404, 409, 410, 415, 422, 429, 500, 503, 504,
    ] {
        let got = get(&rig, &rig.ann, &format!("/k8s/clusters/a/{code}")).await;
        assert_eq!(
            (got.code(), got.json()["code"].as_u64()),
            (code, Some(code.into()))
        );
        assert_eq!(got.head.headers["retry-after"], "7", "{code}");
        assert_eq!(got.head.headers["x-kubernetes-pf-flowschema-uid"], "f");
        assert_eq!(got.head.headers["content-type"], "application/json");
    }
}

#[tokio::test]
async fn large_bodies_are_forwarded_in_both_directions() {
    let rig = Rig::new().await;
    let cluster = Cluster::new(async |request: http::Request<hyper::body::Incoming>| {
        let body = request.into_body().collect().await.unwrap().to_bytes();
        answer(200, body)
    });
    let _attached = cluster.attach(&rig, "a", "r1").await;
    let body = Bytes::from(vec![b'x'; 12 << 20]);
    let request = by(&rig.ann, "POST", "/k8s/clusters/a/big")
        .body(Full::new(body.clone()))
        .unwrap();
    let got = send(&rig, request).await;
    assert_eq!(got.code(), 200);
    assert!(got.body == body, "{} bytes came back", got.body.len());
}

#[tokio::test]
async fn frames_are_forwarded_without_buffering_in_both_directions() {
    let rig = Rig::new().await;
    // The cluster responds to each frame of the request with a frame.
    let cluster = Cluster::new(async |request: http::Request<hyper::body::Incoming>| {
        let (feed, body) = fed();
        let mut incoming = request.into_body();
        tokio::spawn(async move {
            while let Some(Ok(frame)) = incoming.frame().await {
                feed.send(Ok(frame)).await.unwrap();
            }
        });
        http::Response::new(body)
    });
    let _attached = cluster.attach(&rig, "a", "r1").await;
    let (say, received) = mpsc::channel::<Bytes>(1);
    let stream = futures::stream::unfold(received, async |mut received| {
        let bytes = received.recv().await?;
        Some((
            Ok::<_, drover_tunnel::BoxError>(Frame::data(bytes)),
            received,
        ))
    });
    let request = by(&rig.ann, "POST", "/k8s/clusters/a/talk")
        .body(StreamBody::new(Box::pin(stream)))
        .unwrap();
    say.send(Bytes::from("first")).await.unwrap();
    let mut body = open(rig.address, request).await.into_body();
    for word in ["first", "second", "third"] {
        if word != "first" {
            say.send(Bytes::from(word)).await.unwrap();
        }
        let frame = tokio::time::timeout(LIMIT, body.frame())
            .await
            .unwrap()
            .unwrap()
            .unwrap();
        assert_eq!(frame.into_data().unwrap(), word);
    }
    // The client closes its half of the connection. The cluster's half ends afterwards.
    drop(say);
    assert!(
        tokio::time::timeout(LIMIT, body.frame())
            .await
            .unwrap()
            .is_none()
    );
}

#[tokio::test]
async fn response_cancelled_by_the_client_cancels_the_request_at_the_cluster() {
    let rig = Rig::new().await;
    let (gone, mut was_gone) = mpsc::channel(1);
    let cluster = Cluster::new(move |_| {
        let (feed, body) = fed();
        let gone = gone.clone();
        async move {
            feed.send(Ok(Frame::data(Bytes::from("event\n"))))
                .await
                .unwrap();
            tokio::spawn(async move {
                feed.closed().await;
                gone.send(()).await.unwrap();
            });
            http::Response::new(body)
        }
    });
    let _attached = cluster.attach(&rig, "a", "r1").await;
    let path = "/k8s/clusters/a/api/v1/pods?watch=true";
    let mut watch = open(
        rig.address,
        by(&rig.ann, "GET", path).body(empty()).unwrap(),
    )
    .await;
    watch.frame().await.unwrap().unwrap();
    assert_eq!(rig.open.len(), 1);
    drop(watch);
    tokio::time::timeout(LIMIT, was_gone.recv())
        .await
        .expect("the cluster receives the cancellation");
    let end = rig.audited(|r| r["stage"] == "end").await;
    assert_eq!(
        (&end["outcome"], &end["verb"]),
        (&"clientGone".into(), &"watch".into())
    );
    eventually("the registry of requests to be empty", async || {
        rig.open.is_empty().then_some(())
    })
    .await;
}

#[tokio::test]
async fn request_cancelled_by_the_client_before_the_response_is_cancelled_at_the_cluster() {
    let rig = Rig::new().await;
    let (came, mut has_come) = mpsc::channel(1);
    let gone = CancellationToken::new();
    let dropped = gone.clone();
    let cluster = Cluster::new(move |_| {
        let (came, dropped) = (came.clone(), dropped.clone());
        async move {
            let _dropped = dropped.drop_guard();
            came.send(()).await.unwrap();
            std::future::pending().await
        }
    });
    let _attached = cluster.attach(&rig, "a", "r1").await;
    let request = by(&rig.ann, "GET", "/k8s/clusters/a/slow")
        .body(empty())
        .unwrap();
    let address = rig.address;
    let asking = tokio::spawn(async move { open(address, request).await });
    has_come.recv().await.unwrap();
    assert!(!gone.is_cancelled());
    asking.abort();
    tokio::time::timeout(LIMIT, gone.cancelled())
        .await
        .expect("the cluster receives the cancellation");
    eventually("the registry of requests to be empty", async || {
        rig.open.is_empty().then_some(())
    })
    .await;
}

#[tokio::test]
async fn http_trailers_are_forwarded_in_both_directions() {
    let rig = Rig::new().await;
    let cluster = Cluster::new(async |request: http::Request<hyper::body::Incoming>| {
        let collected = request.into_body().collect().await.unwrap();
        let checksum = collected
            .trailers()
            .and_then(|t| t.get("x-checksum"))
            .cloned();
        let mut trailers = HeaderMap::new();
        trailers.insert(
            "x-seen",
            checksum.unwrap_or_else(|| "none".parse().unwrap()),
        );
        let (feed, body) = fed();
        feed.send(Ok(Frame::data(Bytes::from("data"))))
            .await
            .unwrap();
        feed.send(Ok(Frame::trailers(trailers))).await.unwrap();
        http::Response::new(body)
    });
    let _attached = cluster.attach(&rig, "a", "r1").await;
    let mut trailers = HeaderMap::new();
    trailers.insert("x-checksum", "42".parse().unwrap());
    let frames: Vec<Result<_, drover_tunnel::BoxError>> = vec![
        Ok(Frame::data(Bytes::from("x"))),
        Ok(Frame::trailers(trailers)),
    ];
    let request = by(&rig.ann, "POST", "http://drover.example/k8s/clusters/a/x")
        .body(StreamBody::new(futures::stream::iter(frames)))
        .unwrap();
    let (_sender, got) = open_http2(rig.address, request).await;
    let got = got.into_body().collect().await.unwrap();
    assert_eq!(got.trailers().unwrap()["x-seen"], "42");
}

#[tokio::test]
async fn response_100_continue_is_sent_only_to_authorized_requests() {
    let rig = Rig::new().await;
    let cluster = Cluster::echo();
    let _attached = cluster.attach(&rig, "a", "r1").await;
    let head = |bearer: &str| {
        format!(
            "POST /k8s/clusters/a/x HTTP/1.1\r\nHost: d\r\nAuthorization: Bearer {bearer}\r\n\
             Expect: 100-continue\r\nContent-Length: 5\r\n\r\n"
        )
    };
    let mut stream = TcpStream::connect(rig.address).await.unwrap();
    stream
        .write_all(head(&rig.ann.bearer).as_bytes())
        .await
        .unwrap();
    let mut reported = [0; 25];
    tokio::time::timeout(LIMIT, stream.read_exact(&mut reported))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(&reported, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"hello").await.unwrap();
    let mut answer = [0; 15];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200 OK");
    assert!(!cluster.only_head().headers.contains_key("expect"));

    let mut stream = TcpStream::connect(rig.address).await.unwrap();
    stream
        .write_all(head("drover_x_y").as_bytes())
        .await
        .unwrap();
    let mut answer = [0; 12];
    tokio::time::timeout(LIMIT, stream.read_exact(&mut answer))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(&answer, b"HTTP/1.1 401");
}

#[tokio::test]
async fn stalled_reader_does_not_delay_other_readers_on_the_same_tunnel() {
    let rig = Rig::new().await;
    let cluster = Cluster::new(async |request: http::Request<hyper::body::Incoming>| {
        if request.uri().path() == "/fast" {
            return answer(200, "fast");
        }
        let (feed, body) = fed();
        tokio::spawn(async move {
            let line = Bytes::from(vec![b'x'; 64 * 1024]);
            while feed.send(Ok(Frame::data(line.clone()))).await.is_ok() {}
        });
        http::Response::new(body)
    });
    let _attached = cluster.attach(&rig, "a", "r1").await;
    let mut stalled = Vec::new();
    for _ in 0..20 {
        let path = "/k8s/clusters/a/api/v1/namespaces/n/pods/p/log?follow=true";
        let request = by(&rig.ann, "GET", path).body(empty()).unwrap();
        stalled.push(open(rig.address, request).await);
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    for _ in 0..50 {
        let asking = get(&rig, &rig.ann, "/k8s/clusters/a/fast");
        let got = tokio::time::timeout(Duration::from_secs(5), asking)
            .await
            .expect("no delay");
        assert_eq!(got.body, "fast");
    }
}

#[tokio::test]
async fn responses_without_body_are_forwarded_with_their_content_length() {
    let rig = Rig::new().await;
    let cluster = Cluster::new(async |request: http::Request<hyper::body::Incoming>| {
        let mut response = http::Response::new(text(""));
        if *request.method() == http::Method::HEAD {
            response
                .headers_mut()
                .insert("content-length", "1234".parse().unwrap());
        } else {
            *response.status_mut() = http::StatusCode::NO_CONTENT;
        }
        response
    });
    let _attached = cluster.attach(&rig, "a", "r1").await;
    let request = by(&rig.ann, "HEAD", "/k8s/clusters/a/x")
        .body(empty())
        .unwrap();
    let got = send(&rig, request).await;
    assert_eq!(
        (got.code(), &got.head.headers["content-length"]),
        (200, &"1234".parse().unwrap())
    );
    let request = by(&rig.ann, "DELETE", "/k8s/clusters/a/x")
        .body(empty())
        .unwrap();
    assert_eq!(send(&rig, request).await.code(), 204);
    let records = rig.audit().await;
    assert!(
        records.iter().all(|r| r["outcome"] == "complete"),
        "{records:?}"
    );
}
