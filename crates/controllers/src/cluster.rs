//! What the hub's Cluster says of a cluster: read from the report stream, decided, written.

pub(crate) mod decide;
pub(super) mod reports;
pub(super) mod status;
