//! Kubeconfig files: parse, merge and write them.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

mod target;

use self::target::clashes;
pub(crate) use self::target::{foreign_commands, servers};
use crate::config::write_private;
use crate::environment::Environment;

/// The lists in a kubeconfig whose entries have names.
const NAMED: [&str; 3] = ["clusters", "users", "contexts"];

/// Why a kubeconfig could not be written or merged.
#[derive(Debug, thiserror::Error)]
pub enum KubeconfigError {
    /// There is no place to merge into.
    #[error("neither $KUBECONFIG nor $HOME is set; write a file with --output-file FILE instead")]
    NoHome,
    /// The file there cannot be read.
    #[error("cannot read {path}: {source}; nothing was changed")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file there is no kubeconfig; what is in it is not shown, it may be a secret.
    #[error(
        "{path} is no kubeconfig{place}; repair it, or write another file with --output-file; nothing was changed"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where, if that is known.
        place: String,
    },
    /// What the server gave is none.
    #[error("the server gave no kubeconfig{0}; compare the versions with `drover version`")]
    FromServer(String),
    /// Entries of the same names lead to somewhere else.
    #[error(
        "{path} has entries of the same names that lead elsewhere: {}; keep both by --output-file FILE, or replace those by --overwrite; nothing was changed",
        .names.join(", ")
    )]
    Clash {
        /// The file.
        path: PathBuf,
        /// Kind and name of each.
        names: Vec<String>,
    },
    /// The server wants kubectl to run some program.
    #[error(
        "the server's kubeconfig makes kubectl run {0:?}, which is not drover's own command; nothing was written"
    )]
    ForeignCommand(String),
    /// The file cannot be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Where kubectl would write: the first file of `$KUBECONFIG`, else `~/.kube/config`.
pub(crate) fn merge_target(environment: &Environment) -> Result<PathBuf, KubeconfigError> {
    let listed = environment
        .kubeconfig
        .as_ref()
        .and_then(|list| std::env::split_paths(list).find(|path| !path.as_os_str().is_empty()));
    listed
        .or_else(|| {
            environment
                .home
                .as_ref()
                .map(|home| home.join(".kube").join("config"))
        })
        .ok_or(KubeconfigError::NoHome)
}

pub(crate) fn write(path: &Path, text: &str) -> Result<(), KubeconfigError> {
    let failed = |source| KubeconfigError::Write {
        path: path.to_path_buf(),
        source,
    };
    if let Some(directory) = path.parent().filter(|d| !d.as_os_str().is_empty()) {
        std::fs::create_dir_all(directory).map_err(failed)?;
    }
    write_private(path, text.as_bytes()).map_err(failed)
}

/// Puts the entries of `text` into the file, over those of the same names if they lead to the same
/// place or `overwrite` is wanted; gives the contexts' names.
pub(crate) fn merge_into(
    path: &Path,
    text: &str,
    overwrite: bool,
) -> Result<Vec<String>, KubeconfigError> {
    let old = match std::fs::read_to_string(path) {
        Ok(old) => old,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(source) => {
            return Err(KubeconfigError::Read {
                path: path.to_path_buf(),
                source,
            });
        }
    };
    let damaged = |place| KubeconfigError::Damaged {
        path: path.to_path_buf(),
        place,
    };
    let mut merged = parse(&old).map_err(damaged)?;
    let new = parse(text).map_err(KubeconfigError::FromServer)?;
    let clashes = clashes(&merged, &new);
    if !overwrite && !clashes.is_empty() {
        return Err(KubeconfigError::Clash {
            path: path.to_path_buf(),
            names: clashes,
        });
    }
    let names = merge(&mut merged, &new).map_err(damaged)?;
    let text = serde_saphyr::to_string(&merged).map_err(|error| KubeconfigError::Write {
        path: path.to_path_buf(),
        source: io::Error::other(error.to_string()),
    })?;
    write(path, &text)?;
    Ok(names)
}

/// A kubeconfig as it is, so that what this program does not know stays; the error is a place.
pub(crate) fn parse(text: &str) -> Result<Map<String, Value>, String> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_saphyr::from_str::<Value>(text) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(Value::Null) => Ok(Map::new()),
        Ok(_) => Err(String::new()),
        Err(error) => Err(error
            .location()
            .map(|at| format!(" (line {}, column {})", at.line(), at.column()))
            .unwrap_or_default()),
    }
}

/// Merges by name, later over earlier; the current context stays if there is one.
fn merge(into: &mut Map<String, Value>, new: &Map<String, Value>) -> Result<Vec<String>, String> {
    let mut contexts = Vec::new();
    for (kind, default) in [("apiVersion", "v1"), ("kind", "Config")] {
        into.entry(kind).or_insert_with(|| json!(default));
    }
    for list in NAMED {
        let entries = into.entry(list).or_insert_with(|| json!([]));
        if entries.is_null() {
            *entries = json!([]);
        }
        let Value::Array(entries) = entries else {
            return Err(format!(" ({list} is no list)"));
        };
        for entry in new
            .get(list)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let name = entry.get("name");
            if list == "contexts" {
                contexts.extend(name.and_then(Value::as_str).map(str::to_owned));
            }
            match entries.iter_mut().find(|old| old.get("name") == name) {
                Some(old) => *old = entry.clone(),
                None => entries.push(entry.clone()),
            }
        }
    }
    let has_current = into
        .get("current-context")
        .and_then(Value::as_str)
        .is_some_and(|name| !name.is_empty());
    if let Some(current) = new.get("current-context").filter(|_| !has_current) {
        into.insert("current-context".to_owned(), current.clone());
    }
    Ok(contexts)
}

#[cfg(test)]
mod tests;
