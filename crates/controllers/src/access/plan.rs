//! Pure functions that plan the changes from the existing to the desired objects.
//!
//! The subjects of a role are split into chunks, and a subject may move to a different chunk. The
//! server writes the objects one after the other. The plan therefore has three steps. Step 1
//! removes revoked subjects from all objects of the role. Step 2 adds the subjects of the desired
//! objects without removing any subject. Step 3 removes each moved subject from its previous
//! object. A subject that keeps a role has the role after every write.

use std::collections::{BTreeMap, BTreeSet};

use drover_access::admission::RBAC;
use k8s_openapi::api::rbac::v1::{
    ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject,
};
use kube::ResourceExt as _;

use super::desired::user_lane_rules;
use super::is_user_lane;
use drover_apply::compare::{Comparable, SubjectKey, subject_keys};
use drover_apply::diff::{Diff, diff, key};
use drover_apply::inventory::Inventory;

/// The changes of one kind for each of the three steps.
pub(super) type Plan<K> = [Diff<K>; 3];

/// An object that grants access to a set of subjects. Several objects may grant the same access.
trait SubjectSet: Comparable {
    /// The granted role with its namespace.
    type Grant: Ord;
    /// A subject of the grant.
    type Subject_: Ord + Clone;

    fn grant(&self) -> Self::Grant;

    fn subjects(&self) -> BTreeSet<Self::Subject_>;

    /// Returns a copy with this name that grants the same access only to `subjects`.
    fn with_subjects(&self, name: &str, subjects: &BTreeSet<Self::Subject_>) -> Self;
}

/// Plans the changes of ClusterRoleBindings.
pub(super) fn for_cluster_bindings(
    present: &Inventory<ClusterRoleBinding>,
    desired: &[ClusterRoleBinding],
) -> Plan<ClusterRoleBinding> {
    plan(&present.objects, desired, present.complete)
}

/// Plans the changes of RoleBindings.
pub(super) fn for_bindings(
    present: &Inventory<RoleBinding>,
    desired: &[RoleBinding],
) -> Plan<RoleBinding> {
    plan(&present.objects, desired, present.complete)
}

/// Plans the changes of ClusterRoles. The user lane's ClusterRoles list the names that the user
/// lane may impersonate. These names are split into chunks like the subjects of bindings.
pub(super) fn for_cluster_roles(
    present: &Inventory<ClusterRole>,
    desired: &[ClusterRole],
) -> Plan<ClusterRole> {
    let split = |roles: &[ClusterRole]| -> (Vec<_>, Vec<_>) {
        let roles = roles.iter().cloned();
        roles.partition(|role| is_user_lane(&role.name_any()))
    };
    let (lane, others) = split(&present.objects);
    let (desired_lane, desired_others) = split(desired);
    let mut plan = plan(&lane, &desired_lane, present.complete);
    let [_, second, _] = &mut plan;
    second.extend(diff(&others, &desired_others));
    plan
}

/// Plans the changes of Roles. A Role has no subjects, so its changes need no separate steps.
pub(super) fn for_roles(present: &Inventory<Role>, desired: &[Role]) -> Plan<Role> {
    let second = diff(&present.objects, desired);
    [Diff::default(), second, Diff::default()]
}

fn plan<K: SubjectSet>(present: &[K], desired: &[K], complete: bool) -> Plan<K> {
    let mut reduced = reduced(present, desired);
    if !complete {
        let names: BTreeSet<_> = desired.iter().map(key).collect();
        reduced.retain(|object| names.contains(&key(object)));
    }
    let merged = merged(&reduced, desired);
    [
        diff(present, &reduced),
        diff(&reduced, &merged),
        diff(&merged, desired),
    ]
}

/// Returns the existing objects after the removal of revoked subjects. A subject remains if any
/// desired object grants the same access to the subject.
fn reduced<K: SubjectSet>(present: &[K], desired: &[K]) -> Vec<K> {
    let desired_by_key: BTreeMap<_, _> =
        desired.iter().map(|object| (key(object), object)).collect();
    let mut desired_subjects: BTreeMap<K::Grant, (&K, BTreeSet<K::Subject_>)> = BTreeMap::new();
    for object in desired {
        let (_, subjects) = desired_subjects
            .entry(object.grant())
            .or_insert((object, BTreeSet::new()));
        subjects.extend(object.subjects());
    }
    let reduced = present.iter().filter_map(|object| {
        let (first_desired, desired_subjects) = desired_subjects.get(&object.grant())?;
        let template = match desired_by_key.get(&key(object)) {
            // The name is needed for an object that grants other access.
            Some(desired_by_key) if desired_by_key.grant() != object.grant() => return None,
            Some(desired_by_key) => desired_by_key,
            None => first_desired,
        };
        let remaining: BTreeSet<_> = object
            .subjects()
            .intersection(desired_subjects)
            .cloned()
            .collect();
        let goes = remaining.is_empty() || object.meta().deletion_timestamp.is_some();
        (!goes).then(|| template.with_subjects(&object.name_any(), &remaining))
    });
    reduced.collect()
}

/// Returns the desired objects. Each object also contains the subjects of the existing object with
/// the same key.
fn merged<K: SubjectSet>(reduced: &[K], desired: &[K]) -> Vec<K> {
    let mut present_by_key: BTreeMap<_, _> =
        reduced.iter().map(|object| (key(object), object)).collect();
    let mut merged: Vec<K> = desired
        .iter()
        .map(|object| match present_by_key.remove(&key(object)) {
            None => object.clone(),
            Some(present_by_key) => {
                let subjects = object
                    .subjects()
                    .union(&present_by_key.subjects())
                    .cloned()
                    .collect();
                object.with_subjects(&object.name_any(), &subjects)
            }
        })
        .collect();
    merged.extend(present_by_key.into_values().cloned());
    merged
}

/// The access that a binding grants.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum BindingGrant {
    /// A user lane role. Each binding of the user lane refers to a separate role.
    UserLane,
    /// A role and a namespace. The namespace is empty for a binding in the cluster scope.
    Role {
        namespace: String,
        kind: String,
        name: String,
    },
}

impl SubjectSet for ClusterRoleBinding {
    type Grant = BindingGrant;
    type Subject_ = SubjectKey;

    fn grant(&self) -> BindingGrant {
        let name = self.name_any();
        if is_user_lane(&name) && self.role_ref.name == name {
            return BindingGrant::UserLane;
        }
        role_grant(&self.role_ref, String::new())
    }

    fn subjects(&self) -> BTreeSet<SubjectKey> {
        subject_keys(self.subjects.as_deref())
    }

    fn with_subjects(&self, name: &str, subjects: &BTreeSet<SubjectKey>) -> Self {
        let mut set = self.clone();
        if self.grant() == BindingGrant::UserLane {
            name.clone_into(&mut set.role_ref.name);
        }
        set.metadata.name = Some(name.to_owned());
        set.subjects = Some(to_subjects(subjects));
        set
    }
}

impl SubjectSet for RoleBinding {
    type Grant = BindingGrant;
    type Subject_ = SubjectKey;

    fn grant(&self) -> BindingGrant {
        role_grant(&self.role_ref, self.namespace().unwrap_or_default())
    }

    fn subjects(&self) -> BTreeSet<SubjectKey> {
        subject_keys(self.subjects.as_deref())
    }

    fn with_subjects(&self, name: &str, subjects: &BTreeSet<SubjectKey>) -> Self {
        let mut set = self.clone();
        set.metadata.name = Some(name.to_owned());
        set.subjects = Some(to_subjects(subjects));
        set
    }
}

/// The ClusterRoles of the user lane as grants. The subjects of a grant are the names that the role
/// allows the user lane to impersonate.
impl SubjectSet for ClusterRole {
    type Grant = ();
    /// The impersonated resource (`users` or `groups`), and the name of the user or group.
    type Subject_ = (String, String);

    fn grant(&self) {}

    fn subjects(&self) -> BTreeSet<(String, String)> {
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

    fn with_subjects(&self, name: &str, subjects: &BTreeSet<(String, String)>) -> Self {
        let of = |kind: &str| -> Vec<&str> {
            let of = subjects.iter().filter(|(of, _)| of == kind);
            of.map(|(_, name)| name.as_str()).collect()
        };
        let mut set = self.clone();
        set.metadata.name = Some(name.to_owned());
        set.rules = Some(user_lane_rules(&of("users"), &of("groups")));
        set
    }
}

fn role_grant(role: &RoleRef, namespace: String) -> BindingGrant {
    BindingGrant::Role {
        namespace,
        kind: role.kind.clone(),
        name: role.name.clone(),
    }
}

fn to_subjects(subjects: &BTreeSet<SubjectKey>) -> Vec<Subject> {
    let subject = |(kind, namespace, name): &SubjectKey| Subject {
        api_group: (kind != "ServiceAccount").then(|| RBAC.to_owned()),
        kind: kind.clone(),
        name: name.clone(),
        namespace: (!namespace.is_empty()).then(|| namespace.clone()),
    };
    subjects.iter().map(subject).collect()
}
