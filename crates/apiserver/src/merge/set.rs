//! Sets of field paths, as trees.

use std::collections::BTreeMap;

use super::path::{Path, PathElement};

/// A set of fields (structured-merge-diff `fieldpath.Set`, KEP-555).
///
/// Branches without members are removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Set {
    branches: BTreeMap<PathElement, Branch>,
}

/// A node of the tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Branch {
    /// True if the field itself is in the set.
    pub(super) member: bool,
    /// The members below the field.
    pub(super) children: Set,
}

impl Branch {
    fn is_empty(&self) -> bool {
        !self.member && self.children.is_empty()
    }
}

impl Set {
    /// Creates the set of these paths.
    pub fn of(paths: impl IntoIterator<Item = Path>) -> Self {
        let mut set = Self::default();
        for path in paths {
            set.insert(&path);
        }
        set
    }

    /// Reports whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.branches.is_empty()
    }

    /// Adds a field. Ignores the empty path, because the whole object has no owner.
    pub fn insert(&mut self, path: &Path) {
        self.insert_at(&path.0);
    }

    pub(super) fn insert_at(&mut self, path: &[PathElement]) {
        let Some((first, rest)) = path.split_first() else {
            return;
        };
        let branch = self.branches.entry(first.clone()).or_default();
        if rest.is_empty() {
            branch.member = true;
        } else {
            branch.children.insert_at(rest);
        }
    }

    /// Adds a branch to the set, unless the branch is empty.
    pub(super) fn graft(&mut self, element: PathElement, member: bool, children: Self) {
        let branch = Branch { member, children };
        if !branch.is_empty() {
            self.branches.insert(element, branch);
        }
    }

    /// Reports whether the field is a member.
    pub fn has(&self, path: &Path) -> bool {
        self.has_at(&path.0)
    }

    fn has_at(&self, path: &[PathElement]) -> bool {
        let Some((first, rest)) = path.split_first() else {
            return false;
        };
        self.branches.get(first).is_some_and(|branch| {
            if rest.is_empty() {
                branch.member
            } else {
                branch.children.has_at(rest)
            }
        })
    }

    pub(super) fn branch(&self, element: &PathElement) -> Option<&Branch> {
        self.branches.get(element)
    }

    pub(super) fn branches(&self) -> impl Iterator<Item = (&PathElement, &Branch)> {
        self.branches.iter()
    }

    /// Returns the union of both sets.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let (mut larger, smaller) = if self.branches.len() >= other.branches.len() {
            (self.clone(), other)
        } else {
            (other.clone(), self)
        };
        larger.absorb(smaller);
        larger
    }

    /// Adds all members of `other`.
    pub(super) fn absorb(&mut self, other: &Self) {
        for (element, theirs) in &other.branches {
            if let Some(ours) = self.branches.get_mut(element) {
                ours.member |= theirs.member;
                ours.children.absorb(&theirs.children);
            } else {
                self.branches.insert(element.clone(), theirs.clone());
            }
        }
    }

    /// Returns the intersection of both sets. If equal elements have different spellings, the
    /// result has the spelling of `self`.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let mut out = Self::default();
        for (element, ours) in &self.branches {
            if let Some(theirs) = other.branches.get(element) {
                out.graft(
                    element.clone(),
                    ours.member && theirs.member,
                    ours.children.intersection(&theirs.children),
                );
            }
        }
        out
    }

    /// Returns the members of `self` that are not in `other`.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.subtract(other, false)
    }

    /// Returns the members of `self` that are neither in `other` nor below a member of `other`.
    #[must_use]
    pub fn recursive_difference(&self, other: &Self) -> Self {
        self.subtract(other, true)
    }

    fn subtract(&self, other: &Self, recursive: bool) -> Self {
        let mut out = Self::default();
        for (element, ours) in &self.branches {
            let Some(theirs) = other.branches.get(element) else {
                out.branches.insert(element.clone(), ours.clone());
                continue;
            };
            if recursive && theirs.member {
                continue;
            }
            out.graft(
                element.clone(),
                ours.member && !theirs.member,
                ours.children.subtract(&theirs.children, recursive),
            );
        }
        out
    }

    /// Returns all members by depth, in kube-apiserver's order.
    pub fn paths(&self) -> Vec<Path> {
        let mut out = Vec::new();
        self.collect(&mut Vec::new(), &mut out);
        out
    }

    fn collect(&self, prefix: &mut Vec<PathElement>, out: &mut Vec<Path>) {
        for (element, branch) in &self.branches {
            if branch.member {
                let mut path = prefix.clone();
                path.push(element.clone());
                out.push(Path(path));
            }
        }
        for (element, branch) in &self.branches {
            if !branch.children.is_empty() {
                prefix.push(element.clone());
                branch.children.collect(prefix, out);
                prefix.pop();
            }
        }
    }
}
