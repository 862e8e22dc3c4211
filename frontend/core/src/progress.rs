//! The progress of an action on several objects.

use std::collections::BTreeSet;

use crate::messages::t;

/// An object for which the action failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The name of the object.
    pub name: String,
    /// The error message.
    pub why: String,
}

/// The result of an action for one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The action succeeded.
    Done,
    /// The action failed.
    Failed,
    /// The user cancelled the action before it started for the object.
    Cancelled,
}

/// The progress of an action on several objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    wanted: usize,
    /// The number of successes. Different objects can have the same name.
    succeeded: usize,
    done: BTreeSet<String>,
    failures: Vec<Failure>,
    cancelled: Vec<String>,
}

impl Progress {
    /// Creates the progress of an action on this number of objects.
    pub fn of(desired: usize) -> Self {
        Self {
            wanted: desired,
            ..Self::default()
        }
    }

    /// Returns the progress of a retry. The retry includes all objects for which the action failed
    /// or was cancelled.
    #[must_use]
    pub fn retried(self) -> Self {
        Self {
            failures: Vec::new(),
            cancelled: Vec::new(),
            ..self
        }
    }

    /// Records the result for an object.
    pub fn note(&mut self, name: &str, result: Result<(), String>) {
        match result {
            Ok(()) => {
                self.succeeded += 1;
                self.done.insert(name.to_owned());
            }
            Err(reason) => self.failures.push(Failure {
                name: name.to_owned(),
                why: reason,
            }),
        }
    }

    /// Records that the user cancelled the action before it started for the object.
    pub fn cancel(&mut self, name: &str) {
        self.cancelled.push(name.to_owned());
    }

    /// Returns the result for an object; `None` before the result.
    pub fn outcome(&self, name: &str) -> Option<Outcome> {
        if self.done.contains(name) {
            Some(Outcome::Done)
        } else if self.cancelled.iter().any(|it| it == name) {
            Some(Outcome::Cancelled)
        } else {
            let mut failures = self.failures.iter();
            failures
                .any(|it| it.name == name)
                .then_some(Outcome::Failed)
        }
    }

    /// Reports whether a retry includes objects.
    pub fn has_rest(&self) -> bool {
        !self.failures.is_empty() || !self.cancelled.is_empty()
    }

    /// Returns the objects for which the action failed.
    pub fn failures(&self) -> &[Failure] {
        &self.failures
    }

    /// Reports whether the action is finished for all objects.
    pub fn is_finished(&self) -> bool {
        self.finished() >= self.wanted
    }

    fn finished(&self) -> usize {
        self.succeeded + self.failures.len() + self.cancelled.len()
    }

    /// Returns the finished share, from 0 to 1.
    pub fn part(&self) -> f64 {
        let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        match self.wanted {
            0 => 1.0,
            wanted => number(self.finished()) / number(wanted),
        }
    }

    /// Returns `7 of 12 done`, `11 of 12 done, 1 failed`, or `7 of 12 done, 5 cancelled`.
    pub fn words(&self) -> String {
        t().batch.progress(
            self.succeeded,
            self.wanted,
            self.failures.len(),
            self.cancelled.len(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_items_of_a_bulk_action_are_listed_by_name() {
        let mut progress = Progress::of(3);
        progress.note("a", Ok(()));
        progress.note("b", Err("It is gone.".to_owned()));
        assert_eq!(progress.words(), "1 of 3 done, 1 failed");
        assert!(!progress.is_finished() && (progress.part() - 2.0 / 3.0).abs() < 1e-9);
        progress.note("c", Ok(()));
        assert!(progress.is_finished());
        assert_eq!(progress.failures()[0].name, "b");
        assert!(Progress::of(0).is_finished());
    }

    #[test]
    fn retry_keeps_the_successful_objects_and_includes_failed_and_cancelled_objects() {
        let mut progress = Progress::of(3);
        progress.note("a", Ok(()));
        progress.note("b", Err("It is gone.".to_owned()));
        progress.cancel("c");
        assert_eq!(progress.words(), "1 of 3 done, 1 failed, 1 cancelled");
        assert!(progress.is_finished() && progress.has_rest());
        let outcomes = |progress: &Progress| ["a", "b", "c"].map(|name| progress.outcome(name));
        assert_eq!(
            outcomes(&progress),
            [
                Some(Outcome::Done),
                Some(Outcome::Failed),
                Some(Outcome::Cancelled)
            ]
        );
        let mut retried = progress.retried();
        assert_eq!(outcomes(&retried), [Some(Outcome::Done), None, None]);
        assert!(!retried.is_finished() && !retried.has_rest());
        retried.note("b", Ok(()));
        retried.note("c", Ok(()));
        assert_eq!(retried.words(), "3 of 3 done");
    }
}
