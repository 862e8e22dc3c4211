//! Golden tests: the results of this crate equal the results of Fleet's own code, except for the listed
//! differences. The script e2e/golden/generate writes the expected results.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod bundles;
mod ids;
mod rollouts;
mod states;
mod targets;

use std::path::PathBuf;

use drover_fuzz_corpus::replay;
use serde::de::DeserializeOwned;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// Reads a file of the golden tests.
fn read<T: DeserializeOwned>(path: &str) -> T {
    let text = std::fs::read_to_string(folder().join(path)).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Reads the inputs and the expected results of a test, which have the same length.
fn cases<I: DeserializeOwned, E: DeserializeOwned>(name: &str) -> Vec<(I, E)> {
    let inputs: Vec<I> = read(&format!("inputs/{name}.json"));
    let expected: Vec<E> = read(&format!("expected/{name}.json"));
    assert_eq!(inputs.len(), expected.len());
    inputs.into_iter().zip(expected).collect()
}

#[path = "../../fuzz/properties.rs"]
mod properties;

const PACKAGE: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn fleet_yaml_properties_are_true_for_the_fuzz_corpus() {
    replay(PACKAGE, "fleet_yaml", properties::fleet_yaml);
}

#[test]
fn content_properties_are_true_for_the_fuzz_corpus() {
    replay(PACKAGE, "content", properties::content);
}

#[test]
fn cron_properties_are_true_for_the_fuzz_corpus() {
    replay(PACKAGE, "cron", properties::cron);
}

#[test]
fn git_chart_properties_are_true_for_the_fuzz_corpus() {
    replay(PACKAGE, "git_chart", properties::git_chart);
}

#[test]
fn repository_properties_are_true_for_the_fuzz_corpus() {
    replay(PACKAGE, "repository", properties::repository);
}
