//! Tests of the repository's rules: dependencies between crates, the form of sources and commits,
//! and references in documents.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod commits;
mod cycles;
mod documents;
mod layering;
mod packages;
mod sources;
mod texts;
#[path = "../../src/tokens.rs"]
mod tokens;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Returns the repository's root.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the folder of xtask is in the repository")
        .to_owned()
}

/// Runs a program in the root and returns its output.
fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(root())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// A package of the cargo workspace.
struct Member {
    name: String,
    /// Folder of the member, relative to the root.
    folder: String,
    /// Dependencies of the member: name and kind (`normal`, `dev`, `build`).
    dependencies: Vec<(String, String)>,
    /// Names of the member's integration tests.
    tests: Vec<String>,
}

/// Returns the members of the workspace, except fuzz crates. No crate depends on a fuzz crate, and
/// the macro of libfuzzer-sys contains unsafe code.
fn members() -> Vec<Member> {
    let text = run(
        env!("CARGO"),
        &["metadata", "--format-version=1", "--no-deps", "--locked"],
    );
    let metadata: Value = serde_json::from_str(&text).unwrap();
    let root = root();
    metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|package| !text_of(&package["name"]).ends_with("-fuzz"))
        .map(|package| Member {
            name: text_of(&package["name"]),
            folder: Path::new(&text_of(&package["manifest_path"]))
                .parent()
                .unwrap()
                .strip_prefix(&root)
                .unwrap()
                .display()
                .to_string(),
            dependencies: package["dependencies"]
                .as_array()
                .unwrap()
                .iter()
                .map(|dependency| {
                    let kind = dependency["kind"].as_str().unwrap_or("normal");
                    (text_of(&dependency["name"]), kind.to_owned())
                })
                .collect(),
            tests: package["targets"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|target| target["kind"][0] == "test")
                .map(|target| text_of(&target["name"]))
                .collect(),
        })
        .collect()
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Returns the tracked files and the untracked files whose names end with `ending`.
fn files(ending: &str) -> Vec<String> {
    run(
        "git",
        &["ls-files", "--cached", "--others", "--exclude-standard"],
    )
    .lines()
    .filter(|file| file.ends_with(ending) && root().join(file).is_file())
    .map(str::to_owned)
    .collect()
}

fn read(file: &str) -> String {
    std::fs::read_to_string(root().join(file)).unwrap()
}
