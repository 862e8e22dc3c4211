//! Orders that are sent to the writer thread.

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::store::change::Checked;
use crate::store::error::CommitError;

/// An order for the writer thread.
pub(in crate::store) enum WriterCommand {
    Commit(Waiting),
    Compact { to: u64, done: oneshot::Sender<u64> },
}

/// A change whose caller waits for the result.
pub(in crate::store) struct Waiting {
    pub(in crate::store) change: Checked,
    pub(in crate::store) answer: oneshot::Sender<Result<u64, CommitError>>,
    /// The semaphore permit for a place in the queue. The writer releases the permit when the
    /// writer sends the result to the caller.
    pub(in crate::store) _slot: OwnedSemaphorePermit,
}
