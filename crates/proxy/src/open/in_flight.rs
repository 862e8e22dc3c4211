//! A request in flight, from the permit to the end of the response.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use drover_access::permit::{Permit, Target};
use drover_api::ids::UserUid;
use drover_tunnel::tunnel::Traffic;
use futures::task::AtomicWaker;
use http::StatusCode;
use jiff::Timestamp;
use tokio::time::Instant;

use crate::open::{AbortObserver, AbortReason, Key, OpenStreams};
use crate::permits::GrantedAccess;
use drover_audit::{Audit, Outcome, Record, Stage, Subject};
use drover_telemetry::Metrics;

/// The audit log, the metrics and the registry, which record requests in flight.
pub(crate) struct RequestRecorder {
    pub(crate) audit: Audit,
    pub(crate) metrics: Metrics,
    pub(crate) open: OpenStreams,
}

/// A permitted request in flight: its permit, its progress, and its abort state.
///
/// The request body, the response body or upgraded stream, and the task that waits for the response
/// hold references. Dropping the last reference ends the request and writes its audit record.
pub(crate) struct InFlightRequest {
    access: Arc<GrantedAccess>,
    acting: Option<UserUid>,
    subject: Arc<Subject>,
    began: Instant,
    recorder: Arc<RequestRecorder>,
    key: Key,
    aborted: OnceLock<AbortReason>,
    /// Receives the reason of an abort. Only requests of this process have an observer.
    observer: OnceLock<AbortObserver>,
    refused: OnceLock<&'static str>,
    upload: AtomicWaker,
    download: AtomicWaker,
    bytes_in: AtomicU64,
    bytes_out: AtomicU64,
    upgraded: OnceLock<Arc<Traffic>>,
    code: AtomicU16,
    end: AtomicU8,
    in_memory: AtomicBool,
}

/// The reason why a request ended. Defaults to `ClientGone`.
#[derive(Clone, Copy)]
#[repr(u8)]
enum End {
    ClientGone = 0,
    Complete = 1,
    UpstreamGone = 2,
}

/// The task to wake when a request in flight is aborted.
#[derive(Clone, Copy)]
pub(crate) enum Side {
    /// The task that sends the request's body to the cluster.
    Upload,
    /// The task that waits for the response or sends it to the client.
    Download,
}

impl InFlightRequest {
    /// Starts a request. Adds the request to the audit log and to the registry, which can abort the
    /// request. For a stream, the audit log also contains a record of the start. `acting` is the
    /// impersonated user, if any.
    pub(crate) fn begin(
        recorder: &Arc<RequestRecorder>,
        (access, acting): (Arc<GrantedAccess>, Option<UserUid>),
        subject: Subject,
        began: Instant,
        stream: bool,
    ) -> Arc<Self> {
        let verb = subject.verb;
        let in_flight = Arc::new(Self {
            access,
            acting,
            subject: Arc::new(subject),
            began,
            key: recorder.open.next_key(),
            recorder: Arc::clone(recorder),
            aborted: OnceLock::new(),
            observer: OnceLock::new(),
            refused: OnceLock::new(),
            upload: AtomicWaker::new(),
            download: AtomicWaker::new(),
            bytes_in: AtomicU64::new(0),
            bytes_out: AtomicU64::new(0),
            upgraded: OnceLock::new(),
            code: AtomicU16::new(0),
            end: AtomicU8::new(End::ClientGone as u8),
            in_memory: AtomicBool::new(false),
        });
        recorder.open.insert(in_flight.key, &in_flight);
        recorder.metrics.stream_opened(verb);
        if stream {
            recorder
                .audit
                .add(in_flight.record(Stage::Begin, Outcome::Open));
        }
        in_flight
    }

    /// Reports the reason of an abort to `observer`.
    pub(crate) fn set_observer(&self, observer: AbortObserver) {
        if let Some(reason) = self.aborted.get() {
            observer.report(*reason);
        }
        let _ = self.observer.set(observer);
    }

    pub(crate) fn permit(&self) -> &Permit {
        &self.access.permit
    }

    /// Returns the name of the user who sent the request, and the time of the request.
    pub(crate) fn sender(&self) -> Option<(Arc<str>, Timestamp)> {
        let person = self.subject.person.as_ref()?;
        Some((Arc::clone(&person.name), self.subject.received))
    }

    /// Returns the impersonated user. Returns `None` without impersonation.
    pub(crate) fn acting(&self) -> Option<&UserUid> {
        self.acting.as_ref()
    }

    pub(crate) fn opened(&self) -> Instant {
        self.began
    }

    /// Records that the stores contain the permit's token and user. If the token or the user is
    /// later absent from the stores, the object was deleted.
    pub(crate) fn seen_in_memory(&self) {
        self.in_memory.store(true, Ordering::Relaxed);
    }

    /// Returns true if the stores contained the permit's token and user at any time during the
    /// request.
    pub(crate) fn was_in_memory(&self) -> bool {
        self.in_memory.load(Ordering::Relaxed)
    }

    /// Aborts the request with the reason `reason`. Returns false if the request was already
    /// aborted.
    pub(crate) fn abort(&self, reason: AbortReason) -> bool {
        let first = self.aborted.set(reason).is_ok();
        if first {
            if let Some(observer) = self.observer.get() {
                observer.report(reason);
            }
            let reason = reason.as_str();
            let count = &self.recorder.metrics.revocations;
            count
                .get_or_create(&drover_telemetry::ReasonLabel { reason })
                .inc();
            self.upload.wake();
            self.download.wake();
        }
        first
    }

    /// Returns the reason of an abort. If the request is not aborted, registers the task of `side`
    /// to be woken by an abort.
    pub(crate) fn poll_abort(&self, side: Side, cx: &mut Context<'_>) -> Poll<AbortReason> {
        if let Some(reason) = self.aborted.get() {
            return Poll::Ready(*reason);
        }
        match side {
            Side::Upload => self.upload.register(cx.waker()),
            Side::Download => self.download.register(cx.waker()),
        }
        // Check again, because an abort between the first check and the registration woke no task.
        self.aborted
            .get()
            .copied()
            .map_or(Poll::Pending, Poll::Ready)
    }

    /// Waits until the request is aborted.
    pub(crate) async fn until_aborted(&self) -> AbortReason {
        std::future::poll_fn(|cx| self.poll_abort(Side::Download, cx)).await
    }

    /// Records the status of the response.
    pub(crate) fn answered(&self, status: StatusCode) {
        self.code.store(status.as_u16(), Ordering::Relaxed);
        let metrics = &self.recorder.metrics;
        metrics.answered(self.subject.verb, self.began.elapsed());
    }

    /// Records that Drover itself responded with an error.
    pub(crate) fn refused(&self, reason: &'static str, status: StatusCode) {
        let _ = self.refused.set(reason);
        self.code.store(status.as_u16(), Ordering::Relaxed);
    }

    pub(crate) fn sent_up(&self, bytes: usize) {
        self.bytes_in.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Adds the number of sent response bytes, and returns the total.
    pub(crate) fn sent_down(&self, bytes: usize) -> u64 {
        let bytes = bytes as u64;
        self.bytes_out.fetch_add(bytes, Ordering::Relaxed) + bytes
    }

    /// Records that the request became an upgraded stream. The stream counts its own bytes.
    pub(crate) fn upgraded(&self, traffic: Arc<Traffic>) {
        let _ = self.upgraded.set(traffic);
    }

    /// Returns the number of bytes received from the client and the number of bytes sent to the
    /// client.
    fn bytes(&self) -> (u64, u64) {
        let stream = self.upgraded.get();
        let (from, to) = stream.map_or((0, 0), |t| (t.bytes_in(), t.bytes_out()));
        (
            from + self.bytes_in.load(Ordering::Relaxed),
            to + self.bytes_out.load(Ordering::Relaxed),
        )
    }

    /// Records that the client received the complete response.
    pub(crate) fn complete(&self) {
        self.end.store(End::Complete as u8, Ordering::Relaxed);
    }

    /// Records that the cluster closed the connection early.
    pub(crate) fn upstream_gone(&self) {
        self.end.store(End::UpstreamGone as u8, Ordering::Relaxed);
    }

    fn outcome(&self) -> Outcome {
        let end = self.end.load(Ordering::Relaxed);
        if end == End::Complete as u8 {
            Outcome::Complete
        } else if self.aborted.get().is_some() {
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
        let aborted = self.aborted.get().map(|reason| reason.as_str());
        Record {
            subject: Arc::clone(&self.subject),
            stage,
            outcome,
            code: (code != 0).then_some(code),
            reason: self.refused.get().copied().or(aborted),
            bytes_in,
            bytes_out,
            duration: self.began.elapsed(),
        }
    }
}

impl Drop for InFlightRequest {
    fn drop(&mut self) {
        self.recorder.open.remove(self.key);
        let metrics = &self.recorder.metrics;
        let verb = self.subject.verb;
        metrics.stream_closed(verb);
        let code = StatusCode::from_u16(self.code.load(Ordering::Relaxed)).ok();
        metrics.request_ended(verb, code);
        if matches!(self.permit().target(), Target::Cluster(_)) {
            let (up, down) = self.bytes();
            metrics.tunnel_transferred(up, down);
        }
        let record = self.record(Stage::End, self.outcome());
        self.recorder.audit.add(record);
    }
}
