//! The report stream of each cluster, read while the cluster is connected.

use std::time::Duration;

use drover_api::agent::{Lane, REPORT_PATH};
use drover_api::ids::ClusterUid;
use drover_api::report::Report;
use drover_reconcile::{Action, Attempt, Reconciler};
use http::Request;
use http_body_util::{BodyExt as _, Empty};
use kube::ResourceExt as _;
use thiserror::Error;

use super::decide::SILENT_AFTER;
use crate::Controllers;
use crate::agent_status::{LineTooLong, Lines, News, ReportedStatus};
use crate::managed::ManagedCluster;
use drover_agent_gateway::tunnels::TunnelSendError;

/// Refusals of one line that are logged each by itself.
const MOST_LOGGED: usize = 16;
/// After the end of a stream that worked.
const REOPEN_AFTER: Duration = Duration::from_millis(500);
/// Most time for the answer to begin.
const HEAD_WITHIN: Duration = Duration::from_secs(15);

/// Why a report stream ended.
#[derive(Debug, Error)]
pub(crate) enum StreamEnd {
    #[error("cannot open the report stream: {0}")]
    Send(#[from] TunnelSendError),
    #[error("the agent answered {0}")]
    Refused(http::StatusCode),
    #[error("the report stream was silent for too long")]
    Silence,
    #[error("the agent ended the report stream")]
    Ended,
    #[error("the tunnel broke: {0}")]
    Broken(String),
    #[error(transparent)]
    Long(#[from] LineTooLong),
    #[error("cannot parse a line of the report: {0}")]
    Malformed(#[from] serde_json::Error),
}

/// Reads the report stream of each connected cluster; a call ends with the stream.
pub(crate) struct AgentReports(pub(crate) Controllers);

impl Reconciler for AgentReports {
    type Key = ClusterUid;
    type Error = StreamEnd;

    async fn reconcile(&self, uid: &ClusterUid, _: &Attempt) -> Result<Action, StreamEnd> {
        let Some(cluster) = self.0.cluster(uid) else {
            return Ok(Action::await_change());
        };
        let reading = cluster.unless_deleted(read(&cluster));
        reading.await.unwrap_or(Ok(Action::await_change()))
    }

    /// Streams end with tunnels and agents.
    fn is_expected(&self, _: &StreamEnd) -> bool {
        true
    }
}

async fn read(cluster: &ManagedCluster) -> Result<Action, StreamEnd> {
    if !cluster.is_connected() {
        return Ok(Action::await_change());
    }
    let mut received = false;
    match stream(cluster, &mut received).await {
        Ok(never) => match never {},
        // A stream that worked ends the backoff.
        Err(end) if received => {
            tracing::debug!(cluster.uid = %cluster.uid, %end, "report stream ended");
            Ok(Action::requeue(REOPEN_AFTER))
        }
        Err(end) => Err(end),
    }
}

async fn stream(
    cluster: &ManagedCluster,
    received: &mut bool,
) -> Result<std::convert::Infallible, StreamEnd> {
    let request = Request::new(Empty::<bytes::Bytes>::new());
    let (mut head, body) = request.into_parts();
    head.uri = http::Uri::from_static(REPORT_PATH);
    let request = Request::from_parts(head, body);
    let tunnels = &cluster.controllers.tunnels;
    let sent = tunnels.send(&cluster.uid, Lane::Report, request);
    // Boxed: an open stream has no use for the room that opening it takes.
    let response = tokio::time::timeout(HEAD_WITHIN, Box::pin(sent))
        .await
        .map_err(|_| StreamEnd::Silence)??;
    if !response.status().is_success() {
        return Err(StreamEnd::Refused(response.status()));
    }
    let mut body = std::pin::pin!(response.into_body());
    let mut lines = Lines::default();
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
            let news = cluster.report(|reported| {
                // Another replica's stream may not know what the last one's knew.
                if !std::mem::replace(received, true) {
                    *reported = ReportedStatus {
                        nodes: reported.nodes.take(),
                        ..ReportedStatus::default()
                    };
                }
                reported.merge(report)
            });
            publish(cluster, &news);
        }
    }
}

/// Publishes events of the Cluster; refusals are logged too, as they may be signs of an attack.
fn publish(managed: &ManagedCluster, news: &News) {
    let Some(cluster) = managed.object() else {
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
        managed.controllers.notices.reported(&cluster, reason, note);
    }
}
