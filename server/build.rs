//! Puts the web UI into the program, and tells it which commit it is built from: `$DROVER_COMMIT`,
//! else what the checkout's `.git` says, read without the program git; neither in a tarball.

#[path = "build/page.rs"]
mod page;

use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    page::embed();
    name_commit();
}

fn name_commit() {
    println!("cargo::rerun-if-env-changed=DROVER_COMMIT");
    // Cargo hands a variable that is set on to the compiler by itself.
    if std::env::var_os("DROVER_COMMIT").is_some() {
        return;
    }
    if let Some(commit) = git_folder().and_then(|git| commit(&git)) {
        println!("cargo::rustc-env=DROVER_COMMIT={commit}");
    }
}

/// `.git` of the checkout that this crate lies in; of a further worktree the folder that its
/// `.git` file names.
fn git_folder() -> Option<PathBuf> {
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR")?)
        .parent()?
        .join(".git");
    if root.is_dir() {
        return Some(root);
    }
    let text = fs::read_to_string(&root).ok()?;
    let named = Path::new(text.strip_prefix("gitdir:")?.trim());
    Some(root.parent()?.join(named))
}

/// The commit that is checked out; cargo looks again when it changes.
fn commit(git: &Path) -> Option<String> {
    // Without the log of HEAD, a commit on the same branch shows in the branch's file only.
    watch(&git.join("logs/HEAD"));
    let head = read(&git.join("HEAD"))?;
    let Some(branch) = head.strip_prefix("ref:").map(str::trim) else {
        return hash(&head);
    };
    let common = read(&git.join("commondir")).map_or_else(|| git.to_owned(), |to| git.join(to));
    read(&common.join(branch))
        .and_then(|text| hash(&text))
        .or_else(|| packed(&read(&common.join("packed-refs"))?, branch))
}

fn packed(refs: &str, branch: &str) -> Option<String> {
    let line = refs
        .lines()
        .find(|line| line.split(' ').nth(1) == Some(branch));
    hash(line?.split(' ').next()?)
}

/// Only what is a commit's name becomes part of the program.
fn hash(text: &str) -> Option<String> {
    let whole = [40, 64].contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit());
    whole.then(|| text.to_owned())
}

fn read(file: &Path) -> Option<String> {
    watch(file);
    fs::read_to_string(file)
        .ok()
        .map(|text| text.trim().to_owned())
}

/// A file that is not there would make every build run this again.
fn watch(file: &Path) {
    if file.is_file() {
        println!("cargo::rerun-if-changed={}", file.display());
    }
}
