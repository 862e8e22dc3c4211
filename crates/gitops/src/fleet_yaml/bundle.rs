//! The bundle of one folder.

use std::collections::{BTreeMap, BTreeSet};

use drover_api::fleet::{
    Bundle, BundleResource, BundleTarget, GitRepo, GitTarget, HelmOptions, ImageScan, labels,
};
use serde_json::{Value, json};
use thiserror::Error;

use super::charts::{self, Chart, FetchedFiles};
use super::document::{FleetYaml, FleetYamlError};
use super::glob::PatternError;
use super::ignore::Ignored;
use super::scan::OPTIONS_FILES;
use super::tree::{Limits, Tree, TreeError, base_name, join};
use crate::ids::{
    BASE64_GZIP, ContentError, decode_resource, encode_resource, go_json, safe_concat_name,
};
use crate::targeting::merge_values;
use crate::yaml;

/// Size of a bundle's JSON from which on all files are compressed.
const COMPRESSED_FROM: usize = 1_000_000;
/// Maximum number of values files of a bundle and its targets.
const MAX_VALUES_FILES: usize = 200;
/// Maximum size of a values file in bytes.
const MAX_VALUES_BYTES: usize = 1 << 20;
/// Size of the JSON of Fleet around the metadata and the spec: the names of fields, and the status.
const FRAME_SIZE: usize = 197;

/// A repository whose bundles cannot be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The options of a bundle are not valid.
    #[error("cannot read {file}: {source}")]
    Options {
        /// Path of the file.
        file: String,
        /// The reason.
        source: FleetYamlError,
    },
    /// The options file of a driven scan does not exist.
    #[error("the file {file} does not exist: correct spec.bundles")]
    NoOptions {
        /// Path of the file.
        file: String,
    },
    /// A folder of a driven scan does not exist.
    #[error("the folder {folder:?} does not exist: correct spec.bundles")]
    NoFolder {
        /// The folder.
        folder: String,
    },
    /// A file with Helm values cannot be read.
    #[error("cannot read the values file {file} of {folder:?}: {reason}")]
    Values {
        /// Path in `valuesFiles`.
        file: String,
        /// Folder of the bundle.
        folder: String,
        /// The reason.
        reason: String,
    },
    /// There are too many files with Helm values.
    #[error("the fleet.yaml of {folder:?} names more than {MAX_VALUES_FILES} values files")]
    ValuesFiles {
        /// Folder of the bundle.
        folder: String,
    },
    /// A chart does not exist.
    #[error(
        "the chart {chart:?} of {folder:?} does not exist: correct helm.chart, or set helm.repo"
    )]
    NoChart {
        /// Folder of the bundle.
        folder: String,
        /// Path in `helm.chart`.
        chart: String,
    },
    /// A chart was not fetched.
    #[error("the chart files for {folder} were not fetched")]
    NotFetched {
        /// Folder of the chart's files in the bundle.
        folder: String,
    },
    /// A path or file is not permitted.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// A pattern in `spec.paths` or `.fleetignore` is not valid.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// A file cannot be compressed.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// Two folders have bundles with the same name.
    #[error(
        "the folders {first:?} and {second:?} have bundles with the name {name}: change the name in one fleet.yaml"
    )]
    SameName {
        /// The name.
        name: String,
        /// The first folder.
        first: String,
        /// The second folder.
        second: String,
    },
    /// There is no bundle.
    #[error("no files to deploy in the paths {paths:?}: correct spec.paths")]
    NoBundles {
        /// The paths.
        paths: Vec<String>,
    },
}

/// A bundle that may lack the files of charts.
#[derive(Clone, Debug)]
pub struct BundleDraft {
    folder: String,
    bundle: Bundle,
    image_scans: Vec<ImageScan>,
    files: BTreeMap<String, Vec<u8>>,
    /// Files that are not in the bundle, because their content is in the options.
    excluded: BTreeSet<String>,
    charts: Vec<Chart>,
}

impl BundleDraft {
    /// Reads the bundle of a folder. Returns nothing if the bundle has no files.
    pub(super) fn read(
        repo: &GitRepo,
        tree: &Tree,
        folder: &str,
        options_file: &str,
        path_name: &str,
    ) -> Result<Option<Self>, ReadError> {
        let yaml = options(tree, folder, options_file)?;
        let image_scans = image_scans(repo, &yaml, path_name);
        let (mut bundle, own_targets) = bundle(repo, yaml, path_name);
        if values_files(&bundle).count() > MAX_VALUES_FILES {
            let folder = folder.to_owned();
            return Err(ReadError::ValuesFiles { folder });
        }
        let mut wanted = BTreeSet::new();
        let targets = own_targets.min(bundle.spec.targets.len());
        let own = bundle.spec.targets[..targets].iter_mut();
        for helm in own.filter_map(|target| target.options.helm.as_mut()) {
            merge_values_files(tree, folder, helm)?;
            wanted.extend(charts::remote(tree, folder, helm)?);
        }
        if let Some(helm) = &mut bundle.spec.options.helm
            && !(helm.chart.is_empty() && helm.repo.is_empty())
        {
            merge_values_files(tree, folder, helm)?;
            wanted.extend(charts::remote(tree, folder, helm)?);
        }
        let excluded = excluded_files(&bundle, options_file);
        let files = files(tree, folder, &excluded)?;
        let helm = bundle.spec.options.helm.as_ref();
        if helm.is_none_or(|helm| !helm.disable_dependency_update) {
            wanted.extend(charts::dependencies(&files));
        }
        if files.is_empty() && wanted.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self {
            folder: folder.to_owned(),
            bundle,
            image_scans,
            files,
            excluded,
            charts: wanted.into_iter().collect(),
        }))
    }

    /// Returns the name of the bundle.
    #[must_use]
    pub fn name(&self) -> &str {
        self.bundle.metadata.name.as_deref().unwrap_or_default()
    }

    /// Returns the folder of the bundle in the repository.
    #[must_use]
    pub fn folder(&self) -> &str {
        &self.folder
    }

    /// Returns the image scans in the fleet.yaml.
    #[must_use]
    pub fn image_scans(&self) -> &[ImageScan] {
        &self.image_scans
    }

    /// Returns the charts that [`Self::finish`] needs.
    #[must_use]
    pub fn charts(&self) -> &[Chart] {
        &self.charts
    }

    /// Returns the files of the bundle, without the files of fetched charts.
    #[must_use]
    pub fn files(&self) -> &BTreeMap<String, Vec<u8>> {
        &self.files
    }

    /// Returns the bundle with the fetched files of all [`Self::charts`].
    ///
    /// `previous` are the files of the bundle on the hub. An unchanged compressed file keeps its
    /// compressed bytes, because different compressors have different outputs: otherwise the takeover
    /// of a Fleet hub would change the content, and agents would deploy the bundle again.
    ///
    /// # Errors
    ///
    /// The files of a chart are missing, have paths outside of the chart's folder, or cannot be
    /// compressed.
    pub fn finish(
        self,
        fetched: &BTreeMap<Chart, FetchedFiles>,
        previous: &[BundleResource],
    ) -> Result<Bundle, ReadError> {
        let mut files = self.files;
        for chart in &self.charts {
            let folder = chart.folder().to_owned();
            let Some(chart) = fetched.get(chart) else {
                return Err(ReadError::NotFetched { folder });
            };
            // Hidden and ignored files are not in the bundle, as in the repository.
            let tree = Tree::new(chart.clone(), &Limits::default())?;
            for (path, data) in self::files(&tree, "", &self.excluded)? {
                files.insert(join(&folder, &path)?, data);
            }
        }
        let mut bundle = self.bundle;
        encode(&mut bundle, &files, previous, false)?;
        if size(&bundle) >= COMPRESSED_FROM {
            encode(&mut bundle, &files, previous, true)?;
        }
        Ok(bundle)
    }
}

fn encode(
    bundle: &mut Bundle,
    files: &BTreeMap<String, Vec<u8>>,
    previous: &[BundleResource],
    compress: bool,
) -> Result<(), ContentError> {
    let compressed = previous
        .iter()
        .filter(|resource| resource.encoding == BASE64_GZIP);
    let previous: BTreeMap<&str, &BundleResource> = compressed
        .map(|resource| (resource.name.as_str(), resource))
        .collect();
    let resource = |(name, data): (&String, &Vec<u8>)| {
        let old = previous.get(name.as_str()).copied();
        let is_compressed = compress || std::str::from_utf8(data).is_err();
        match old.filter(|old| is_compressed && has_data(old, data)) {
            Some(old) => Ok(old.clone()),
            None => encode_resource(name, data, compress),
        }
    };
    bundle.spec.resources = files.iter().map(resource).collect::<Result<_, _>>()?;
    Ok(())
}

fn has_data(resource: &BundleResource, data: &[u8]) -> bool {
    decode_resource(resource, data.len() as u64).is_ok_and(|old| old == data)
}

/// Returns the size of the bundle's JSON in Fleet, which adds the namespace later.
fn size(bundle: &Bundle) -> usize {
    let mut metadata = bundle.metadata.clone();
    metadata.namespace = None;
    FRAME_SIZE + go_json::to_string(&metadata).len() + go_json::to_string(&bundle.spec).len()
}

/// Reads the options of a bundle. A folder without options file has the default options.
fn options(tree: &Tree, folder: &str, file: &str) -> Result<FleetYaml, ReadError> {
    let path = if file.is_empty() {
        let paths = OPTIONS_FILES.iter().map(|name| join(folder, name));
        let paths: Vec<String> = paths.collect::<Result<_, _>>()?;
        match paths.into_iter().find(|path| tree.file(path).is_some()) {
            Some(path) => path,
            None => return Ok(FleetYaml::default()),
        }
    } else {
        join(folder, file)?
    };
    let Some(data) = tree.file(&path) else {
        return Err(ReadError::NoOptions { file: path });
    };
    FleetYaml::parse(data).map_err(|source| ReadError::Options { file: path, source })
}

/// Returns the bundle without files, and the number of targets from the fleet.yaml.
fn bundle(repo: &GitRepo, yaml: FleetYaml, path_name: &str) -> (Bundle, usize) {
    let mut bundle = Bundle {
        spec: yaml.spec,
        ..Bundle::default()
    };
    let name = if yaml.name.is_empty() {
        path_name.to_owned()
    } else {
        yaml.name
    };
    bundle.metadata.name = Some(name);
    bundle
        .metadata
        .namespace
        .clone_from(&repo.metadata.namespace);
    let mut own_labels = repo.metadata.labels.clone().unwrap_or_default();
    let repo_name = repo.metadata.name.clone().unwrap_or_default();
    own_labels.insert(labels::REPO_NAME.to_owned(), repo_name);
    let commit = repo.status.as_ref().map(|status| status.commit.clone());
    if let Some(commit) = commit.filter(|commit| !commit.is_empty()) {
        own_labels.insert(labels::COMMIT.to_owned(), commit);
    }
    own_labels.extend(yaml.labels);
    bundle.metadata.labels = Some(own_labels);
    bundle.metadata.annotations = (!yaml.annotations.is_empty()).then_some(yaml.annotations);

    let spec = &mut bundle.spec;
    spec.targets.extend(yaml.target_customizations);
    for (index, target) in spec.targets.iter_mut().enumerate() {
        if target.name.is_empty() {
            target.name = format!("target{index:03}");
        }
    }
    if let Some(helm) = &spec.options.helm {
        inherit_chart(helm, &mut spec.targets);
    }
    let own_targets = spec.targets.len();
    let targets = yaml
        .override_targets
        .unwrap_or_else(|| targets_or_default(&repo.spec.targets));
    spec.targets
        .extend(targets.iter().cloned().map(bundle_target));
    spec.target_restrictions.extend(targets);
    apply_repo(repo, &mut bundle);
    (bundle, own_targets)
}

/// Applies the options of the GitRepo.
fn apply_repo(repo: &GitRepo, bundle: &mut Bundle) {
    let spec = &mut bundle.spec;
    if spec.targets.is_empty() {
        spec.targets = targets_or_default(&[])
            .into_iter()
            .map(bundle_target)
            .collect();
    }
    let options = &mut spec.options;
    if !repo.spec.service_account.is_empty() {
        options
            .service_account
            .clone_from(&repo.spec.service_account);
    }
    options.force_sync_generation = repo.spec.force_sync_generation;
    if !repo.spec.target_namespace.is_empty() {
        options
            .target_namespace
            .clone_from(&repo.spec.target_namespace);
        for target in &mut spec.targets {
            target
                .options
                .target_namespace
                .clone_from(&repo.spec.target_namespace);
        }
    }
    spec.paused |= repo.spec.paused;
    options.keep_resources |= repo.spec.keep_resources;
    options.delete_namespace |= repo.spec.delete_namespace;
    if let Some(drift) = repo
        .spec
        .correct_drift
        .clone()
        .filter(|drift| drift.enabled)
    {
        options.correct_drift = Some(drift);
    }
}

fn targets_or_default(targets: &[GitTarget]) -> Vec<GitTarget> {
    if !targets.is_empty() {
        return targets.to_vec();
    }
    vec![GitTarget {
        name: "default".to_owned(),
        cluster_group: "default".to_owned(),
        ..GitTarget::default()
    }]
}

fn bundle_target(target: GitTarget) -> BundleTarget {
    BundleTarget {
        name: target.name,
        cluster_name: target.cluster_name,
        cluster_selector: target.cluster_selector,
        cluster_group: target.cluster_group,
        cluster_group_selector: target.cluster_group_selector,
        ..BundleTarget::default()
    }
}

/// Copies the chart of the bundle to targets with Helm options that name no chart.
fn inherit_chart(base: &HelmOptions, targets: &mut [BundleTarget]) {
    for helm in targets
        .iter_mut()
        .filter_map(|target| target.options.helm.as_mut())
    {
        for (own, base) in [
            (&mut helm.repo, &base.repo),
            (&mut helm.chart, &base.chart),
            (&mut helm.version, &base.version),
        ] {
            if own.is_empty() {
                own.clone_from(base);
            }
        }
    }
}

fn merge_values_files(tree: &Tree, folder: &str, helm: &mut HelmOptions) -> Result<(), ReadError> {
    let mut values = helm.values.clone().unwrap_or_else(|| json!({}));
    for file in &helm.values_files {
        let failed = |reason: String| ReadError::Values {
            file: file.clone(),
            folder: folder.to_owned(),
            reason,
        };
        let path = join(folder, file)?;
        let data = tree
            .file(&path)
            .ok_or_else(|| failed("the file does not exist".to_owned()))?;
        if data.len() > MAX_VALUES_BYTES {
            return Err(failed(format!(
                "the file has more than {MAX_VALUES_BYTES} bytes"
            )));
        }
        let text = std::str::from_utf8(data).map_err(|error| failed(error.to_string()))?;
        let map = yaml::object(text).map_err(|error| failed(error.to_string()))?;
        merge_values(&mut values, &Value::Object(map));
    }
    let has_values = values.as_object().is_some_and(|map| !map.is_empty());
    if !helm.values_files.is_empty() && has_values {
        helm.values = Some(values);
    }
    Ok(())
}

/// Returns the paths of the values files of a bundle and its targets.
fn values_files(bundle: &Bundle) -> impl Iterator<Item = &String> {
    let targets = bundle.spec.targets.iter().map(|target| &target.options);
    let helm = targets
        .chain([&bundle.spec.options])
        .filter_map(|it| it.helm.as_ref());
    helm.flat_map(|helm| &helm.values_files)
}

/// Returns the files that have become options of the bundle.
fn excluded_files(bundle: &Bundle, options_file: &str) -> BTreeSet<String> {
    let mut excluded = BTreeSet::from(["fleet.yaml".to_owned(), options_file.to_owned()]);
    for file in values_files(bundle) {
        excluded.insert(file.clone());
        excluded.insert(base_name(file).to_owned());
    }
    excluded
}

fn files(
    tree: &Tree,
    folder: &str,
    excluded: &BTreeSet<String>,
) -> Result<BTreeMap<String, Vec<u8>>, ReadError> {
    let mut files = BTreeMap::new();
    // Fleet reads no files of a hidden folder.
    if base_name(folder).starts_with('.') {
        return Ok(files);
    }
    let ignored = Ignored::read(tree, folder)?;
    for (path, data) in tree.files_below(folder) {
        if !excluded.contains(path) && !ignored.excludes(path)? {
            files.insert(path.to_owned(), data.to_vec());
        }
    }
    Ok(files)
}

fn image_scans(repo: &GitRepo, yaml: &FleetYaml, path_name: &str) -> Vec<ImageScan> {
    let scans = yaml.image_scans.iter().enumerate();
    let scans = scans.filter(|(_, spec)| !spec.image.is_empty());
    scans
        .map(|(index, spec)| {
            let mut scan = ImageScan {
                spec: spec.clone(),
                ..ImageScan::default()
            };
            let name = safe_concat_name(&["imagescan", path_name, &index.to_string()]);
            scan.metadata.name = Some(name);
            scan.metadata.namespace.clone_from(&repo.metadata.namespace);
            scan.spec.git_repo_name = repo.metadata.name.clone().unwrap_or_default();
            scan
        })
        .collect()
}
