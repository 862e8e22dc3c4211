//! Pure functions that compute the RBAC objects from the granted roles.

use std::collections::{BTreeMap, BTreeSet};

use aws_lc_rs::digest::{SHA256, digest};
use drover_access::admission::RBAC;
use drover_access::grants::{
    ADMINISTRATOR, Downstream, DownstreamScope, OnHub, Subject as GrantSubject,
};
use drover_access::names::{EXTRA_DISPLAY_NAME, EXTRA_TOKEN_ID, GroupName, UserName};
use drover_access::roles::Rights;
use k8s_openapi::api::rbac::v1::{
    ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use drover_api::group::ACCESS_LABEL;

use super::{CHUNK, HUB_LABEL, user_lane_name};
use drover_agent_gateway::registration::manifest::{account, labels, role_ref};

/// Annotation with the role's name on the hub, for display.
const ROLE_ANNOTATION: &str = "management.drover.dev/role";

/// The desired RBAC objects of a cluster or of the hub. The server deletes all other labelled
/// objects.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct DesiredAccess {
    /// ClusterRoles with the rules of granted roles, and ClusterRoles with the names that the user
    /// lane may impersonate.
    pub(crate) cluster_roles: Vec<ClusterRole>,
    /// Bindings of ClusterRoles in the cluster scope.
    pub(crate) cluster_bindings: Vec<ClusterRoleBinding>,
    /// Roles on the hub with the namespaced rules of granted roles.
    pub(crate) roles: Vec<Role>,
    /// RoleBindings in the namespaces of a project, or in namespaces of the hub.
    pub(crate) bindings: Vec<RoleBinding>,
}

/// The label and the name prefix of the objects in a cluster or on the hub.
#[derive(Clone, Copy)]
struct Naming {
    label: &'static str,
    prefix: &'static str,
}

const CLUSTER: Naming = Naming {
    label: ACCESS_LABEL,
    prefix: "drover",
};
const HUB: Naming = Naming {
    label: HUB_LABEL,
    prefix: "drover-hub",
};

/// Computes the desired objects in a managed cluster.
pub(crate) fn in_cluster(access: &Downstream) -> DesiredAccess {
    let mut desired = DesiredAccess::default();
    desired.user_lane(&access.users, &access.groups);
    let mut created = BTreeSet::new();
    for bound in &access.bound {
        let subjects: Vec<&GrantSubject> = bound.subjects.iter().collect();
        if bound.uid == ADMINISTRATOR {
            desired.administrators(CLUSTER, &subjects);
            continue;
        }
        let chunk = match &bound.scope {
            DownstreamScope::Cluster => "cluster",
            DownstreamScope::Project(..) => "project",
        };
        let base = format!("{}-role-{}-{chunk}", CLUSTER.prefix, bound.uid);
        let meta = |name: &str| CLUSTER.role_meta(name, &bound.role);
        if !bound.rights.rules.is_empty() && created.insert(base.clone()) {
            desired.cluster_roles.push(ClusterRole {
                metadata: meta(&base),
                rules: Some(bound.rights.policy_rules()),
                aggregation_rule: None,
            });
        }
        for (base, role) in references(&base, &bound.rights) {
            for (n, chunk) in chunks(&subjects) {
                let name = format!("{base}-{n}");
                match &bound.scope {
                    DownstreamScope::Cluster => desired.cluster_bindings.push(ClusterRoleBinding {
                        metadata: meta(&name),
                        role_ref: role.clone(),
                        subjects: Some(to_subjects(&chunk)),
                    }),
                    DownstreamScope::Project(_, namespaces) => {
                        desired.bindings.extend(namespaces.iter().map(|namespace| {
                            let metadata = in_namespace(meta(&name), namespace);
                            RoleBinding {
                                metadata,
                                role_ref: role.clone(),
                                subjects: Some(to_subjects(&chunk)),
                            }
                        }));
                    }
                }
            }
        }
    }
    desired
}

/// Computes the desired objects on the hub. These objects grant the access to cluster `local`.
pub(crate) fn on_hub(access: &[OnHub]) -> DesiredAccess {
    let mut desired = DesiredAccess::default();
    for OnHub { role, subjects } in access {
        let subjects: Vec<&GrantSubject> = subjects.iter().collect();
        if role.uid == ADMINISTRATOR {
            desired.administrators(HUB, &subjects);
            continue;
        }
        let base = format!("{}-role-{}", HUB.prefix, role.uid);
        let meta = |name: &str| HUB.role_meta(name, &role.name);
        let chunks = chunks(&subjects);
        let bindings = || {
            chunks
                .iter()
                .map(|(n, chunk)| (format!("{base}-{n}"), chunk))
        };
        if !role.scoped.cluster.rules.is_empty() {
            desired.cluster_roles.push(ClusterRole {
                metadata: meta(&base),
                rules: Some(role.scoped.cluster.policy_rules()),
                aggregation_rule: None,
            });
            desired
                .cluster_bindings
                .extend(bindings().map(|(name, chunk)| ClusterRoleBinding {
                    metadata: meta(&name),
                    role_ref: role_ref("ClusterRole", &base),
                    subjects: Some(to_subjects(chunk)),
                }));
        }
        for (namespace, rights) in &role.namespaced {
            desired.roles.push(Role {
                metadata: in_namespace(meta(&base), namespace),
                rules: Some(rights.policy_rules()),
            });
            desired
                .bindings
                .extend(bindings().map(|(name, chunk)| RoleBinding {
                    metadata: in_namespace(meta(&name), namespace),
                    role_ref: role_ref("Role", &base),
                    subjects: Some(to_subjects(chunk)),
                }));
        }
    }
    desired
}

impl DesiredAccess {
    /// Adds the names that the user lane may impersonate: exactly the users and groups with a role
    /// in the cluster.
    fn user_lane(&mut self, users: &BTreeSet<UserName>, groups: &BTreeSet<GroupName>) {
        let users: Vec<&str> = users.iter().map(UserName::as_str).collect();
        let groups: Vec<&str> = groups.iter().map(GroupName::as_str).collect();
        let mut names: BTreeMap<usize, (Vec<&str>, Vec<&str>)> = BTreeMap::new();
        for (n, chunk) in chunks(&users) {
            names.entry(n).or_default().0 = chunk;
        }
        for (n, chunk) in chunks(&groups) {
            names.entry(n).or_default().1 = chunk;
        }
        for (n, (users, groups)) in names {
            let name = user_lane_name(n);
            let metadata = CLUSTER.meta(&name, "user-lane");
            let rules = user_lane_rules(&users, &groups);
            self.cluster_roles.push(ClusterRole {
                metadata: metadata.clone(),
                rules: Some(rules),
                aggregation_rule: None,
            });
            self.cluster_bindings.push(ClusterRoleBinding {
                metadata,
                role_ref: role_ref("ClusterRole", &name),
                subjects: Some(vec![account("drover-user")]),
            });
        }
    }

    /// Adds bindings to `cluster-admin` for the users that are administrators according to their
    /// User objects.
    fn administrators(&mut self, naming: Naming, subjects: &[&GrantSubject]) {
        for (n, chunk) in chunks(subjects) {
            let name = format!("{}-administrators-{n}", naming.prefix);
            self.cluster_bindings.push(ClusterRoleBinding {
                metadata: naming.meta(&name, "administrators"),
                role_ref: role_ref("ClusterRole", "cluster-admin"),
                subjects: Some(to_subjects(&chunk)),
            });
        }
    }
}

impl Naming {
    fn meta(self, name: &str, chunk: &str) -> ObjectMeta {
        let mut labels = labels();
        labels.insert(self.label.to_owned(), chunk.to_owned());
        ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some(labels),
            ..ObjectMeta::default()
        }
    }

    fn role_meta(self, name: &str, role: &str) -> ObjectMeta {
        let annotation = (ROLE_ANNOTATION.to_owned(), role.to_owned());
        ObjectMeta {
            annotations: Some(BTreeMap::from([annotation])),
            ..self.meta(name, "role")
        }
    }
}

fn in_namespace(metadata: ObjectMeta, namespace: &str) -> ObjectMeta {
    ObjectMeta {
        namespace: Some(namespace.to_owned()),
        ..metadata
    }
}

/// Returns references to the ClusterRoles that grant a role in one scope: Drover's own ClusterRole
/// with the rules, and existing ClusterRoles of the cluster. Returns each reference with the name
/// prefix of the bindings to its ClusterRole.
fn references(base: &str, rights: &Rights) -> Vec<(String, RoleRef)> {
    let own = (!rights.rules.is_empty()).then(|| (base.to_owned(), role_ref("ClusterRole", base)));
    let external = rights.external.iter().map(|name| {
        // A role's name may have the maximum length, so the binding's name contains its hash.
        let hash = digest(&SHA256, name.as_bytes());
        let short = hash.as_ref().first_chunk();
        let short = *short.expect("a SHA-256 digest has 32 bytes");
        let short = u64::from_be_bytes(short);
        (
            format!("{base}-{short:016x}"),
            role_ref("ClusterRole", name),
        )
    });
    own.into_iter().chain(external).collect()
}

fn to_subjects(subjects: &[&GrantSubject]) -> Vec<Subject> {
    let subject = |subject_of_grant: &&GrantSubject| Subject {
        api_group: Some(RBAC.to_owned()),
        kind: match subject_of_grant {
            GrantSubject::User(_) => "User".to_owned(),
            GrantSubject::Group(_) => "Group".to_owned(),
        },
        name: subject_of_grant.as_str().to_owned(),
        namespace: None,
    };
    subjects.iter().map(subject).collect()
}

/// Splits names into numbered chunks of about [`CHUNK`] names. The chunk of a name depends only on
/// the name and on the number of chunks. The number of chunks doubles when the chunks are full. A
/// new or removed name therefore changes one object, and all other subjects keep their access
/// during the write.
fn chunks<'a, T: Name + ?Sized>(names: &[&'a T]) -> Vec<(usize, Vec<&'a T>)> {
    let count = names.len().div_ceil(CHUNK).next_power_of_two();
    let mut chunks = vec![Vec::new(); count];
    for &name in names {
        let hash = digest(&SHA256, name.name().as_bytes());
        let short = hash.as_ref().first_chunk();
        let short = *short.expect("a SHA-256 digest has 32 bytes");
        let n = usize::from(u16::from_be_bytes(short)) % count;
        chunks[n].push(name);
    }
    let chunks = chunks.into_iter().enumerate();
    chunks.filter(|(_, chunk)| !chunk.is_empty()).collect()
}

/// A user or group with its name in RBAC objects.
trait Name {
    fn name(&self) -> &str;
}

impl Name for str {
    fn name(&self) -> &str {
        self
    }
}

impl Name for GrantSubject {
    fn name(&self) -> &str {
        self.as_str()
    }
}

pub(super) fn user_lane_rules(users: &[&str], groups: &[&str]) -> Vec<PolicyRule> {
    let mut rules = Vec::new();
    if !users.is_empty() {
        rules.push(impersonate("", &["users"], users));
    }
    if !groups.is_empty() {
        rules.push(impersonate("", &["groups"], groups));
    }
    // The values of these extras are for display only and affect no decision; each token has a new
    // ID.
    let extras = [EXTRA_DISPLAY_NAME, EXTRA_TOKEN_ID].map(|key| format!("userextras/{key}"));
    let extras = extras.each_ref().map(String::as_str);
    rules.push(impersonate("authentication.k8s.io", &extras, &[]));
    rules
}

/// Returns a rule that allows impersonation of these resources. An empty list `names` allows all
/// names.
fn impersonate(group: &str, resources: &[&str], names: &[&str]) -> PolicyRule {
    let owned = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    PolicyRule {
        api_groups: Some(vec![group.to_owned()]),
        resources: Some(owned(resources)),
        resource_names: (!names.is_empty()).then(|| owned(names)),
        verbs: vec!["impersonate".to_owned()],
        ..PolicyRule::default()
    }
}

#[cfg(test)]
pub(crate) mod tests;
