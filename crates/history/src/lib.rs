//! The history of objects: the last versions of objects that users watch.
//!
//! *Owns* the stored versions and their limits, the removal of fields that are not part of the
//! history, and the route that returns the versions of an object. The row service passes the objects
//! that it lists and watches. The proxy reports the writes of users. *Never* stores a Secret, or
//! sends a request without the credentials of a caller. *Boundary*: the route reads the object with
//! the credentials of the caller before it returns versions.
//!
//! The versions are in the memory of the server. A restart deletes the versions.

mod api_path;
mod changes;
mod compress;
mod object;
mod routes;
mod store;
mod writes;

pub use api_path::kind_of_list;
pub use routes::{ObjectHistories, declared, router};
pub use store::HistoryStore;
