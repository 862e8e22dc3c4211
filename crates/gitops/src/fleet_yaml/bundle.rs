//! The bundle of one folder.

use std::collections::{BTreeMap, BTreeSet};

use drover_api::fleet::{
    Bundle, BundleResource, BundleTarget, GitRepo, HelmOptions, ImageScan, labels,
};

use super::charts::{self, Chart, Dependency, FetchedFiles};
use super::document::FleetYaml;
use super::encoding::{self, Compression};
use super::error::ReadError;
use super::ignore::Ignored;
use super::local_charts;
use super::origin::{Origin, Placement, bundle_target, targets_or_default};
use super::scan::OPTIONS_FILES;
use super::tree::{Limits, Tree, base_name, join};
use super::values::{MAX_VALUES_FILES, merge_values_files, values_files};
use crate::ids::safe_concat_name;

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
    updates_dependencies: bool,
    compression: Compression,
}

impl BundleDraft {
    /// Reads the bundle of a folder. Returns nothing if the bundle has no files.
    pub(super) fn read(
        origin: &Origin<'_>,
        tree: &Tree,
        folder: &str,
        options_file: &str,
        path_name: &str,
    ) -> Result<Option<Self>, ReadError> {
        let yaml = options(tree, folder, options_file)?;
        let image_scans = image_scans(origin.repo, &yaml, path_name);
        let (mut bundle, own_targets) = bundle(origin, yaml, path_name);
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
        let mut files = files(tree, folder, &excluded)?;
        let helm = bundle.spec.options.helm.as_ref();
        let updates_dependencies = helm.is_none_or(|helm| !helm.disable_dependency_update);
        if updates_dependencies {
            local_charts::add(tree, folder, &mut files)?;
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
            updates_dependencies,
            compression: Compression::Large,
        }))
    }

    /// Changes which files [`Self::finish`] compresses.
    #[must_use]
    pub fn compressed(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
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

    /// Reports whether the caller must also fetch the missing dependencies of fetched charts.
    #[must_use]
    pub const fn updates_dependencies(&self) -> bool {
        self.updates_dependencies
    }

    /// Returns the dependencies that the chart in a folder of the bundle lacks.
    #[must_use]
    pub fn missing_dependencies(&self, folder: &str) -> Vec<Dependency> {
        charts::missing_dependencies(&self.files, folder)
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
        encoding::set_resources(&mut bundle, &files, previous, self.compression)?;
        Ok(bundle)
    }
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
fn bundle(origin: &Origin<'_>, yaml: FleetYaml, path_name: &str) -> (Bundle, usize) {
    let repo = origin.repo;
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
    own_labels.extend(yaml.labels);
    own_labels.remove(labels::HELM_OP_NAME);
    if origin.is_repository() {
        // The repository cannot give the bundle another owner.
        let repo_name = repo.metadata.name.clone().unwrap_or_default();
        own_labels.insert(labels::REPO_NAME.to_owned(), repo_name);
    }
    let commit = repo.status.as_ref().map(|status| status.commit.clone());
    if let Some(commit) = commit.filter(|commit| !commit.is_empty()) {
        own_labels.insert(labels::COMMIT.to_owned(), commit);
    }
    bundle.metadata.labels =
        (origin.is_repository() || !own_labels.is_empty()).then_some(own_labels);
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
    if let Some(targets) = yaml.override_targets {
        spec.targets
            .extend(targets.iter().cloned().map(bundle_target));
        spec.target_restrictions.extend(targets);
    } else {
        let Placement {
            targets,
            restrictions,
        } = origin.placement().clone();
        spec.targets.extend(targets);
        spec.target_restrictions.extend(restrictions);
    }
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
        // The repository cannot select another account for some clusters.
        let others = spec.targets.iter_mut().map(|target| &mut target.options);
        for target in others.filter(|target| !target.service_account.is_empty()) {
            target
                .service_account
                .clone_from(&repo.spec.service_account);
        }
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

/// Returns the files that have become options of the bundle.
fn excluded_files(bundle: &Bundle, options_file: &str) -> BTreeSet<String> {
    let mut excluded = BTreeSet::from(["fleet.yaml".to_owned(), options_file.to_owned()]);
    for file in values_files(bundle) {
        excluded.insert(file.clone());
        excluded.insert(base_name(file).to_owned());
    }
    excluded
}

/// Returns the files below a folder, without hidden and ignored files.
pub(super) fn files(
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
    for (path, reason) in tree.rejected_below(folder) {
        if !ignored.excludes(path)? {
            return Err(ReadError::Rejected {
                file: join(folder, path)?,
                reason: reason.to_owned(),
            });
        }
    }
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
