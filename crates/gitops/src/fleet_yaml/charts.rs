//! Charts that are not in the repository.

use std::collections::{BTreeMap, BTreeSet};

use drover_api::fleet::HelmOptions;
use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

use super::error::ReadError;
use super::git_chart::{FORCED, HOSTS};
use super::present_charts::PresentCharts;
use super::tree::{Tree, base_name, join};
use crate::ids::sha256_hex;
use crate::yaml;

/// File of a chart with its name, version and dependencies.
pub const CHART_FILE: &str = "Chart.yaml";

/// Files that a caller fetched, by path. The paths are relative to the chart's folder, and include the
/// files of the chart's dependencies.
pub type FetchedFiles = BTreeMap<String, Vec<u8>>;

/// A chart, or the dependencies of a chart, that a caller must fetch for a bundle.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Chart {
    /// A chart outside of the repository. The files are the content of the chart's archive.
    Remote {
        /// Folder of the files in the bundle.
        folder: String,
        /// URL of a Helm repository or an OCI registry. Empty if `chart` is a URL.
        repo: String,
        /// Name of the chart, or a URL for `go-getter`.
        chart: String,
        /// Version or semver constraint.
        version: String,
    },
    /// Dependencies of a chart in the repository. The files are the archives `charts/NAME-VERSION.tgz`.
    Dependencies {
        /// Folder of the chart in the bundle. Empty for the bundle's folder.
        folder: String,
    },
}

impl Chart {
    /// Returns the folder of the fetched files in the bundle.
    #[must_use]
    pub fn folder(&self) -> &str {
        let (Self::Remote { folder, .. } | Self::Dependencies { folder }) = self;
        folder
    }
}

/// Reports whether the Helm credential of a GitRepo may be sent for a chart.
///
/// `regex` is `spec.helmRepoURLRegex`. It must match from the start of the URL. Without it, no
/// credential is sent.
///
/// # Errors
///
/// The regular expression is not valid.
pub fn may_send_credential(regex: &str, repo: &str, chart: &str) -> Result<bool, regex::Error> {
    if regex.is_empty() {
        return Ok(false);
    }
    // The expression is compiled alone first, so that it cannot close the group below.
    Regex::new(regex)?;
    let anchored = Regex::new(&format!("^(?:{regex})"))?;
    Ok(anchored.is_match(if repo.is_empty() { chart } else { repo }))
}

/// Returns the chart if its files are not in the folder of the bundle.
pub(super) fn remote(
    tree: &Tree,
    folder: &str,
    helm: &HelmOptions,
) -> Result<Option<Chart>, ReadError> {
    if helm.chart.is_empty() && helm.repo.is_empty() {
        return Ok(None);
    }
    if helm.repo.is_empty() && !is_url(&helm.chart) {
        let path = join(folder, &helm.chart)?;
        if tree.has_folder(&path) {
            return Ok(None);
        }
        if tree.file(&path).is_none() {
            let (folder, chart) = (folder.to_owned(), helm.chart.clone());
            return Err(ReadError::NoChart { folder, chart });
        }
        return Ok(None);
    }
    let HelmOptions {
        chart,
        repo,
        version,
        ..
    } = helm.clone();
    let hash = sha256_hex(format!("{chart}:{repo}:{version}").as_bytes());
    Ok(Some(Chart::Remote {
        folder: format!(".chart/{hash}"),
        repo,
        chart,
        version,
    }))
}

/// Reports whether a chart is the URL of an archive, a git repository or an OCI artifact.
fn is_url(chart: &str) -> bool {
    let is_scp = chart
        .split_once(':')
        .is_some_and(|(user, path)| user.contains('@') && !path.is_empty());
    chart.contains("://")
        || HOSTS
            .iter()
            .chain(&FORCED)
            .chain(&["http::", "https::"])
            .any(|start| chart.starts_with(start))
        || is_scp
}

/// A dependency in a `Chart.yaml`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(default)]
pub struct Dependency {
    /// Name of the chart.
    pub name: String,
    /// Version or semver constraint.
    pub version: String,
    /// URL of the repository. Empty for a chart in the folder `charts`.
    pub repository: String,
}

/// Returns the charts in the files of a bundle whose dependencies are not complete.
pub(super) fn dependencies(files: &BTreeMap<String, Vec<u8>>) -> Vec<Chart> {
    let folders = incomplete_charts(files).into_iter();
    folders
        .map(|folder| Chart::Dependencies { folder })
        .collect()
}

/// Returns the folders with a `Chart.yaml`.
pub fn chart_folders(files: &FetchedFiles) -> impl Iterator<Item = &str> {
    let charts = files.keys().filter(|path| base_name(path) == CHART_FILE);
    charts.filter_map(|path| Some(path.strip_suffix(CHART_FILE)?.trim_end_matches('/')))
}

/// Returns the folders of charts whose dependencies are not complete.
#[must_use]
pub fn incomplete_charts(files: &FetchedFiles) -> Vec<String> {
    chart_folders(files)
        .filter(|folder| !missing_dependencies(files, folder).is_empty())
        .map(str::to_owned)
        .collect()
}

/// Returns the dependencies of the chart in a folder that are not in the folder `charts`. Equal dependencies
/// are in the result once.
#[must_use]
pub fn missing_dependencies(files: &FetchedFiles, folder: &str) -> Vec<Dependency> {
    let start = if folder.is_empty() {
        String::new()
    } else {
        format!("{folder}/")
    };
    let document = files
        .get(&format!("{start}{CHART_FILE}"))
        .and_then(|data| yaml::object(std::str::from_utf8(data).ok()?).ok());
    let list = document.as_ref().and_then(|it| it.get("dependencies"));
    let list = list.and_then(Value::as_array).into_iter().flatten();
    let mut all: Vec<Dependency> = list
        .filter_map(|it| Dependency::deserialize(it).ok())
        .filter(|dependency| !dependency.name.is_empty())
        .collect();
    if all.is_empty() {
        return all;
    }
    let present = PresentCharts::below(files, &format!("{start}charts/"));
    // With an alias, a chart can depend on two versions of one chart.
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for dependency in &all {
        let versions = versions.entry(dependency.name.clone()).or_default();
        versions.insert(dependency.version.clone());
    }
    let mut seen = BTreeSet::new();
    all.retain(|dependency| {
        let versions = &versions[&dependency.name];
        seen.insert(dependency.clone()) && !present.contains(dependency, versions)
    });
    all
}

/// Returns a text field of a `Chart.yaml`.
pub(super) fn field(data: &[u8], name: &str) -> Option<String> {
    let document = yaml::object(std::str::from_utf8(data).ok()?).ok()?;
    Some(document.get(name)?.as_str()?.to_owned())
}
