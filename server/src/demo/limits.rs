//! The maximum number of simulated clusters in this process. Each cluster uses threads and open
//! files.

use std::fs;
use std::path::Path;

use rustix::process::{Resource, getrlimit};
use thiserror::Error;

/// Number of threads that the store of one cluster uses.
const THREADS: u64 = 4;
/// Number of open files per cluster: the files of the store, and both ends of the tunnels and of the
/// other connections of the agent and of the node agents.
const FILES: u64 = 52;
/// Numbers of threads and open files that the server uses without simulated clusters.
const OTHER_THREADS: u64 = 64;
const OTHER_FILES: u64 = 256;

/// The limits of this process on threads and open files. `None` means unlimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    threads: Option<u64>,
    files: Option<u64>,
}

/// The error of a process whose limits are too low for the number of clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "{clusters} simulated clusters need {needed} {resource}, and the limit of this process is \
     {allowed}: set --demo-clusters to at most {max_clusters}, or raise {limit}", max_clusters = .most
)]
pub struct TooMany {
    clusters: u32,
    resource: &'static str,
    needed: u64,
    allowed: u64,
    most: u64,
    limit: &'static str,
}

impl Limits {
    /// Reads the limits of this process.
    pub fn of_this_process() -> Self {
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let group = own.lines().find_map(|line| line.strip_prefix("0::/"));
        let group = group.and_then(|group| in_group(Path::new("/sys/fs/cgroup"), group));
        let person = getrlimit(Resource::Nproc).current;
        Self {
            threads: group.into_iter().chain(person).min(),
            files: getrlimit(Resource::Nofile).maximum,
        }
    }

    /// Checks that the limits allow this number of clusters.
    ///
    /// # Errors
    ///
    /// Returns the exceeded limit and the maximum number of clusters.
    pub fn carry(self, clusters: u32) -> Result<(), TooMany> {
        let threads = (
            "threads",
            self.threads,
            THREADS,
            OTHER_THREADS,
            "TasksMax= of the service, or \"ulimit -u\"",
        );
        let files = (
            "open files",
            self.files,
            FILES,
            OTHER_FILES,
            "LimitNOFILE= of the service, or \"ulimit -Hn\"",
        );
        for (resource, allowed, each, others, limit) in [threads, files] {
            let needed = u64::from(clusters) * each + others;
            if let Some(allowed) = allowed.filter(|allowed| clusters > 0 && *allowed < needed) {
                return Err(TooMany {
                    clusters,
                    resource,
                    needed,
                    allowed,
                    most: allowed.saturating_sub(others) / each,
                    limit,
                });
            }
        }
        Ok(())
    }
}

/// Returns the lowest task limit (`pids.max`) of a control group and its parents.
fn in_group(root: &Path, group: &str) -> Option<u64> {
    let own = root.join(group);
    own.ancestors()
        .take_while(|folder| folder.starts_with(root))
        .filter_map(|folder| fs::read_to_string(folder.join("pids.max")).ok())
        .filter_map(|text| text.trim().parse().ok())
        .min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demo_with_too_many_clusters_is_rejected_with_the_maximum_number() {
        let limits = |threads, files| Limits { threads, files };
        assert_eq!(limits(None, None).carry(u32::MAX), Ok(()));
        assert_eq!(limits(Some(1), Some(1)).carry(0), Ok(()));
        assert_eq!(limits(Some(500), Some(20_000)).carry(100), Ok(()));
        let text = limits(Some(500), None).carry(1000).unwrap_err().to_string();
        assert!(text.contains("need 4064 threads"), "{text}");
        assert!(text.contains("to at most 109,"), "{text}");
        let text = limits(None, Some(1024)).carry(100).unwrap_err().to_string();
        assert!(text.contains("need 5456 open files"), "{text}");
        assert!(text.contains("to at most 14,"), "{text}");
        for most in [109, 14] {
            assert_eq!(limits(Some(500), Some(6000)).carry(most), Ok(()));
        }
    }

    #[test]
    fn demo_limit_is_the_lowest_pids_limit_of_nested_cgroups() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("a/b");
        fs::create_dir_all(&inner).unwrap();
        fs::write(inner.join("pids.max"), "max\n").unwrap();
        assert_eq!(in_group(folder.path(), "a/b"), None);
        fs::write(folder.path().join("a/pids.max"), "512\n").unwrap();
        assert_eq!(in_group(folder.path(), "a/b"), Some(512));
    }
}
