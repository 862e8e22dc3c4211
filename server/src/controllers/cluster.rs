//! What the hub's Cluster says of a cluster: read from the report stream, decided, written.

pub mod decide;
pub mod heard;
pub(super) mod listen;
pub(super) mod status;
