//! Limits of one request.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Limits of the resources that one request may use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Bytes of one pack, as received.
    pub pack_bytes: u64,
    /// Objects in one pack.
    pub pack_objects: u32,
    /// Files of the result, submodules included.
    pub files: u64,
    /// Bytes of all files of the result.
    pub total_bytes: u64,
    /// Bytes of one file. A larger file is rejected, and does not fail the request.
    pub file_bytes: u64,
    /// Entries of folders that the worker reads, submodules included.
    pub tree_entries: u64,
    /// Nested folders of a path.
    pub tree_depth: usize,
    /// Bytes of a path in the repository.
    pub path_bytes: usize,
    /// Paths and patterns of a request.
    pub paths: usize,
    /// Submodules, nested ones included.
    pub submodules: u64,
    /// Bytes of a list of references.
    pub reference_bytes: u64,
    /// Time of one request.
    pub wall_time: Duration,
    /// CPU time of the worker process.
    pub cpu_time: Duration,
    /// Address space of the worker process, in bytes.
    pub address_space: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            pack_bytes: 256 << 20,
            pack_objects: 1_000_000,
            files: 50_000,
            total_bytes: 128 << 20,
            file_bytes: 16 << 20,
            tree_entries: 500_000,
            tree_depth: 64,
            path_bytes: 1024,
            paths: 1000,
            submodules: 64,
            reference_bytes: 64 << 20,
            wall_time: Duration::from_mins(2),
            cpu_time: Duration::from_mins(2),
            address_space: 2 << 30,
        }
    }
}
