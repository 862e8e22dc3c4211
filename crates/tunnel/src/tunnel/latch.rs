//! A value that is set once.

use std::sync::OnceLock;

use tokio::sync::Notify;

/// A value that is set at most once, and for which tasks can wait.
///
/// A watch channel can do the same, but needs about 300 bytes more in each tunnel.
#[derive(Debug)]
pub(super) struct Latch<T> {
    value: OnceLock<T>,
    set: Notify,
}

impl<T> Latch<T> {
    pub(super) const fn new() -> Self {
        Self {
            value: OnceLock::new(),
            set: Notify::const_new(),
        }
    }

    /// Sets the value. Does nothing if a value is set.
    pub(super) fn set(&self, value: T) {
        if self.value.set(value).is_ok() {
            self.set.notify_waiters();
        }
    }

    pub(super) fn get(&self) -> Option<&T> {
        self.value.get()
    }

    /// Waits until the value is set.
    pub(super) async fn wait(&self) -> &T {
        loop {
            // A notification after this line is not lost.
            let set = self.set.notified();
            if let Some(value) = self.value.get() {
                return value;
            }
            set.await;
        }
    }
}
