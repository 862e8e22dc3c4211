//! The charts of a GitRepo that are not in the repository.

use drover_api::fleet::GitRepo;
use drover_charts::{ChartRequest, ChartSource};
use drover_git::{Checkout, Fetcher, GitError, Reference};
use drover_gitops::fleet_yaml::{CHART_FILE, FetchedFiles, GitChart};
use drover_gitops::policy::{Policies, Refusal};
use kube::{Client, ResourceExt as _};
use thiserror::Error;

use super::helm::{HelmAccess, HelmError};
use super::source::{SourceError, known_hosts};

/// The reason why a chart is not fetched.
#[derive(Debug, Error)]
pub(crate) enum ChartSourceError {
    #[error(transparent)]
    Helm(#[from] HelmError),
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    KnownHosts(#[from] SourceError),
    /// The messages of the error name fields of a GitRepo that do not apply to charts.
    #[error("helm.chart: cannot read {address}: {}", explain(.error))]
    Git {
        address: String,
        error: Box<GitError>,
    },
    #[error(
        "helm.chart: the folder {folder:?} of {address} has no {CHART_FILE}; correct the folder after // \
         in the address"
    )]
    NoChart { folder: String, address: String },
    #[error("helm.chart: cannot use the file {file:?} of {address}: {error}")]
    Rejected {
        file: String,
        address: String,
        error: Box<GitError>,
    },
}

/// Returns the message of an error with the fields that apply to charts.
fn explain(error: &GitError) -> String {
    const SECRET: &str = "set spec.helmSecretName to a Secret with username and password, or with \
                          ssh-privatekey for SSH, and spec.helmRepoURLRegex to an expression that matches \
                          the address";
    const AUTHORITY: &str =
        "the entry cacerts of the Secret in spec.helmSecretName, or in spec.caBundle";
    match error {
        GitError::AuthenticationFailed { reason, .. } => {
            format!("authentication failed ({reason}); {SECRET}")
        }
        GitError::RepositoryNotFound { .. } => {
            format!(
                "the repository does not exist; correct the address. If the repository is private, {SECRET}"
            )
        }
        GitError::ReferenceNotFound { kind, name, .. } => {
            format!("the {kind} {name:?} does not exist; correct ref in the address")
        }
        GitError::CommitNotFound { commit, .. } => format!(
            "the commit {commit} does not exist, or the server does not permit to fetch it; set ref in the \
             address to a branch or a tag"
        ),
        GitError::CertificateUnknown { reason, .. } => format!(
            "the server's certificate is not trusted ({reason}); store the certificate of its authority in \
             {AUTHORITY}"
        ),
        GitError::InvalidCaBundle { reason } => {
            format!("cannot use the certificates ({reason}); store PEM certificates in {AUTHORITY}")
        }
        GitError::HostKeyUnknown {
            host,
            algorithm,
            fingerprint,
        } => format!(
            "{host}: unknown SSH host key {algorithm} {fingerprint}; verify the fingerprint, then add the key \
             to the entry known_hosts of the Secret in spec.helmSecretName"
        ),
        GitError::RateLimited { status, .. } => format!(
            "the server limits the rate of requests (HTTP status {status}); Drover tries again later. Copy \
             the chart into the repository if the error remains"
        ),
        GitError::Limit { unit, maximum } => format!(
            "the repository exceeds the limit of {maximum} {unit}; move large content out of the repository \
             of the chart"
        ),
        GitError::Submodule { path, source } => match &**source {
            GitError::AuthenticationFailed { .. } | GitError::RepositoryNotFound { .. } => format!(
                "cannot read the submodule {path:?} without a credential: submodules of a chart's repository \
                 receive no credential; copy the files of the submodule into the repository"
            ),
            source => format!("cannot read the submodule {path:?}: {}", explain(source)),
        },
        other => other.to_string(),
    }
}

/// The credentials and limits of a GitRepo, for the charts of one commit.
pub(super) struct RepoCharts<'a> {
    client: &'a Client,
    fetcher: &'a Fetcher,
    repo: &'a GitRepo,
    limits: Policies,
    access: Option<HelmAccess>,
}

impl<'a> RepoCharts<'a> {
    pub(super) const fn new(
        client: &'a Client,
        fetcher: &'a Fetcher,
        repo: &'a GitRepo,
        limits: Policies,
    ) -> Self {
        Self {
            client,
            fetcher,
            repo,
            limits,
            access: None,
        }
    }

    async fn access(&mut self) -> Result<&HelmAccess, HelmError> {
        Ok(match &mut self.access {
            Some(access) => access,
            none => none.insert(HelmAccess::read(self.client, self.repo).await?),
        })
    }
}

impl ChartSource for RepoCharts<'_> {
    type Error = ChartSourceError;

    async fn request(
        &mut self,
        folder: &str,
        repo: &str,
        chart: &str,
        version: &str,
    ) -> Result<ChartRequest, ChartSourceError> {
        let group = self.repo.namespace().unwrap_or_default();
        let access = self.access().await?;
        Ok(ChartRequest {
            group,
            ..access.request(folder, repo, chart, version)?
        })
    }

    async fn git(
        &mut self,
        folder: &str,
        chart: &GitChart,
    ) -> Result<FetchedFiles, ChartSourceError> {
        self.limits.git_chart(&chart.notations())?;
        let mut source = self.access().await?.git_source(folder, chart)?;
        if chart.is_ssh() && source.known_hosts.is_empty() {
            source.known_hosts = known_hosts(self.client).await?;
        }
        let reference = Reference::named(&chart.reference);
        let folders: Vec<String> = [chart.folder.clone()]
            .into_iter()
            .filter(|folder| !folder.is_empty())
            .collect();
        let checkout = self.fetcher.fetch(&source, &reference, &folders).await;
        let checkout = checkout.map_err(|error| ChartSourceError::Git {
            address: chart.address(),
            error: Box::new(error),
        })?;
        files(checkout, chart)
    }
}

/// Returns the files of a chart, relative to the folder of the chart.
fn files(checkout: Checkout, chart: &GitChart) -> Result<FetchedFiles, ChartSourceError> {
    if let Some((file, error)) = checkout.rejected.into_iter().next() {
        return Err(ChartSourceError::Rejected {
            file,
            address: chart.address(),
            error: Box::new(error),
        });
    }
    let start = match &*chart.folder {
        "" => String::new(),
        folder => format!("{folder}/"),
    };
    let files = checkout.files.into_iter().filter_map(|(path, data)| {
        let path = path.strip_prefix(&start)?;
        Some((path.to_owned(), data.to_vec()))
    });
    let files: FetchedFiles = files.collect();
    if !files.contains_key(CHART_FILE) {
        return Err(ChartSourceError::NoChart {
            folder: chart.folder.clone(),
            address: chart.address(),
        });
    }
    Ok(files)
}

#[cfg(test)]
mod tests;
