//! The report stream of agents and node agents: newline-delimited JSON about the cluster.
//!
//! *Owns* the watches of the cluster and the lines of the stream. *Never* stores an object: an agent
//! keeps only the values that the report needs. The watches use the report lane's service account,
//! and run only while the server reads the stream.

mod digest;
mod drift;
pub mod health;
pub mod line;
mod node_facts;
pub mod observed;
pub mod pods;
pub mod resource_list;
pub mod sums;
mod tunnel_nodes;
mod watches;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use drover_agent_link::lanes::refusals::Refusals;
use drover_agent_link::lanes::tokens::LaneTokens;
use drover_agent_link::lanes::{LaneHandler, Lanes, TunnelContext, lane_client, status_response};
use drover_agent_link::upstream::{Body, Upstream};
use drover_api::agent::{Lane, REPORT_PATH};
use drover_tunnel::protocol::Version;
use futures::StreamExt as _;
use futures::future::BoxFuture;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::Incoming;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::line::Composer;
use crate::observed::Observed;

/// Name of the Deployment in which the cluster agent runs.
pub const DEPLOYMENT: &str = "drover-agent";

/// Maximum time between two consecutive lines of a report stream.
pub const HEARTBEAT: Duration = Duration::from_secs(10);
/// Minimum time between two consecutive lines of a report stream. Limits the number of lines about
/// a busy cluster.
const DEBOUNCE: Duration = Duration::from_secs(1);
/// Capacity of the queue of report lines. While the queue is full, the agent delays the next line.
/// The delayed line then contains newer data.
const QUEUED_LINES: usize = 2;

/// The handler of the report lane. Each request on the lane starts a report stream.
#[derive(Clone, Debug)]
pub struct Reporter {
    source: Arc<Source>,
}

/// The client and the counters that provide the data of a report.
pub struct Source {
    /// Client with the report lane's service account.
    pub client: kube::Client,
    /// The agent's own namespace.
    pub namespace: String,
    /// Counts of the requests that the agent refused.
    pub refusals: Arc<Refusals>,
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source")
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

impl Reporter {
    /// Creates a reporter for the cluster of `source`.
    pub fn new(source: Source) -> Self {
        Self {
            source: Arc::new(source),
        }
    }

    /// Starts one stream. Dropping the body ends the stream and its watches.
    pub fn stream(&self, protocol: Version) -> Body {
        let (lines, taken) = mpsc::channel(QUEUED_LINES);
        let ended = CancellationToken::new();
        let guard = ended.clone().drop_guard();
        tokio::spawn(run(Arc::clone(&self.source), protocol, lines, ended));
        let frames = futures::stream::unfold((taken, guard), |(mut taken, guard)| async move {
            let line: Bytes = taken.recv().await?;
            Some((Ok(Frame::data(line)), (taken, guard)))
        });
        StreamBody::new(frames.boxed()).boxed_unsync()
    }
}

/// Creates the lanes of an agent for the API server `upstream`, with a [`Reporter`] on the report lane.
/// The client `own` authenticates as the program's own service account.
pub fn lanes(upstream: Upstream, own: kube::Client, namespace: &str) -> Lanes {
    let tokens = Arc::new(LaneTokens::new(own, namespace));
    let refusals = Arc::new(Refusals::default());
    let reporter = Reporter::new(Source {
        client: lane_client(&upstream, &tokens, Lane::Report, namespace),
        namespace: namespace.to_owned(),
        refusals: Arc::clone(&refusals),
    });
    Lanes {
        upstream,
        tokens,
        refusals,
        report: Arc::new(reporter),
    }
}

impl LaneHandler for Reporter {
    fn handle(
        &self,
        tunnel: &TunnelContext,
        request: Request<Incoming>,
    ) -> BoxFuture<'static, Response<Body>> {
        if request.uri().path() != REPORT_PATH {
            let message = "this agent only serves the report stream";
            let refused = status_response(StatusCode::NOT_FOUND, "NotFound", message);
            return Box::pin(std::future::ready(refused));
        }
        let mut response = Response::new(self.stream(tunnel.protocol));
        response.headers_mut().insert(
            CONTENT_TYPE,
            HeaderValue::from_static("application/x-ndjson"),
        );
        Box::pin(std::future::ready(response))
    }
}

async fn run(
    source: Arc<Source>,
    protocol: Version,
    lines: mpsc::Sender<Bytes>,
    ended: CancellationToken,
) {
    let observed = Observed::default();
    let mut watches = JoinSet::new();
    watches::start(&mut watches, &source, &observed);
    tokio::select! {
        () = write_lines(&source, &observed, protocol, lines) => {}
        () = ended.cancelled() => {}
    }
    // Dropping the set ends the watches together with the stream.
}

async fn write_lines(
    source: &Source,
    observed: &Observed,
    protocol: Version,
    lines: mpsc::Sender<Bytes>,
) {
    let mut composer = Composer::new(protocol);
    let mut beat = Instant::now();
    loop {
        // Reserve the capacity before creating the line, so that the line is as new as possible.
        let Ok(room) = lines.reserve().await else {
            return;
        };
        let due = Instant::now() >= beat;
        if let Some(line) = composer.next(observed.snapshot(), source.refusals.take(), due) {
            beat = Instant::now() + HEARTBEAT;
            room.send(line::encode(&line));
        }
        tokio::time::sleep(DEBOUNCE).await;
        let quiet = tokio::time::sleep_until(beat);
        tokio::select! {
            () = observed.changed() => {}
            () = quiet => {}
        }
    }
}
