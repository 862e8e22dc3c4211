//! Symbolic links within a repository.

use std::collections::VecDeque;

use git2::{Odb, Oid, Repository, Tree};

use super::{Kind, damaged, kind};
use crate::error::{GitError, printable};

/// The longest target of a link, in bytes.
const MAX_TARGET: usize = 4096;
/// Most links that lead from one link to its file.
const MAX_LINKS: usize = 32;
/// Most names in the target of a link, with the targets of further links.
const MAX_NAMES: usize = 1024;

/// The reason why a link leads to no file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LinkProblem {
    pub(super) target: String,
    pub(super) reason: &'static str,
}

/// Follows links in the objects of a repository.
pub(super) struct Resolver<'a, 'r> {
    pub(super) repository: &'r Repository,
    pub(super) odb: &'a Odb<'r>,
}

impl<'r> Resolver<'_, 'r> {
    /// Returns the ID of the file that a link leads to. `path` is the path of the link.
    pub(super) fn resolve(
        &self,
        root: &Tree<'r>,
        path: &str,
        link: Oid,
    ) -> Result<Result<Oid, LinkProblem>, GitError> {
        let Some(target) = self.target(link)? else {
            return Ok(Err(LinkProblem {
                target: String::new(),
                reason: "has an invalid target",
            }));
        };
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let found = self.follow(root, folder, &target)?;
        Ok(found.map_err(|reason| LinkProblem {
            target: printable(&target),
            reason,
        }))
    }

    fn follow(
        &self,
        root: &Tree<'r>,
        folder: &str,
        target: &str,
    ) -> Result<Result<Oid, &'static str>, GitError> {
        if target.starts_with('/') {
            return Ok(Err("leads to an absolute path"));
        }
        let mut stack: Vec<Tree<'r>> = Vec::new();
        let mut pending: VecDeque<String> = VecDeque::new();
        pending.extend(
            folder
                .split('/')
                .chain(target.split('/'))
                .map(str::to_owned),
        );
        let mut links = 0;
        for _ in 0..MAX_NAMES {
            let Some(name) = pending.pop_front() else {
                return Ok(Err("leads to a folder"));
            };
            if name.is_empty() || name == "." {
                continue;
            }
            if name == ".." {
                if stack.pop().is_none() {
                    return Ok(Err("leads out of the repository"));
                }
                continue;
            }
            let current = stack.last().unwrap_or(root);
            let entry = current.get_name_bytes(name.as_bytes());
            let Some((id, kind)) = entry.map(|entry| (entry.id(), kind(entry.filemode_raw())))
            else {
                return Ok(Err("leads to a path that does not exist"));
            };
            match kind {
                Some(Kind::Folder) => {
                    let (size, _) = self.odb.read_header(id).map_err(|error| damaged(&error))?;
                    if size > super::MAX_TREE_BYTES {
                        return Err(GitError::limit(
                            "bytes of a folder's list",
                            super::MAX_TREE_BYTES,
                        ));
                    }
                    let tree = self
                        .repository
                        .find_tree(id)
                        .map_err(|error| damaged(&error))?;
                    stack.push(tree);
                }
                Some(Kind::File) if pending.is_empty() => return Ok(Ok(id)),
                Some(Kind::Link) => {
                    links += 1;
                    if links > MAX_LINKS {
                        return Ok(Err("leads through too many links"));
                    }
                    let Some(target) = self.target(id)? else {
                        return Ok(Err("leads to an invalid link"));
                    };
                    if target.starts_with('/') {
                        return Ok(Err("leads to an absolute path"));
                    }
                    for name in target.split('/').rev() {
                        pending.push_front(name.to_owned());
                    }
                }
                Some(Kind::Submodule) => return Ok(Err("leads into a submodule")),
                Some(Kind::File) | None => return Ok(Err("leads to a path that does not exist")),
            }
        }
        Ok(Err("leads through too many folders"))
    }

    fn target(&self, link: Oid) -> Result<Option<String>, GitError> {
        let (size, _) = self
            .odb
            .read_header(link)
            .map_err(|error| damaged(&error))?;
        if size > MAX_TARGET {
            return Ok(None);
        }
        let object = self.odb.read(link).map_err(|error| damaged(&error))?;
        let text = std::str::from_utf8(object.data()).ok();
        Ok(text.filter(|text| !text.contains('\0')).map(str::to_owned))
    }
}
