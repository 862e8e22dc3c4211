//! Tests with a compromised agent.
//!
//! The agent may close its own tunnel. Memory usage must stay within the tunnel's budget, users of
//! the tunnel must receive errors, and other clusters must not be affected.

use std::time::Duration;

use drover_testkit::tunnel::{TunnelPair, open_options};
use drover_tunnel::budget::Budget;
use drover_tunnel::tunnel::{
    AbortReason, BodyError, ClosedReason, HeadTimeout, OpenError, OpenOptions, SendError, Tunnel,
};
use drover_tunnel::{Limits, ServeOptions, ServerBudget};
use http::Response;
use http_body_util::BodyExt;
use tokio::io::AsyncWriteExt;
use tokio::task::JoinHandle;

use crate::agent::{agent, full, get, text};
use crate::raw::{
    ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, PING, PUSH_PROMISE, RST_STREAM,
    RawAgent, SETTINGS, STATUS_200, Victim, WINDOW_UPDATE, frame, victim,
};

/// Two tunnels with a common server budget: the tunnel of a hostile agent and the tunnel of an
/// honest agent.
struct Scene {
    hostile: Victim,
    honest: TunnelPair,
}

impl Scene {
    async fn open(limits: Limits) -> Self {
        let server = ServerBudget::new(Limits {
            streams: 1000,
            buffered_bytes: 4 << 20,
        });
        let options = OpenOptions {
            limits,
            ..OpenOptions::new(server)
        };
        let honest = TunnelPair::open_with(
            agent(|_| async { Response::new(full("honest")) }),
            options.clone(),
            ServeOptions::default(),
        )
        .await;
        Self {
            hostile: victim(options).await,
            honest,
        }
    }

    /// Asserts that the honest agent still responds to requests.
    async fn assert_honest_unhurt(&self) {
        let response = self.honest.tunnel.send(get("/")).await.unwrap();
        assert_eq!(text(response).await, "honest");
    }

    /// Sends a user's request. Returns the task of the user and the stream ID after the agent has
    /// received the request.
    async fn request(&mut self) -> (JoinHandle<Answer>, u32) {
        let tunnel = self.hostile.tunnel.clone();
        let user = tokio::spawn(async move { tunnel.send(get("/")).await });
        let stream = self.hostile.agent.request().await;
        (user, stream)
    }

    /// Sends a user's request, and the agent's response head. Returns the task of the user and the
    /// stream ID.
    async fn answered_request(&mut self) -> (JoinHandle<Answer>, u32) {
        let (user, stream) = self.request().await;
        let agent = &mut self.hostile.agent;
        agent
            .send(HEADERS, END_HEADERS, stream, STATUS_200)
            .await
            .unwrap();
        (user, stream)
    }

    /// Asserts that only the hostile tunnel closes, with a protocol error.
    async fn assert_only_hostile_closed(mut self) {
        let mut driver = self.hostile.driver;
        let ended = async {
            tokio::select! {
                closed = &mut driver => closed.unwrap(),
                () = self.hostile.agent.idle() => driver.await.unwrap(),
            }
        };
        let closed = tokio::time::timeout(Duration::from_mins(5), ended)
            .await
            .unwrap();
        assert!(matches!(closed, ClosedReason::Protocol(_)), "{closed:?}");
        assert_eq!(self.hostile.tunnel.closed().await, closed);
        let late = self.hostile.tunnel.send(get("/")).await.unwrap_err();
        assert!(matches!(late, SendError::Closed(_)), "{late}");
        let response = self.honest.tunnel.send(get("/")).await.unwrap();
        assert_eq!(text(response).await, "honest");
    }
}

type Answer = Result<Response<drover_tunnel::tunnel::Body>, SendError>;

const ROOMY: Limits = Limits {
    streams: 100,
    buffered_bytes: 2 << 20,
};

/// Opens both tunnels and runs `attack` on the hostile tunnel. Asserts that only the hostile tunnel
/// closes.
async fn closes(attack: impl AsyncFnOnce(&mut RawAgent) -> std::io::Result<()>) {
    let mut scene = Scene::open(ROOMY).await;
    // Writes can block or fail after the tunnel stops reading.
    let attacked = attack(&mut scene.hostile.agent);
    let _ = tokio::time::timeout(Duration::from_mins(1), attacked).await;
    scene.assert_only_hostile_closed().await;
}

/// Runs an attack like [`closes`], but after the agent has sent the response head of a request.
async fn closes_during_response(
    attack: impl AsyncFnOnce(&mut RawAgent, u32) -> std::io::Result<()>,
) {
    let mut scene = Scene::open(ROOMY).await;
    let (user, stream) = scene.answered_request().await;
    let body = user.await.unwrap().unwrap().into_body();
    let attacked = attack(&mut scene.hostile.agent, stream);
    let _ = tokio::time::timeout(Duration::from_mins(1), attacked).await;
    scene.assert_only_hostile_closed().await;
    assert!(
        body.collect().await.is_err(),
        "the user must not receive a truncated response as complete"
    );
}

#[tokio::test(start_paused = true)]
async fn invalid_http2_bytes_close_only_their_tunnel() {
    closes(async |agent| agent.bytes(&[0xA5; 4096]).await).await;
}

#[tokio::test(start_paused = true)]
async fn oversized_frame_closes_only_its_tunnel() {
    closes(async |agent| agent.send(DATA, 0, 1, &vec![0; 70_000]).await).await;
}

#[tokio::test(start_paused = true)]
async fn reset_of_unopened_stream_closes_only_its_tunnel() {
    closes(async |agent| agent.send(RST_STREAM, 0, 0x7fff_ffff, &[0; 4]).await).await;
}

#[tokio::test(start_paused = true)]
async fn data_on_unopened_stream_closes_only_its_tunnel() {
    closes(async |agent| agent.send(DATA, 0, 9, b"x").await).await;
}

#[tokio::test(start_paused = true)]
async fn request_sent_by_agent_closes_only_its_tunnel() {
    closes(async |agent| {
        agent
            .send(HEADERS, END_HEADERS | END_STREAM, 2, &[0x82, 0x84])
            .await
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn pushed_response_closes_only_its_tunnel() {
    closes_during_response(async |agent, stream| {
        agent
            .send(PUSH_PROMISE, END_HEADERS, stream, &[0, 0, 0, 2, 0x82, 0x84])
            .await
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn overflow_of_server_window_closes_only_its_tunnel() {
    closes(async |agent| {
        agent
            .send(WINDOW_UPDATE, 0, 0, &0x7fff_ffff_u32.to_be_bytes())
            .await
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn endless_headers_close_only_their_tunnel() {
    closes_during_response(async |agent, stream| {
        // A literal header with an incomplete value.
        agent
            .send(
                HEADERS,
                0,
                stream,
                &[0x00, 0x01, b'a', 0x7f, 0xff, 0xff, 0x7f],
            )
            .await?;
        for _ in 0..10_000 {
            agent.send(CONTINUATION, 0, stream, &[b'a'; 16_000]).await?;
        }
        Ok(())
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn endless_empty_frames_close_only_their_tunnel() {
    closes_during_response(async |agent, stream| {
        for _ in 0..100_000 {
            agent.send(DATA, 0, stream, &[]).await?;
        }
        Ok(())
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn tiny_unread_frames_close_only_their_tunnel() {
    let mut scene = Scene::open(ROOMY).await;
    let (user, stream) = scene.answered_request().await;
    let _unread = user.await.unwrap().unwrap();
    let tiny = frame(DATA, 0, stream, b"x").repeat(100_000);
    let _ = scene.hostile.agent.bytes(&tiny).await;
    scene.assert_only_hostile_closed().await;
}

#[tokio::test(start_paused = true)]
async fn data_after_the_end_of_a_response_is_not_delivered() {
    let mut scene = Scene::open(ROOMY).await;
    let (user, stream) = scene.answered_request().await;
    let agent = &mut scene.hostile.agent;
    agent
        .send(DATA, END_STREAM, stream, b"whole")
        .await
        .unwrap();
    agent.send(DATA, 0, stream, b" and more").await.unwrap();
    let response = user.await.unwrap();
    // The tunnel may close before the user has read the body, but no extra data may arrive.
    if let Ok(response) = response
        && let Ok(body) = response.into_body().collect().await
    {
        assert_eq!(body.to_bytes(), "whole");
    }
    scene.assert_honest_unhurt().await;
}

#[tokio::test(start_paused = true)]
async fn agent_cannot_send_more_than_the_stream_window() {
    let mut scene = Scene::open(ROOMY).await;
    let (user, stream) = scene.answered_request().await;
    let body = user.await.unwrap().unwrap().into_body();
    for _ in 0..64 {
        if scene
            .hostile
            .agent
            .send(DATA, 0, stream, &[0; 16_384])
            .await
            .is_err()
        {
            break;
        }
    }
    tokio::time::sleep(Duration::from_secs(3)).await;
    let owned = scene.hostile.tunnel.stats().buffered_bytes;
    assert!(owned <= ROOMY.buffered_bytes, "{owned}");
    assert!(body.collect().await.is_err());
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(scene.hostile.tunnel.stats().buffered_bytes, 0);
    scene.assert_honest_unhurt().await;
}

#[tokio::test(start_paused = true)]
async fn unread_body_is_bounded_and_reset_after_a_minute() {
    let mut scene = Scene::open(ROOMY).await;
    let (user, stream) = scene.answered_request().await;
    let mut body = user.await.unwrap().unwrap().into_body();
    let data = frame(DATA, 0, stream, &[0; 16_384]).repeat(16);
    scene.hostile.agent.bytes(&data).await.unwrap();
    let idle = tokio::spawn(async move { scene.hostile.agent.idle().await });
    tokio::time::sleep(Duration::from_secs(50)).await;
    let owned = scene.hostile.tunnel.stats().buffered_bytes;
    assert!((262_144..=2 << 20).contains(&owned), "{owned}");
    tokio::time::sleep(Duration::from_secs(15)).await;
    assert_eq!(scene.hostile.tunnel.stats().stalled_streams, 1);
    let error = body.frame().await.unwrap().unwrap_err();
    assert!(
        matches!(error, BodyError::Aborted(AbortReason::Stalled(_))),
        "{error}"
    );
    idle.abort();
}

#[tokio::test(start_paused = true)]
async fn unread_bodies_above_the_budget_are_reset_and_new_requests_are_rejected() {
    let mut scene = Scene::open(ROOMY).await;
    let mut unread = Vec::new();
    for _ in 0..8 {
        let (user, stream) = scene.request().await;
        let agent = &mut scene.hostile.agent;
        agent
            .send(HEADERS, END_HEADERS, stream, STATUS_200)
            .await
            .unwrap();
        unread.push(user.await.unwrap().unwrap());
        let data = frame(DATA, 0, stream, &[0; 16_384]).repeat(16);
        agent.bytes(&data).await.unwrap();
    }
    tokio::time::sleep(Duration::from_secs(3)).await;
    let stats = scene.hostile.tunnel.stats();
    assert!(stats.buffered_bytes <= ROOMY.buffered_bytes, "{stats:?}");
    assert_eq!(
        usize::try_from(stats.shed_streams).unwrap() + stats.open_streams,
        8,
        "{stats:?}"
    );
    assert!(
        stats.shed_streams > 0 && stats.open_streams > 0,
        "{stats:?}"
    );
    scene.assert_honest_unhurt().await;
}

#[tokio::test(start_paused = true)]
async fn streams_without_response_reach_the_stream_limit_and_time_out() {
    let mut scene = Scene::open(Limits {
        streams: 10,
        ..ROOMY
    })
    .await;
    let mut users = Vec::new();
    for _ in 0..10 {
        let tunnel = scene.hostile.tunnel.clone();
        users.push(tokio::spawn(async move {
            let mut request = get("/");
            request
                .extensions_mut()
                .insert(HeadTimeout(Duration::from_secs(30)));
            tunnel.send(request).await
        }));
        scene.hostile.agent.request().await;
    }
    let refused = scene.hostile.tunnel.send(get("/")).await.unwrap_err();
    assert!(
        matches!(refused, SendError::BudgetExceeded(Budget::TunnelStreams)),
        "{refused}"
    );
    scene.assert_honest_unhurt().await;
    let idle = tokio::spawn(async move { scene.hostile.agent.idle().await });
    for user in users {
        assert!(matches!(
            user.await.unwrap(),
            Err(SendError::HeadTimeout(_))
        ));
    }
    assert_eq!(scene.hostile.tunnel.stats().open_streams, 0);
    idle.abort();
}

#[tokio::test(start_paused = true)]
async fn mass_reset_by_the_agent_fails_only_the_reset_requests() {
    let mut scene = Scene::open(ROOMY).await;
    for _ in 0..2_000 {
        let (user, stream) = scene.request().await;
        scene
            .hostile
            .agent
            .send(RST_STREAM, 0, stream, &2_u32.to_be_bytes())
            .await
            .unwrap();
        assert!(matches!(user.await.unwrap(), Err(SendError::Reset(_))));
    }
    assert_eq!(scene.hostile.tunnel.stats().open_streams, 0);
    scene.assert_honest_unhurt().await;
}

#[tokio::test(start_paused = true)]
async fn ping_flood_without_reading_pongs_closes_the_tunnel() {
    let scene = Scene::open(ROOMY).await;
    let Scene {
        hostile: Victim {
            tunnel,
            driver,
            mut agent,
        },
        honest,
    } = scene;
    let flood = tokio::spawn(async move {
        let pings = [frame(PING, 0, 0, &[7; 8]), frame(SETTINGS, 0, 0, &[])]
            .concat()
            .repeat(500);
        while agent.bytes(&pings).await.is_ok() {}
    });
    assert_eq!(driver.await.unwrap(), ClosedReason::KeepaliveTimeout);
    assert_eq!(tunnel.closed().await, ClosedReason::KeepaliveTimeout);
    flood.await.unwrap();
    assert_eq!(
        text(honest.tunnel.send(get("/")).await.unwrap()).await,
        "honest"
    );
}

#[tokio::test(start_paused = true)]
async fn http2_refused_stream_error_is_reported_as_retryable() {
    let mut scene = Scene::open(ROOMY).await;
    let (user, stream) = scene.request().await;
    scene
        .hostile
        .agent
        .send(RST_STREAM, 0, stream, &7_u32.to_be_bytes())
        .await
        .unwrap();
    let refused = user.await.unwrap().unwrap_err();
    assert!(
        matches!(refused, SendError::RefusedByAgent) && refused.retry_is_safe(),
        "{refused}"
    );
}

#[tokio::test(start_paused = true)]
async fn requests_fail_immediately_if_the_agent_permits_zero_streams() {
    let mut scene = Scene::open(ROOMY).await;
    // MAX_CONCURRENT_STREAMS = 0
    scene
        .hostile
        .agent
        .send(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 0])
        .await
        .unwrap();
    while scene.hostile.agent.next_acknowledged().await.unwrap().flags & ACK == 0 {}
    let refused = scene.hostile.tunnel.send(get("/")).await.unwrap_err();
    assert!(
        matches!(refused, SendError::BudgetExceeded(Budget::AgentStreams)),
        "{refused}"
    );
}

#[tokio::test(start_paused = true)]
async fn agent_without_http2_handshake_times_out() {
    let (_silent, server) = drover_testkit::tunnel::websocket_pair();
    let error = Tunnel::open(server, open_options()).await.unwrap_err();
    assert!(matches!(error, OpenError::Timeout(_)), "{error}");
}

#[tokio::test(start_paused = true)]
async fn http1_response_of_agent_fails_the_handshake() {
    let (mut agent, server) = drover_testkit::tunnel::websocket_pair();
    agent
        .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        .await
        .unwrap();
    agent.flush().await.unwrap();
    let error = Tunnel::open(server, open_options()).await.unwrap_err();
    assert!(
        matches!(error, OpenError::Closed(ClosedReason::Protocol(_))),
        "{error}"
    );
}
