//! The commit of a local git repository.

use std::path::{Path, PathBuf};

/// Maximum size of a file of git that contains references, in bytes.
const MAX_BYTES: u64 = 16 << 20;
/// Maximum number of symbolic references between `HEAD` and a commit.
const MAX_REFERENCES: usize = 5;

/// Returns the commit of the repository that contains a folder. Returns nothing without a repository, or
/// if the repository has no commit or another format of references.
pub(super) fn current(folder: &Path) -> Option<String> {
    let git = folder.ancestors().find_map(git_folder)?;
    // A worktree stores `HEAD` in its own folder, and branches in the folder of the repository.
    let shared = read(&git.join("commondir")).map_or_else(|| git.clone(), |path| git.join(path));
    let mut content = read(&git.join("HEAD"))?;
    for _ in 0..MAX_REFERENCES {
        let Some(name) = content.strip_prefix("ref: ") else {
            return is_commit(&content).then_some(content);
        };
        if name
            .split('/')
            .any(|segment| matches!(segment, "" | "." | ".."))
        {
            return None;
        }
        content = read(&shared.join(name)).or_else(|| packed(&shared, name))?;
    }
    None
}

fn git_folder(folder: &Path) -> Option<PathBuf> {
    let path = folder.join(".git");
    if path.is_dir() {
        return Some(path);
    }
    let link = read(&path)?;
    Some(folder.join(link.strip_prefix("gitdir: ")?))
}

fn packed(git: &Path, name: &str) -> Option<String> {
    let references = read(&git.join("packed-refs"))?;
    let mut lines = references.lines().filter_map(|line| line.split_once(' '));
    lines
        .find(|(_, found)| *found == name)
        .map(|(commit, _)| commit.to_owned())
}

fn read(path: &Path) -> Option<String> {
    let data = super::folder::read_file(path, MAX_BYTES).ok()?;
    let text = String::from_utf8(data).ok()?;
    Some(text.trim_end().to_owned())
}

fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMIT: &str = "8b137891791fe96927ad78e64b0aad7bded08bdc";

    #[test]
    fn commit_is_found_in_branches_packed_references_and_worktrees() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        assert_eq!(current(folder.path()), None);
        write("repo/.git/HEAD", "ref: refs/heads/main\n");
        write("repo/sub/x.yaml", "");
        let sub = folder.path().join("repo/sub");
        assert_eq!(current(&sub), None);
        write(
            "repo/.git/packed-refs",
            &format!("# pack-refs with: peeled\n{COMMIT} refs/heads/main\n"),
        );
        assert_eq!(current(&sub).as_deref(), Some(COMMIT));
        let newer = COMMIT.replace('8', "9");
        write("repo/.git/refs/heads/main", &format!("{newer}\n"));
        assert_eq!(current(&sub), Some(newer));
        write("repo/.git/worktrees/w/HEAD", "ref: refs/heads/w\n");
        write("repo/.git/worktrees/w/commondir", "../..\n");
        write("repo/.git/refs/heads/w", COMMIT);
        write("w/.git", "gitdir: ../repo/.git/worktrees/w\n");
        assert_eq!(current(&folder.path().join("w")).as_deref(), Some(COMMIT));
        for wrong in ["ref: ../../secret", "nonsense", "ref: refs/heads/none"] {
            write("w/.git", "gitdir: ../repo/.git/worktrees/w\n");
            write("repo/.git/worktrees/w/HEAD", wrong);
            assert_eq!(current(&folder.path().join("w")), None, "{wrong}");
        }
    }
}
