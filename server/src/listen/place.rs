//! The place of a connection among those of its network.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::networks::Share;

/// A connection's place among those of its network, an extension of its requests.
///
/// Held until the connection ends, or until its peer turns out to be somebody who is counted
/// elsewhere.
#[derive(Clone, Debug)]
pub struct Place(Arc<Mutex<Option<Share>>>);

impl Place {
    pub(super) fn new(share: Share) -> Self {
        Self(Arc::new(Mutex::new(Some(share))))
    }

    /// Gives the place back: an agent that has proved its cluster's key has a seat of its own,
    /// and a company's agents may all come from one address.
    pub fn release(&self) {
        drop(self.0.lock().take());
    }
}
