//! The progress of an action on several objects.

use crate::messages::t;

/// An object for which the action failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The name of the object.
    pub name: String,
    /// The error message.
    pub why: String,
}

/// The progress of an action on several objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    wanted: usize,
    done: usize,
    failures: Vec<Failure>,
}

impl Progress {
    /// Creates the progress of an action on this number of objects.
    pub fn of(desired: usize) -> Self {
        Self {
            wanted: desired,
            ..Self::default()
        }
    }

    /// Records the result for an object.
    pub fn note(&mut self, name: &str, result: Result<(), String>) {
        match result {
            Ok(()) => self.done += 1,
            Err(reason) => self.failures.push(Failure {
                name: name.to_owned(),
                why: reason,
            }),
        }
    }

    /// Returns the objects for which the action failed.
    pub fn failures(&self) -> &[Failure] {
        &self.failures
    }

    /// Reports whether the action is finished for all objects.
    pub fn is_finished(&self) -> bool {
        self.done + self.failures.len() >= self.wanted
    }

    /// Returns the finished share, from 0 to 1.
    pub fn part(&self) -> f64 {
        let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        match self.wanted {
            0 => 1.0,
            wanted => number(self.done + self.failures.len()) / number(wanted),
        }
    }

    /// Returns `7 of 12 done`, or `11 of 12 done, 1 failed`.
    pub fn words(&self) -> String {
        t().batch
            .progress(self.done, self.wanted, self.failures.len())
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
}
