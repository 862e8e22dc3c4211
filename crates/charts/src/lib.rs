//! Fetches Helm charts from repositories and OCI registries.
//!
//! The program `drover-render` fetches and unpacks charts. Each chart has its own process with an empty
//! home folder, a timeout, and limits of memory, CPU time and sizes, so that a hostile archive affects
//! only the request for this archive. The process sends a password only to the repository, follows no
//! redirect from https to http, and connects to no link-local address. The crate *never* parses an
//! index, a response of a registry or an archive in the caller's process.

mod access;
mod downloads;
mod process;
mod settings;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;

pub use access::{Access, AddressError, Credential, EntryError, address, dependency_address};
pub use downloads::{BundleCharts, ChartSource, DownloadError, Downloads};
pub use process::ProcessError;
pub use settings::{
    ChartAccess, InvalidSettings, Settings, SettingsError, SshKey, settings_by_path,
};

/// Settings of the processes.
#[derive(Clone, Debug)]
pub struct ChartSettings {
    /// Path of the program `drover-render`.
    pub program: PathBuf,
    /// Folder for the temporary home folders of processes. The folder is created if necessary.
    pub folder: PathBuf,
    /// Time for a request, with the wait for the response. A request waits for the same time until
    /// another process ends.
    pub timeout: Duration,
    /// Maximum number of processes at the same time.
    pub max_processes: usize,
    /// Soft limit of the memory of a process, in bytes.
    pub memory_bytes: u64,
}

impl ChartSettings {
    /// Creates settings with the defaults for a server.
    pub fn new(program: impl Into<PathBuf>, folder: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            folder: folder.into(),
            timeout: Duration::from_mins(1),
            max_processes: 2,
            memory_bytes: 512 << 20,
        }
    }
}

/// The form of a fetched chart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// The files with their paths in the archive, which begin with the name of the chart.
    #[default]
    Archive,
    /// The archive as one file with the name `NAME-VERSION.tgz`.
    Packed,
}

/// A chart in a repository or registry.
#[derive(Clone, Debug, Default)]
pub struct ChartRequest {
    /// URL of a Helm repository (https). Empty if `chart` is a URL.
    pub repo: String,
    /// Name of the chart in the repository, or a URL of an archive (https) or of an OCI artifact (oci).
    pub chart: String,
    /// Version or semver constraint. Empty for the newest release.
    pub version: String,
    /// The credential and the TLS settings.
    pub access: Access,
    /// The form of the result.
    pub layout: Layout,
    /// The requests of a group use at most half of the processes, so that slow repositories of one group do
    /// not delay all groups. Empty for a request without this limit.
    pub group: String,
}

/// A chart of a repository, and its version or semver constraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// Name of the chart.
    pub chart: String,
    /// Version or semver constraint. Empty for the newest release.
    pub version: String,
}

/// A fetched chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedChart {
    /// Version of the chart.
    pub version: String,
    /// Files by path.
    pub files: BTreeMap<String, Vec<u8>>,
}

/// The reason why a chart cannot be fetched.
#[derive(Debug, thiserror::Error)]
pub enum ChartError {
    /// The process cannot be started, ended early, or sent an invalid response.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// All processes were busy until the timeout.
    #[error("cannot fetch the chart: other charts were fetched for {seconds} s", seconds = .0.as_secs())]
    Busy(Duration),
    /// The process exceeded the timeout.
    #[error("cannot fetch the chart: no result within {seconds} s", seconds = .0.as_secs())]
    Timeout(Duration),
    /// The repository, the archive or the request is wrong, or the repository does not answer.
    #[error("{message}")]
    Rejected {
        /// The reason.
        message: String,
        /// True if another attempt has the same result until the repository or the request changes.
        is_permanent: bool,
    },
}

impl ChartError {
    /// Reports whether another attempt has the same result until the repository or the request changes.
    #[must_use]
    pub const fn is_permanent(&self) -> bool {
        matches!(
            self,
            Self::Rejected {
                is_permanent: true,
                ..
            }
        )
    }
}

/// Fetches charts.
#[derive(Debug)]
pub struct Charts {
    settings: ChartSettings,
    slots: Semaphore,
    groups: Mutex<HashMap<String, Arc<Semaphore>>>,
}

impl Charts {
    /// Creates a fetcher. Processes start on demand.
    #[must_use]
    pub fn new(settings: ChartSettings) -> Self {
        Self {
            slots: Semaphore::new(settings.max_processes.max(1)),
            groups: Mutex::default(),
            settings,
        }
    }

    /// Fetches a chart. If the future is dropped, the process ends.
    ///
    /// # Errors
    ///
    /// The repository has no such chart, the chart violates a limit, or the process fails.
    pub async fn fetch(&self, request: &ChartRequest) -> Result<FetchedChart, ChartError> {
        let layout = match request.layout {
            Layout::Archive => "archive",
            Layout::Packed => "packed",
        };
        let fetched = self.exchange(request, layout, &[]).await?;
        Ok(fetched.chart()?)
    }

    /// Returns the newest version that a request selects, without a download of the chart.
    ///
    /// # Errors
    ///
    /// The request has no repository or registry, these have no such version, or the process fails.
    pub async fn newest_version(&self, request: &ChartRequest) -> Result<String, ChartError> {
        Ok(self.exchange(request, "version", &[]).await?.version)
    }

    /// Returns the newest versions of charts of one repository, in the order of the selections. The index of
    /// the repository is read once. The fields `chart` and `version` of the request are ignored.
    ///
    /// # Errors
    ///
    /// The outer error concerns the repository or the process, and the inner errors one selection each.
    pub async fn newest_versions(
        &self,
        request: &ChartRequest,
        selections: &[Selection],
    ) -> Result<Vec<Result<String, ChartError>>, ChartError> {
        let fetched = self.exchange(request, "versions", selections).await?;
        Ok(fetched.versions(selections.len())?)
    }

    /// Returns the limit of a group.
    fn group(&self, name: &str) -> Option<Arc<Semaphore>> {
        if name.is_empty() {
            return None;
        }
        let share = (self.settings.max_processes / 2).max(1);
        let mut groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        // A group without requests has only the reference in the map.
        groups.retain(|_, group| Arc::strong_count(group) > 1);
        let group = groups.entry(name.to_owned());
        Some(Arc::clone(
            group.or_insert_with(|| Arc::new(Semaphore::new(share))),
        ))
    }

    async fn exchange(
        &self,
        request: &ChartRequest,
        layout: &'static str,
        selections: &[Selection],
    ) -> Result<process::Fetched, ChartError> {
        let timeout = self.settings.timeout;
        let group = self.group(&request.group);
        let waiting = async {
            let share = match &group {
                Some(group) => Some(group.acquire().await),
                None => None,
            };
            (share, self.slots.acquire().await)
        };
        let waiting = tokio::time::timeout(timeout, waiting).await;
        // The semaphores are never closed.
        let _slots = waiting.map_err(|_| ChartError::Busy(timeout))?;
        let response = process::exchange(&self.settings, request, layout, selections);
        match tokio::time::timeout(timeout, response).await {
            Ok(response) => response,
            Err(_) => Err(ChartError::Timeout(timeout)),
        }
    }
}
