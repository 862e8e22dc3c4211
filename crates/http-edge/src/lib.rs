//! The HTTP edge of the server: the listener, limits per network, request bodies, and errors as
//! `metav1.Status`.
//!
//! *Owns* what a request meets before a handler knows its caller: connection slots, timeouts, size
//! limits, and the one form of error answers. *Never* identifies a caller or decides about rights.

pub mod body;
pub mod concurrency;
pub mod listen;
pub mod networks;
pub mod routes;
pub mod status;
pub mod unauthenticated;
