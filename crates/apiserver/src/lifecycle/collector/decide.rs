//! Decides the next action of the garbage collector. The module has no side effects.

use super::Item;
use crate::lifecycle::Propagation;
use crate::lifecycle::feed::{Metadata, OwnerReference};

/// The finalizer `foregroundDeletion`. The collector deletes the dependents, then removes this
/// finalizer.
pub(super) const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer `orphan`. The collector removes the owner references of the dependents, then
/// removes this finalizer.
pub(super) const ORPHAN: &str = "orphan";

/// The state of a referenced owner, with the UID in the reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OwnerState {
    /// The owner exists and does not wait for its dependents.
    Solid,
    /// The owner does not exist, or its UID differs from the UID of the reference.
    Gone(String),
    /// The owner is deleted in the foreground and waits for this object.
    Waiting(String),
}

impl OwnerState {
    /// Returns the state of a referenced owner. `owner` is the current object with the name in the
    /// reference.
    pub(super) fn of(reference: &OwnerReference, owner: Option<Metadata>) -> Self {
        match owner {
            Some(owner) if owner.uid == reference.uid => {
                if owner.is_deleting() && owner.has_finalizer(FOREGROUND) {
                    Self::Waiting(owner.uid)
                } else {
                    Self::Solid
                }
            }
            _ => Self::Gone(reference.uid.clone()),
        }
    }
}

/// A dependent of the object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dependent {
    pub(super) item: Item,
    /// True if foreground deletion of the owner waits for this dependent.
    pub(super) blocks: bool,
    /// True if this dependent waits for its own dependents.
    pub(super) waits: bool,
}

/// The action for an object.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// The object stays unchanged.
    Keep,
    /// The deletion of the object waits for these dependents. The collector checks the dependents
    /// next.
    Wait(Vec<Item>),
    /// Remove this finalizer from the object.
    RemoveFinalizer(&'static str),
    /// Remove the owner reference from these dependents, then the finalizer from the object.
    Orphan(Vec<Item>),
    /// Remove the references to these owners. The object stays.
    Disown(Vec<String>),
    /// Delete the object.
    Delete {
        propagation: Propagation,
        /// True if `blockOwnerDeletion` must be cleared first, to resolve cycles of waiting owners.
        unblock: bool,
    },
}

/// Decides the next action for an object from the states of its owners and dependents.
pub(super) fn decide(
    object: &Metadata,
    owners: &[OwnerState],
    dependents: &[Dependent],
) -> Decision {
    if object.is_deleting() {
        return decide_deleting(object, dependents);
    }
    if owners.is_empty() {
        return Decision::Keep;
    }
    let is_waited_for = owners
        .iter()
        .any(|owner| matches!(owner, OwnerState::Waiting(_)));
    if owners.contains(&OwnerState::Solid) {
        let lost: Vec<String> = owners.iter().filter_map(OwnerState::lost).collect();
        return if lost.is_empty() {
            Decision::Keep
        } else {
            Decision::Disown(lost)
        };
    }
    if is_waited_for && !dependents.is_empty() {
        return Decision::Delete {
            propagation: Propagation::Foreground,
            unblock: dependents.iter().any(|dependent| dependent.waits),
        };
    }
    let propagation = if object.has_finalizer(ORPHAN) {
        Propagation::Orphan
    } else if object.has_finalizer(FOREGROUND) {
        Propagation::Foreground
    } else {
        Propagation::Background
    };
    Decision::Delete {
        propagation,
        unblock: false,
    }
}

fn decide_deleting(object: &Metadata, dependents: &[Dependent]) -> Decision {
    if object.has_finalizer(ORPHAN) {
        let all = dependents.iter().map(|dependent| dependent.item.clone());
        return Decision::Orphan(all.collect());
    }
    if !object.has_finalizer(FOREGROUND) {
        return Decision::Keep;
    }
    let mut blocking = dependents
        .iter()
        .filter(|dependent| dependent.blocks)
        .peekable();
    if blocking.peek().is_none() {
        return Decision::RemoveFinalizer(FOREGROUND);
    }
    let idle = blocking.filter(|dependent| !dependent.waits);
    Decision::Wait(idle.map(|dependent| dependent.item.clone()).collect())
}

impl OwnerState {
    /// Returns the UID of an owner that is missing or waiting.
    fn lost(&self) -> Option<String> {
        match self {
            Self::Solid => None,
            Self::Gone(uid) | Self::Waiting(uid) => Some(uid.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifecycle::ObjectPath;

    fn object(deleting: bool, finalizers: &[&str]) -> Metadata {
        Metadata {
            uid: "u".to_owned(),
            deletion_timestamp: deleting.then(|| "2026-01-01T00:00:00Z".to_owned()),
            finalizers: finalizers.iter().map(|&own| own.to_owned()).collect(),
            owner_references: Vec::new(),
        }
    }

    fn dependent(name: &str, blocks: bool, waits: bool) -> Dependent {
        let item = Item {
            path: ObjectPath::new("", "pods", "d", name),
            uid: name.to_owned(),
        };
        Dependent {
            item,
            blocks,
            waits,
        }
    }

    fn gone(uid: &str) -> OwnerState {
        OwnerState::Gone(uid.to_owned())
    }

    fn waiting(uid: &str) -> OwnerState {
        OwnerState::Waiting(uid.to_owned())
    }

    fn delete(propagation: Propagation, unblock: bool) -> Decision {
        Decision::Delete {
            propagation,
            unblock,
        }
    }

    #[test]
    fn object_with_existing_owner_loses_only_references_to_missing_owners() {
        let plain = object(false, &[]);
        assert_eq!(decide(&plain, &[], &[]), Decision::Keep);
        assert_eq!(decide(&plain, &[OwnerState::Solid], &[]), Decision::Keep);
        let owners = [OwnerState::Solid, gone("a"), waiting("b")];
        let lost = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(decide(&plain, &owners, &[]), Decision::Disown(lost));
    }

    #[test]
    fn object_without_existing_owner_is_deleted_with_propagation_policy_of_its_finalizers() {
        let owners = [gone("a"), gone("b")];
        let of = |finalizers: &[&str]| decide(&object(false, finalizers), &owners, &[]);
        assert_eq!(of(&[]), delete(Propagation::Background, false));
        assert_eq!(of(&[ORPHAN]), delete(Propagation::Orphan, false));
        assert_eq!(of(&[FOREGROUND]), delete(Propagation::Foreground, false));
    }

    #[test]
    fn dependent_with_own_dependents_is_deleted_with_foreground_propagation() {
        let plain = object(false, &[]);
        let owners = [waiting("a")];
        assert_eq!(
            decide(&plain, &owners, &[]),
            delete(Propagation::Background, false)
        );
        let idle = [dependent("x", true, false)];
        assert_eq!(
            decide(&plain, &owners, &idle),
            delete(Propagation::Foreground, false)
        );
        let circle = [dependent("x", true, true)];
        assert_eq!(
            decide(&plain, &owners, &circle),
            delete(Propagation::Foreground, true)
        );
    }

    #[test]
    fn owner_in_foreground_deletion_waits_only_for_blocking_dependents() {
        let owner = object(true, &[FOREGROUND]);
        let free = [dependent("x", false, false)];
        assert_eq!(
            decide(&owner, &[], &free),
            Decision::RemoveFinalizer(FOREGROUND)
        );
        let some = [
            dependent("x", true, false),
            dependent("y", true, true),
            dependent("z", false, false),
        ];
        assert_eq!(
            decide(&owner, &[], &some),
            Decision::Wait(vec![some[0].item.clone()])
        );
    }

    #[test]
    fn orphan_deletion_removes_the_owner_reference_from_all_dependents() {
        let owner = object(true, &[ORPHAN, "other"]);
        let some = [dependent("x", true, false), dependent("y", false, false)];
        let items = some.iter().map(|own| own.item.clone()).collect();
        assert_eq!(decide(&owner, &[], &some), Decision::Orphan(items));
    }

    #[test]
    fn collector_does_not_change_object_under_deletion() {
        let owners = [gone("a")];
        let going = object(true, &["other"]);
        assert_eq!(decide(&going, &owners, &[]), Decision::Keep);
    }

    #[test]
    fn owner_reference_with_wrong_uid_is_treated_as_missing_owner() {
        let reference = OwnerReference {
            uid: "a".to_owned(),
            ..OwnerReference::default()
        };
        let with = |uid: &str, deleting: bool| Metadata {
            uid: uid.to_owned(),
            ..object(deleting, &[FOREGROUND])
        };
        assert_eq!(OwnerState::of(&reference, None), gone("a"));
        assert_eq!(
            OwnerState::of(&reference, Some(with("b", false))),
            gone("a")
        );
        assert_eq!(
            OwnerState::of(&reference, Some(with("a", false))),
            OwnerState::Solid
        );
        assert_eq!(
            OwnerState::of(&reference, Some(with("a", true))),
            waiting("a")
        );
    }
}
