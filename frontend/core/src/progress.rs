//! Progress of bulk actions.

use crate::messages::t;

/// A failed item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The name.
    pub name: String,
    /// The cause.
    pub why: String,
}

/// The progress.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    wanted: usize,
    done: usize,
    failures: Vec<Failure>,
}

impl Progress {
    /// Starts with a total.
    pub fn of(wanted: usize) -> Self {
        Self {
            wanted,
            ..Self::default()
        }
    }

    /// Records the result of an item.
    pub fn note(&mut self, name: &str, result: Result<(), String>) {
        match result {
            Ok(()) => self.done += 1,
            Err(why) => self.failures.push(Failure {
                name: name.to_owned(),
                why,
            }),
        }
    }

    /// The failed items.
    pub fn failures(&self) -> &[Failure] {
        &self.failures
    }

    /// Whether all items are done.
    pub fn is_over(&self) -> bool {
        self.done + self.failures.len() >= self.wanted
    }

    /// The finished share, from 0 to 1.
    pub fn part(&self) -> f64 {
        let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        match self.wanted {
            0 => 1.0,
            wanted => number(self.done + self.failures.len()) / number(wanted),
        }
    }

    /// `7 of 12 done`, `11 of 12 done, 1 failed`.
    pub fn words(&self) -> String {
        t().batch
            .progress(self.done, self.wanted, self.failures.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_is_known_by_name() {
        let mut progress = Progress::of(3);
        progress.note("a", Ok(()));
        progress.note("b", Err("It is gone.".to_owned()));
        assert_eq!(progress.words(), "1 of 3 done, 1 failed");
        assert!(!progress.is_over() && (progress.part() - 2.0 / 3.0).abs() < 1e-9);
        progress.note("c", Ok(()));
        assert!(progress.is_over());
        assert_eq!(progress.failures()[0].name, "b");
        assert!(Progress::of(0).is_over());
    }
}
