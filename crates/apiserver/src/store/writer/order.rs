//! What the writer is asked.

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::store::change::Checked;
use crate::store::error::CommitError;

/// See the module.
pub(in crate::store) enum Order {
    Commit(Waiting),
    Compact { to: u64, done: oneshot::Sender<u64> },
}

/// A change whose maker waits.
pub(in crate::store) struct Waiting {
    pub(in crate::store) change: Checked,
    pub(in crate::store) answer: oneshot::Sender<Result<u64, CommitError>>,
    /// The place in the queue, given back when the change is answered.
    pub(in crate::store) _slot: OwnedSemaphorePermit,
}
