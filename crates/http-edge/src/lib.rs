//! The HTTP edge of the server: the listener, limits per network, request bodies, and errors as
//! `metav1.Status`.
//!
//! *Owns* connection slots, timeouts, size limits, and the format of error responses. *Never*
//! identifies a caller or decides about permissions.

pub mod body;
pub mod caching;
pub mod concurrency;
pub mod listen;
pub mod networks;
pub mod routes;
pub mod status;
pub mod unauthenticated;
pub mod websocket;
