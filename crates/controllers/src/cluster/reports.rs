//! Reads the report stream of each connected cluster.

use std::convert::Infallible;
use std::pin::pin;
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
use crate::agent_status::{LineTooLong, Lines, ReportEvents, ReportedStatus};
use crate::managed::ManagedCluster;
use drover_agent_gateway::tunnels::{SelectedTunnel, TunnelSendError};

/// Maximum number of individual log lines about rejected requests per report line.
const MAX_LOGGED: usize = 16;
/// Delay until the server opens the next stream after a stream that delivered a report or moves to a
/// different tunnel.
const REOPEN_AFTER: Duration = Duration::from_millis(500);
/// Timeout of the report stream's response headers.
const HEADERS_TIMEOUT: Duration = Duration::from_secs(15);

/// Reason for the end of a report stream.
#[derive(Debug, Error)]
pub(crate) enum StreamEnd {
    #[error("cannot open the report stream: {cause}", cause = .0)]
    Send(#[from] TunnelSendError),
    #[error("the agent responded with status {status}", status = .0)]
    Refused(http::StatusCode),
    #[error("the agent sent no report before the timeout")]
    Silence,
    #[error("the tunnel closed, or a different tunnel of the cluster is healthier")]
    Superseded,
    #[error("the agent closed the report stream")]
    Ended,
    #[error("the tunnel failed: {cause}", cause = .0)]
    Broken(String),
    #[error(transparent)]
    Long(#[from] LineTooLong),
    #[error("cannot parse a line of the report: {cause}", cause = .0)]
    Malformed(#[from] serde_json::Error),
}

/// The reconciler that reads the report stream of each connected cluster. Each reconciliation runs
/// until the stream ends.
pub(crate) struct AgentReports(pub(crate) Controllers);

impl Reconciler for AgentReports {
    type Key = ClusterUid;
    type Error = StreamEnd;

    async fn reconcile(&self, uid: &ClusterUid, _: &Attempt) -> Result<Action, StreamEnd> {
        let Some(cluster) = self.0.cluster(uid) else {
            return Ok(Action::await_change());
        };
        // Pinned, because this task runs as long as the tunnel, and would reserve memory for each
        // await point that owns the future.
        let reading = pin!(read(&cluster));
        let result = cluster.unless_deleted(reading).await;
        result.unwrap_or(Ok(Action::await_change()))
    }

    /// Returns true, because the end of a stream is normal: a stream ends when its tunnel or agent
    /// ends.
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
        // A stream that delivered a report, or that moves to a different tunnel, resets the backoff.
        Err(end) if received || matches!(end, StreamEnd::Superseded) => {
            tracing::debug!(cluster.uid = %cluster.uid, %end, "report stream ended");
            Ok(Action::requeue(REOPEN_AFTER))
        }
        Err(end) => Err(end),
    }
}

/// Reads the reports through one tunnel. Returns when the stream ends, when the tunnel closes, or when
/// a different tunnel is healthier.
async fn stream(cluster: &ManagedCluster, received: &mut bool) -> Result<Infallible, StreamEnd> {
    let tunnels = &cluster.controllers.tunnels;
    let tunnel = tunnels
        .choose(&cluster.uid)
        .map_err(TunnelSendError::from)?;
    tokio::select! {
        ended = read_lines(cluster, &tunnel, received) => ended,
        () = tunnels.superseded(&cluster.uid, &tunnel) => Err(StreamEnd::Superseded),
    }
}

async fn read_lines(
    cluster: &ManagedCluster,
    tunnel: &SelectedTunnel,
    received: &mut bool,
) -> Result<Infallible, StreamEnd> {
    let request = Request::new(Empty::<bytes::Bytes>::new());
    let (mut head, body) = request.into_parts();
    head.uri = http::Uri::from_static(REPORT_PATH);
    let request = Request::from_parts(head, body);
    let sent = tunnel.send(Lane::Report, request);
    // Box the future, so that the open stream does not keep its memory.
    let response = tokio::time::timeout(HEADERS_TIMEOUT, Box::pin(sent))
        .await
        .map_err(|_| StreamEnd::Silence)?
        .map_err(TunnelSendError::from)?;
    if !response.status().is_success() {
        return Err(StreamEnd::Refused(response.status()));
    }
    let mut body = pin!(response.into_body());
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
            let mut report: Report = serde_json::from_slice(&line)?;
            if tunnel.node().is_some() {
                // A node agent must not select the nodes whose node agents have tunnels.
                report.tunnel_nodes = None;
            }
            let events = cluster.report(|reported| {
                // The stream of another replica may not have the facts of the previous stream.
                if !std::mem::replace(received, true) {
                    *reported = ReportedStatus {
                        node: tunnel.node().map(str::to_owned),
                        nodes: reported.nodes.take(),
                        tunnel_nodes: reported.tunnel_nodes.take(),
                        ..ReportedStatus::default()
                    };
                }
                reported.merge(report)
            });
            publish(cluster, &events);
        }
    }
}

/// Publishes reported events as events of the Cluster. Also logs the requests that the agent
/// rejected, because the rejections may be signs of an attack.
fn publish(managed: &ManagedCluster, events: &ReportEvents) {
    let Some(cluster) = managed.object() else {
        return;
    };
    for refusal in events.refusals.iter().take(MAX_LOGGED) {
        tracing::warn!(
            cluster.name = cluster.name_any(),
            lane = ?refusal.lane,
            reason = ?refusal.reason,
            count = refusal.count,
            detail = ?refusal.message,
            "agent rejected requests"
        );
    }
    let unlogged = events.refusals.len().saturating_sub(MAX_LOGGED);
    if unlogged > 0 {
        let name = cluster.name_any();
        tracing::warn!(
            cluster.name = name,
            unlogged,
            "agent rejected more requests; the log omits these requests"
        );
    }
    let refused = events.refusals.iter().map(|refusal| {
        let note = format!(
            "the agent rejected {} request(s) on lane {:?}: {} ({})",
            refusal.count, refusal.lane, refusal.message, refusal.reason
        );
        let subject = format!("{:?} {}", refusal.lane, refusal.message);
        ("AgentRefused", subject, note)
    });
    let warned = events.events.iter().map(|event| {
        let note = format!(
            "{}: {} ({}, {} times)",
            event.regarding, event.message, event.reason, event.count
        );
        let subject = format!("{} {} {}", event.regarding, event.reason, event.message);
        ("ClusterWarning", subject, note)
    });
    let notices = &managed.controllers.notices;
    for (reason, subject, note) in refused.chain(warned) {
        notices.reported(&cluster, reason, &subject, note);
    }
}
