//! Fetches the charts of bundles that are not in the repository.

use std::collections::BTreeMap;

use drover_api::fleet::GitRepo;
use drover_charts::{
    AddressError, ChartError, ChartRequest, Charts, Layout, address, dependency_address,
};
use drover_gitops::fleet_yaml::{BundleDraft, Chart, Dependency, FetchedFiles};
use kube::Client;
use thiserror::Error;

use super::helm::{HelmAccess, HelmError};

/// Maximum number of charts of a GitRepo.
const MAX_CHARTS: usize = 200;
/// Maximum size of the unpacked charts of a GitRepo, in bytes.
const MAX_BYTES: usize = 128 << 20;

/// The reason why the charts of a bundle are missing.
#[derive(Debug, Error)]
pub(crate) enum DownloadError {
    #[error(transparent)]
    Helm(#[from] HelmError),
    #[error(transparent)]
    Chart(#[from] ChartError),
    #[error("{0}: copy the chart into the repository")]
    Address(#[from] AddressError),
    #[error(
        "the dependency {name} of the chart in {folder:?} has the repository {repository:?}, which is no \
         address with https or oci: copy the dependency into the folder charts"
    )]
    Dependency {
        name: String,
        folder: String,
        repository: String,
    },
    #[error("the GitRepo uses more than {MAX_CHARTS} charts: use several GitRepos")]
    Count,
    #[error("the charts of the GitRepo have more than {MAX_BYTES} bytes: use several GitRepos")]
    Bytes,
}

/// The fetched files of a bundle, by chart.
pub(super) type BundleCharts = BTreeMap<Chart, FetchedFiles>;

/// Address, version and folder of a fetched chart. The folder selects the credential.
type Fetched = (String, String, String, String);

/// The downloads for one commit of a GitRepo.
pub(super) struct Downloads<'a> {
    client: &'a Client,
    charts: &'a Charts,
    repo: &'a GitRepo,
    access: Option<HelmAccess>,
    fetched: BTreeMap<Fetched, FetchedFiles>,
    bytes: usize,
}

impl<'a> Downloads<'a> {
    pub(super) fn new(client: &'a Client, charts: &'a Charts, repo: &'a GitRepo) -> Self {
        Self {
            client,
            charts,
            repo,
            access: None,
            fetched: BTreeMap::new(),
            bytes: 0,
        }
    }

    /// Fetches the charts of a bundle.
    pub(super) async fn fetch(
        &mut self,
        draft: &BundleDraft,
    ) -> Result<BundleCharts, DownloadError> {
        let mut found = BundleCharts::new();
        for chart in draft.charts() {
            let files = match chart {
                Chart::Remote {
                    repo,
                    chart,
                    version,
                    ..
                } => {
                    let (repo, chart) = address(repo, chart)?;
                    let layout = Layout::Archive;
                    Box::pin(self.files(draft.folder(), &repo, &chart, version, layout)).await?
                }
                Chart::Dependencies { folder } => {
                    Box::pin(self.dependencies(draft, folder)).await?
                }
            };
            found.insert(chart.clone(), files);
        }
        Ok(found)
    }

    async fn dependencies(
        &mut self,
        draft: &BundleDraft,
        folder: &str,
    ) -> Result<FetchedFiles, DownloadError> {
        let mut found = FetchedFiles::new();
        for dependency in draft.missing_dependencies(folder) {
            let address = dependency_address(&dependency.repository, &dependency.name);
            let (repo, chart) = address.ok_or_else(|| local(folder, &dependency))?;
            let (version, layout) = (&dependency.version, Layout::Packed);
            let files =
                Box::pin(self.files(draft.folder(), &repo, &chart, version, layout)).await?;
            let files = files.into_iter();
            found.extend(files.map(|(name, data)| (format!("charts/{name}"), data)));
        }
        Ok(found)
    }

    /// Returns the files of a chart. Equal charts of a GitRepo are fetched once for each folder.
    async fn files(
        &mut self,
        folder: &str,
        repo: &str,
        chart: &str,
        version: &str,
        layout: Layout,
    ) -> Result<FetchedFiles, DownloadError> {
        let key = (
            repo.to_owned(),
            chart.to_owned(),
            format!("{layout:?} {version}"),
            folder.to_owned(),
        );
        if let Some(files) = self.fetched.get(&key) {
            return Ok(files.clone());
        }
        if self.fetched.len() == MAX_CHARTS {
            return Err(DownloadError::Count);
        }
        let access = match &mut self.access {
            Some(access) => access,
            none => none.insert(HelmAccess::read(self.client, self.repo).await?),
        };
        let request = ChartRequest {
            layout,
            ..access.request(folder, repo, chart, version)?
        };
        let files = self.charts.fetch(&request).await?.files;
        self.bytes += files.values().map(Vec::len).sum::<usize>();
        if self.bytes > MAX_BYTES {
            return Err(DownloadError::Bytes);
        }
        self.fetched.insert(key, files.clone());
        Ok(files)
    }
}

fn local(folder: &str, dependency: &Dependency) -> DownloadError {
    DownloadError::Dependency {
        name: dependency.name.clone(),
        folder: folder.to_owned(),
        repository: dependency.repository.clone(),
    }
}
