//! Embeds the web UI and the commit hash in the program. The hash comes from `$DROVER_COMMIT`, or
//! from the checkout's `.git` folder. The script reads that folder without running git. A build
//! from a tarball has no commit hash.

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

/// Returns the `.git` folder of this crate's checkout. In a linked worktree, `.git` is a file that
/// contains the path of the folder.
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

/// Returns the hash of the checked-out commit. Cargo runs the build script again when the commit
/// changes.
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

/// Returns the text if the text is a commit hash: 40 or 64 hexadecimal digits.
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

/// Runs the build script again when the file changes. Ignores a missing file, because cargo runs
/// the script at every build if a watched file does not exist.
fn watch(file: &Path) {
    if file.is_file() {
        println!("cargo::rerun-if-changed={}", file.display());
    }
}
