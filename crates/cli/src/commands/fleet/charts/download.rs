//! Downloads with the program `drover-render`.

use std::collections::BTreeMap;
use std::path::Path;

use drover_charts::{
    ChartAccess, ChartRequest, ChartSettings, ChartSource, Charts, Credential, Downloads, Settings,
    SettingsError, settings_by_path,
};
use drover_gitops::fleet_yaml::{BundleDraft, FetchedFiles, GitChart};
use secrecy::SecretString;

use super::super::folder::read_file;
use super::BundleCharts;
use crate::args::ChartFlags;
use crate::client::error_chain;
use crate::failure::Failure;

/// Maximum size of a file with a credential or certificates, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// The reason why a chart is not fetched.
#[derive(Debug, thiserror::Error)]
pub(super) enum LocalChartError {
    #[error("--helm-repo-url-regex or --helm-credentials-by-path-file: {0}")]
    Settings(#[from] SettingsError),
    #[error(
        "helm.chart: {0} is a git repository, which this command does not read: copy the chart into the \
         folder, or use a GitRepo"
    )]
    Git(String),
}

/// The credentials on the command line.
struct LocalCharts(ChartAccess);

impl ChartSource for LocalCharts {
    type Error = LocalChartError;

    async fn request(
        &mut self,
        folder: &str,
        repo: &str,
        chart: &str,
        version: &str,
    ) -> Result<ChartRequest, LocalChartError> {
        Ok(self.0.request(folder, repo, chart, version)?)
    }

    async fn git(&mut self, _: &str, chart: &GitChart) -> Result<FetchedFiles, LocalChartError> {
        Err(LocalChartError::Git(chart.address()))
    }
}

/// Fetches the charts of the bundles.
pub(super) async fn fetch(
    flags: &ChartFlags,
    drafts: &[BundleDraft],
    program: &Path,
) -> Result<Vec<BundleCharts>, Failure> {
    let charts = Charts::new(ChartSettings::new(program, std::env::temp_dir()));
    let mut downloads = Downloads::new(&charts, LocalCharts(access(flags)?));
    let mut all = Vec::new();
    for draft in drafts {
        let fetched = Box::pin(downloads.fetch(draft)).await;
        all.push(fetched.map_err(|error| {
            let messages: Vec<String> = error_chain(&error).map(ToString::to_string).collect();
            Failure::Other(format!(
                "cannot fetch the charts of the bundle {}: {}",
                draft.name(),
                messages.join(": ")
            ))
        })?);
    }
    Ok(all)
}

fn access(flags: &ChartFlags) -> Result<ChartAccess, Failure> {
    let mut all = Settings::default();
    let password = text(flags.password_file.as_deref())?;
    let password = password.map(|text| text.trim_end_matches(['\r', '\n']).to_owned());
    all.access.credential = match (&*flags.username, password) {
        ("", None) => None,
        ("", Some(_)) => return Err(usage("--password-file needs --username")),
        (_, None) => return Err(usage("--username needs --password-file")),
        (username, Some(password)) => Some(Credential {
            username: username.to_owned(),
            password: SecretString::from(password),
        }),
    };
    all.access.authorities = text(flags.cacerts_file.as_deref())?.unwrap_or_default();
    all.access.plain_http = flags.helm_basic_http;
    all.access.insecure_skip_tls_verify = flags.helm_insecure_skip_tls;
    let file = flags.helm_credentials_by_path_file.as_deref();
    let paths = match text(file)? {
        None => BTreeMap::default(),
        Some(text) => settings_by_path(&text, &all)
            .map_err(|_| usage("--helm-credentials-by-path-file: the file is not valid"))?,
    };
    let has_credential = all.access.credential.is_some() || !paths.is_empty();
    if has_credential && flags.helm_repo_url_regex.is_empty() {
        return Err(usage(
            "a credential needs --helm-repo-url-regex, an expression for the addresses of the repositories \
             that receive the credential",
        ));
    }
    Ok(ChartAccess {
        regex: flags.helm_repo_url_regex.clone(),
        all,
        paths,
    })
}

fn usage(reason: &str) -> Failure {
    Failure::Usage(reason.to_owned())
}

fn text(file: Option<&Path>) -> Result<Option<String>, Failure> {
    let Some(file) = file else { return Ok(None) };
    let failed = |source| Failure::Read {
        path: file.display().to_string(),
        source,
    };
    let data = read_file(file, MAX_FILE).map_err(failed)?;
    let text = String::from_utf8(data);
    let text = text.map_err(|_| failed(std::io::Error::other("the file is not UTF-8 text")));
    text.map(Some)
}
