//! Accepted differences between the compared servers. Each difference has a reason.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::Deserialize;

use super::difference::Difference;
use super::run::Outcome;

/// Maximum number of accepted differences. The number must not increase.
pub const MAX_ACCEPTED: usize = 15;

/// The reason why the accepted differences cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum AcceptedError {
    /// The file cannot be read.
    #[error("cannot read {path}")]
    Read {
        /// Path of the file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file cannot be parsed.
    #[error("cannot parse the accepted differences in {path}: {why}")]
    Parse {
        /// Path of the file or folder.
        path: PathBuf,
        /// Description of the error.
        why: String,
    },
}

/// The list of accepted differences.
#[derive(Debug)]
pub struct Accepted(Vec<Entry>);

/// An accepted difference between the responses of the servers.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    script: String,
    step: String,
    /// Paths at which the responses may differ. The entry accepts differences only at these paths.
    paths: Vec<String>,
    #[serde(rename = "reason")]
    _reason: String,
}

/// The remaining differences of a run, without the accepted differences.
#[derive(Debug, Default)]
pub struct UnacceptedDifferences {
    /// Differences that are not accepted, each with the script and the step.
    pub differences: Vec<(String, String, Vec<Difference>)>,
    /// Number of differences that are accepted.
    pub accepted: usize,
    /// Entries that match no difference. Contains only entries whose scripts ran.
    pub stale: Vec<String>,
}

impl Accepted {
    /// Reads the accepted differences from a file. If the file does not exist, the list is empty.
    pub fn load(path: &Path) -> Result<Self, AcceptedError> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self(Vec::new())),
            Err(source) => {
                return Err(AcceptedError::Read {
                    path: path.to_owned(),
                    source,
                });
            }
        };
        serde_saphyr::from_str(&text)
            .map(Self)
            .map_err(|error| AcceptedError::Parse {
                path: path.to_owned(),
                why: error.to_string(),
            })
    }

    /// Returns the number of entries in the list.
    pub fn count(&self) -> usize {
        self.0.iter().map(|entry| entry.paths.len()).sum()
    }

    /// Returns the indexes of the entry and the path that accept a difference.
    fn find(&self, script: &str, step: &str, path: &str) -> Option<(usize, usize)> {
        self.0.iter().enumerate().find_map(|(index, entry)| {
            let here = entry.script == script && entry.step == step;
            let path = here.then(|| entry.paths.iter().position(|own| own == path));
            Some((index, path.flatten()?))
        })
    }

    /// Reports whether all differences of a script are accepted.
    pub fn accepts(&self, outcome: &Outcome) -> bool {
        outcome.differences.iter().all(|(step, differences)| {
            differences
                .iter()
                .all(|difference| self.find(&outcome.script, step, &difference.path).is_some())
        })
    }

    /// Removes the accepted differences from the results of a run.
    pub fn judge(&self, outcomes: Vec<Outcome>) -> UnacceptedDifferences {
        let mut judgement = UnacceptedDifferences::default();
        let mut used = BTreeSet::new();
        let ran: Vec<String> = outcomes
            .iter()
            .map(|outcome| outcome.script.clone())
            .collect();
        for outcome in outcomes {
            for (step, differences) in outcome.differences {
                let mut remaining = Vec::new();
                for difference in differences {
                    let entry = self.find(&outcome.script, &step, &difference.path);
                    match entry {
                        Some(place) => {
                            used.insert(place);
                            judgement.accepted += 1;
                        }
                        None => remaining.push(difference),
                    }
                }
                if !remaining.is_empty() {
                    let found = (outcome.script.clone(), step, remaining);
                    judgement.differences.push(found);
                }
            }
        }
        for (index, entry) in self.0.iter().enumerate() {
            for (at, path) in entry.paths.iter().enumerate() {
                if !used.contains(&(index, at)) && ran.contains(&entry.script) {
                    let line = format!("{}, step {:?}: {path}", entry.script, entry.step);
                    judgement.stale.push(line);
                }
            }
        }
        judgement
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn outcome() -> Outcome {
        let difference = |path: &str| Difference {
            path: path.to_owned(),
            ours: Some(json!(1)),
            real: None,
        };
        Outcome {
            script: "s".to_owned(),
            steps: 1,
            differences: vec![(
                "look".to_owned(),
                vec![difference("code"), difference("body")],
            )],
        }
    }

    fn accepted(text: &str) -> Accepted {
        Accepted(serde_saphyr::from_str(text).unwrap())
    }

    #[test]
    fn outcome_is_accepted_only_if_every_difference_is_accepted() {
        for (paths, expected) in [("[code]", false), ("[code, body]", true)] {
            let accepted = accepted(&format!(
                "[{{script: s, step: look, paths: {paths}, reason: r}}]"
            ));
            assert_eq!(accepted.accepts(&outcome()), expected, "{paths}");
        }
    }

    #[test]
    fn only_accepted_differences_are_omitted_from_the_result() {
        let accepted = accepted("[{script: s, step: look, paths: [code], reason: r}]");
        let judgement = accepted.judge(vec![outcome()]);
        assert_eq!(judgement.accepted, 1);
        assert_eq!(judgement.differences[0].2[0].path, "body");
        assert!(judgement.stale.is_empty());
    }

    #[test]
    fn unused_accepted_difference_of_an_executed_script_is_reported() {
        let accepted = accepted(
            "[{script: s, step: look, paths: [body.x], reason: r}, \
              {script: not-run, step: look, paths: [code], reason: r}]",
        );
        assert_eq!(
            accepted.judge(vec![outcome()]).stale,
            ["s, step \"look\": body.x"]
        );
    }

    #[test]
    fn list_of_accepted_differences_does_not_grow() {
        let path = super::super::folder().join("accepted.yaml");
        let count = Accepted::load(&path).unwrap().count();
        assert_eq!(
            count, MAX_ACCEPTED,
            "fix the server; after removing an entry, decrease MAX_ACCEPTED"
        );
    }
}
