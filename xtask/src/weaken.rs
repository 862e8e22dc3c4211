//! The recipe `xtask weaken`: mutation tests of the defences. Each file `e2e/weaken/*.patch`
//! removes one defence and names a test. The recipe applies each patch to a copy of the sources,
//! and runs all tests of the test's binary. All tests must pass without the patch. With the patch,
//! exactly the named test must fail. A patch that does not apply or compile is a failure.
//!
//! With `--changed`, the recipe runs the patches whose files changed since the commit in
//! `e2e/weaken/base`, the newest changes first. With `--minutes`, the recipe stops at that limit and
//! prints the names of the remaining patches.

mod changes;
mod confirmed;
mod copy;
mod inputs;
mod patch;
mod suite;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use changes::{Changes, ChangesError};
use confirmed::Confirmed;
use copy::{Copy, CopyError};
use inputs::Sources;
use patch::{Patch, PatchError};
use suite::{Outcome, Suite, SuiteError};

use crate::build::root;
use crate::print::print_line;

/// The reason why the recipe failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WeakenError {
    /// A patch cannot be parsed.
    #[error(transparent)]
    Patch(#[from] PatchError),
    /// The copy of the sources cannot be written.
    #[error(transparent)]
    Copy(#[from] CopyError),
    /// The changed files cannot be listed.
    #[error(transparent)]
    Changes(#[from] ChangesError),
    /// A test binary cannot be built or run.
    #[error(transparent)]
    Suite(#[from] SuiteError),
    /// The folder of patches cannot be read.
    #[error("cannot list {path}")]
    List { path: PathBuf, source: io::Error },
    /// No patch matches an argument.
    #[error("cannot find a patch in e2e/weaken with {text:?} in its name", text = .0)]
    NoneChosen(String),
    /// Tests fail without a patch.
    #[error(
        "cannot check patches: tests of {suite} fail without a patch: {tests}",
        tests = failed.join(", ")
    )]
    AlreadyFailing { suite: Suite, failed: Vec<String> },
    /// A named test does not exist.
    #[error("cannot find the test {test} of {patch} in {suite}: correct the header of the patch")]
    NoSuchTest {
        patch: String,
        suite: Suite,
        test: String,
    },
    /// With some patches, the failed tests differ from the named test.
    #[error(
        "cannot confirm {count} patches: the failed tests differ from the tests in the headers",
        count = .0
    )]
    Undetected(usize),
}

/// Arguments of `xtask weaken`.
#[derive(clap::Args)]
pub(crate) struct Weaken {
    /// Select patches whose file names contain one of these texts
    only: Vec<String>,
    /// Check only that the patches parse and apply
    #[arg(long)]
    check: bool,
    /// Select patches whose files changed since the commit in e2e/weaken/base, the newest first. The
    /// files of a patch are the patch, the patched files and the file of the named test
    #[arg(long)]
    changed: bool,
    /// Stop after this time, and print the names of the remaining patches
    #[arg(long)]
    minutes: Option<u64>,
}

impl Weaken {
    pub(crate) fn run(self) -> Result<(), WeakenError> {
        let deadline = self
            .minutes
            .map(|minutes| Instant::now() + Duration::from_mins(minutes));
        let patches = patches(&self.only)?;
        let copy = Copy::of_sources()?;
        if self.check || !self.changed {
            for patch in &patches {
                copy.apply(patch)?;
                copy.restore()?;
            }
            print_line(&format!("{} patches apply", patches.len()));
        }
        if self.check {
            return Ok(());
        }
        let sources = Sources::new(copy.files(), read_source);
        let mut entries: Vec<Entry> = patches
            .iter()
            .map(|patch| Entry::new(patch, &sources))
            .collect();
        let mut confirmed = Confirmed::read();
        if self.changed {
            let changes = Changes::since_base()?;
            entries = changed(entries, &changes, &confirmed);
        }
        let result = run(&copy, &entries, deadline, &mut confirmed)?;
        let ran_all = result.not_run.is_empty() && self.only.is_empty();
        result.report(self.minutes)?;
        if ran_all && deadline.is_none() && changes::write_base()? {
            print_line("wrote e2e/weaken/base: commit the file");
        }
        Ok(())
    }
}

/// A patch to run.
struct Entry<'a> {
    patch: &'a Patch,
    inputs: BTreeSet<String>,
    /// Entries with a lower rank run first.
    rank: usize,
}

impl<'a> Entry<'a> {
    fn new(patch: &'a Patch, sources: &Sources<'_>) -> Self {
        Self {
            patch,
            inputs: sources.inputs(patch),
            rank: 0,
        }
    }
}

/// Retains the entries with changed files that are not confirmed with these inputs.
fn changed<'a>(
    mut entries: Vec<Entry<'a>>,
    changes: &Changes,
    confirmed: &Confirmed,
) -> Vec<Entry<'a>> {
    entries.retain_mut(|entry| {
        let rank = changes.rank(&entry.inputs);
        entry.rank = rank.unwrap_or_default();
        rank.is_some()
    });
    let selected = entries.len();
    entries.retain(|entry| !confirmed.contains(&Confirmed::key(&entry.inputs)));
    print_line(&format!(
        "{selected} patches have changed files {}; {} of them were confirmed before with these files",
        changes.description(),
        selected - entries.len()
    ));
    entries
}

/// Groups entries by test binary. The binary of the lowest rank is the first group. The entry with
/// the lowest rank is the first of its group.
fn groups<'e, 'a>(entries: &'e [Entry<'a>]) -> Vec<(&'a Suite, Vec<&'e Entry<'a>>)> {
    let mut by_suite: BTreeMap<&Suite, Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        by_suite.entry(&entry.patch.suite).or_default().push(entry);
    }
    let mut groups = Vec::from_iter(by_suite);
    for (_, group) in &mut groups {
        group.sort_by_key(|entry| entry.rank);
    }
    groups.sort_by_key(|(_, group)| group.first().map(|entry| entry.rank));
    groups
}

/// The results of the patches.
#[derive(Default)]
struct Totals {
    confirmed: usize,
    undetected: usize,
    /// The names of the patches for which the time was too short.
    not_run: Vec<String>,
}

impl Totals {
    fn report(self, minutes: Option<u64>) -> Result<(), WeakenError> {
        print_line(&format!("{} patches confirmed", self.confirmed));
        if !self.not_run.is_empty() {
            print_line(&format!(
                "NOT RUN because of the limit of {} minutes: {} patches: {}",
                minutes.unwrap_or_default(),
                self.not_run.len(),
                self.not_run.join(", ")
            ));
        }
        match self.undetected {
            0 => Ok(()),
            count => Err(WeakenError::Undetected(count)),
        }
    }
}

/// Runs the patches of each test binary one after another until the deadline.
fn run(
    copy: &Copy,
    entries: &[Entry<'_>],
    deadline: Option<Instant>,
    confirmed: &mut Confirmed,
) -> Result<Totals, WeakenError> {
    let mut totals = Totals::default();
    for (suite, group) in groups(entries) {
        let patches: Vec<&Patch> = group.iter().map(|entry| entry.patch).collect();
        let mut in_time = check_unweakened(copy, suite, &patches, deadline)?;
        for entry in group {
            let verdict = if in_time {
                verify(copy, entry.patch, deadline)?
            } else {
                Verdict::NotRun
            };
            match verdict {
                Verdict::Detected => {
                    totals.confirmed += 1;
                    confirmed.add(&Confirmed::key(&entry.inputs));
                }
                Verdict::Undetected => totals.undetected += 1,
                Verdict::NotRun => {
                    in_time = false;
                    totals.not_run.push(entry.patch.name.clone());
                }
            }
        }
    }
    Ok(totals)
}

fn read_source(file: &str) -> String {
    std::fs::read_to_string(root().join(file)).unwrap_or_default()
}

/// Returns the patches whose file names contain a text in `only`, sorted by name. Returns all
/// patches if `only` is empty.
fn patches(only: &[String]) -> Result<Vec<Patch>, WeakenError> {
    let folder = root().join("e2e/weaken");
    let list = |source| WeakenError::List {
        path: folder.clone(),
        source,
    };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(list)? {
        let path = entry.map_err(list)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".patch") {
            paths.push((name.into_owned(), path));
        }
    }
    paths.sort();
    let has = |part: &String| paths.iter().any(|(name, _)| name.contains(part));
    if let Some(part) = only.iter().find(|part| !has(part)) {
        return Err(WeakenError::NoneChosen(part.clone()));
    }
    paths.retain(|(name, _)| only.is_empty() || only.iter().any(|part| name.contains(part)));
    Ok(paths
        .iter()
        .map(|(_, path)| Patch::read(path))
        .collect::<Result<_, _>>()?)
}

/// Runs the tests without a patch. Returns false if the deadline was reached.
fn check_unweakened(
    copy: &Copy,
    suite: &Suite,
    patches: &[&Patch],
    deadline: Option<Instant>,
) -> Result<bool, WeakenError> {
    let start = Instant::now();
    let outcome = match suite.run(copy.root(), deadline) {
        Err(SuiteError::TimeLimit { .. }) => return Ok(false),
        outcome => outcome?,
    };
    if !outcome.failed.is_empty() {
        let failed = outcome.failed.into_iter().collect();
        return Err(WeakenError::AlreadyFailing {
            suite: suite.clone(),
            failed,
        });
    }
    for patch in patches {
        if !outcome.passed.contains(&patch.test) {
            return Err(WeakenError::NoSuchTest {
                patch: patch.name.clone(),
                suite: suite.clone(),
                test: patch.test.clone(),
            });
        }
    }
    let tests = outcome.passed.len();
    print_line(&format!(
        "{suite}: {tests} tests pass without a patch ({} s)",
        start.elapsed().as_secs()
    ));
    Ok(true)
}

/// The result of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// Only the named tests failed.
    Detected,
    /// Other tests failed, no test failed, or the patch does not compile.
    Undetected,
    /// The deadline was reached.
    NotRun,
}

/// Applies the patch and runs the tests.
fn verify(copy: &Copy, patch: &Patch, deadline: Option<Instant>) -> Result<Verdict, WeakenError> {
    let start = Instant::now();
    copy.apply(patch)?;
    let outcome = patch.suite.run(copy.root(), deadline);
    copy.restore()?;
    let (verdict, result) = judge(patch, outcome);
    if verdict != Verdict::NotRun {
        let seconds = start.elapsed().as_secs();
        print_line(&format!(
            "  {} (group {}): {}: {result} ({seconds} s)",
            patch.name, patch.group, patch.defence
        ));
    }
    Ok(verdict)
}

/// Compares the results with the named test, and describes the result.
fn judge(patch: &Patch, outcome: Result<Outcome, SuiteError>) -> (Verdict, String) {
    let test = &patch.test;
    let expected: BTreeSet<_> = [test].into_iter().chain(&patch.also).collect();
    match outcome {
        Err(error @ SuiteError::TimeLimit { .. }) => (Verdict::NotRun, error.to_string()),
        Err(error) => (Verdict::Undetected, format!("FAILED: {error}")),
        Ok(Outcome { failed, .. }) if failed.is_empty() => (
            Verdict::Undetected,
            format!("NOT DETECTED; {test} passes without the defence"),
        ),
        Ok(Outcome { failed, .. }) if failed.iter().eq(expected) => {
            (Verdict::Detected, format!("detected by {test}"))
        }
        Ok(Outcome { failed, .. }) => {
            let failed = Vec::from_iter(failed).join(", ");
            (
                Verdict::Undetected,
                format!("NOT DETECTED by {test} alone; these fail: {failed}"),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch(name: &str, package: &str) -> Patch {
        let text = format!(
            "Group: 2\nDefence: a check\nPackage: {package}\nTarget: lib\nTest: tests::x\n\n--- a/x\n"
        );
        Patch::parse(name.to_owned(), text).unwrap()
    }

    #[test]
    fn binary_and_patch_with_the_newest_change_run_first() {
        let patches = [patch("1", "a"), patch("2", "b"), patch("3", "b")];
        let entries: Vec<Entry> = patches
            .iter()
            .zip([5, 9, 2])
            .map(|(patch, rank)| Entry {
                patch,
                inputs: BTreeSet::new(),
                rank,
            })
            .collect();
        let order: Vec<&str> = groups(&entries)
            .into_iter()
            .flat_map(|(_, group)| group)
            .map(|entry| entry.patch.name.as_str())
            .collect();
        assert_eq!(order, ["3", "2", "1"]);
    }

    #[test]
    fn only_a_single_failure_of_the_named_test_confirms_a_patch() {
        let failed = |names: &[&str]| {
            let failed = names.iter().map(|&name| name.to_owned()).collect();
            Ok(Outcome {
                failed,
                ..Outcome::default()
            })
        };
        let patch = patch("1", "a");
        let verdict = |outcome| judge(&patch, outcome).0;
        assert_eq!(verdict(failed(&["tests::x"])), Verdict::Detected);
        assert_eq!(verdict(failed(&[])), Verdict::Undetected);
        assert_eq!(
            verdict(failed(&["tests::x", "tests::y"])),
            Verdict::Undetected
        );
        assert_eq!(verdict(failed(&["tests::y"])), Verdict::Undetected);
        let suite = patch.suite.clone();
        assert_eq!(
            verdict(Err(SuiteError::TimeLimit { suite })),
            Verdict::NotRun
        );
    }
}
