//! Computes grants from the hub's objects.

use std::collections::HashMap;
use std::sync::Arc;

use super::{
    Binding, BindingId, BindingKind, Facts, Grant, Grants, Names, Problem, ResolvedRoles, Role,
    Roles, Scope, Subject,
};
use crate::names::UserName;

impl Grants {
    /// Computes the grants of all bindings.
    pub fn gather(facts: &Facts<'_>) -> Self {
        let mut grants = Self::default();
        let mut roles = Roles::new(facts, Names::Pinned);
        let mut globals: HashMap<(&str, Option<&str>), Result<ResolvedRoles, Problem>> =
            HashMap::new();
        for (name, spec) in &facts.global_bindings {
            // A global role may inherit many others and may have many subjects, so resolve it once.
            let uid = spec.role.uid.as_ref().map(drover_api::ids::RoleUid::as_str);
            let granted = globals
                .entry((spec.role.name.as_str(), uid))
                .or_insert_with(|| roles.resolve(Binding::Global(spec)))
                .clone();
            let subject = roles.subject(&spec.subject);
            grants.bind(BindingKind::Global, name, granted, subject);
        }
        for (name, spec) in &facts.cluster_bindings {
            let granted = roles.resolve(Binding::Cluster(spec));
            grants.bind(
                BindingKind::Cluster,
                name,
                granted,
                roles.subject(&spec.subject),
            );
        }
        for (name, spec) in &facts.project_bindings {
            let granted = roles.resolve(Binding::Project(spec));
            grants.bind(
                BindingKind::Project,
                name,
                granted,
                roles.subject(&spec.subject),
            );
        }
        grants.administrators(facts);
        for project in facts.projects.values() {
            let namespaces = project.namespaces.clone();
            grants.namespaces.insert(project.uid.clone(), namespaces);
        }
        grants.join(facts);
        grants.digest();
        grants
    }

    /// Collects the members of each group that has a role.
    fn join(&mut self, facts: &Facts<'_>) {
        let mut users: Vec<_> = facts.users.values().filter(|user| user.enabled).collect();
        users.sort_unstable_by(|one, other| one.uid.cmp(&other.uid));
        for user in users {
            let name = UserName::of(&user.uid);
            for group in &user.groups {
                if self.by_subject.contains_key(group.as_str()) {
                    let members = self.members.entry(group.clone()).or_default();
                    members.push(name.clone());
                }
            }
        }
    }

    /// Adds the users whose User object makes them administrators.
    fn administrators(&mut self, facts: &Facts<'_>) {
        let users = facts.users.iter();
        let mut administrators: Vec<_> = users
            .filter(|(_, user)| user.enabled && user.administrator)
            .collect();
        administrators.sort_unstable_by_key(|(name, _)| **name);
        let role = Arc::new(Role::administrator());
        for (name, user) in administrators {
            for scope in [Scope::Hub, Scope::EveryCluster] {
                self.add(Grant {
                    subject: Subject::User(UserName::of(&user.uid)),
                    role: Arc::clone(&role),
                    scope,
                    binding: BindingId {
                        kind: BindingKind::Administrator,
                        name: (*name).to_owned(),
                    },
                });
            }
        }
    }

    /// Records the grants of a binding, or the reason why the binding grants nothing.
    pub(super) fn bind(
        &mut self,
        kind: BindingKind,
        name: &str,
        granted: Result<ResolvedRoles, Problem>,
        subject: Result<Option<Subject>, Problem>,
    ) {
        let binding = BindingId {
            kind,
            name: name.to_owned(),
        };
        match granted.and_then(|granted| Ok((granted, subject?))) {
            Err(problem) => {
                self.problems.insert(binding, problem);
            }
            Ok((_, None)) => {}
            Ok((ResolvedRoles(roles), Some(subject))) => {
                for (scope, role) in roles {
                    self.add(Grant {
                        subject: subject.clone(),
                        role: Arc::clone(&role),
                        scope,
                        binding: binding.clone(),
                    });
                }
            }
        }
    }

    fn add(&mut self, grant: Grant) {
        let index = self.all.len();
        match self.by_subject.get_mut(grant.subject.as_str()) {
            Some(own) => own.push(index),
            None => drop(
                self.by_subject
                    .insert(grant.subject.to_string(), vec![index]),
            ),
        }
        match &grant.scope {
            Scope::Hub => {}
            Scope::EveryCluster => self.everywhere.push(index),
            Scope::Cluster(cluster) | Scope::Project(cluster, _) => {
                let cluster = self.by_cluster.entry(cluster.clone()).or_default();
                cluster.push(index);
            }
        }
        self.all.push(grant);
    }
}
