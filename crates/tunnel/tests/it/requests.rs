//! Plain requests through the tunnel.

use bytes::Bytes;
use drover_testkit::tunnel::TunnelPair;
use http::{HeaderName, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};

use crate::agent::{agent, full, get, text};

#[tokio::test]
async fn request_and_response_pass_unchanged() {
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
