//! The results of suites, and the table of a run.

use std::fmt;
use std::time::Duration;

use crate::suite::Suite;

/// How a suite ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The suite passed within its budget.
    Passed,
    /// The suite passed, but took longer than its budget. Other suites on the machine can be the
    /// reason, so the run does not fail.
    OverBudget,
    /// The command failed.
    Failed,
    /// The command ran for three times its budget.
    Killed,
    /// The suite needs this failed suite.
    Skipped(&'static str),
    /// The operating system could not start the command for this reason.
    NotStarted(String),
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed => formatter.write_str("passed"),
            Self::OverBudget => formatter.write_str("over budget"),
            Self::Failed => formatter.write_str("failed"),
            Self::Killed => formatter.write_str("killed at three times its budget"),
            Self::Skipped(suite) => write!(formatter, "skipped: {suite} failed"),
            Self::NotStarted(reason) => write!(formatter, "not started: {reason}"),
        }
    }
}

/// The result of one suite.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The name of the suite.
    pub name: &'static str,
    /// The time between the start of the run and the start of the suite.
    pub start: Duration,
    /// The duration of the suite.
    pub time: Duration,
    /// The CPU time of the suite's processes. `None` if the suite was killed or skipped.
    pub cpu: Option<Duration>,
    /// The budget of the suite.
    pub budget: Duration,
    /// How the suite ended.
    pub verdict: Verdict,
}

impl Outcome {
    /// Returns the result of a suite that needs a failed suite.
    pub(crate) const fn skipped(suite: &Suite, start: Duration, failed: &'static str) -> Self {
        Self {
            name: suite.name,
            start,
            time: Duration::ZERO,
            cpu: None,
            budget: suite.budget(),
            verdict: Verdict::Skipped(failed),
        }
    }

    /// Reports whether the command succeeded, so that dependent suites can run.
    pub fn has_passed(&self) -> bool {
        matches!(self.verdict, Verdict::Passed | Verdict::OverBudget)
    }
}

/// The table of a run: the suites in the order of their starts, with times in seconds.
#[derive(Debug)]
pub struct Table<'a> {
    /// The results of all suites.
    pub outcomes: &'a [Outcome],
    /// The duration of the run.
    pub time: Duration,
}

impl fmt::Display for Table<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sorted: Vec<&Outcome> = self.outcomes.iter().collect();
        sorted.sort_by_key(|outcome| outcome.start);
        writeln!(
            formatter,
            "\n{:<16} {:>6} {:>8} {:>6} {:>7}  result",
            "suite", "start", "seconds", "cpu", "budget"
        )?;
        for outcome in &sorted {
            let cpu = outcome.cpu.map(|cpu| cpu.as_secs().to_string());
            writeln!(
                formatter,
                "{:<16} {:>6} {:>8} {:>6} {:>7}  {}",
                outcome.name,
                outcome.start.as_secs(),
                outcome.time.as_secs(),
                cpu.unwrap_or_default(),
                outcome.budget.as_secs(),
                outcome.verdict
            )?;
        }
        let cpu: Duration = sorted.iter().filter_map(|outcome| outcome.cpu).sum();
        writeln!(
            formatter,
            "{:<16} {:>6} {:>8} {:>6}",
            "all",
            0,
            self.time.as_secs(),
            cpu.as_secs()
        )?;
        let over_budget = |outcome: &Outcome| outcome.verdict == Verdict::OverBudget;
        write_names(formatter, "over budget", &sorted, over_budget)?;
        write_names(formatter, "failed", &sorted, |outcome| {
            !outcome.has_passed()
        })
    }
}

/// Writes a line with the names of the selected suites, if there are any.
fn write_names(
    formatter: &mut fmt::Formatter<'_>,
    label: &str,
    outcomes: &[&Outcome],
    select: impl Fn(&Outcome) -> bool,
) -> fmt::Result {
    let selected = outcomes.iter().filter(|outcome| select(outcome));
    let names: Vec<&str> = selected.map(|outcome| outcome.name).collect();
    if names.is_empty() {
        return Ok(());
    }
    writeln!(formatter, "{label}: {}", names.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_shows_suites_in_the_order_of_their_starts_and_names_slow_and_failed_suites() {
        let outcome = |name, start, verdict| Outcome {
            name,
            start: Duration::from_secs(start),
            time: Duration::from_secs(7),
            cpu: Some(Duration::from_secs(5)),
            budget: Duration::from_secs(9),
            verdict,
        };
        let outcomes = [
            outcome("unit", 8, Verdict::OverBudget),
            outcome("build", 0, Verdict::Passed),
            outcome("browser", 9, Verdict::Failed),
        ];
        let table = Table {
            outcomes: &outcomes,
            time: Duration::from_secs(15),
        };
        let expected = "
suite             start  seconds    cpu  budget  result
build                 0        7      5       9  passed
unit                  8        7      5       9  over budget
browser               9        7      5       9  failed
all                   0       15     15
over budget: unit
failed: browser
";
        assert_eq!(table.to_string(), expected);
    }
}
