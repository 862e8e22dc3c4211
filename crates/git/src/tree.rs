//! Reads the selected files of a commit.

mod links;

use git2::{ObjectType, Odb, Oid, Repository, Tree};

use crate::error::GitError;
use crate::limits::Limits;
use crate::path::{Selected, Selection, check_name, join};
use crate::transport::Deadline;

/// The largest folder object, in bytes.
const MAX_TREE_BYTES: usize = 64 << 20;
/// The largest commit object, in bytes.
const MAX_COMMIT_BYTES: usize = 1 << 20;
/// The largest file `.gitmodules`, in bytes.
const MAX_MODULES_BYTES: usize = 256 << 10;

/// The kind of an entry of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Folder,
    File,
    Link,
    Submodule,
}

const fn kind(mode: i32) -> Option<Kind> {
    match mode & 0o170_000 {
        0o040_000 => Some(Kind::Folder),
        0o100_000 => Some(Kind::File),
        0o120_000 => Some(Kind::Link),
        0o160_000 => Some(Kind::Submodule),
        _ => None,
    }
}

/// The counters of a request, submodules included.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    pub(crate) entries: u64,
    pub(crate) submodules: u64,
}

/// A receiver of files.
pub(crate) trait Sink {
    /// Takes a file.
    fn file(&mut self, path: &str, content: &[u8]) -> Result<(), GitError>;
    /// Takes the reason why a file is left out.
    fn rejected(&mut self, path: &str, error: GitError) -> Result<(), GitError>;
}

/// A submodule at a path, with the commit that the repository names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Gitlink {
    /// The path in this repository.
    pub(crate) path: String,
    pub(crate) commit: String,
}

/// The content of a commit that the reader did not send to the sink.
#[derive(Debug, Default)]
pub(crate) struct Remaining {
    pub(crate) submodules: Vec<Gitlink>,
    /// The content of `.gitmodules`, if a submodule is selected.
    pub(crate) modules: Option<Vec<u8>>,
}

/// A reader of one commit.
pub(crate) struct TreeReader<'a> {
    repository: &'a Repository,
    odb: Odb<'a>,
    /// The path of this repository in the result: empty, or the path of a submodule.
    prefix: &'a str,
    selection: &'a Selection,
    limits: &'a Limits,
    deadline: Deadline,
    usage: &'a mut Usage,
    sink: &'a mut dyn Sink,
    remaining: Remaining,
}

impl<'a> TreeReader<'a> {
    pub(crate) fn new(
        repository: &'a Repository,
        prefix: &'a str,
        selection: &'a Selection,
        (limits, deadline): (&'a Limits, Deadline),
        usage: &'a mut Usage,
        sink: &'a mut dyn Sink,
    ) -> Result<Self, GitError> {
        Ok(Self {
            odb: repository.odb().map_err(|error| damaged(&error))?,
            repository,
            prefix,
            selection,
            limits,
            deadline,
            usage,
            sink,
            remaining: Remaining::default(),
        })
    }

    /// Sends the selected files of a commit to the sink.
    pub(crate) fn read(mut self, commit: &str) -> Result<Remaining, GitError> {
        let id = Oid::from_str(commit).map_err(|error| damaged(&error))?;
        self.check_size(id, MAX_COMMIT_BYTES, "bytes of a commit")?;
        let commit = self
            .repository
            .find_commit(id)
            .map_err(|error| damaged(&error))?;
        let root = self.tree(commit.tree_id())?;
        self.folder(&root, &root, "", 0)?;
        if !self.remaining.submodules.is_empty() {
            self.remaining.modules = self.modules(&root)?;
        }
        Ok(self.remaining)
    }

    fn tree(&self, id: Oid) -> Result<Tree<'a>, GitError> {
        self.check_size(id, MAX_TREE_BYTES, "bytes of a folder's list")?;
        self.repository
            .find_tree(id)
            .map_err(|error| damaged(&error))
    }

    fn check_size(&self, id: Oid, maximum: usize, unit: &str) -> Result<(), GitError> {
        let (size, _) = self.odb.read_header(id).map_err(|error| damaged(&error))?;
        if size > maximum {
            return Err(GitError::limit(unit, maximum));
        }
        Ok(())
    }

    fn folder(
        &mut self,
        root: &Tree<'a>,
        tree: &Tree<'a>,
        path: &str,
        depth: usize,
    ) -> Result<(), GitError> {
        if depth > self.limits.tree_depth {
            return Err(GitError::limit("nested folders", self.limits.tree_depth));
        }
        for entry in tree {
            self.usage.entries += 1;
            if self.usage.entries > self.limits.tree_entries {
                return Err(GitError::limit(
                    "files and folders",
                    self.limits.tree_entries,
                ));
            }
            if self.usage.entries.is_multiple_of(1024) {
                self.deadline.remaining()?;
            }
            let name = check_name(path, entry.name_bytes())?;
            let path = join(path, name);
            let shown = join(self.prefix, &path);
            let selected = self.selection.selected(&shown);
            let kind = kind(entry.filemode_raw()).filter(|_| selected != Selected::No);
            if kind.is_some() && shown.len() > self.limits.path_bytes {
                return Err(GitError::limit("bytes of a path", self.limits.path_bytes));
            }
            match kind {
                Some(Kind::Folder) => {
                    let below = self.tree(entry.id())?;
                    self.folder(root, &below, &path, depth + 1)?;
                }
                Some(Kind::Submodule) => self.submodule(path, entry.id())?,
                Some(Kind::File) if selected == Selected::Yes => self.file(&shown, entry.id())?,
                Some(Kind::Link) if selected == Selected::Yes => {
                    self.link(root, &path, &shown, entry.id())?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn submodule(&mut self, path: String, commit: Oid) -> Result<(), GitError> {
        self.usage.submodules += 1;
        if self.usage.submodules > self.limits.submodules {
            return Err(GitError::limit("submodules", self.limits.submodules));
        }
        self.remaining.submodules.push(Gitlink {
            path,
            commit: commit.to_string(),
        });
        Ok(())
    }

    fn file(&mut self, shown: &str, id: Oid) -> Result<(), GitError> {
        let (size, kind) = self.odb.read_header(id).map_err(|error| damaged(&error))?;
        if kind != ObjectType::Blob {
            return Err(damaged(&"a file is not a blob"));
        }
        let size = size as u64;
        if size > self.limits.file_bytes {
            let error = GitError::limit("bytes of a file", self.limits.file_bytes);
            return self.sink.rejected(shown, error);
        }
        self.usage.files += 1;
        if self.usage.files > self.limits.files {
            return Err(GitError::limit("files", self.limits.files));
        }
        self.usage.bytes += size;
        if self.usage.bytes > self.limits.total_bytes {
            return Err(GitError::limit(
                "bytes of all files",
                self.limits.total_bytes,
            ));
        }
        let object = self.odb.read(id).map_err(|error| damaged(&error))?;
        self.sink.file(shown, object.data())
    }

    /// Sends the file that a link leads to under the link's path, as Fleet does.
    fn link(&mut self, root: &Tree<'a>, path: &str, shown: &str, id: Oid) -> Result<(), GitError> {
        let found = links::Resolver {
            repository: self.repository,
            odb: &self.odb,
        }
        .resolve(root, path, id)?;
        match found {
            Ok(file) => self.file(shown, file),
            Err(problem) => {
                let error = GitError::SymbolicLink {
                    path: shown.to_owned(),
                    target: problem.target,
                    reason: problem.reason.to_owned(),
                };
                self.sink.rejected(shown, error)
            }
        }
    }

    fn modules(&self, root: &Tree<'a>) -> Result<Option<Vec<u8>>, GitError> {
        let Some(entry) = root.get_name(".gitmodules") else {
            return Ok(None);
        };
        if kind(entry.filemode_raw()) != Some(Kind::File) {
            return Ok(None);
        }
        self.check_size(entry.id(), MAX_MODULES_BYTES, "bytes of .gitmodules")?;
        let object = self.odb.read(entry.id()).map_err(|error| damaged(&error))?;
        Ok(Some(object.data().to_vec()))
    }
}

/// Returns the error for an object that is missing or invalid.
fn damaged(error: &impl std::fmt::Display) -> GitError {
    GitError::cache("read an object", error)
}
