//! `.fleetignore` files: files and folders that are not part of a bundle.

use super::glob::{self, PatternError};
use super::tree::{Tree, base_name, is_in};

/// Name of the files with patterns.
const FILE: &str = ".fleetignore";

/// The patterns of a folder and of the folders below it.
pub(super) struct Ignored {
    /// Folders, each with its patterns. A pattern applies to the names of files and folders below.
    patterns: Vec<(String, Vec<String>)>,
}

impl Ignored {
    /// Reads the `.fleetignore` files below a folder.
    pub(super) fn read(tree: &Tree, folder: &str) -> Self {
        let files = tree
            .files_below(folder)
            .filter(|(path, _)| base_name(path) == FILE);
        let patterns = files.map(|(path, data)| {
            let folder = path
                .strip_suffix(FILE)
                .unwrap_or_default()
                .trim_end_matches('/');
            let text = String::from_utf8_lossy(data);
            let lines = text.lines().map(trimmed);
            let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
            (folder.to_owned(), lines.map(str::to_owned).collect())
        });
        Self {
            patterns: patterns.collect(),
        }
    }

    /// Reports whether a path, relative to the folder, is hidden or ignored, or is below such a folder.
    pub(super) fn excludes(&self, path: &str) -> Result<bool, PatternError> {
        let ends = path.match_indices('/').map(|(index, _)| (index, true));
        for (end, is_folder) in ends.chain([(path.len(), false)]) {
            if self.excludes_entry(&path[..end], is_folder)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn excludes_entry(&self, path: &str, is_folder: bool) -> Result<bool, PatternError> {
        let name = base_name(path);
        if name.starts_with('.') {
            return Ok(true);
        }
        for (folder, patterns) in &self.patterns {
            // The patterns of a folder do not apply to the folder itself.
            if path == folder || !is_in(path, folder) {
                continue;
            }
            for pattern in patterns {
                let ignored = match folder_pattern(pattern) {
                    Some(folder) => is_folder && folder == name,
                    None => glob::matches(pattern, name)?,
                };
                if ignored {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

/// Removes spaces at the end of a line, unless the first of them is escaped.
fn trimmed(line: &str) -> &str {
    let end = line.trim_end();
    if end.ends_with('\\') && end.len() < line.len() {
        line
    } else {
        end
    }
}

/// Returns the name of the folder that a pattern `name/*` ignores.
fn folder_pattern(pattern: &str) -> Option<&str> {
    let index = pattern.find("/*").filter(|index| *index > 0)?;
    debug_assert!(index > 0);
    Some(pattern.strip_suffix("/*").unwrap_or(pattern))
}
