//! Dependencies of charts with the repository `file://`: charts in other folders of the repository.

use std::collections::BTreeMap;

use super::bundle::files as files_of;
use super::charts::{CHART_FILE, Dependency, chart_folders, field, missing_dependencies};
use super::error::ReadError;
use super::tree::{Tree, join};

/// Scheme of dependencies in local folders.
const FILE: &str = "file://";
/// Maximum number of local dependencies of a bundle. A chart that depends on itself exceeds the number.
const MAX_DEPENDENCIES: usize = 100;
/// Maximum size of the local dependencies of a bundle, in bytes.
const MAX_BYTES: usize = 32 << 20;

/// Adds the local dependencies of the charts in the files of a bundle to the files, below the folders
/// `charts`. `folder` is the folder of the bundle.
pub(super) fn add(
    tree: &Tree,
    folder: &str,
    files: &mut BTreeMap<String, Vec<u8>>,
) -> Result<(), ReadError> {
    let mut charts = Vec::new();
    for chart in chart_folders(files) {
        let origin = join(folder, chart)?;
        charts.push((chart.to_owned(), origin));
    }
    let (mut count, mut bytes) = (0, 0);
    // Each chart has its folder in the bundle, and its folder in the repository.
    while let Some((chart, origin)) = charts.pop() {
        let mut added: BTreeMap<String, String> = BTreeMap::new();
        for dependency in missing_dependencies(files, &chart) {
            let Some(path) = dependency.repository.strip_prefix(FILE) else {
                continue;
            };
            let refused = |reason: &str| refused(&origin, &dependency, reason);
            let source = source(tree, &origin, path, &dependency).map_err(refused)?;
            let target = free(&added, &join(&chart, "charts")?, &dependency.name, &source);
            if added.insert(target.clone(), source.clone()).is_some() {
                continue;
            }
            let found = files_of(tree, &source, &[].into())?;
            (count, bytes) = (
                count + 1,
                bytes + found.values().map(Vec::len).sum::<usize>(),
            );
            if count > MAX_DEPENDENCIES {
                return Err(refused(
                    "is one of more than 100 local dependencies of a bundle: check whether a chart depends \
                     on itself",
                ));
            }
            if bytes > MAX_BYTES {
                return Err(refused(
                    "makes the local dependencies larger than 32 MiB: remove files from the charts",
                ));
            }
            for inner in chart_folders(&found) {
                charts.push((join(&target, inner)?, join(&source, inner)?));
            }
            let found = found.into_iter();
            files.extend(found.map(|(path, data)| (format!("{target}/{path}"), data)));
        }
    }
    Ok(())
}

/// Returns the folder of a dependency in the repository.
fn source(
    tree: &Tree,
    origin: &str,
    path: &str,
    dependency: &Dependency,
) -> Result<String, &'static str> {
    // The name becomes the name of a folder.
    if matches!(&*dependency.name, "." | "..") || dependency.name.contains(['/', '\\']) {
        return Err(
            "has a name that cannot be the name of a folder: correct the name of the chart",
        );
    }
    if path.is_empty() || path.starts_with('/') {
        return Err("must have a path relative to the folder of the chart");
    }
    let source = join(origin, path).map_err(|_| "leads out of the repository: copy the chart")?;
    let file = join(&source, CHART_FILE).unwrap_or_default();
    let Some(data) = tree.file(&file) else {
        return Err("is no folder with a Chart.yaml: correct the path");
    };
    if field(data, "name").as_ref() != Some(&dependency.name) {
        return Err("has another name in its Chart.yaml: correct the name of the dependency");
    }
    Ok(source)
}

/// Returns the folder in the bundle for a chart. Two charts with the same name have two folders.
fn free(added: &BTreeMap<String, String>, charts: &str, name: &str, source: &str) -> String {
    let mut target = format!("{charts}/{name}");
    while added.get(&target).is_some_and(|other| other != source) {
        target.push_str("-x");
    }
    target
}

fn refused(folder: &str, dependency: &Dependency, reason: &str) -> ReadError {
    ReadError::LocalDependency {
        name: dependency.name.clone(),
        folder: folder.to_owned(),
        repository: dependency.repository.clone(),
        reason: reason.to_owned(),
    }
}
