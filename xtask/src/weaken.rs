//! The recipe `xtask weaken`: mutation tests of the defences. Each file `e2e/weaken/*.patch`
//! removes one defence and names a test. The recipe applies each patch to a copy of the sources,
//! and runs all tests of the test's binary. All tests must pass without the patch. With the patch,
//! exactly the named test must fail. A patch that does not apply or compile is a failure.

mod copy;
mod patch;
mod suite;

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::Instant;

use copy::{Copy, CopyError};
use patch::{Patch, PatchError};
use suite::{Outcome, Suite, SuiteError};

use crate::build::root;

/// The reason why the recipe failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WeakenError {
    /// A patch cannot be parsed.
    #[error(transparent)]
    Patch(#[from] PatchError),
    /// The copy of the sources cannot be written.
    #[error(transparent)]
    Copy(#[from] CopyError),
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
}

impl Weaken {
    pub(crate) fn run(self) -> Result<(), WeakenError> {
        let patches = patches(&self.only)?;
        let copy = Copy::of_sources()?;
        let mut by_suite: BTreeMap<&Suite, Vec<&Patch>> = BTreeMap::new();
        for patch in &patches {
            copy.apply(patch)?;
            copy.restore()?;
            by_suite.entry(&patch.suite).or_default().push(patch);
        }
        if self.check {
            print_line(&format!("{} patches apply", patches.len()));
            return Ok(());
        }
        let mut undetected = 0;
        for (suite, patches) in by_suite {
            check_unweakened(&copy, suite, &patches)?;
            for patch in patches {
                undetected += usize::from(!detected(&copy, patch)?);
            }
        }
        if undetected > 0 {
            Err(WeakenError::Undetected(undetected))
        } else {
            Ok(())
        }
    }
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

fn check_unweakened(copy: &Copy, suite: &Suite, patches: &[&Patch]) -> Result<(), WeakenError> {
    let start = Instant::now();
    let outcome = suite.run(copy.root())?;
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
    Ok(())
}

/// Applies the patch and runs the tests. Returns true if only the named test fails.
fn detected(copy: &Copy, patch: &Patch) -> Result<bool, WeakenError> {
    let start = Instant::now();
    copy.apply(patch)?;
    let outcome = patch.suite.run(copy.root());
    copy.restore()?;
    let (noticed, result) = judge(patch, outcome);
    let seconds = start.elapsed().as_secs();
    print_line(&format!(
        "  {} (group {}): {}: {result} ({seconds} s)",
        patch.name, patch.group, patch.defence
    ));
    Ok(noticed)
}

/// Compares the results with the named test. Returns true if only the named test failed, and a
/// description of the result. If the tests cannot run, the patch is a failure.
fn judge(patch: &Patch, outcome: Result<Outcome, SuiteError>) -> (bool, String) {
    let test = &patch.test;
    match outcome {
        Err(error) => (false, format!("NOT RUN: {error}")),
        Ok(Outcome { failed, .. }) if failed.is_empty() => (
            false,
            format!("NOT DETECTED; {test} passes without the defence"),
        ),
        Ok(Outcome { failed, .. }) if failed.len() == 1 && failed.contains(test) => {
            (true, format!("detected by {test}"))
        }
        Ok(Outcome { failed, .. }) => {
            let failed = Vec::from_iter(failed).join(", ");
            (
                false,
                format!("NOT DETECTED by {test} alone; these fail: {failed}"),
            )
        }
    }
}

fn print_line(text: &str) {
    // Ignore errors: if standard output is closed, the exit code still shows the result.
    let _ = writeln!(io::stdout(), "{text}");
}
