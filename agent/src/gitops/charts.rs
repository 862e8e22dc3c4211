//! The charts of HelmOps, which the agent fetches from their repositories.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use drover_api::fleet::{BundleDeployment, BundleHelmOptions};
use drover_charts::{
    Access, AddressError, ChartError, ChartRequest, ChartSettings, Charts, EntryError, address,
};
use drover_deploy::source::fetched_folder;
use drover_gitops::ids::{ContentError, encode_resource};
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, ResourceExt as _};
use thiserror::Error;

use super::content::{ContentReadError, Files, call};

/// Soft limit of the memory of a process that fetches a chart, in bytes. The agent's container has a
/// limit of 512 MiB.
const MEMORY_BYTES: u64 = 192 << 20;

/// Pause after an error that another attempt does not solve, for example the HTTP status 404. All agents of a
/// HelmOp send their requests to the same repository.
pub(super) const PERMANENT_PAUSE: Duration = Duration::from_mins(10);

/// The reason why the chart of a HelmOp is missing.
#[derive(Debug, Error)]
pub(super) enum HelmOpChartError {
    #[error(transparent)]
    Hub(#[from] ContentReadError),
    #[error("cannot fetch the chart: the bundle deployment has no field options.helm")]
    NoChart,
    #[error("cannot fetch the chart")]
    Address(#[from] AddressError),
    #[error("cannot use the Secret {name} with the credential of the chart's repository")]
    Secret { name: String, source: EntryError },
    #[error("cannot read helmOpCABundle: the value is not UTF-8 text")]
    Authorities,
    #[error("cannot compress a file of the chart")]
    File(#[from] ContentError),
    #[error(transparent)]
    Fetch(ChartError),
    /// Another attempt has the same result until the repository changes.
    #[error(
        "{0}; the agent tries again about every {minutes} minutes, and after each change of the HelmOp",
        minutes = PERMANENT_PAUSE.as_secs() / 60
    )]
    Permanent(ChartError),
}

impl From<ChartError> for HelmOpChartError {
    fn from(error: ChartError) -> Self {
        if error.is_permanent() {
            Self::Permanent(error)
        } else {
            Self::Fetch(error)
        }
    }
}

impl HelmOpChartError {
    /// Reports whether another attempt has the same result until the repository or the HelmOp changes.
    pub(super) const fn is_permanent(&self) -> bool {
        matches!(self, Self::NoChart | Self::Address(_) | Self::Permanent(_))
    }
}

/// Creates the fetcher of an agent. `program` is the program that renders charts.
pub(super) fn fetcher(program: PathBuf) -> Charts {
    Charts::new(ChartSettings {
        timeout: Duration::from_secs(30),
        max_processes: 2,
        memory_bytes: MEMORY_BYTES,
        ..ChartSettings::new(program, std::env::temp_dir())
    })
}

/// Fetches charts with the Secrets of bundle deployments.
pub(super) struct HelmOpCharts {
    pub(super) hub: Client,
    pub(super) charts: Arc<Charts>,
}

impl HelmOpCharts {
    /// Returns the files of the chart, in the folder in which the renderer looks for a fetched chart.
    pub(super) async fn files(
        &self,
        deployment: &BundleDeployment,
        options: &BundleHelmOptions,
    ) -> Result<Files, HelmOpChartError> {
        let helm = deployment.spec.options.helm.as_ref();
        let helm = helm.ok_or(HelmOpChartError::NoChart)?;
        let (repo, chart) = address(&helm.repo, &helm.chart)?;
        let request = ChartRequest {
            repo,
            chart,
            version: helm.version.clone(),
            access: self.access(deployment, options).await?,
            ..ChartRequest::default()
        };
        let fetched = self.charts.fetch(&request).await?;
        let folder = fetched_folder(helm);
        let files = fetched.files.iter();
        let files =
            files.map(|(path, data)| encode_resource(&format!("{folder}{path}"), data, false));
        Ok(Arc::new(files.collect::<Result<_, _>>()?))
    }

    /// Reads the Secret that the server has copied to the namespace of the bundle deployment.
    async fn access(
        &self,
        deployment: &BundleDeployment,
        options: &BundleHelmOptions,
    ) -> Result<Access, HelmOpChartError> {
        let mut access = Access::default();
        let name = &options.secret_name;
        if !name.is_empty() {
            let namespace = deployment.namespace().unwrap_or_default();
            let secrets = Api::<Secret>::namespaced(self.hub.clone(), &namespace);
            let secret = call(format!("the Secret {name}"), secrets.get(name)).await?;
            let data = secret.data.unwrap_or_default();
            let read = access.with_secret(|entry| data.get(entry).map(|bytes| &*bytes.0));
            access = read.map_err(|source| HelmOpChartError::Secret {
                name: name.clone(),
                source,
            })?;
        }
        // As in Fleet, the Secret does not disable the verification of certificates.
        access.insecure_skip_tls_verify = options.insecure_skip_tls_verify;
        if let (true, Some(bundle)) = (access.authorities.is_empty(), &options.ca_bundle) {
            let authorities = String::from_utf8(bundle.0.clone());
            access.authorities = authorities.map_err(|_| HelmOpChartError::Authorities)?;
        }
        Ok(access)
    }
}
