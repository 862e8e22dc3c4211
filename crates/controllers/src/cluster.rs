//! The status of a Cluster: reads the report stream, decides the conditions, and writes the status.

pub(crate) mod decide;
pub(super) mod reports;
pub(super) mod status;
