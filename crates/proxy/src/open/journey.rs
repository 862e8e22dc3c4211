//! One permitted request from its permit to its end, wherever that comes.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use drover_access::permit::{Permit, Target};
use drover_api::ids::UserUid;
use drover_tunnel::tunnel::Traffic;
use futures::task::AtomicWaker;
use http::StatusCode;
use tokio::time::Instant;

use crate::open::{CutReason, Key, OpenStreams};
use drover_audit::{Audit, Outcome, Record, Stage, Subject};
use drover_telemetry::{DirectionLabel, Metrics, VerbLabel};

/// What every journey reports to.
pub(crate) struct Ledger {
    pub(crate) audit: Audit,
    pub(crate) metrics: Metrics,
    pub(crate) open: OpenStreams,
}

/// A permitted request under way: what it stands on, how far it has come, whether it was cut.
///
/// Held by the request's body, by its answer's body or upgraded stream, and by whoever waits for
/// the answer. When the last of them lets go the request is over, and its record is written.
pub(crate) struct Journey {
    permit: Permit,
    acting: Option<UserUid>,
    subject: Arc<Subject>,
    began: Instant,
    ledger: Arc<Ledger>,
    key: Key,
    cut: OnceLock<CutReason>,
    refused: OnceLock<&'static str>,
    upward: AtomicWaker,
    downward: AtomicWaker,
    bytes_in: AtomicU64,
    bytes_out: AtomicU64,
    upgraded: OnceLock<Arc<Traffic>>,
    code: AtomicU16,
    end: AtomicU8,
    in_memory: AtomicBool,
}

/// How it ended, as far as is known; the client has gone unless something else is noted.
#[derive(Clone, Copy)]
#[repr(u8)]
enum End {
    ClientGone = 0,
    Complete = 1,
    UpstreamGone = 2,
}

/// Which of the two who may wait on a journey waits.
#[derive(Clone, Copy)]
pub(crate) enum Side {
    /// Whoever carries the request's body to the cluster.
    Upward,
    /// Whoever waits for the answer or carries it to the client.
    Downward,
}

impl Journey {
    /// Sets out: from here on the request is counted, recorded and can be cut.
    ///
    /// A `stream` gets a record of its beginning too. Beside the permit stands the user whom the
    /// person acts as, if any.
    pub(crate) fn begin(
        ledger: &Arc<Ledger>,
        (permit, acting): (Permit, Option<UserUid>),
        subject: Subject,
        began: Instant,
        stream: bool,
    ) -> Arc<Self> {
        let verb = subject.verb;
        let journey = Arc::new(Self {
            permit,
            acting,
            subject: Arc::new(subject),
            began,
            key: ledger.open.next_key(),
            ledger: Arc::clone(ledger),
            cut: OnceLock::new(),
            refused: OnceLock::new(),
            upward: AtomicWaker::new(),
            downward: AtomicWaker::new(),
            bytes_in: AtomicU64::new(0),
            bytes_out: AtomicU64::new(0),
            upgraded: OnceLock::new(),
            code: AtomicU16::new(0),
            end: AtomicU8::new(End::ClientGone as u8),
            in_memory: AtomicBool::new(false),
        });
        ledger.open.insert(journey.key, &journey);
        let open = &ledger.metrics.open_streams;
        open.get_or_create(&VerbLabel {
            verb: verb.as_str(),
        })
        .inc();
        if stream {
            ledger
                .audit
                .add(journey.record(Stage::Begin, Outcome::Open));
        }
        journey
    }

    pub(crate) fn permit(&self) -> &Permit {
        &self.permit
    }

    /// The user whom the person acts as, if any.
    pub(crate) fn acting(&self) -> Option<&UserUid> {
        self.acting.as_ref()
    }

    /// When the request came.
    pub(crate) fn opened(&self) -> Instant {
        self.began
    }

    /// Notes that memory holds the permit's token and user; what is missing from then on is gone.
    pub(crate) fn seen_in_memory(&self) {
        self.in_memory.store(true, Ordering::Relaxed);
    }

    /// Whether memory ever held the permit's token and user.
    pub(crate) fn was_in_memory(&self) -> bool {
        self.in_memory.load(Ordering::Relaxed)
    }

    /// Ends the request for a reason; `false` if that was done before.
    pub(crate) fn cut(&self, reason: CutReason) -> bool {
        let first = self.cut.set(reason).is_ok();
        if first {
            let reason = reason.as_str();
            let count = &self.ledger.metrics.revocations;
            count
                .get_or_create(&drover_telemetry::ReasonLabel { reason })
                .inc();
            self.upward.wake();
            self.downward.wake();
        }
        first
    }

    /// Why the request was cut, if it was; otherwise `side` is woken when it is.
    pub(crate) fn poll_cut(&self, side: Side, cx: &mut Context<'_>) -> Poll<CutReason> {
        if let Some(reason) = self.cut.get() {
            return Poll::Ready(*reason);
        }
        match side {
            Side::Upward => self.upward.register(cx.waker()),
            Side::Downward => self.downward.register(cx.waker()),
        }
        // A cut between the look and the registration woke nobody.
        self.cut.get().copied().map_or(Poll::Pending, Poll::Ready)
    }

    /// Waits until the request is cut.
    pub(crate) async fn until_cut(&self) -> CutReason {
        std::future::poll_fn(|cx| self.poll_cut(Side::Downward, cx)).await
    }

    /// Notes the head of the answer.
    pub(crate) fn answered(&self, status: StatusCode) {
        self.code.store(status.as_u16(), Ordering::Relaxed);
        let metrics = &self.ledger.metrics;
        metrics.answered(self.subject.verb, self.began.elapsed());
    }

    /// Notes that Drover answered itself.
    pub(crate) fn refused(&self, reason: &'static str, status: StatusCode) {
        let _ = self.refused.set(reason);
        self.code.store(status.as_u16(), Ordering::Relaxed);
    }

    pub(crate) fn sent_up(&self, bytes: usize) {
        self.bytes_in.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Returns how many bytes of the answer have been passed on by now.
    pub(crate) fn sent_down(&self, bytes: usize) -> u64 {
        let bytes = bytes as u64;
        self.bytes_out.fetch_add(bytes, Ordering::Relaxed) + bytes
    }

    /// Notes that the request has become a stream that counts for itself.
    pub(crate) fn upgraded(&self, traffic: Arc<Traffic>) {
        let _ = self.upgraded.set(traffic);
    }

    /// Bytes from and to the client so far.
    fn bytes(&self) -> (u64, u64) {
        let stream = self.upgraded.get();
        let (from, to) = stream.map_or((0, 0), |t| (t.bytes_in(), t.bytes_out()));
        (
            from + self.bytes_in.load(Ordering::Relaxed),
            to + self.bytes_out.load(Ordering::Relaxed),
        )
    }

    /// Notes that the whole answer was passed on.
    pub(crate) fn complete(&self) {
        self.end.store(End::Complete as u8, Ordering::Relaxed);
    }

    /// Notes that the cluster's side broke off.
    pub(crate) fn upstream_gone(&self) {
        self.end.store(End::UpstreamGone as u8, Ordering::Relaxed);
    }

    fn outcome(&self) -> Outcome {
        let end = self.end.load(Ordering::Relaxed);
        if end == End::Complete as u8 {
            Outcome::Complete
        } else if self.cut.get().is_some() {
            Outcome::Revoked
        } else if self.refused.get().is_some() {
            Outcome::Refused
        } else if end == End::UpstreamGone as u8 {
            Outcome::UpstreamGone
        } else {
            Outcome::ClientGone
        }
    }

    fn record(&self, stage: Stage, outcome: Outcome) -> Record {
        let code = self.code.load(Ordering::Relaxed);
        let (bytes_in, bytes_out) = self.bytes();
        let cut = self.cut.get().map(|reason| reason.as_str());
        Record {
            subject: Arc::clone(&self.subject),
            stage,
            outcome,
            code: (code != 0).then_some(code),
            reason: self.refused.get().copied().or(cut),
            bytes_in,
            bytes_out,
            duration: self.began.elapsed(),
        }
    }
}

impl Drop for Journey {
    fn drop(&mut self) {
        self.ledger.open.remove(self.key);
        let metrics = &self.ledger.metrics;
        let verb = self.subject.verb;
        metrics
            .open_streams
            .get_or_create(&VerbLabel {
                verb: verb.as_str(),
            })
            .dec();
        let code = StatusCode::from_u16(self.code.load(Ordering::Relaxed)).ok();
        metrics.request_ended(verb, code);
        if matches!(self.permit.target(), Target::Cluster(_)) {
            let (up, down) = self.bytes();
            for (direction, bytes) in [("to_cluster", up), ("from_cluster", down)] {
                let label = DirectionLabel { direction };
                metrics.tunnel_bytes.get_or_create(&label).inc_by(bytes);
            }
        }
        let record = self.record(Stage::End, self.outcome());
        self.ledger.audit.add(record);
    }
}
