//! Parses, merges and writes kubeconfig files.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

mod target;

use self::target::conflicts;
pub(crate) use self::target::{foreign_commands, servers};
use crate::config::write_private;

/// Names of the lists in a kubeconfig. Each entry of these lists has a unique name.
const NAMED: [&str; 3] = ["clusters", "users", "contexts"];

/// The error of writing or merging a kubeconfig.
#[derive(Debug, thiserror::Error)]
pub enum KubeconfigError {
    /// The file to merge into is unknown.
    #[error(
        "cannot locate the kubeconfig: neither $KUBECONFIG nor $HOME is set; use --output-file FILE"
    )]
    NoHome,
    /// The file cannot be read.
    #[error("cannot read {path}: {source}; nothing was changed")]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file is not a kubeconfig. The error does not quote the content, because the content can
    /// be a secret.
    #[error(
        "cannot parse {path} as a kubeconfig{position}; correct the file, or use --output-file; \
         nothing was changed", position = .place
    )]
    Invalid {
        /// Path of the file.
        path: PathBuf,
        /// Position of the error, if known.
        place: String,
    },
    /// The response of the server is not a kubeconfig.
    #[error(
        "cannot parse the kubeconfig from the server{position}; compare the versions with \
         `drover version`", position = .0
    )]
    FromServer(String),
    /// Existing entries with the same names have a different server or user.
    #[error(
        "cannot merge into {path}: the file has entries with the same names for a different \
         server or user: {entries}; use --output-file FILE to write a separate file, or \
         --overwrite to replace the entries; nothing was changed",
        entries = .names.join(", ")
    )]
    Conflict {
        /// Path of the file.
        path: PathBuf,
        /// Kind and name of each entry.
        names: Vec<String>,
    },
    /// The kubeconfig of the server contains an exec command other than `drover credential`.
    #[error(
        "rejected the kubeconfig from the server: the exec command of the kubeconfig is \
         {command:?} instead of `drover credential`; nothing was written", command = .0
    )]
    ForeignCommand(String),
    /// The file cannot be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// Returns the file that kubectl writes: the first file of `$KUBECONFIG`, or `~/.kube/config`.
pub(crate) fn merge_target(
    variable: Option<&OsStr>,
    home: Option<&Path>,
) -> Result<PathBuf, KubeconfigError> {
    let listed = variable
        .and_then(|list| std::env::split_paths(list).find(|path| !path.as_os_str().is_empty()));
    listed
        .or_else(|| home.map(|home| home.join(".kube").join("config")))
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

/// Merges the entries of `text` into the file, and returns the names of the contexts. Replaces an
/// existing entry only if both entries have the same server and user, or if `overwrite` is set.
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
    let damaged = |place| KubeconfigError::Invalid {
        path: path.to_path_buf(),
        place,
    };
    let mut merged = parse(&old).map_err(damaged)?;
    let new = parse(text).map_err(KubeconfigError::FromServer)?;
    let conflicts = conflicts(&merged, &new);
    if !overwrite && !conflicts.is_empty() {
        return Err(KubeconfigError::Conflict {
            path: path.to_path_buf(),
            names: conflicts,
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

/// Parses a kubeconfig as untyped values, so that unknown fields are preserved. The error contains
/// only a position.
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

/// Merges entries by name. New entries replace existing entries. An existing `current-context`
/// stays.
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
            return Err(format!(" ({list} is not a list)"));
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
