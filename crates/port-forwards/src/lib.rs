//! Ports of pods on separate host names for the browser.
//!
//! *Owns* the open port forwards: their host names, tickets and cookies, the connections to the
//! pods, and the removal of credentials from forwarded requests. *Never* decides about permissions,
//! connects to a cluster without the proxy, or stores a credential on a disk. *Boundary*: each
//! connection to a pod is a request to the proxy with the credentials of the user who created the
//! port forward. The proxy repeats all checks, and aborts the connection when the permit ends.
//!
//! ```text
//! browser ──HTTP──► ForwardHost ──► Forward ──HTTP/1.1──► Proxy ──► cluster ──► pod
//!           own host, own cookie    (connections, WebSocket in memory)
//! ```

pub mod channel;
mod connection;
mod cookies;
mod forward;
mod headers;
mod host;
mod host_name;
mod page;
mod pool;
mod registry;
mod routes;
mod same_origin;
mod secret;
mod serve;
mod state;
mod target;

pub use host::{Destination, destination};
pub use host_name::{ForwardDomain, InvalidDomain};
pub use routes::{declared, router};
pub use state::PortForwards;
