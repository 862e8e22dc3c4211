//! Finds the files that changed since the commit in `e2e/weaken/base`.
//!
//! All patches were confirmed at that commit, or their files had not changed since the previous
//! commit in the file. A complete run of the recipe writes the file.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::process::Command;

use crate::build::root;

const BASE: &str = "e2e/weaken/base";

/// The reason why the changes cannot be listed or the base cannot be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChangesError {
    /// git cannot be started.
    #[error("cannot start git")]
    Start(#[source] io::Error),
    /// git failed.
    #[error("cannot run git {command}: {output}")]
    Git { command: String, output: String },
    /// The file with the base cannot be read or written.
    #[error("cannot {operation} {BASE}")]
    Base {
        operation: &'static str,
        source: io::Error,
    },
}

/// The changed files, each with a rank. The most recently changed file has the lowest rank.
pub(super) struct Changes {
    /// `None` if all files count as changed.
    base: Option<String>,
    ranks: HashMap<String, usize>,
}

impl Changes {
    pub(super) fn since_base() -> Result<Self, ChangesError> {
        let base = fs::read_to_string(root().join(BASE))
            .map_err(|source| ChangesError::Base {
                operation: "read",
                source,
            })?
            .trim()
            .to_owned();
        let known = git(&["cat-file", "-e", &format!("{base}^{{commit}}")]).is_ok();
        let (base, uncommitted, log) = if known {
            let range = format!("{base}..HEAD");
            (
                Some(base),
                git(&["diff", "--name-only", "--no-renames", "HEAD"])?
                    + &git(&["ls-files", "--others", "--exclude-standard"])?,
                git(&["log", "--format=", "--name-only", "--no-renames", &range])?,
            )
        } else {
            (
                None,
                String::new(),
                git(&["log", "--format=", "--name-only", "--no-renames"])?,
            )
        };
        let newest_first = uncommitted.lines().chain(log.lines());
        Ok(Self {
            base,
            ranks: ranks(newest_first),
        })
    }

    /// Returns the lowest rank of the files, or `None` if all files are unchanged.
    pub(super) fn rank<'a>(&self, files: impl IntoIterator<Item = &'a String>) -> Option<usize> {
        let lowest = files
            .into_iter()
            .filter_map(|file| self.ranks.get(file))
            .min();
        let unranked = self.base.is_none().then_some(usize::MAX);
        lowest.copied().or(unranked)
    }

    /// Describes the base.
    pub(super) fn description(&self) -> String {
        match &self.base {
            Some(base) => format!("since {}", base.get(..9).unwrap_or(base)),
            None => format!("(all, because git does not know the commit in {BASE})"),
        }
    }
}

/// Writes the current commit as the base. Does not write if the checkout has uncommitted changes.
/// Returns true if the file was written.
pub(super) fn write_base() -> Result<bool, ChangesError> {
    if !git(&["status", "--porcelain"])?.is_empty() {
        return Ok(false);
    }
    let commit = git(&["rev-parse", "HEAD"])?;
    fs::write(root().join(BASE), commit).map_err(|source| ChangesError::Base {
        operation: "write",
        source,
    })?;
    Ok(true)
}

/// Returns the first position of each file.
fn ranks<'a>(newest_first: impl Iterator<Item = &'a str>) -> HashMap<String, usize> {
    let mut ranks = HashMap::new();
    for (rank, file) in newest_first.enumerate() {
        ranks.entry(file.to_owned()).or_insert(rank);
    }
    ranks
}

fn git(arguments: &[&str]) -> Result<String, ChangesError> {
    let output = Command::new("git")
        .args(["-c", "core.quotePath=false"])
        .args(arguments)
        .current_dir(root())
        .output()
        .map_err(ChangesError::Start)?;
    if !output.status.success() {
        return Err(ChangesError::Git {
            command: arguments.join(" "),
            output: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(base: Option<&str>) -> Changes {
        Changes {
            base: base.map(str::to_owned),
            ranks: ranks(["new", "middle", "new", "old"].into_iter()),
        }
    }

    fn rank(changes: &Changes, files: &[&str]) -> Option<usize> {
        changes.rank(
            &files
                .iter()
                .map(|&file| file.to_owned())
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn newest_changed_file_decides_the_rank() {
        let changes = changes(Some("0123456789"));
        assert_eq!(rank(&changes, &["old", "middle"]), Some(1));
        assert_eq!(rank(&changes, &["unchanged", "old"]), Some(3));
        assert_eq!(rank(&changes, &["unchanged"]), None);
    }

    #[test]
    fn all_files_count_as_changed_without_a_known_base() {
        let changes = changes(None);
        assert_eq!(rank(&changes, &["new"]), Some(0));
        assert_eq!(rank(&changes, &["unchanged"]), Some(usize::MAX));
    }
}
