//! The status of the agent's connection. The agent logs the status and publishes it to subscribers.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tracing::{info, warn};

/// State of a replica's connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionStatus {
    /// True if the replica has a tunnel.
    pub connected: bool,
    /// Reason of the state, in `PascalCase`.
    pub reason: String,
    /// A sentence with the state and the next step.
    pub message: String,
    /// Time at which the state, the reason or the message last changed.
    pub since: Timestamp,
}

impl ConnectionStatus {
    /// Returns the status of an agent that has just started.
    pub fn starting() -> Self {
        Self {
            connected: false,
            reason: "Starting".to_owned(),
            message: "the agent has just started".to_owned(),
            since: Timestamp::now(),
        }
    }

    /// Compares all fields except the time of the last change.
    fn same_meaning(&self, other: &Self) -> bool {
        self.connected == other.connected
            && self.reason == other.reason
            && self.message == other.message
    }
}

/// The publisher of the connection's status. Clones share the status.
#[derive(Clone, Debug)]
pub struct StatusPublisher {
    current: watch::Sender<ConnectionStatus>,
}

impl Default for StatusPublisher {
    fn default() -> Self {
        Self {
            current: watch::Sender::new(ConnectionStatus::starting()),
        }
    }
}

impl StatusPublisher {
    /// Returns a receiver of the status and its changes.
    pub fn subscribe(&self) -> watch::Receiver<ConnectionStatus> {
        self.current.subscribe()
    }

    /// Publishes and logs a status if a field other than the time has changed. Does not wait for
    /// subscribers.
    pub fn publish(&self, connected: bool, reason: &str, message: String) {
        let new = ConnectionStatus {
            connected,
            reason: reason.to_owned(),
            message,
            since: Timestamp::now(),
        };
        let changed = self.current.send_if_modified(|current| {
            let changed = !current.same_meaning(&new);
            if changed {
                current.clone_from(&new);
            }
            changed
        });
        if !changed {
            return;
        }
        if connected {
            info!(reason, "{}", new.message);
        } else {
            warn!(reason, "{}", new.message);
        }
    }
}
