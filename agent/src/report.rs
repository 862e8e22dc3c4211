//! The report stream: what this cluster is and how it fares, a line of JSON at a time.
//!
//! Watches run only while the server reads, on the report lane's service account; of each object
//! only what it adds to the sums is kept.

mod applied;
pub mod health;
pub mod line;
pub mod observed;
pub mod pods;
pub mod resource_list;
pub mod sums;
mod watches;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use drover_tunnel::protocol::Version;
use futures::StreamExt as _;
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::line::Composer;
use self::observed::Observed;
use crate::lanes::refusals::Refusals;
use crate::upstream::Body;

/// The longest silence of a stream.
pub const HEARTBEAT: Duration = Duration::from_secs(10);
/// The shortest time between two lines, so that a busy cluster does not flood the server.
const BREATH: Duration = Duration::from_secs(1);
/// Lines that wait for the server to read; a server that reads slowly gets newer ones instead.
const WAITING_LINES: usize = 2;

/// Makes report streams.
#[derive(Clone, Debug)]
pub struct Reporter {
    source: Arc<Source>,
}

/// What a report is made from.
pub struct Source {
    /// Speaks as the report lane's service account.
    pub client: kube::Client,
    /// The agent's own namespace.
    pub namespace: String,
    /// What the lanes refused.
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
    /// Reports on the cluster behind `source`.
    pub fn new(source: Source) -> Self {
        Self {
            source: Arc::new(source),
        }
    }

    /// Starts one stream; it and its watches end when the body is dropped.
    pub fn stream(&self, protocol: Version) -> Body {
        let (lines, taken) = mpsc::channel(WAITING_LINES);
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
    // Dropping the set ends the watches with the stream.
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
        // Room first, content second: what waits in the channel is never older than it must be.
        let Ok(room) = lines.reserve().await else {
            return;
        };
        let due = Instant::now() >= beat;
        if let Some(line) = composer.next(observed.snapshot(), source.refusals.take(), due) {
            beat = Instant::now() + HEARTBEAT;
            room.send(line::encode(&line));
        }
        tokio::time::sleep(BREATH).await;
        let quiet = tokio::time::sleep_until(beat);
        tokio::select! {
            () = observed.changed() => {}
            () = quiet => {}
        }
    }
}
