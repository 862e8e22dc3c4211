//! Reads the bundles of a commit.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use drover_api::fleet::{Bundle, GitRepo};
use drover_charts::{BundleCharts, DownloadError, Downloads};
use drover_git::{Fetcher, GitError, Reference, Source};
use drover_gitops::fleet_yaml::{BundleDraft, Limits, ReadError, Tree, TreeError, read_repository};
use kube::ResourceExt as _;
use thiserror::Error;

use super::bundles::BundleWriteError;
use super::charts::{ChartSourceError, RepoCharts};
use super::source::SourceError;
use crate::contents::ContentsError;

/// The reason why the bundles of a repository are not up to date.
#[derive(Debug, Error)]
pub(crate) enum FetchError {
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Tree(#[from] TreeError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("cannot fetch the charts of the bundle {bundle}")]
    Charts {
        bundle: String,
        source: Box<DownloadError<ChartSourceError>>,
    },
    #[error("cannot store the files of the bundle {bundle}")]
    Contents {
        bundle: String,
        source: ContentsError,
    },
    #[error("the server ends; it reads the repository after its next start")]
    Ended,
    #[error(transparent)]
    Write(#[from] BundleWriteError),
}

impl FetchError {
    /// Returns the time before which the git server permits no request.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Git(error) => error.retry_after(),
            Self::Charts { source, .. } => match &**source {
                DownloadError::Source(ChartSourceError::Git { error, .. }) => error.retry_after(),
                _ => None,
            },
            _ => None,
        }
    }

    /// Reports whether the files of the commit are the cause.
    pub(super) fn is_content(&self) -> bool {
        matches!(
            self,
            Self::Tree(_)
                | Self::Read(_)
                | Self::Charts { .. }
                | Self::Contents { .. }
                | Self::Write(_)
        )
    }
}

/// Fetches the commit in the status of a GitRepo, and returns its bundles. `present` are the bundles of
/// the GitRepo on the hub.
pub(super) async fn bundles(
    fetcher: &Fetcher,
    source: &Source,
    repo: &GitRepo,
    mut downloads: Downloads<'_, RepoCharts<'_>>,
    present: Vec<Arc<Bundle>>,
) -> Result<Vec<Bundle>, FetchError> {
    let status = repo.status.as_ref();
    let commit = status.map_or("", |status| &status.commit);
    let reference = Reference::Commit(commit.to_owned());
    // A bundle can use files outside of its folder, so all files are necessary.
    let checkout = fetcher.fetch(source, &reference, &[]).await?;
    let mut repo = repo.clone();
    repo.status.get_or_insert_default().commit = checkout.commit;
    let files = checkout.files.into_iter();
    let files: BTreeMap<String, Vec<u8>> =
        files.map(|(path, data)| (path, data.to_vec())).collect();
    let rejected = checkout.rejected.into_iter();
    let rejected = rejected.map(|(path, error)| (path, error.to_string()));
    let rejected = rejected.collect();
    let drafts = blocking(move || read(&repo, files, rejected)).await?;
    let mut complete = Vec::new();
    for draft in drafts {
        let charts = downloads.fetch(&draft).await;
        let charts = charts.map_err(|source| FetchError::Charts {
            bundle: draft.name().to_owned(),
            source: Box::new(source),
        })?;
        complete.push((draft, charts));
    }
    blocking(move || finish(complete, &present)).await
}

/// Runs a function that takes several milliseconds for large repositories.
async fn blocking<T: Send + 'static>(
    function: impl FnOnce() -> Result<Vec<T>, FetchError> + Send + 'static,
) -> Result<Vec<T>, FetchError> {
    let running = tokio::task::spawn_blocking(function);
    running
        .await
        .unwrap_or_else(|error| match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(FetchError::Ended),
        })
}

fn read(
    repo: &GitRepo,
    files: BTreeMap<String, Vec<u8>>,
    rejected: BTreeMap<String, String>,
) -> Result<Vec<BundleDraft>, FetchError> {
    let limits = Limits::default();
    let tree = Tree::new(files, &limits)?.with_rejected(rejected);
    Ok(read_repository(repo, &tree, &limits)?)
}

fn finish(
    drafts: Vec<(BundleDraft, BundleCharts)>,
    present: &[Arc<Bundle>],
) -> Result<Vec<Bundle>, FetchError> {
    let finished = drafts.into_iter().map(|(draft, fetched)| {
        let previous = present
            .iter()
            .find(|bundle| bundle.name_any() == draft.name());
        let previous = previous.map_or(&[][..], |bundle| &bundle.spec.resources);
        Ok(draft.finish(&fetched, previous)?)
    });
    finished.collect()
}
