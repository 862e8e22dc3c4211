//! The roles and scopes that a binding grants.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use drover_api::ids::{ClusterUid, ProjectUid, ProviderUid, RoleUid, UserUid};
use drover_api::kinds::{
    BindingSubject, ClusterReference, ClusterRoleTemplateBindingSpec, GlobalRoleBindingSpec,
    GlobalRoleSpec, ProjectReference, ProjectRoleTemplateBindingSpec, RoleContext, RoleReference,
};

use super::{Escalation, Facts, Grants, Problem, RightsHolder, Role, Scope, Subject};
use crate::names::{GroupName, UserName};
use crate::roles::{Rights, Scoped, Unresolved, ValidationScope, check_all, resolve};

/// The spec of a binding.
#[derive(Clone, Copy, Debug)]
pub enum Binding<'a> {
    /// A binding of a GlobalRole.
    Global(&'a GlobalRoleBindingSpec),
    /// A binding of a RoleTemplate in a cluster.
    Cluster(&'a ClusterRoleTemplateBindingSpec),
    /// A binding of a RoleTemplate in a project.
    Project(&'a ProjectRoleTemplateBindingSpec),
}

impl<'a> Binding<'a> {
    /// Returns the reference to the role.
    pub fn role(self) -> &'a RoleReference {
        match self {
            Self::Global(spec) => &spec.role,
            Self::Cluster(spec) => &spec.role,
            Self::Project(spec) => &spec.role,
        }
    }

    /// Returns the subject of the binding.
    pub fn subject(self) -> &'a BindingSubject {
        match self {
            Self::Global(spec) => &spec.subject,
            Self::Cluster(spec) => &spec.subject,
            Self::Project(spec) => &spec.subject,
        }
    }
}

/// The method of finding the objects to which a binding refers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// Find objects by the UIDs that the server has stored in the binding. A reference without a
    /// UID grants nothing.
    Pinned,
    /// Find objects by name. If the reference contains a UID, the object must have this UID.
    Current,
}

/// The grants of a binding: pairs of a role and a scope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResolvedRoles(pub Vec<(Scope, Arc<Role>)>);

impl ResolvedRoles {
    /// Checks that a user has all permissions of the binding's roles in their scopes. Only such a
    /// user may create or delete the binding.
    pub fn check_grantable(
        &self,
        grants: &Grants,
        holder: RightsHolder<'_>,
    ) -> Result<(), Escalation> {
        self.0.iter().try_for_each(|(scope, role)| {
            grants.may_grant(holder, &role.scoped, scope)?;
            grants.may_grant_in_hub_namespaces(holder, &role.namespaced)
        })
    }
}

/// A resolver of the grants of bindings. The resolver resolves each role once and stores the
/// result.
#[derive(Debug)]
pub struct Roles<'a> {
    facts: &'a Facts<'a>,
    names: Names,
    clusters: HashSet<&'a ClusterUid>,
    templates: HashMap<String, Result<Arc<Role>, Problem>>,
}

impl<'a> Roles<'a> {
    /// Creates a resolver of bindings to these objects.
    pub fn new(facts: &'a Facts<'a>, names: Names) -> Self {
        Self {
            facts,
            names,
            clusters: facts.clusters.values().collect(),
            templates: HashMap::new(),
        }
    }

    /// Resolves the grants of a binding.
    pub fn resolve(&mut self, binding: Binding<'_>) -> Result<ResolvedRoles, Problem> {
        let (scope, context) = match binding {
            Binding::Global(spec) => return self.resolve_global_binding(&spec.role),
            Binding::Cluster(spec) => (self.cluster(&spec.cluster)?, RoleContext::Cluster),
            Binding::Project(spec) => (self.project(&spec.project)?, RoleContext::Project),
        };
        let role = binding.role();
        let stored = self.facts.role_templates.get(role.name.as_str());
        let uid = role.uid.as_ref().map(RoleUid::as_str);
        self.check_reference("role", &role.name, uid, stored.map(|role| role.uid))?;
        Ok(ResolvedRoles(vec![(
            scope,
            self.template(&role.name, context)?,
        )]))
    }

    /// Resolves a GlobalRole to its grants on the hub and in clusters.
    pub fn resolve_global_role(
        &mut self,
        name: &str,
        uid: &str,
        spec: &GlobalRoleSpec,
    ) -> Result<ResolvedRoles, Problem> {
        check_global(name, spec)?;
        let namespaced = spec.namespaced_rules.iter();
        let on_hub = Role {
            name: name.to_owned(),
            uid: uid.to_owned(),
            scoped: Scoped {
                cluster: Rights::of(&spec.rules),
                project: Rights::default(),
            },
            namespaced: namespaced
                .map(|(namespace, rules)| (namespace.clone(), Rights::of(rules)))
                .collect(),
        };
        let mut granted = vec![(Scope::Hub, Arc::new(on_hub))];
        for name in &spec.in_every_cluster {
            let role = self.template(name, RoleContext::Cluster)?;
            granted.push((Scope::EveryCluster, role));
        }
        Ok(ResolvedRoles(granted))
    }

    /// Resolves the subject of a binding. Returns `None` for a disabled user, and for a group of a
    /// disabled provider.
    pub fn subject(&self, subject: &BindingSubject) -> Result<Option<Subject>, Problem> {
        match (&subject.user, &subject.group) {
            (Some(user), None) => {
                let stored = self.facts.users.get(user.name.as_str());
                let (pinned, uid) = (user.uid.as_ref(), stored.map(|user| user.uid.as_str()));
                self.check_reference("user", &user.name, pinned.map(UserUid::as_str), uid)?;
                let enabled = stored.filter(|user| user.enabled);
                Ok(enabled.map(|user| Subject::User(UserName::of(&user.uid))))
            }
            (None, Some(group)) => {
                let name = GroupName::parse(&group.name);
                let name = name.ok_or_else(|| Problem::NoGroup(group.name.clone()))?;
                let stored = self.facts.providers.get(name.provider());
                let (pinned, uid) = (group.provider_uid.as_ref(), stored.map(|it| &it.uid));
                let (pinned, uid) = (
                    pinned.map(ProviderUid::as_str),
                    uid.map(ProviderUid::as_str),
                );
                self.check_reference("provider", name.provider(), pinned, uid)?;
                let enabled = stored.is_some_and(|provider| provider.enabled);
                Ok(enabled.then_some(Subject::Group(name)))
            }
            _ => Err(Problem::NoSubject),
        }
    }

    /// Checks that a reference identifies a stored object. If the reference contains a UID, the
    /// object must have this UID.
    fn check_reference(
        &self,
        kind: &'static str,
        name: &str,
        pinned: Option<&str>,
        stored: Option<&str>,
    ) -> Result<(), Problem> {
        match (pinned, stored) {
            (None, _) if self.names == Names::Pinned => Err(Problem::Unpinned(kind)),
            (None, Some(_)) => Ok(()),
            (None, None) => Err(missing(kind, name)),
            (Some(pinned), Some(stored)) if pinned == stored => Ok(()),
            (Some(_), _) => Err(gone(kind, name)),
        }
    }

    fn cluster(&self, reference: &ClusterReference) -> Result<Scope, Problem> {
        let name = reference.name.as_str();
        let stored = self.facts.clusters.get(name);
        let pinned = reference.uid.as_ref().map(ClusterUid::as_str);
        self.check_reference("cluster", name, pinned, stored.map(ClusterUid::as_str))?;
        let uid = stored.ok_or_else(|| gone("cluster", name))?;
        Ok(Scope::Cluster(uid.clone()))
    }

    fn project(&self, reference: &ProjectReference) -> Result<Scope, Problem> {
        let name = reference.name.as_str();
        let stored = self.facts.projects.get(name);
        let pinned = reference.uid.as_ref().map(ProjectUid::as_str);
        self.check_reference(
            "project",
            name,
            pinned,
            stored.map(|project| project.uid.as_str()),
        )?;
        let project = stored.ok_or_else(|| gone("project", name))?;
        if !self.clusters.contains(&project.cluster) {
            return Err(gone("project", name));
        }
        Ok(Scope::Project(project.cluster.clone(), project.uid.clone()))
    }

    fn resolve_global_binding(&mut self, role: &RoleReference) -> Result<ResolvedRoles, Problem> {
        let facts = self.facts;
        let stored = facts.global_roles.get(role.name.as_str());
        let pinned = role.uid.as_ref().map(RoleUid::as_str);
        self.check_reference("role", &role.name, pinned, stored.map(|role| role.uid))?;
        let stored = stored.ok_or_else(|| gone("role", &role.name))?;
        self.resolve_global_role(&role.name, stored.uid, stored.spec)
    }

    fn template(&mut self, name: &str, context: RoleContext) -> Result<Arc<Role>, Problem> {
        let facts = self.facts;
        let stored = facts.role_templates.get(name);
        let stored = stored.ok_or_else(|| missing("role", name))?;
        if stored.spec.context != context {
            return Err(Problem::Context(name.to_owned()));
        }
        if let Some(cached) = self.templates.get(name) {
            return cached.clone();
        }
        let find = |name: &str| facts.role_templates.get(name).map(|role| role.spec);
        let resolved = match resolve(name, find) {
            None => Err(missing("role", name)),
            Some(Err(source)) => Err(Problem::Role {
                role: name.to_owned(),
                source,
            }),
            Some(Ok(scoped)) => Ok(Arc::new(Role {
                name: name.to_owned(),
                uid: stored.uid.to_owned(),
                scoped,
                namespaced: BTreeMap::new(),
            })),
        };
        self.templates.insert(name.to_owned(), resolved.clone());
        resolved
    }
}

/// Checks that the rules of a GlobalRole are valid for the hub.
fn check_global(name: &str, spec: &GlobalRoleSpec) -> Result<(), Problem> {
    let whole = check_all("rules", &spec.rules, ValidationScope::Cluster);
    let mut namespaced = spec.namespaced_rules.iter();
    let all = whole.and_then(|()| {
        namespaced.try_for_each(|(namespace, rules)| {
            let field = format!("namespacedRules[{namespace}]");
            check_all(&field, rules, ValidationScope::Namespaces)
        })
    });
    all.map_err(|source| Problem::Role {
        role: name.to_owned(),
        source: Unresolved::Invalid {
            role: name.to_owned(),
            source,
        },
    })
}

fn missing(kind: &'static str, name: &str) -> Problem {
    Problem::Missing {
        kind,
        name: name.to_owned(),
    }
}

fn gone(kind: &'static str, name: &str) -> Problem {
    Problem::Gone {
        kind,
        name: name.to_owned(),
    }
}
