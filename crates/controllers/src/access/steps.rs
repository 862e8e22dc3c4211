//! The way from what is there to what must be. Pure.
//!
//! Those who have a right are cut into parts, and somebody may be in another part afterwards. Objects
//! are written one by one, so it is gone in three steps: first whoever is not to have a right any more
//! leaves every object that gives it; then whoever is to have it comes in, and nobody leaves the object
//! that they are in; last, everybody leaves the objects that are not theirs. Whatever of this has
//! been written, whoever had a right and keeps it has it.

use std::collections::{BTreeMap, BTreeSet};

use drover_access::admission::RBAC;
use k8s_openapi::api::rbac::v1::{
    ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject,
};
use kube::ResourceExt as _;

use super::is_user_lane;
use super::wanted::user_lane_rules;
use drover_apply::compare::{Comparable, SubjectKey, subject_keys};
use drover_apply::diff::{Diff, diff, key};
use drover_apply::inventory::Inventory;

/// What is to be done in each step about the objects of one kind.
pub(super) type Steps<K> = [Diff<K>; 3];

/// An object that gives one right to some, and of which there may be several for the same right.
trait Part: Comparable {
    /// What it gives, and where.
    type Right: Ord;
    /// Whoever has it.
    type Who: Ord + Clone;

    fn right(&self) -> Self::Right;

    fn whom(&self) -> BTreeSet<Self::Who>;

    /// One of this name that gives the same right to these alone.
    fn naming(&self, name: &str, whom: &BTreeSet<Self::Who>) -> Self;
}

/// What is to be done about bindings.
pub(super) fn of_cluster_bindings(
    present: &Inventory<ClusterRoleBinding>,
    wanted: &[ClusterRoleBinding],
) -> Steps<ClusterRoleBinding> {
    steps(&present.objects, wanted, present.complete)
}

/// What is to be done about bindings in namespaces.
pub(super) fn of_bindings(
    present: &Inventory<RoleBinding>,
    wanted: &[RoleBinding],
) -> Steps<RoleBinding> {
    steps(&present.objects, wanted, present.complete)
}

/// What is to be done about roles: the user lane's name those that it may take, and are parts as
/// bindings are.
pub(super) fn of_cluster_roles(
    present: &Inventory<ClusterRole>,
    wanted: &[ClusterRole],
) -> Steps<ClusterRole> {
    let split = |roles: &[ClusterRole]| -> (Vec<_>, Vec<_>) {
        let roles = roles.iter().cloned();
        roles.partition(|role| is_user_lane(&role.name_any()))
    };
    let (lane, others) = split(&present.objects);
    let (wanted_lane, wanted_others) = split(wanted);
    let mut steps = steps(&lane, &wanted_lane, present.complete);
    let [_, second, _] = &mut steps;
    second.extend(diff(&others, &wanted_others));
    steps
}

/// What is to be done about roles in namespaces: nobody is named in them.
pub(super) fn of_roles(present: &Inventory<Role>, wanted: &[Role]) -> Steps<Role> {
    let second = diff(&present.objects, wanted);
    [Diff::default(), second, Diff::default()]
}

fn steps<K: Part>(present: &[K], wanted: &[K], complete: bool) -> Steps<K> {
    let mut stayed = stayed(present, wanted);
    if !complete {
        let names: BTreeSet<_> = wanted.iter().map(key).collect();
        stayed.retain(|object| names.contains(&key(object)));
    }
    let together = together(&stayed, wanted);
    [
        diff(present, &stayed),
        diff(&stayed, &together),
        diff(&together, wanted),
    ]
}

/// What is there, each with those alone who are to have the same right in whatever object.
fn stayed<K: Part>(present: &[K], wanted: &[K]) -> Vec<K> {
    let own: BTreeMap<_, _> = wanted.iter().map(|object| (key(object), object)).collect();
    let mut due: BTreeMap<K::Right, (&K, BTreeSet<K::Who>)> = BTreeMap::new();
    for object in wanted {
        let (_, whom) = due
            .entry(object.right())
            .or_insert((object, BTreeSet::new()));
        whom.extend(object.whom());
    }
    let stayed = present.iter().filter_map(|object| {
        let (some, due) = due.get(&object.right())?;
        let as_wanted = match own.get(&key(object)) {
            // Another right gets its name.
            Some(own) if own.right() != object.right() => return None,
            Some(own) => own,
            None => some,
        };
        let stay: BTreeSet<_> = object.whom().intersection(due).cloned().collect();
        let goes = stay.is_empty() || object.meta().deletion_timestamp.is_some();
        (!goes).then(|| as_wanted.naming(&object.name_any(), &stay))
    });
    stayed.collect()
}

/// What is wanted, and everybody still where they are as well.
fn together<K: Part>(stayed: &[K], wanted: &[K]) -> Vec<K> {
    let mut still: BTreeMap<_, _> = stayed.iter().map(|object| (key(object), object)).collect();
    let mut together: Vec<K> = wanted
        .iter()
        .map(|object| match still.remove(&key(object)) {
            None => object.clone(),
            Some(still) => {
                let whom = object.whom().union(&still.whom()).cloned().collect();
                object.naming(&object.name_any(), &whom)
            }
        })
        .collect();
    together.extend(still.into_values().cloned());
    together
}

/// What a binding gives.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Given {
    /// The names that the user lane may take: each binding those of its own role.
    UserLane,
    /// What a role allows, in a namespace; an empty one is the whole cluster.
    Role {
        namespace: String,
        kind: String,
        name: String,
    },
}

impl Part for ClusterRoleBinding {
    type Right = Given;
    type Who = SubjectKey;

    fn right(&self) -> Given {
        let name = self.name_any();
        if is_user_lane(&name) && self.role_ref.name == name {
            return Given::UserLane;
        }
        given(&self.role_ref, String::new())
    }

    fn whom(&self) -> BTreeSet<SubjectKey> {
        subject_keys(self.subjects.as_deref())
    }

    fn naming(&self, name: &str, whom: &BTreeSet<SubjectKey>) -> Self {
        let mut part = self.clone();
        if self.right() == Given::UserLane {
            name.clone_into(&mut part.role_ref.name);
        }
        part.metadata.name = Some(name.to_owned());
        part.subjects = Some(subjects(whom));
        part
    }
}

impl Part for RoleBinding {
    type Right = Given;
    type Who = SubjectKey;

    fn right(&self) -> Given {
        given(&self.role_ref, self.namespace().unwrap_or_default())
    }

    fn whom(&self) -> BTreeSet<SubjectKey> {
        subject_keys(self.subjects.as_deref())
    }

    fn naming(&self, name: &str, whom: &BTreeSet<SubjectKey>) -> Self {
        let mut part = self.clone();
        part.metadata.name = Some(name.to_owned());
        part.subjects = Some(subjects(whom));
        part
    }
}

/// The user lane's.
impl Part for ClusterRole {
    type Right = ();
    /// Of users or of groups, and the name.
    type Who = (String, String);

    fn right(&self) {}

    fn whom(&self) -> BTreeSet<(String, String)> {
        let rules = self.rules.iter().flatten();
        let names = |rule: &PolicyRule| {
            let kind = rule.resources.iter().flatten().next().cloned();
            let names = rule.resource_names.clone().unwrap_or_default();
            let names = names.into_iter();
            names.map(move |name| (kind.clone().unwrap_or_default(), name))
        };
        rules
            .flat_map(|rule| names(rule).collect::<Vec<_>>())
            .collect()
    }

    fn naming(&self, name: &str, whom: &BTreeSet<(String, String)>) -> Self {
        let of = |kind: &str| -> Vec<&str> {
            let of = whom.iter().filter(|(of, _)| of == kind);
            of.map(|(_, name)| name.as_str()).collect()
        };
        let mut part = self.clone();
        part.metadata.name = Some(name.to_owned());
        part.rules = Some(user_lane_rules(&of("users"), &of("groups")));
        part
    }
}

fn given(role: &RoleRef, namespace: String) -> Given {
    Given::Role {
        namespace,
        kind: role.kind.clone(),
        name: role.name.clone(),
    }
}

fn subjects(whom: &BTreeSet<SubjectKey>) -> Vec<Subject> {
    let subject = |(kind, namespace, name): &SubjectKey| Subject {
        api_group: (kind != "ServiceAccount").then(|| RBAC.to_owned()),
        kind: kind.clone(),
        name: name.clone(),
        namespace: (!namespace.is_empty()).then(|| namespace.clone()),
    };
    whom.iter().map(subject).collect()
}
