//! Objects of a hub for tests. The UID of each object is its name.

use std::collections::{BTreeMap, BTreeSet};

use drover_api::ids::{ClusterUid, ProjectUid, ProviderUid, RoleUid, UserUid};
use drover_api::kinds::{
    BindingSubject, ClusterReference, ClusterRoleTemplateBindingSpec, GlobalRoleBindingSpec,
    GlobalRoleSpec, GroupReference, ProjectReference, ProjectRoleTemplateBindingSpec, RoleContext,
    RoleReference, RoleTemplateSpec, UserReference,
};
use k8s_openapi::api::rbac::v1::PolicyRule;

use crate::grants::{
    Facts, Grants, ProjectFacts, ProviderFacts, RightsHolder, RoleFacts, Scope, Subject, UserFacts,
};
use crate::names::{GroupName, UserName};
use crate::roles::{Scoped, resolve};

pub(crate) fn cluster(name: &str) -> ClusterUid {
    ClusterUid::new(name)
}

pub(crate) fn project(cluster: &str, name: &str) -> Scope {
    Scope::Project(ClusterUid::new(cluster), ProjectUid::new(name))
}

/// Creates a rule from an API group, resources and verbs: `rule("", "pods", "get list")`.
pub(crate) fn rule(group: &str, resources: &str, verbs: &str) -> PolicyRule {
    let list = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    PolicyRule {
        api_groups: Some(vec![group.to_owned()]),
        resources: Some(list(resources)),
        verbs: list(verbs),
        ..Default::default()
    }
}

/// A user who can have bindings and request permits.
pub(crate) struct TestUser {
    name: String,
    user: UserName,
    groups: Vec<GroupName>,
    is_group: bool,
}

pub(crate) fn user(name: &str) -> TestUser {
    TestUser {
        name: name.to_owned(),
        user: UserName::of(&UserUid::new(name)),
        groups: Vec::new(),
        is_group: false,
    }
}

pub(crate) fn group(name: &str) -> TestUser {
    TestUser {
        is_group: true,
        ..user(name)
    }
}

impl TestUser {
    pub(crate) fn in_groups(mut self, names: &[&str]) -> Self {
        let groups = names.iter().map(|name| GroupName::parse(name).unwrap());
        self.groups = groups.collect();
        self
    }

    pub(crate) fn rights_holder(&self) -> RightsHolder<'_> {
        RightsHolder {
            user: &self.user,
            groups: &self.groups,
        }
    }

    pub(crate) fn subject(&self) -> Subject {
        if self.is_group {
            Subject::Group(GroupName::parse(&self.name).unwrap())
        } else {
            Subject::User(self.user.clone())
        }
    }

    fn bound(&self) -> BindingSubject {
        if self.is_group {
            return BindingSubject {
                user: None,
                group: Some(GroupReference {
                    name: self.name.clone(),
                    provider_uid: Some(ProviderUid::new("oidc")),
                }),
            };
        }
        BindingSubject {
            user: Some(UserReference {
                name: self.name.clone(),
                uid: Some(UserUid::new(self.name.as_str())),
            }),
            group: None,
        }
    }
}

#[derive(Default)]
pub(crate) struct World {
    templates: BTreeMap<String, (String, RoleTemplateSpec)>,
    globals: BTreeMap<String, (String, GlobalRoleSpec)>,
    global_bindings: BTreeMap<String, GlobalRoleBindingSpec>,
    cluster_bindings: BTreeMap<String, ClusterRoleTemplateBindingSpec>,
    project_bindings: BTreeMap<String, ProjectRoleTemplateBindingSpec>,
    projects: BTreeMap<String, (String, Vec<String>)>,
    clusters: BTreeMap<String, String>,
    users: BTreeMap<String, (String, bool)>,
    administrators: BTreeSet<String>,
    memberships: BTreeMap<String, Vec<GroupName>>,
    providers: BTreeMap<&'static str, (&'static str, bool)>,
}

impl World {
    /// Creates clusters `a` and `b`, some users, and the provider `oidc`.
    pub(crate) fn new() -> Self {
        Self {
            clusters: ["a", "b"].map(itself).into(),
            users: ["ann", "bob", "eve", "joe"]
                .map(|name| (name.to_owned(), (name.to_owned(), true)))
                .into(),
            providers: [("oidc", ("oidc", true))].into(),
            ..Self::default()
        }
    }

    /// Makes a user a member of a group.
    pub(crate) fn member(mut self, user: &str, group: &str) -> Self {
        let groups = self.memberships.entry(user.to_owned()).or_default();
        groups.push(GroupName::parse(group).unwrap());
        self
    }

    /// Creates a user whose User object makes the user an administrator.
    pub(crate) fn administrator(mut self, name: &str) -> Self {
        let name = name.to_owned();
        self.users.insert(name.clone(), (name.clone(), true));
        self.administrators.insert(name);
        self
    }

    fn template(mut self, name: &str, spec: RoleTemplateSpec) -> Self {
        self.templates
            .insert(name.to_owned(), (name.to_owned(), spec));
        self
    }

    pub(crate) fn cluster_role(self, name: &str, rules: &[PolicyRule]) -> Self {
        let rules = rules.to_vec();
        self.template(
            name,
            RoleTemplateSpec {
                rules,
                ..Default::default()
            },
        )
    }

    pub(crate) fn role_of_all(
        self,
        name: &str,
        rules: &[PolicyRule],
        inherits: &[String],
        in_projects: bool,
    ) -> Self {
        let context = if in_projects {
            RoleContext::Project
        } else {
            RoleContext::Cluster
        };
        let spec = RoleTemplateSpec {
            context,
            rules: rules.to_vec(),
            inherits: inherits.to_vec(),
            ..Default::default()
        };
        self.template(name, spec)
    }

    pub(crate) fn cluster_role_inheriting(self, name: &str, inherits: &[&str]) -> Self {
        let inherits = inherits.iter().map(|&name| name.to_owned()).collect();
        self.template(
            name,
            RoleTemplateSpec {
                inherits,
                ..Default::default()
            },
        )
    }

    pub(crate) fn cluster_role_external(self, name: &str, external: &str) -> Self {
        let external = vec![external.to_owned()];
        self.template(
            name,
            RoleTemplateSpec {
                external,
                ..Default::default()
            },
        )
    }

    pub(crate) fn project_role(
        self,
        name: &str,
        rules: &[PolicyRule],
        cluster_rules: &[PolicyRule],
    ) -> Self {
        let spec = RoleTemplateSpec {
            context: RoleContext::Project,
            rules: rules.to_vec(),
            cluster_rules: cluster_rules.to_vec(),
            ..Default::default()
        };
        self.template(name, spec)
    }

    pub(crate) fn global_role(
        mut self,
        name: &str,
        rules: &[PolicyRule],
        everywhere: &[&str],
    ) -> Self {
        let spec = GlobalRoleSpec {
            rules: rules.to_vec(),
            in_every_cluster: everywhere.iter().map(|&name| name.to_owned()).collect(),
            ..Default::default()
        };
        self.globals
            .insert(name.to_owned(), (name.to_owned(), spec));
        self
    }

    pub(crate) fn hub_namespace_role(
        mut self,
        name: &str,
        namespace: &str,
        rules: &[PolicyRule],
    ) -> Self {
        let spec = GlobalRoleSpec {
            namespaced_rules: [(namespace.to_owned(), rules.to_vec())].into(),
            ..Default::default()
        };
        self.globals
            .insert(name.to_owned(), (name.to_owned(), spec));
        self
    }

    pub(crate) fn project(mut self, name: &str, cluster: &str, namespaces: &[&str]) -> Self {
        let namespaces = namespaces.iter().map(|&name| name.to_owned()).collect();
        self.projects
            .insert(name.to_owned(), (cluster.to_owned(), namespaces));
        self
    }

    pub(crate) fn global(mut self, binding: &str, role: &str, user: &TestUser) -> Self {
        let spec = GlobalRoleBindingSpec {
            role: reference(role),
            subject: user.bound(),
        };
        self.global_bindings.insert(binding.to_owned(), spec);
        self
    }

    pub(crate) fn in_cluster(
        mut self,
        binding: &str,
        role: &str,
        cluster: &str,
        user: &TestUser,
    ) -> Self {
        let spec = ClusterRoleTemplateBindingSpec {
            cluster: ClusterReference {
                name: cluster.to_owned(),
                uid: Some(ClusterUid::new(cluster)),
            },
            role: reference(role),
            subject: user.bound(),
        };
        self.cluster_bindings.insert(binding.to_owned(), spec);
        self
    }

    pub(crate) fn in_project(
        mut self,
        binding: &str,
        role: &str,
        project: &str,
        user: &TestUser,
    ) -> Self {
        let spec = ProjectRoleTemplateBindingSpec {
            project: ProjectReference {
                name: project.to_owned(),
                uid: Some(ProjectUid::new(project)),
            },
            role: reference(role),
            subject: user.bound(),
        };
        self.project_bindings.insert(binding.to_owned(), spec);
        self
    }

    pub(crate) fn locked(mut self, role: &str) -> Self {
        self.templates.get_mut(role).unwrap().1.locked = true;
        self
    }

    pub(crate) fn disabled(mut self, user: &str) -> Self {
        self.users.insert(user.to_owned(), (user.to_owned(), false));
        self
    }

    pub(crate) fn without_provider(mut self, name: &str) -> Self {
        self.providers.get_mut(name).unwrap().1 = false;
        self
    }

    /// Deletes a user and creates a user with the same name and a new UID.
    pub(crate) fn remade_user(mut self, name: &str) -> Self {
        self.users.get_mut(name).unwrap().0.push_str(" again");
        self
    }

    pub(crate) fn remade_cluster(mut self, name: &str) -> Self {
        self.clusters.get_mut(name).unwrap().push_str(" again");
        self
    }

    pub(crate) fn remade_provider(mut self, name: &str) -> Self {
        self.providers.get_mut(name).unwrap().0 = "again";
        self
    }

    /// Replaces the spec of a role, or deletes the role. The UID of the role does not change.
    pub(crate) fn set_template(&mut self, name: &str, spec: Option<RoleTemplateSpec>) {
        match spec {
            None => drop(self.templates.remove(name)),
            Some(spec) => match self.templates.get_mut(name) {
                Some((_, said)) => *said = spec,
                None => drop(
                    self.templates
                        .insert(name.to_owned(), (name.to_owned(), spec)),
                ),
            },
        }
    }

    pub(crate) fn template_of(&self, name: &str) -> Option<&RoleTemplateSpec> {
        self.templates.get(name).map(|(_, spec)| spec)
    }

    pub(crate) fn remade_role(mut self, name: &str) -> Self {
        if let Some((uid, _)) = self.templates.get_mut(name) {
            uid.push_str(" again");
        }
        self
    }

    pub(crate) fn unpinned(mut self, binding: &str) -> Self {
        self.cluster_bindings.get_mut(binding).unwrap().role.uid = None;
        self
    }

    pub(crate) fn regrouped(mut self, binding: &str, group: &str) -> Self {
        let binding = self.cluster_bindings.get_mut(binding).unwrap();
        binding.subject.group.as_mut().unwrap().name = group.to_owned();
        self
    }

    pub(crate) fn scoped(&self, role: &str) -> Scoped {
        let find = |name: &str| self.templates.get(name).map(|(_, spec)| spec);
        resolve(role, find).unwrap().unwrap()
    }

    pub(crate) fn gather(&self) -> Grants {
        Grants::gather(&self.facts())
    }

    pub(crate) fn facts(&self) -> Facts<'_> {
        let templates = self.templates.iter();
        let globals = self.globals.iter();
        let projects = self.projects.iter().map(|(name, (cluster, namespaces))| {
            let facts = ProjectFacts {
                uid: ProjectUid::new(name.as_str()),
                cluster: ClusterUid::new(cluster.as_str()),
                namespaces: namespaces.clone(),
            };
            (name.as_str(), facts)
        });
        let clusters = self.clusters.iter();
        let users = self.users.iter().map(|(name, (uid, enabled))| {
            let facts = UserFacts {
                administrator: self.administrators.contains(name),
                uid: UserUid::new(uid.as_str()),
                enabled: *enabled,
                groups: self.memberships.get(name).cloned().unwrap_or_default(),
            };
            (name.as_str(), facts)
        });
        let providers = self.providers.iter().map(|(name, (uid, enabled))| {
            let facts = ProviderFacts {
                uid: ProviderUid::new(*uid),
                enabled: *enabled,
            };
            (*name, facts)
        });
        Facts {
            role_templates: templates
                .map(|(name, (uid, spec))| (name.as_str(), RoleFacts { uid, spec }))
                .collect(),
            global_roles: globals
                .map(|(name, (uid, spec))| (name.as_str(), RoleFacts { uid, spec }))
                .collect(),
            global_bindings: listed(&self.global_bindings),
            cluster_bindings: listed(&self.cluster_bindings),
            project_bindings: listed(&self.project_bindings),
            projects: projects.collect(),
            clusters: clusters
                .map(|(name, uid)| (name.as_str(), ClusterUid::new(uid.as_str())))
                .collect(),
            users: users.collect(),
            providers: providers.collect(),
        }
    }
}

fn itself(name: &str) -> (String, String) {
    (name.to_owned(), name.to_owned())
}

fn listed<S>(bindings: &BTreeMap<String, S>) -> Vec<(&str, &S)> {
    bindings
        .iter()
        .map(|(name, spec)| (name.as_str(), spec))
        .collect()
}

fn reference(role: &str) -> RoleReference {
    RoleReference {
        name: role.to_owned(),
        uid: Some(RoleUid::new(role)),
    }
}
