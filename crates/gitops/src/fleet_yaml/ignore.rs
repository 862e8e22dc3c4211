//! `.fleetignore` files: files and folders that are not part of a bundle.

use std::collections::BTreeMap;

use super::glob::{self, PatternError};
use super::tree::{Tree, TreeError, base_name};

/// Name of the files with patterns.
const FILE: &str = ".fleetignore";
/// Maximum number of patterns in the `.fleetignore` files of a bundle. Each file of the bundle is
/// compared with the patterns of its folders.
const MAX_PATTERNS: usize = 1000;

/// The patterns of a folder and of the folders below it.
pub(super) struct Ignored {
    /// Patterns by folder. A pattern applies to the names of files and folders below.
    patterns: BTreeMap<String, Vec<String>>,
}

impl Ignored {
    /// Reads the `.fleetignore` files below a folder.
    pub(super) fn read(tree: &Tree, folder: &str) -> Result<Self, TreeError> {
        let mut patterns = BTreeMap::new();
        let mut count = 0;
        for (path, data) in tree.files_below(folder) {
            let Some(folder) = path.strip_suffix(FILE) else {
                continue;
            };
            if base_name(path) != FILE {
                continue;
            }
            let text = String::from_utf8_lossy(data);
            let lines = text.lines().map(trimmed);
            let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
            let lines: Vec<String> = lines.map(str::to_owned).collect();
            count += lines.len();
            if count > MAX_PATTERNS {
                return Err(TreeError::Patterns(MAX_PATTERNS));
            }
            patterns.insert(folder.trim_end_matches('/').to_owned(), lines);
        }
        Ok(Self { patterns })
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
        // The patterns of a folder do not apply to the folder itself.
        let parents = path.match_indices('/').map(|(index, _)| &path[..index]);
        for pattern in parents
            .chain([""])
            .filter_map(|it| self.patterns.get(it))
            .flatten()
        {
            let ignored = match folder_pattern(pattern) {
                Some(folder) => is_folder && folder == name,
                None => glob::matches(pattern, name)?,
            };
            if ignored {
                return Ok(true);
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
    pattern.find("/*").filter(|index| *index > 0)?;
    Some(pattern.strip_suffix("/*").unwrap_or(pattern))
}
