//! Differences that are accepted, each with its reason.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::Deserialize;

use super::difference::Difference;
use super::run::Outcome;

/// How many differences are accepted at most. This number may only become smaller.
pub const MOST_ACCEPTED: usize = 15;

/// Why the accepted differences cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AcceptedError {
    /// The file cannot be read.
    #[error("read {path}")]
    Read {
        /// Which.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// It says something else.
    #[error("{path} is no list of accepted differences: {why}")]
    Parse {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
}

/// The accepted differences.
#[derive(Debug)]
pub struct Accepted(Vec<Entry>);

/// One of them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    script: String,
    step: String,
    /// Exactly these places.
    paths: Vec<String>,
    #[serde(rename = "reason")]
    _reason: String,
}

/// What is left once accepted differences are taken out.
#[derive(Debug, Default)]
pub struct Judgement {
    /// Differences that nobody accepted: script, step and what differs.
    pub differences: Vec<(String, String, Vec<Difference>)>,
    /// How many were accepted.
    pub accepted: usize,
    /// Entries of scripts that ran, and that match nothing any more.
    pub stale: Vec<String>,
}

impl Accepted {
    /// Reads them; a folder without such a file accepts nothing.
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

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.iter().map(|entry| entry.paths.len()).sum()
    }

    /// Where the list has this place: entry and path.
    fn find(&self, script: &str, step: &str, path: &str) -> Option<(usize, usize)> {
        self.0.iter().enumerate().find_map(|(index, entry)| {
            let here = entry.script == script && entry.step == step;
            let path = here.then(|| entry.paths.iter().position(|own| own == path));
            Some((index, path.flatten()?))
        })
    }

    /// Takes them out of what the scripts showed.
    pub fn judge(&self, outcomes: Vec<Outcome>) -> Judgement {
        let mut judgement = Judgement::default();
        let mut used = BTreeSet::new();
        let ran: Vec<String> = outcomes
            .iter()
            .map(|outcome| outcome.script.clone())
            .collect();
        for outcome in outcomes {
            for (step, differences) in outcome.differences {
                let mut left = Vec::new();
                for difference in differences {
                    let entry = self.find(&outcome.script, &step, &difference.path);
                    match entry {
                        Some(place) => {
                            used.insert(place);
                            judgement.accepted += 1;
                        }
                        None => left.push(difference),
                    }
                }
                if !left.is_empty() {
                    let found = (outcome.script.clone(), step, left);
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
    fn accepted_differences_are_taken_out_and_others_left() {
        let accepted = accepted("[{script: s, step: look, paths: [code], reason: r}]");
        let judgement = accepted.judge(vec![outcome()]);
        assert_eq!(judgement.accepted, 1);
        assert_eq!(judgement.differences[0].2[0].path, "body");
        assert!(judgement.stale.is_empty());
    }

    #[test]
    fn entry_that_matches_nothing_is_told_if_its_script_ran() {
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
            count, MOST_ACCEPTED,
            "mend the server; when an entry goes, make MOST_ACCEPTED smaller"
        );
    }
}
