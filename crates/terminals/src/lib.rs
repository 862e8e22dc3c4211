//! Terminals in pods that survive a lost connection of the browser.
//!
//! *Owns* the open terminals: the stream to the container, the recent output, the connection of the
//! browser, and the reason of the end. *Never* decides about permissions, connects to a cluster
//! without the proxy, or stores credentials. *Boundary*: the proxy repeats all checks with the
//! caller's credentials, and aborts the stream when the permit ends.
//!
//! ```text
//! browser ──WebSocket──► Connection ──► Session ──WebSocket in memory──► Proxy ──► cluster
//!                        (one, replaceable)  (recent output, input queue)
//! ```

mod attach;
mod channel;
mod output;
mod registry;
mod routes;
mod session;
mod target;

pub use routes::{Terminals, declared, router};
