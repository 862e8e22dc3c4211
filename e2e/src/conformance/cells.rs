//! The coverage table of the scripts. A cell is a combination of a verb and a feature, such as
//! `create dry-run`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::Deserialize;

use super::script::Script;

/// The reason why the coverage table cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum CellsError {
    /// The list of features cannot be read.
    #[error("cannot read {path}")]
    Read {
        /// Path of the file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file cannot be parsed.
    #[error("cannot parse the features in {path}: {why}")]
    Parse {
        /// Path of the file or folder.
        path: PathBuf,
        /// Description of the error.
        why: String,
    },
    /// A script covers a cell that is not in the list of features.
    #[error("script {script} covers {cell:?}, which features.yaml does not list")]
    Unknown {
        /// Name of the script.
        script: String,
        /// The unknown cell.
        cell: String,
    },
}

/// The list of features and their verbs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cells {
    verbs: Vec<String>,
    groups: Vec<Group>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    title: String,
    /// Verbs of each feature.
    features: BTreeMap<String, Vec<String>>,
}

impl Cells {
    /// Reads the list of features from a file.
    pub fn load(path: &Path) -> Result<Self, CellsError> {
        let text = fs::read_to_string(path).map_err(|source| CellsError::Read {
            path: path.to_owned(),
            source,
        })?;
        serde_saphyr::from_str(&text).map_err(|error| CellsError::Parse {
            path: path.to_owned(),
            why: error.to_string(),
        })
    }

    /// Returns all cells in the format `verb feature`.
    fn all(&self) -> BTreeSet<String> {
        self.groups
            .iter()
            .flat_map(|group| &group.features)
            .flat_map(|(feature, verbs)| verbs.iter().map(move |verb| format!("{verb} {feature}")))
            .collect()
    }

    /// Returns the names of the scripts that cover each cell.
    fn covered<'s>(&self, scripts: &'s [Script]) -> Result<BTreeMap<&'s str, usize>, CellsError> {
        let all = self.all();
        let mut covered = BTreeMap::new();
        for script in scripts {
            for cell in &script.covers {
                if !all.contains(cell) {
                    return Err(CellsError::Unknown {
                        script: script.name.clone(),
                        cell: cell.clone(),
                    });
                }
                *covered.entry(cell.as_str()).or_insert(0) += 1;
            }
        }
        Ok(covered)
    }

    /// Returns the cells that no script covers.
    pub fn missing(&self, scripts: &[Script]) -> Result<Vec<String>, CellsError> {
        let covered = self.covered(scripts)?;
        let all = self.all().into_iter();
        Ok(all
            .filter(|cell| !covered.contains_key(cell.as_str()))
            .collect())
    }

    /// Renders the coverage table as Markdown.
    pub fn table(&self, scripts: &[Script]) -> Result<String, CellsError> {
        let covered = self.covered(scripts)?;
        let mut text = format!(
            "# Coverage of the conformance scripts\n\n\
             `make conformance-table` generates this file from the `covers` of the scripts. A test \
             checks that the file is current. A number is the count of scripts that cover the cell. \
             An empty cell is an impossible combination.\n\n{} scripts cover {} of {} cells.\n",
            scripts.len(),
            covered.len(),
            self.all().len()
        );
        for group in &self.groups {
            let verbs: Vec<&String> = self
                .verbs
                .iter()
                .filter(|verb| group.features.values().any(|own| own.contains(verb)))
                .collect();
            let _ = writeln!(text, "\n## {}\n", group.title);
            let names: Vec<&str> = verbs.iter().map(|verb| verb.as_str()).collect();
            let _ = writeln!(text, "| | {} |", names.join(" | "));
            let _ = writeln!(text, "|---|{}", "---|".repeat(verbs.len()));
            for (feature, own) in &group.features {
                let _ = write!(text, "| {feature} |");
                for verb in &verbs {
                    let count = covered.get(format!("{verb} {feature}").as_str());
                    let cell = match (own.contains(verb), count) {
                        (false, _) => String::new(),
                        (true, count) => count.copied().unwrap_or(0).to_string(),
                    };
                    let _ = write!(text, " {cell} |");
                }
                text.push('\n');
            }
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{folder, load};
    use super::*;

    #[test]
    fn conformance_coverage_table_matches_the_scripts() {
        let scripts = load(&folder().join("scripts")).unwrap();
        let cells = Cells::load(&folder().join("features.yaml")).unwrap();
        let written = fs::read_to_string(folder().join("COVERAGE.md")).unwrap();
        assert!(
            written == cells.table(&scripts).unwrap(),
            "run `make conformance-table`"
        );
    }

    #[test]
    fn every_conformance_script_covers_a_cell_and_has_steps() {
        for script in load(&folder().join("scripts")).unwrap() {
            assert!(!script.covers.is_empty(), "{} covers nothing", script.name);
            assert!(!script.steps.is_empty(), "{} does nothing", script.name);
        }
    }
}
