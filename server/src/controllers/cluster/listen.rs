//! The report stream of one cluster, read for as long as the cluster is connected.

use std::time::Duration;

use drover_api::agent::{Lane, REPORT_PATH};
use drover_api::report::Report;
use http::Request;
use http_body_util::{BodyExt as _, Empty};
use kube::ResourceExt as _;
use thiserror::Error;

use super::decide::SILENT_AFTER;
use super::heard::{Heard, LineTooLong, Lines, News};
use crate::controllers::keeper::Shared;
use drover_agent_gateway::tunnels::TunnelSendError;
use drover_entropy::backoff::Backoff;

/// Refusals of one line that are logged each by itself.
const MOST_LOGGED: usize = 16;
/// Most time for the answer to begin.
const HEAD_WITHIN: Duration = Duration::from_secs(15);

/// Why a report stream ended.
#[derive(Debug, Error)]
enum StreamEnd {
    #[error("it could not be opened: {0}")]
    Send(#[from] TunnelSendError),
    #[error("the agent answered {0}")]
    Refused(http::StatusCode),
    #[error("nothing came for too long")]
    Silence,
    #[error("the agent ended it")]
    Ended,
    #[error("the tunnel broke: {0}")]
    Broken(String),
    #[error(transparent)]
    Long(#[from] LineTooLong),
    #[error("a line is no report: {0}")]
    Malformed(#[from] serde_json::Error),
}

/// Reads streams one after the other, with a pause between them.
pub(in crate::controllers) async fn listen(shared: &Shared) {
    let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(15));
    loop {
        shared.connected().await;
        let end = read(shared, &mut backoff).await;
        tracing::debug!(cluster.uid = %shared.uid, "a report stream ended: {end}");
        tokio::time::sleep(backoff.next_delay()).await;
    }
}

async fn read(shared: &Shared, backoff: &mut Backoff) -> StreamEnd {
    match stream(shared, backoff).await {
        Ok(never) => match never {},
        Err(end) => end,
    }
}

async fn stream(
    shared: &Shared,
    backoff: &mut Backoff,
) -> Result<std::convert::Infallible, StreamEnd> {
    let request = Request::new(Empty::<bytes::Bytes>::new());
    let (mut head, body) = request.into_parts();
    head.uri = http::Uri::from_static(REPORT_PATH);
    let request = Request::from_parts(head, body);
    let sent = shared
        .controllers
        .tunnels
        .send(&shared.uid, Lane::Report, request);
    // Boxed: an open stream has no use for the room that opening it takes.
    let response = tokio::time::timeout(HEAD_WITHIN, Box::pin(sent))
        .await
        .map_err(|_| StreamEnd::Silence)??;
    if !response.status().is_success() {
        return Err(StreamEnd::Refused(response.status()));
    }
    let mut body = std::pin::pin!(response.into_body());
    let mut lines = Lines::default();
    let mut first = true;
    loop {
        let frame = tokio::time::timeout(SILENT_AFTER, body.frame())
            .await
            .map_err(|_| StreamEnd::Silence)?
            .ok_or(StreamEnd::Ended)?
            .map_err(|error| StreamEnd::Broken(error.to_string()))?;
        let Ok(bytes) = frame.into_data() else {
            continue;
        };
        for line in lines.push(&bytes)? {
            let report: Report = serde_json::from_slice(&line)?;
            let news = shared.hear(|heard| {
                // Another replica's stream may not know what the last one's knew.
                if std::mem::take(&mut first) {
                    *heard = Heard {
                        nodes: heard.nodes.take(),
                        ..Heard::default()
                    };
                }
                heard.merge(report)
            });
            backoff.reset();
            tell(shared, &news);
        }
    }
}

/// What is told once becomes events of the Cluster; refusals, a sign of a fault or of an attack,
/// go to the log too.
fn tell(shared: &Shared, news: &News) {
    let Some(cluster) = shared.cluster() else {
        return;
    };
    for refusal in news.refusals.iter().take(MOST_LOGGED) {
        tracing::warn!(
            cluster.name = cluster.name_any(),
            lane = ?refusal.lane,
            reason = ?refusal.reason,
            count = refusal.count,
            "the agent refused requests: {:?}",
            refusal.message
        );
    }
    let unlogged = news.refusals.len().saturating_sub(MOST_LOGGED);
    if unlogged > 0 {
        let name = cluster.name_any();
        tracing::warn!(
            cluster.name = name,
            unlogged,
            "the agent refused more requests"
        );
    }
    let refused = news.refusals.iter().map(|refusal| {
        let note = format!(
            "the agent refused {} request(s) on lane {:?}: {} ({})",
            refusal.count, refusal.lane, refusal.message, refusal.reason
        );
        ("AgentRefused", note)
    });
    let warned = news.events.iter().map(|event| {
        let note = format!(
            "{}: {} ({}, {} times)",
            event.regarding, event.message, event.reason, event.count
        );
        ("ClusterWarning", note)
    });
    for (reason, note) in refused.chain(warned) {
        shared.controllers.notices.reported(&cluster, reason, note);
    }
}
