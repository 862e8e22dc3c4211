//! The gate that allows a controller to run only while its process is the leader.

use futures::future::BoxFuture;
use tokio::sync::watch;

/// A gate that is open while a controller may run. The process that runs the controller provides
/// the leadership state.
pub struct LeaderGate(Box<dyn Gate>);

trait Gate: Send + Sync {
    fn is_open(&self) -> bool;
    fn changed(&mut self) -> BoxFuture<'_, ()>;
    fn boxed_clone(&self) -> Box<dyn Gate>;
}

struct Watched<T> {
    receiver: watch::Receiver<T>,
    may_act: fn(&T) -> bool,
}

impl<T: Send + Sync + 'static> Gate for Watched<T> {
    fn is_open(&self) -> bool {
        (self.may_act)(&self.receiver.borrow())
    }

    fn changed(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            // Without a sender, the last value remains valid.
            if self.receiver.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        })
    }

    fn boxed_clone(&self) -> Box<dyn Gate> {
        Box::new(Self {
            receiver: self.receiver.clone(),
            may_act: self.may_act,
        })
    }
}

impl LeaderGate {
    /// Creates a gate that is open while `may_act` returns true for the watched value.
    pub fn watching<T: Send + Sync + 'static>(
        receiver: watch::Receiver<T>,
        may_act: fn(&T) -> bool,
    ) -> Self {
        Self(Box::new(Watched { receiver, may_act }))
    }

    /// Creates a gate that is always open, for controllers without replicas.
    pub fn always_open() -> Self {
        Self::watching(watch::Sender::new(()).subscribe(), |()| true)
    }

    /// Returns true if the gate is open.
    pub fn is_open(&self) -> bool {
        self.0.is_open()
    }

    /// Resolves when the state of the gate may have changed. Cancel-safe.
    pub(crate) async fn changed(&mut self) {
        self.0.changed().await;
    }
}

impl Clone for LeaderGate {
    fn clone(&self) -> Self {
        Self(self.0.boxed_clone())
    }
}

impl std::fmt::Debug for LeaderGate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("LeaderGate").field(&self.is_open()).finish()
    }
}
