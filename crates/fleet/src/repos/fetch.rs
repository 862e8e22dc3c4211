//! Reads the bundles of a commit.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use drover_api::fleet::{Bundle, GitRepo};
use drover_git::{Fetcher, GitError, Reference, Source};
use drover_gitops::fleet_yaml::{Limits, ReadError, Tree, TreeError, read_repository};
use kube::ResourceExt as _;
use thiserror::Error;

use super::bundles::BundleWriteError;
use super::source::SourceError;

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
    #[error(
        "the bundle {bundle} uses a chart outside of the repository, which this version does not fetch: \
         copy the chart into the repository"
    )]
    RemoteChart { bundle: String },
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
            _ => None,
        }
    }

    /// Reports whether the files of the commit are the cause.
    pub(super) fn is_content(&self) -> bool {
        matches!(
            self,
            Self::Tree(_) | Self::Read(_) | Self::RemoteChart { .. } | Self::Write(_)
        )
    }
}

/// Fetches a commit, and returns its bundles. `present` are the bundles of the GitRepo on the hub.
pub(super) async fn bundles(
    fetcher: &Fetcher,
    source: &Source,
    repo: &GitRepo,
    commit: &str,
    present: Vec<Arc<Bundle>>,
) -> Result<Vec<Bundle>, FetchError> {
    let reference = Reference::Commit(commit.to_owned());
    // A bundle can use files outside of its folder, so all files are necessary.
    let checkout = fetcher.fetch(source, &reference, &[]).await?;
    let files = checkout.files.into_iter();
    let files: BTreeMap<String, Vec<u8>> =
        files.map(|(path, data)| (path, data.to_vec())).collect();
    let mut repo = repo.clone();
    repo.status.get_or_insert_default().commit = checkout.commit;
    // Large repositories take several milliseconds.
    let reading = tokio::task::spawn_blocking(move || read(&repo, files, &present));
    reading
        .await
        .unwrap_or_else(|error| match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(FetchError::Ended),
        })
}

fn read(
    repo: &GitRepo,
    files: BTreeMap<String, Vec<u8>>,
    present: &[Arc<Bundle>],
) -> Result<Vec<Bundle>, FetchError> {
    let limits = Limits::default();
    let tree = Tree::new(files, &limits)?;
    let drafts = read_repository(repo, &tree, &limits)?;
    let mut bundles = Vec::new();
    for draft in drafts {
        if !draft.charts().is_empty() {
            return Err(FetchError::RemoteChart {
                bundle: draft.name().to_owned(),
            });
        }
        let previous = present
            .iter()
            .find(|bundle| bundle.name_any() == draft.name());
        let previous = previous.map_or(&[][..], |bundle| &bundle.spec.resources);
        bundles.push(draft.finish(&BTreeMap::new(), previous)?);
    }
    Ok(bundles)
}
