//! Decides which suites start. The decisions are pure, so tests simulate complete runs.

use std::fmt;

use crate::suite::{Resource, Suite};

/// The reason why suites cannot be scheduled.
#[derive(Debug, PartialEq, Eq)]
pub enum ScheduleError {
    /// A suite needs a suite that is not declared before it.
    Dependency {
        /// The suite.
        suite: &'static str,
        /// The missing dependency.
        dependency: &'static str,
    },
}

impl fmt::Display for ScheduleError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dependency { suite, dependency } => write!(
                formatter,
                "cannot schedule the suite {suite}: declare the suite {dependency} before it"
            ),
        }
    }
}

impl std::error::Error for ScheduleError {}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    Running,
    Passed,
    Failed,
}

/// The state of a run. Suites are identified by their index.
#[derive(Debug)]
pub struct Schedule {
    suites: Vec<Suite>,
    dependencies: Vec<Vec<usize>>,
    /// The suites that end before a suite starts, whether or not they pass.
    behind: Vec<Vec<usize>>,
    /// The time from the start of a suite to the end of its last dependent suite, in seconds.
    remaining: Vec<u64>,
    states: Vec<State>,
    /// The available CPU time, in percent of one core.
    cpu: usize,
}

impl Schedule {
    /// Schedules `suites` on a machine with this number of cores. A suite must be declared after
    /// its dependencies, which excludes cycles.
    pub fn new(suites: Vec<Suite>, cores: usize) -> Result<Self, ScheduleError> {
        let mut dependencies: Vec<Vec<usize>> = Vec::new();
        for (index, suite) in suites.iter().enumerate() {
            let find = |dependency: &&'static str| {
                suites[..index]
                    .iter()
                    .position(|earlier| earlier.name == *dependency)
                    .ok_or(ScheduleError::Dependency {
                        suite: suite.name,
                        dependency,
                    })
            };
            dependencies.push(suite.after.iter().map(find).collect::<Result<_, _>>()?);
        }
        let behind = suites
            .iter()
            .map(|suite| {
                let before = |(index, other): (usize, &Suite)| {
                    suite.behind.contains(&other.name).then_some(index)
                };
                suites.iter().enumerate().filter_map(before).collect()
            })
            .collect();
        let mut remaining: Vec<u64> = suites.iter().map(|suite| suite.recorded.cold).collect();
        for index in (0..suites.len()).rev() {
            for &dependency in &dependencies[index] {
                let through = suites[dependency].recorded.cold + remaining[index];
                remaining[dependency] = remaining[dependency].max(through);
            }
        }
        Ok(Self {
            states: vec![State::Waiting; suites.len()],
            suites,
            dependencies,
            behind,
            remaining,
            cpu: cores * 100,
        })
    }

    /// Returns the suites in their declared order.
    pub fn suites(&self) -> &[Suite] {
        &self.suites
    }

    /// Marks the suites that can run now as running, and returns them. Suites with the longest
    /// remaining path start first.
    pub fn start(&mut self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.suites.len()).collect();
        order.sort_by_key(|&index| std::cmp::Reverse(self.remaining[index]));
        let mut started = Vec::new();
        for index in order {
            if self.states[index] == State::Waiting && self.is_ready(index) && self.fits(index) {
                self.states[index] = State::Running;
                started.push(index);
            }
        }
        started
    }

    /// Records the end of a running suite. Returns the suites that cannot run any more, because
    /// they need a failed suite.
    pub fn end(&mut self, suite: usize, passed: bool) -> Vec<usize> {
        self.states[suite] = if passed { State::Passed } else { State::Failed };
        let mut skipped = Vec::new();
        // Dependent suites have higher indexes, so one pass finds indirect dependents.
        for index in 0..self.suites.len() {
            let failed = |&dependency: &usize| self.states[dependency] == State::Failed;
            if self.states[index] == State::Waiting && self.dependencies[index].iter().any(failed) {
                self.states[index] = State::Failed;
                skipped.push(index);
            }
        }
        skipped
    }

    /// Reports whether a suite is running.
    pub fn is_running(&self) -> bool {
        self.states.contains(&State::Running)
    }

    fn is_ready(&self, index: usize) -> bool {
        let passed = |&dependency: &usize| self.states[dependency] == State::Passed;
        let ended = |&other: &usize| matches!(self.states[other], State::Passed | State::Failed);
        self.dependencies[index].iter().all(passed) && self.behind[index].iter().all(ended)
    }

    /// Reports whether the free resources suffice for a suite. A suite that needs more CPU time
    /// than the machine has runs without other suites of tests.
    fn fits(&self, index: usize) -> bool {
        let suite = &self.suites[index];
        let running = || {
            self.suites
                .iter()
                .zip(&self.states)
                .filter(|(_, state)| **state == State::Running)
                .map(|(suite, _)| suite)
        };
        let cpu: usize = running().map(|suite| suite.cpu).sum();
        let free = |resource: &Resource| {
            let used = running()
                .filter(|suite| suite.resources.contains(resource))
                .count();
            used < resource.units()
        };
        (cpu + suite.cpu <= self.cpu || cpu == 0) && suite.resources.iter().all(free)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::suite::{Group, Recorded};

    const NAMES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

    const fn suite(name: &'static str, after: &'static [&'static str]) -> Suite {
        Suite {
            name,
            group: Group::Test,
            after,
            behind: &[],
            cpu: 100,
            resources: &[],
            recorded: Recorded::always(10),
            command: "true",
        }
    }

    fn schedule(suites: &[Suite]) -> Schedule {
        Schedule::new(suites.to_vec(), 2).unwrap()
    }

    fn names(schedule: &Schedule, indexes: &[usize]) -> Vec<&'static str> {
        indexes
            .iter()
            .map(|&index| schedule.suites()[index].name)
            .collect()
    }

    #[test]
    fn suite_starts_after_its_dependencies() {
        let mut schedule = schedule(&[suite("a", &[]), suite("b", &["a"])]);
        assert_eq!(schedule.start(), [0]);
        assert!(schedule.start().is_empty());
        assert!(schedule.end(0, true).is_empty());
        assert_eq!(schedule.start(), [1]);
    }

    #[test]
    fn failed_suite_skips_only_its_direct_and_indirect_dependents() {
        let mut schedule = schedule(&[
            suite("a", &[]),
            suite("b", &["a"]),
            suite("c", &["b"]),
            suite("d", &[]),
            suite("e", &["d"]),
        ]);
        assert_eq!(schedule.start(), [0, 3]);
        let skipped = schedule.end(0, false);
        assert_eq!(names(&schedule, &skipped), ["b", "c"]);
        assert!(schedule.end(3, true).is_empty());
        assert_eq!(schedule.start(), [4]);
    }

    #[test]
    fn suite_behind_another_suite_starts_after_its_end_also_if_it_fails() {
        let behind = Suite {
            behind: &["b", "unselected"],
            ..suite("a", &[])
        };
        let mut schedule = schedule(&[behind, suite("b", &[])]);
        assert_eq!(schedule.start(), [1]);
        assert!(schedule.end(1, false).is_empty());
        assert_eq!(schedule.start(), [0]);
    }

    #[test]
    fn suite_with_the_longest_remaining_path_starts_first() {
        let long = Suite {
            recorded: Recorded::always(15),
            ..suite("long", &[])
        };
        let mut schedule = schedule(&[long, suite("first", &[]), suite("second", &["first"])]);
        let started = schedule.start();
        assert_eq!(names(&schedule, &started), ["first", "long"]);
    }

    #[test]
    fn suite_that_needs_more_cpu_time_than_the_machine_has_runs_alone() {
        let large = Suite {
            cpu: 1000,
            ..suite("large", &[])
        };
        let mut schedule = schedule(&[large, suite("small", &[])]);
        assert_eq!(schedule.start(), [0]);
        schedule.end(0, true);
        assert_eq!(schedule.start(), [1]);
    }

    #[test]
    fn unknown_and_later_dependencies_are_rejected() {
        let expected = Some(ScheduleError::Dependency {
            suite: "a",
            dependency: "b",
        });
        let unknown = Schedule::new(vec![suite("a", &["b"])], 2);
        assert_eq!(unknown.err(), expected);
        let later = Schedule::new(vec![suite("a", &["b"]), suite("b", &["a"])], 2);
        assert_eq!(later.err(), expected);
    }

    /// Suites with random dependencies on earlier suites, CPU use and resources.
    fn any_suites() -> impl Strategy<Value = Vec<Suite>> {
        let any = (
            proptest::bits::u8::ANY,
            0_usize..250,
            proptest::sample::subsequence(Resource::ALL.to_vec(), 0..=2),
            1_u64..100,
        );
        proptest::collection::vec(any, 1..=NAMES.len()).prop_map(|drawn| {
            drawn
                .into_iter()
                .enumerate()
                .map(|(index, (mask, cpu, resources, seconds))| {
                    let after: Vec<_> = (0..index)
                        .filter(|bit| mask & (1 << bit) != 0)
                        .map(|bit| NAMES[bit])
                        .collect();
                    Suite {
                        cpu,
                        after: after.leak(),
                        resources: resources.leak(),
                        recorded: Recorded::always(seconds),
                        ..suite(NAMES[index], &[])
                    }
                })
                .collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn run_respects_resources_and_dependencies_and_reaches_every_suite(
            suites in any_suites(),
            failing in proptest::bits::u8::ANY,
            picks in proptest::collection::vec(any::<prop::sample::Index>(), NAMES.len()),
        ) {
            let mut schedule = schedule(&suites);
            let mut running: Vec<usize> = Vec::new();
            let mut passed: Vec<&str> = Vec::new();
            let mut ended = 0;
            for pick in picks {
                running.extend(schedule.start());
                let cpu: usize = running.iter().map(|&index| suites[index].cpu).sum();
                let with_cpu = running.iter().filter(|&&index| suites[index].cpu > 0).count();
                prop_assert!(cpu <= 200 || with_cpu == 1, "{cpu} percent by {with_cpu} suites");
                for resource in Resource::ALL {
                    let used = |&&index: &&usize| suites[index].resources.contains(&resource);
                    prop_assert!(running.iter().filter(used).count() <= resource.units());
                }
                for &index in &running {
                    prop_assert!(suites[index].after.iter().all(|name| passed.contains(name)));
                }
                prop_assert_eq!(schedule.is_running(), !running.is_empty());
                if running.is_empty() {
                    break;
                }
                let index = running.swap_remove(pick.index(running.len()));
                let success = failing & (1 << index) == 0;
                ended += 1 + schedule.end(index, success).len();
                if success {
                    passed.push(suites[index].name);
                }
            }
            prop_assert_eq!(ended, suites.len());
        }
    }
}
