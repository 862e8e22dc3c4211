//! Repositories on disk, written object by object, so that they can contain anything.

use std::collections::BTreeMap;

use git2::{ObjectType, Oid, Repository, Signature};
use tempfile::TempDir;

/// An entry of a folder: its mode, name and object.
pub(crate) type Entry<'a> = (&'a str, &'a [u8], Oid);

pub(crate) const FILE: &str = "100644";
pub(crate) const FOLDER: &str = "40000";
pub(crate) const LINK: &str = "120000";
pub(crate) const SUBMODULE: &str = "160000";

/// A folder of bare repositories that a server offers.
pub(crate) struct Repositories {
    pub(crate) folder: TempDir,
}

impl Repositories {
    pub(crate) fn new() -> Self {
        Self {
            folder: TempDir::new().unwrap(),
        }
    }

    /// Creates a bare repository with the branch `main`.
    pub(crate) fn create(&self, name: &str) -> TestRepository {
        let path = self.folder.path().join(name);
        let mut options = git2::RepositoryInitOptions::new();
        options
            .bare(true)
            .initial_head("main")
            .external_template(false);
        TestRepository {
            repository: Repository::init_opts(&path, &options).unwrap(),
        }
    }
}

pub(crate) struct TestRepository {
    pub(crate) repository: Repository,
}

impl TestRepository {
    pub(crate) fn object(&self, kind: ObjectType, data: &[u8]) -> Oid {
        self.repository.odb().unwrap().write(kind, data).unwrap()
    }

    pub(crate) fn blob(&self, data: &[u8]) -> Oid {
        self.object(ObjectType::Blob, data)
    }

    /// Writes a folder without any check of its names.
    pub(crate) fn folder(&self, entries: &[Entry<'_>]) -> Oid {
        let mut entries = entries.to_vec();
        entries.sort_by_key(|(mode, name, _)| {
            let end = if *mode == FOLDER { &b"/"[..] } else { b"" };
            [name, end].concat()
        });
        let mut data = Vec::new();
        for (mode, name, id) in entries {
            data.extend_from_slice(format!("{mode} ").as_bytes());
            data.extend_from_slice(name);
            data.push(0);
            data.extend_from_slice(id.as_bytes());
        }
        self.object(ObjectType::Tree, &data)
    }

    /// Writes folders with text files and links. The text of a link starts with `->`.
    pub(crate) fn files(&self, files: &[(&str, &str)]) -> Oid {
        let mut own = Vec::new();
        let mut below: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
        for (path, text) in files {
            match (path.split_once('/'), text.strip_prefix("->")) {
                (Some((folder, rest)), _) => below.entry(folder).or_default().push((rest, text)),
                (None, Some(target)) => {
                    own.push((LINK, path.as_bytes(), self.blob(target.as_bytes())));
                }
                (None, None) => own.push((FILE, path.as_bytes(), self.blob(text.as_bytes()))),
            }
        }
        for (folder, files) in below {
            own.push((FOLDER, folder.as_bytes(), self.files(&files)));
        }
        self.folder(&own)
    }

    /// Commits a folder to a branch, and returns the commit ID.
    pub(crate) fn commit(&self, branch: &str, tree: Oid) -> String {
        let name = format!("refs/heads/{branch}");
        let parent = self.repository.refname_to_id(&name).ok();
        let parent = parent
            .map(|id| format!("parent {id}\n"))
            .unwrap_or_default();
        // libgit2 would check the folder.
        let data = format!(
            "tree {tree}\n{parent}author A <a@b> 0 +0000\ncommitter A <a@b> 0 +0000\n\nx\n"
        );
        let id = self.object(ObjectType::Commit, data.as_bytes());
        self.repository.reference(&name, id, true, "test").unwrap();
        id.to_string()
    }

    /// Commits text files to the branch `main`.
    pub(crate) fn commit_files(&self, files: &[(&str, &str)]) -> String {
        self.commit("main", self.files(files))
    }

    /// Creates an annotated tag.
    pub(crate) fn tag(&self, name: &str, commit: &str) {
        let object = self
            .repository
            .find_object(Oid::from_str(commit).unwrap(), None)
            .unwrap();
        let signature = Signature::now("a", "a@b").unwrap();
        self.repository
            .tag(name, &object, &signature, "tag", true)
            .unwrap();
    }
}
