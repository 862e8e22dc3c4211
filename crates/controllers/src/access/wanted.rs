//! From roles to objects. Pure.

use std::collections::{BTreeMap, BTreeSet};

use aws_lc_rs::digest::{SHA256, digest};
use drover_access::admission::RBAC;
use drover_access::grants::{ADMINISTRATOR, Downstream, OnHub, Scope, Subject as Person};
use drover_access::names::{EXTRA_DISPLAY_NAME, EXTRA_TOKEN_ID, GroupName, UserName};
use drover_access::roles::Rights;
use k8s_openapi::api::rbac::v1::{
    ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use drover_api::group::ACCESS_LABEL;

use super::{CHUNK, HUB_LABEL, user_lane_name};
use drover_agent_gateway::registration::manifest::{account, labels, role_ref};

/// Annotation for people's eyes: the role's name on the hub.
const ROLE_ANNOTATION: &str = "management.drover.dev/role";

/// What must be in a place; labelled objects that are not in here must go.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Wanted {
    /// Of the whole place.
    pub(crate) cluster_roles: Vec<ClusterRole>,
    /// In the whole place.
    pub(crate) cluster_bindings: Vec<ClusterRoleBinding>,
    /// In single namespaces.
    pub(crate) roles: Vec<Role>,
    /// In single namespaces.
    pub(crate) bindings: Vec<RoleBinding>,
}

/// Where objects are, which is what they are labelled and named after.
#[derive(Clone, Copy)]
struct Site {
    label: &'static str,
    prefix: &'static str,
}

const CLUSTER: Site = Site {
    label: ACCESS_LABEL,
    prefix: "drover",
};
const HUB: Site = Site {
    label: HUB_LABEL,
    prefix: "drover-hub",
};

/// What must be in a managed cluster.
pub(crate) fn in_cluster(access: &Downstream) -> Wanted {
    let mut wanted = Wanted::default();
    wanted.user_lane(&access.users, &access.groups);
    let mut made = BTreeSet::new();
    for bound in &access.bound {
        let subjects: Vec<&Person> = bound.subjects.iter().collect();
        if bound.uid == ADMINISTRATOR {
            wanted.administrators(CLUSTER, &subjects);
            continue;
        }
        let part = match &bound.scope {
            Scope::Cluster => "cluster",
            Scope::Project(..) => "project",
        };
        let base = format!("{}-role-{}-{part}", CLUSTER.prefix, bound.uid);
        let meta = |name: &str| CLUSTER.role_meta(name, &bound.role);
        if !bound.rights.rules.is_empty() && made.insert(base.clone()) {
            wanted.cluster_roles.push(ClusterRole {
                metadata: meta(&base),
                rules: Some(bound.rights.policy_rules()),
                aggregation_rule: None,
            });
        }
        for (base, role) in references(&base, &bound.rights) {
            for (n, part) in parts(&subjects) {
                let name = format!("{base}-{n}");
                match &bound.scope {
                    Scope::Cluster => wanted.cluster_bindings.push(ClusterRoleBinding {
                        metadata: meta(&name),
                        role_ref: role.clone(),
                        subjects: Some(people(&part)),
                    }),
                    Scope::Project(_, namespaces) => {
                        wanted.bindings.extend(namespaces.iter().map(|namespace| {
                            let metadata = within(meta(&name), namespace);
                            RoleBinding {
                                metadata,
                                role_ref: role.clone(),
                                subjects: Some(people(&part)),
                            }
                        }));
                    }
                }
            }
        }
    }
    wanted
}

/// What must be on the hub, so that the cluster `local` lets people do what their roles allow.
pub(crate) fn on_hub(access: &[OnHub]) -> Wanted {
    let mut wanted = Wanted::default();
    for OnHub { role, subjects } in access {
        let subjects: Vec<&Person> = subjects.iter().collect();
        if role.uid == ADMINISTRATOR {
            wanted.administrators(HUB, &subjects);
            continue;
        }
        let base = format!("{}-role-{}", HUB.prefix, role.uid);
        let meta = |name: &str| HUB.role_meta(name, &role.name);
        let parts = parts(&subjects);
        let bindings = || parts.iter().map(|(n, part)| (format!("{base}-{n}"), part));
        if !role.scoped.cluster.rules.is_empty() {
            wanted.cluster_roles.push(ClusterRole {
                metadata: meta(&base),
                rules: Some(role.scoped.cluster.policy_rules()),
                aggregation_rule: None,
            });
            wanted
                .cluster_bindings
                .extend(bindings().map(|(name, part)| ClusterRoleBinding {
                    metadata: meta(&name),
                    role_ref: role_ref("ClusterRole", &base),
                    subjects: Some(people(part)),
                }));
        }
        for (namespace, rights) in &role.namespaced {
            wanted.roles.push(Role {
                metadata: within(meta(&base), namespace),
                rules: Some(rights.policy_rules()),
            });
            wanted
                .bindings
                .extend(bindings().map(|(name, part)| RoleBinding {
                    metadata: within(meta(&name), namespace),
                    role_ref: role_ref("Role", &base),
                    subjects: Some(people(part)),
                }));
        }
    }
    wanted
}

impl Wanted {
    /// The names that the user lane may take: exactly those that have a role in the cluster.
    fn user_lane(&mut self, users: &BTreeSet<UserName>, groups: &BTreeSet<GroupName>) {
        let users: Vec<&str> = users.iter().map(UserName::as_str).collect();
        let groups: Vec<&str> = groups.iter().map(GroupName::as_str).collect();
        let mut names: BTreeMap<usize, (Vec<&str>, Vec<&str>)> = BTreeMap::new();
        for (n, part) in parts(&users) {
            names.entry(n).or_default().0 = part;
        }
        for (n, part) in parts(&groups) {
            names.entry(n).or_default().1 = part;
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

    /// Those of whom their User object says that they administer Drover.
    fn administrators(&mut self, site: Site, subjects: &[&Person]) {
        for (n, part) in parts(subjects) {
            let name = format!("{}-administrators-{n}", site.prefix);
            self.cluster_bindings.push(ClusterRoleBinding {
                metadata: site.meta(&name, "administrators"),
                role_ref: role_ref("ClusterRole", "cluster-admin"),
                subjects: Some(people(&part)),
            });
        }
    }
}

impl Site {
    fn meta(self, name: &str, part: &str) -> ObjectMeta {
        let mut labels = labels();
        labels.insert(self.label.to_owned(), part.to_owned());
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

fn within(metadata: ObjectMeta, namespace: &str) -> ObjectMeta {
    ObjectMeta {
        namespace: Some(namespace.to_owned()),
        ..metadata
    }
}

/// The roles that a part of a role comes to, each with how its bindings' names begin: the one of
/// Drover's own with its rules, and those that the cluster has by itself.
fn references(base: &str, rights: &Rights) -> Vec<(String, RoleRef)> {
    let own = (!rights.rules.is_empty()).then(|| (base.to_owned(), role_ref("ClusterRole", base)));
    let external = rights.external.iter().map(|name| {
        // A name may be as long as names can be, so it is shortened to what tells it from others.
        let hash = digest(&SHA256, name.as_bytes());
        let short = hash.as_ref().first_chunk().copied().unwrap_or_default();
        let short = u64::from_be_bytes(short);
        (
            format!("{base}-{short:016x}"),
            role_ref("ClusterRole", name),
        )
    });
    own.into_iter().chain(external).collect()
}

fn people(subjects: &[&Person]) -> Vec<Subject> {
    let subject = |person: &&Person| Subject {
        api_group: Some(RBAC.to_owned()),
        kind: match person {
            Person::User(_) => "User".to_owned(),
            Person::Group(_) => "Group".to_owned(),
        },
        name: person.as_str().to_owned(),
        namespace: None,
    };
    subjects.iter().map(subject).collect()
}

/// Names in parts of about [`CHUNK`], each with its number. Which part a name is in depends on nothing
/// but the name and how many parts there are, which is doubled as they fill: whoever comes or goes
/// changes one object, and nobody else is without their rights while it is written.
fn parts<'a, T: Name + ?Sized>(names: &[&'a T]) -> Vec<(usize, Vec<&'a T>)> {
    let count = names.len().div_ceil(CHUNK).next_power_of_two();
    let mut parts = vec![Vec::new(); count];
    for &name in names {
        let hash = digest(&SHA256, name.name().as_bytes());
        let short = hash.as_ref().first_chunk().copied().unwrap_or_default();
        let n = usize::from(u16::from_be_bytes(short)) % count;
        parts[n].push(name);
    }
    let parts = parts.into_iter().enumerate();
    parts.filter(|(_, part)| !part.is_empty()).collect()
}

/// What has a name in RBAC.
trait Name {
    fn name(&self) -> &str;
}

impl Name for str {
    fn name(&self) -> &str {
        self
    }
}

impl Name for Person {
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
    // Their values are for people's eyes and decide nothing; a token's id is new each time.
    let extras = [EXTRA_DISPLAY_NAME, EXTRA_TOKEN_ID].map(|key| format!("userextras/{key}"));
    let extras = extras.each_ref().map(String::as_str);
    rules.push(impersonate("authentication.k8s.io", &extras, &[]));
    rules
}

/// An empty `names` allows every name.
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
