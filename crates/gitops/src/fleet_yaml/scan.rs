//! The search for bundles in a repository.

use std::collections::{BTreeMap, BTreeSet};

use drover_api::fleet::GitRepo;

use super::bundle::BundleDraft;
use super::error::ReadError;
use super::glob::{self, PatternError};
use super::origin::{Origin, Placement};
use super::tree::{Limits, Tree, TreeError, base_name, join};
use crate::ids::bundle_name;

/// Names of the file with the options of a bundle. The first that exists applies.
pub(super) const OPTIONS_FILES: [&str; 2] = ["fleet.yaml", "fleet.yml"];

/// Finds and reads the bundles of a GitRepo in the files of a commit, in the order of their folders.
///
/// Folders without files for deployment have no bundle. The label with the commit is
/// `status.commit` of `repo`, so the caller sets the status first.
///
/// # Errors
///
/// A fleet.yaml or a path is not valid, two bundles have the same name, or there is no bundle.
pub fn read_repository(
    repo: &GitRepo,
    tree: &Tree,
    limits: &Limits,
) -> Result<Vec<BundleDraft>, ReadError> {
    read(&Origin::repository(repo), tree, limits)
}

/// Finds and reads the bundles in local folders, in the order of the folders. The bundles belong to no
/// GitRepo: the name, labels and spec of `options` are the options of all bundles.
///
/// # Errors
///
/// As [`read_repository`].
pub fn read_folders(
    options: &GitRepo,
    placement: &Placement,
    tree: &Tree,
    limits: &Limits,
) -> Result<Vec<BundleDraft>, ReadError> {
    read(&Origin::folders(options, placement), tree, limits)
}

fn read(origin: &Origin<'_>, tree: &Tree, limits: &Limits) -> Result<Vec<BundleDraft>, ReadError> {
    let repo = origin.repo;
    let name = repo.metadata.name.as_deref().unwrap_or_default();
    let found = if repo.spec.bundles.is_empty() {
        let folders = folders(&repo.spec.paths, tree)?;
        folders
            .into_iter()
            .map(|folder| (folder, String::new()))
            .collect()
    } else {
        driven(repo, tree)?
    };
    if found.len() > limits.bundles {
        return Err(TreeError::Bundles(limits.bundles).into());
    }
    let mut drafts: BTreeMap<String, BundleDraft> = BTreeMap::new();
    let mut order = Vec::new();
    let mut bytes = 0;
    for (folder, file) in found {
        let path_name = bundle_name(name, &folder, &file);
        let Some(draft) = BundleDraft::read(origin, tree, &folder, &file, &path_name)? else {
            continue;
        };
        bytes += draft.files().values().map(Vec::len).sum::<usize>();
        if bytes > limits.bundle_bytes {
            return Err(TreeError::BundleBytes(limits.bundle_bytes).into());
        }
        let name = draft.name().to_owned();
        if let Some(first) = drafts.get(&name) {
            let (first, second) = (first.folder().to_owned(), folder);
            return Err(ReadError::SameName {
                name,
                first,
                second,
            });
        }
        order.push(name.clone());
        drafts.insert(name, draft);
    }
    if drafts.is_empty() {
        return Err(ReadError::NoBundles {
            paths: repo.spec.paths.clone(),
        });
    }
    Ok(order
        .iter()
        .filter_map(|name| drafts.remove(name))
        .collect())
}

/// Returns the folders of bundles below the paths of a GitRepo.
fn folders(paths: &[String], tree: &Tree) -> Result<BTreeSet<String>, ReadError> {
    let root = [String::new()];
    let paths = if paths.is_empty() { &root } else { paths };
    let mut found = BTreeSet::new();
    for path in paths {
        for base in expand(path, tree)? {
            for folder in tree.folders_below(&base) {
                let hidden = folder[base.len()..]
                    .split('/')
                    .any(|segment| segment == ".git");
                let is_bundle =
                    has_options(tree, folder) || folder == base && has_free_resources(tree, folder);
                if !hidden && is_bundle {
                    found.insert(folder.to_owned());
                }
            }
        }
    }
    Ok(found)
}

/// Returns the folders that match a path with patterns.
fn expand(path: &str, tree: &Tree) -> Result<Vec<String>, ReadError> {
    let path = join("", path)?;
    if !glob::is_pattern(&path) {
        return Ok(if tree.has_folder(&path) {
            vec![path]
        } else {
            Vec::new()
        });
    }
    let patterns: Vec<&str> = path.split('/').collect();
    let mut found = Vec::new();
    for folder in tree.folders_below("") {
        let segments: Vec<&str> = folder.split('/').collect();
        if segments.len() == patterns.len() && all_match(&patterns, &segments)? {
            found.push(folder.to_owned());
        }
    }
    Ok(found)
}

fn all_match(patterns: &[&str], segments: &[&str]) -> Result<bool, PatternError> {
    // Each pattern is checked, so that an invalid pattern is an error without matching folders too.
    patterns
        .iter()
        .zip(segments)
        .try_fold(true, |all, (pattern, segment)| {
            Ok(glob::matches(pattern, segment)? && all)
        })
}

pub(super) fn has_options(tree: &Tree, folder: &str) -> bool {
    OPTIONS_FILES
        .iter()
        .any(|file| join(folder, file).is_ok_and(|path| tree.file(&path).is_some()))
}

/// Reports whether a folder has YAML files outside of folders with a fleet.yaml.
fn has_free_resources(tree: &Tree, folder: &str) -> bool {
    let bundles: BTreeSet<&str> = tree
        .folders_below(folder)
        .filter(|folder| has_options(tree, folder))
        .collect();
    tree.files_below(folder).any(|(path, _)| {
        let name = base_name(path);
        let is_yaml = [".yaml", ".yml"].iter().any(|end| name.ends_with(end));
        let mut parents = path.match_indices('/').map(|(index, _)| &path[..index]);
        is_yaml
            && !parents.any(|parent| {
                join(folder, parent).is_ok_and(|parent| bundles.contains(parent.as_str()))
            })
    })
}

/// Returns the folders and options files in `spec.bundles`.
fn driven(repo: &GitRepo, tree: &Tree) -> Result<Vec<(String, String)>, ReadError> {
    let mut found = Vec::new();
    for entry in &repo.spec.bundles {
        let folder = join("", &entry.base)?;
        if !tree.has_folder(&folder) {
            return Err(ReadError::NoFolder { folder });
        }
        let bundle = (folder, entry.options.clone());
        if !found.contains(&bundle) {
            found.push(bundle);
        }
    }
    Ok(found)
}
