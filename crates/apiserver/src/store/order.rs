//! What the writer is asked.

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::change::Checked;
use super::error::CommitError;

/// See the module.
pub(super) enum Order {
    Commit(Waiting),
    Compact { to: u64, done: oneshot::Sender<u64> },
}

/// A change whose maker waits.
pub(super) struct Waiting {
    pub(super) change: Checked,
    pub(super) answer: oneshot::Sender<Result<u64, CommitError>>,
    /// The place in the queue, given back when the change is answered.
    pub(super) _slot: OwnedSemaphorePermit,
}
