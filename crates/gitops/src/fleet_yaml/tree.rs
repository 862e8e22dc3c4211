//! The files of a commit.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use thiserror::Error;

/// Limits of the files that bundles are read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of files.
    pub files: usize,
    /// Maximum size of all files in bytes.
    pub bytes: usize,
    /// Maximum number of segments of a path.
    pub depth: usize,
    /// Maximum number of bundles.
    pub bundles: usize,
    /// Maximum size of the files of all bundles in bytes. A file can be in several bundles, because a
    /// bundle contains the folders of other bundles below it.
    pub bundle_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            files: 20_000,
            bytes: 256 << 20,
            depth: 64,
            bundles: 5_000,
            bundle_bytes: 512 << 20,
        }
    }
}

/// Files that exceed a limit, or that have paths outside of the repository.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum TreeError {
    /// There are too many files.
    #[error("the repository has more than {0} files: restrict spec.paths")]
    Files(usize),
    /// The files are too large.
    #[error("the files of the repository have more than {0} bytes: restrict spec.paths")]
    Bytes(usize),
    /// A path has too many segments.
    #[error("the path {path:?} has more than {limit} folders")]
    Depth {
        /// The path.
        path: String,
        /// The limit.
        limit: usize,
    },
    /// There are too many bundles.
    #[error("the repository has more than {0} bundles: restrict spec.paths")]
    Bundles(usize),
    /// The files of all bundles are too large.
    #[error(
        "the bundles of the repository have more than {0} bytes: move nested folders with a fleet.yaml"
    )]
    BundleBytes(usize),
    /// There are too many patterns.
    #[error("the .fleetignore files of a bundle have more than {0} patterns")]
    Patterns(usize),
    /// A path leaves the repository.
    #[error("the path {0:?} leaves the repository")]
    Outside(String),
}

/// The files of a commit by path. Paths have no leading `/`, and no segments `.` or `..`. The caller
/// resolves symbolic links.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    files: BTreeMap<String, Vec<u8>>,
    folders: BTreeSet<String>,
    rejected: BTreeMap<String, String>,
}

impl Tree {
    /// Checks the paths and sizes of files.
    ///
    /// # Errors
    ///
    /// The files exceed a limit, or a path leaves the repository.
    pub fn new(files: BTreeMap<String, Vec<u8>>, limits: &Limits) -> Result<Self, TreeError> {
        if files.len() > limits.files {
            return Err(TreeError::Files(limits.files));
        }
        if files.values().map(Vec::len).sum::<usize>() > limits.bytes {
            return Err(TreeError::Bytes(limits.bytes));
        }
        let mut folders = BTreeSet::from([String::new()]);
        for path in files.keys() {
            let mut depth = 0;
            for segment in path.split('/') {
                if matches!(segment, "" | "." | "..") || segment.contains('\0') {
                    return Err(TreeError::Outside(path.clone()));
                }
                depth += 1;
            }
            if depth > limits.depth {
                let (path, limit) = (path.clone(), limits.depth);
                return Err(TreeError::Depth { path, limit });
            }
            let slashes = path.match_indices('/');
            folders.extend(slashes.map(|(index, _)| path[..index].to_owned()));
        }
        Ok(Self {
            files,
            folders,
            rejected: BTreeMap::new(),
        })
    }

    /// Adds the paths of files that are left out, with the reasons. A bundle with such a file has an error,
    /// because an incomplete bundle would delete objects.
    #[must_use]
    pub fn with_rejected(mut self, rejected: BTreeMap<String, String>) -> Self {
        self.rejected = rejected;
        self
    }

    pub(super) fn file(&self, path: &str) -> Option<&[u8]> {
        self.files.get(path).map(Vec::as_slice)
    }

    pub(super) fn has_folder(&self, path: &str) -> bool {
        self.folders.contains(path)
    }

    /// Returns the folder and all folders below it, parents first.
    pub(super) fn folders_below<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = &'a str> {
        let start = (Bound::Included(folder), Bound::Unbounded);
        self.folders
            .range::<str, _>(start)
            .map(String::as_str)
            .take_while(move |path| path.starts_with(folder))
            .filter(move |path| is_in(path, folder))
    }

    /// Returns the paths of files below a folder, relative to the folder, with the content.
    pub(super) fn files_below<'a>(
        &'a self,
        folder: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a [u8])> {
        below(&self.files, folder).map(|(path, data)| (path, data.as_slice()))
    }

    /// Returns the paths of files below a folder that are left out, relative to the folder, with the reason.
    pub(super) fn rejected_below<'a>(
        &'a self,
        folder: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        below(&self.rejected, folder).map(|(path, reason)| (path, reason.as_str()))
    }
}

/// Returns the entries below a folder, with paths relative to the folder.
fn below<'a, T>(
    entries: &'a BTreeMap<String, T>,
    folder: &str,
) -> impl Iterator<Item = (&'a str, &'a T)> {
    let start = if folder.is_empty() {
        String::new()
    } else {
        format!("{folder}/")
    };
    let length = start.len();
    entries
        .range(start.clone()..)
        .take_while(move |(path, _)| path.starts_with(&start))
        .map(move |(path, value)| (&path[length..], value))
}

/// Reports whether a path is a folder or is below it.
pub(super) fn is_in(path: &str, folder: &str) -> bool {
    folder.is_empty()
        || path
            .strip_prefix(folder)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Joins a path to a folder.
///
/// # Errors
///
/// The result leaves the repository.
pub fn join(folder: &str, path: &str) -> Result<String, TreeError> {
    let mut segments: Vec<&str> = Vec::new();
    for segment in folder.split('/').chain(path.split('/')) {
        match segment {
            "" | "." => {}
            ".." => {
                if segments.pop().is_none() {
                    return Err(TreeError::Outside(format!("{folder}/{path}")));
                }
            }
            _ => segments.push(segment),
        }
    }
    Ok(segments.join("/"))
}

/// Returns the last segment of a path.
pub(super) fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
