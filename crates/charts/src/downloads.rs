//! Fetches the charts of bundles that are not in the folders of the bundles.

use std::collections::BTreeMap;

use drover_gitops::fleet_yaml::{
    BundleDraft, Chart, Dependency, FetchedFiles, GitChart, GitChartError, incomplete_charts,
    missing_dependencies,
};

use crate::process::MAX_UNPACKED_BYTES;
use crate::{AddressError, ChartError, ChartRequest, Charts, Layout, address, dependency_address};

/// Maximum number of charts of a GitRepo.
const MAX_CHARTS: usize = 200;
/// Maximum size of the unpacked charts of a GitRepo, in bytes.
const MAX_BYTES: usize = 128 << 20;

/// The fetched files of a bundle, by chart.
pub type BundleCharts = BTreeMap<Chart, FetchedFiles>;

/// The credentials of a caller, and its access to git repositories.
pub trait ChartSource: Send {
    /// The reason why the source refuses a chart.
    type Error: std::error::Error + 'static;

    /// Returns the request for a chart of a bundle. `folder` is the folder of the bundle.
    fn request(
        &mut self,
        folder: &str,
        repo: &str,
        chart: &str,
        version: &str,
    ) -> impl Future<Output = Result<ChartRequest, Self::Error>> + Send;

    /// Returns the files of a chart in a git repository, relative to the folder of the chart.
    fn git(
        &mut self,
        folder: &str,
        chart: &GitChart,
    ) -> impl Future<Output = Result<FetchedFiles, Self::Error>> + Send;
}

/// The reason why the charts of a bundle are missing.
#[derive(Debug, thiserror::Error)]
pub enum DownloadError<E: std::error::Error + 'static> {
    /// The source refuses the chart.
    #[error(transparent)]
    Source(E),
    /// The chart cannot be fetched.
    #[error(transparent)]
    Chart(#[from] ChartError),
    /// The address has an unknown type.
    #[error("{0}: copy the chart into the repository")]
    Address(#[from] AddressError),
    /// The address of a git repository is not valid.
    #[error(transparent)]
    Git(#[from] GitChartError),
    /// A dependency has no address.
    #[error(
        "the dependency {name} of the chart in {folder:?} has the repository {repository:?}, which is no \
         address with https or oci: copy the dependency into the folder charts"
    )]
    Dependency {
        /// Name of the dependency.
        name: String,
        /// Folder of the chart in the bundle.
        folder: String,
        /// The repository in the `Chart.yaml`.
        repository: String,
    },
    /// There are too many charts.
    #[error("the GitRepo uses more than {MAX_CHARTS} charts: use several GitRepos")]
    Count,
    /// A chart in a git repository is too large.
    #[error(
        "helm.chart: the folder has more than {MAX_UNPACKED_BYTES} bytes: remove files from the chart"
    )]
    ChartBytes,
    /// The charts are too large.
    #[error("the charts of the GitRepo have more than {MAX_BYTES} bytes: use several GitRepos")]
    Bytes,
}

/// Address, version and folder of a fetched chart. The folder selects the credential.
type Fetched = (String, String, String, String);

/// The downloads for one commit of a GitRepo, or for one set of local folders.
#[derive(Debug)]
pub struct Downloads<'a, S> {
    charts: &'a Charts,
    source: S,
    fetched: BTreeMap<Fetched, FetchedFiles>,
    bytes: usize,
}

impl<'a, S: ChartSource> Downloads<'a, S> {
    /// Creates downloads without a fetched chart.
    pub const fn new(charts: &'a Charts, source: S) -> Self {
        Self {
            charts,
            source,
            fetched: BTreeMap::new(),
            bytes: 0,
        }
    }

    /// Fetches the charts of a bundle.
    ///
    /// # Errors
    ///
    /// A chart cannot be fetched, or the charts of all bundles exceed a limit.
    pub async fn fetch(
        &mut self,
        draft: &BundleDraft,
    ) -> Result<BundleCharts, DownloadError<S::Error>> {
        let mut found = BundleCharts::new();
        for chart in draft.charts() {
            let files = match chart {
                Chart::Remote {
                    repo,
                    chart,
                    version,
                    ..
                } => {
                    let remote = self.remote(draft.folder(), repo, chart, version);
                    let mut files = Box::pin(remote).await?;
                    if draft.updates_dependencies() {
                        Box::pin(self.complete(draft.folder(), &mut files)).await?;
                    }
                    files
                }
                Chart::Dependencies { folder } => {
                    Box::pin(self.dependencies(draft, folder)).await?
                }
            };
            found.insert(chart.clone(), files);
        }
        Ok(found)
    }

    async fn remote(
        &mut self,
        folder: &str,
        repo: &str,
        chart: &str,
        version: &str,
    ) -> Result<FetchedFiles, DownloadError<S::Error>> {
        if let Some(git) = GitChart::parse(chart).filter(|_| repo.is_empty()) {
            return Box::pin(self.git(folder, chart, &git?)).await;
        }
        let (repo, chart) = address(repo, chart)?;
        Box::pin(self.files(folder, &repo, &chart, version, Layout::Archive)).await
    }

    async fn dependencies(
        &mut self,
        draft: &BundleDraft,
        folder: &str,
    ) -> Result<FetchedFiles, DownloadError<S::Error>> {
        let missing = draft.missing_dependencies(folder);
        Box::pin(self.missing(draft.folder(), folder, &missing)).await
    }

    /// Adds the missing dependencies of fetched charts.
    async fn complete(
        &mut self,
        folder: &str,
        files: &mut FetchedFiles,
    ) -> Result<(), DownloadError<S::Error>> {
        for chart in incomplete_charts(files) {
            let missing = missing_dependencies(files, &chart);
            let found = Box::pin(self.missing(folder, &chart, &missing)).await?;
            let start = if chart.is_empty() {
                String::new()
            } else {
                format!("{chart}/")
            };
            let found = found.into_iter();
            files.extend(found.map(|(path, data)| (format!("{start}{path}"), data)));
        }
        Ok(())
    }

    /// Returns the archives of dependencies. `folder` is the folder of the bundle, and `chart` the folder of
    /// the chart.
    async fn missing(
        &mut self,
        folder: &str,
        chart: &str,
        missing: &[Dependency],
    ) -> Result<FetchedFiles, DownloadError<S::Error>> {
        let mut found = FetchedFiles::new();
        for dependency in missing {
            let address = dependency_address(&dependency.repository, &dependency.name);
            let (repo, name) = address.ok_or_else(|| local(chart, dependency))?;
            let (version, layout) = (&dependency.version, Layout::Packed);
            let files = Box::pin(self.files(folder, &repo, &name, version, layout)).await?;
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
    ) -> Result<FetchedFiles, DownloadError<S::Error>> {
        let key = (
            repo.to_owned(),
            chart.to_owned(),
            format!("{layout:?} {version}"),
            folder.to_owned(),
        );
        if let Some(files) = self.fetched.get(&key) {
            return Ok(files.clone());
        }
        self.check_count()?;
        let request = self.source.request(folder, repo, chart, version);
        let request = ChartRequest {
            layout,
            ..request.await.map_err(DownloadError::Source)?
        };
        let files = self.charts.fetch(&request).await?.files;
        self.add(key, files)
    }

    /// Returns the files of a chart in a git repository.
    async fn git(
        &mut self,
        folder: &str,
        text: &str,
        chart: &GitChart,
    ) -> Result<FetchedFiles, DownloadError<S::Error>> {
        let key = (
            String::new(),
            text.to_owned(),
            String::new(),
            folder.to_owned(),
        );
        if let Some(files) = self.fetched.get(&key) {
            return Ok(files.clone());
        }
        self.check_count()?;
        let files = self.source.git(folder, chart).await;
        let files = files.map_err(DownloadError::Source)?;
        if bytes(&files) > MAX_UNPACKED_BYTES {
            return Err(DownloadError::ChartBytes);
        }
        self.add(key, files)
    }

    fn check_count(&self) -> Result<(), DownloadError<S::Error>> {
        if self.fetched.len() == MAX_CHARTS {
            return Err(DownloadError::Count);
        }
        Ok(())
    }

    fn add(
        &mut self,
        key: Fetched,
        files: FetchedFiles,
    ) -> Result<FetchedFiles, DownloadError<S::Error>> {
        self.bytes += bytes(&files);
        if self.bytes > MAX_BYTES {
            return Err(DownloadError::Bytes);
        }
        self.fetched.insert(key, files.clone());
        Ok(files)
    }
}

fn bytes(files: &FetchedFiles) -> usize {
    files.values().map(Vec::len).sum()
}

fn local<E: std::error::Error + 'static>(
    folder: &str,
    dependency: &Dependency,
) -> DownloadError<E> {
    DownloadError::Dependency {
        name: dependency.name.clone(),
        folder: folder.to_owned(),
        repository: dependency.repository.clone(),
    }
}
