//! Tests of the agent's limit for buffered response bytes.

use std::time::Duration;

use bytes::Bytes;
use drover_testkit::tunnel::{TunnelPair, open_options};
use drover_tunnel::ServeOptions;
use drover_tunnel::response_budget::ResponseBudget;
use futures::stream;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};

use crate::agent::{AnyBody, agent, full, get};

const CHUNK: usize = 16 << 10;
const LIMIT: usize = 1 << 20;
const SOON: Duration = Duration::from_mins(1);

/// Responds to requests for test paths. `/endless` never ends, `/large` returns 4 MiB, and all
/// other paths respond immediately.
async fn answer(request: Request<hyper::body::Incoming>) -> Response<AnyBody> {
    let chunk = Bytes::from(vec![b'x'; CHUNK]);
    let chunks = move || Ok(Frame::data(chunk.clone()));
    let body = match request.uri().path() {
        "/endless" => StreamBody::new(stream::repeat_with(chunks)).boxed_unsync(),
        "/large" => {
            let chunks = (0..(4 << 20) / CHUNK).map(move |_| chunks());
            StreamBody::new(stream::iter(chunks)).boxed_unsync()
        }
        _ => full("here"),
    };
    Response::new(body)
}

#[tokio::test]
async fn unread_responses_do_not_exceed_the_response_budget_of_the_agent() {
    let budget = ResponseBudget::new(LIMIT);
    let mut options = open_options();
    options.stall_after = Duration::from_hours(1);
    let serve = ServeOptions {
        responses: Some(budget.clone()),
        ..ServeOptions::default()
    };
    let pair = TunnelPair::open_with(agent(answer), options, serve).await;
    // This response starts before the budget is full and is read afterwards.
    let prompt = pair.tunnel.send(get("/large")).await.unwrap();
    let mut unread = Vec::new();
    let refused = loop {
        let response = pair.tunnel.send(get("/endless")).await.unwrap();
        if response.status() == 503 {
            break response;
        }
        unread.push(response);
        assert!(unread.len() < 10_000, "the budget becomes full");
    };
    assert_eq!(refused.headers()["retry-after"], "1");
    assert!(
        budget.buffered() <= 2 * LIMIT + CHUNK,
        "{}",
        budget.buffered()
    );
    let read = tokio::time::timeout(SOON, prompt.into_body().collect());
    let read = read.await.expect("a fast reader continues").unwrap();
    assert_eq!(read.to_bytes().len(), 4 << 20);
    drop((unread, refused));
    let served = async {
        while pair.tunnel.send(get("/")).await.unwrap().status() != 200 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(SOON, served)
        .await
        .expect("the budget has free capacity again");
}
