//! The controller runtime.
//!
//! A [`Controller`] takes keys from the queue of a [`Trigger`] and calls a [`Reconciler`] for each
//! key. The queue contains each key at most once and never passes the same key to two concurrent
//! calls. After a call fails, times out or panics, the controller repeats the call after a backoff
//! with jitter. Calls run only while the [`LeaderGate`] is open.
//!
//! Triggers come from code ([`Trigger::enqueue`]) or from streams: a kube watcher, a
//! [`tokio::sync::watch`] channel ([`on_change`]), a timer ([`Action::requeue`]).
//!
//! This crate depends on no Kubernetes client unless feature `kube` is enabled.

mod backoff;
mod controller;
pub mod fault;
#[cfg(feature = "kube")]
pub mod finalizer;
mod leader;
mod metrics;
mod options;
mod queue;
mod runtime;
mod source;
mod status;
mod trigger;

pub use backoff::Backoff;
pub use controller::{Action, Controller, Reconciler, error_chain};
pub use leader::LeaderGate;
pub use metrics::{ControllerMetrics, Metrics};
pub use options::{Options, Shutdown};
pub use queue::{Attempt, Queue};
pub use runtime::Runtime;
pub use source::{on_change, on_change_of};
pub use status::{StatusRateLimiter, Urgency, Write};
pub use trigger::Trigger;

#[cfg(test)]
mod tests;
