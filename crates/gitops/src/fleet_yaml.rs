//! Bundles from repositories: fleet.yaml, and the files beside it.

pub(crate) mod yaml;
