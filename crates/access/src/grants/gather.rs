//! From the hub's objects to grants.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use drover_api::ids::{RoleUid, UserUid};
use drover_api::kinds::{BindingSubject, GlobalRoleSpec, RoleContext, RoleReference};

use super::{BindingId, BindingKind, Facts, Grant, Grants, Place, Problem, Role, Subject};
use crate::names::{GroupName, UserName};
use crate::roles::{Rights, Scoped, Unresolved, resolve};

type Resolved = Result<Arc<Role>, Problem>;

impl Grants {
    /// Reads all bindings.
    pub fn gather(facts: &Facts<'_>) -> Self {
        let mut gathering = Gathering {
            facts,
            templates: HashMap::new(),
            globals: HashMap::new(),
            grants: Self::default(),
        };
        gathering.global();
        gathering.cluster();
        gathering.project();
        for project in facts.projects.values() {
            let namespaces = project.namespaces.clone();
            gathering
                .grants
                .namespaces
                .insert(project.uid.clone(), namespaces);
        }
        gathering.grants
    }

    fn add(&mut self, grant: Grant) {
        let index = self.all.len();
        let subject = self.by_subject.entry(grant.subject.clone()).or_default();
        subject.push(index);
        match &grant.place {
            Place::Hub => {}
            Place::EveryCluster => self.everywhere.push(index),
            Place::Cluster(cluster) | Place::Project(cluster, _) => {
                self.by_cluster
                    .entry(cluster.clone())
                    .or_default()
                    .push(index);
            }
        }
        self.all.push(grant);
    }
}

/// A GlobalRole: what it gives on the hub, and what in every cluster.
#[derive(Clone)]
struct Global {
    hub: Arc<Role>,
    everywhere: Vec<Arc<Role>>,
}

struct Gathering<'a> {
    facts: &'a Facts<'a>,
    templates: HashMap<String, Resolved>,
    globals: HashMap<String, Result<Global, Problem>>,
    grants: Grants,
}

impl Gathering<'_> {
    fn global(&mut self) {
        let facts = self.facts;
        for (name, spec) in &facts.global_bindings {
            let id = id(BindingKind::Global, name);
            let found = self.global_role(&spec.role);
            let found = found.and_then(|role| Ok((role, self.subject(&spec.subject)?)));
            match found {
                Err(problem) => self.refuse(id, problem),
                Ok((_, None)) => {}
                Ok((global, Some(subject))) => {
                    self.give(&subject, &global.hub, Place::Hub, &id);
                    for role in &global.everywhere {
                        self.give(&subject, role, Place::EveryCluster, &id);
                    }
                }
            }
        }
    }

    fn cluster(&mut self) {
        let facts = self.facts;
        for (name, spec) in &facts.cluster_bindings {
            let id = id(BindingKind::Cluster, name);
            let place = match &spec.cluster.uid {
                None => Err(Problem::Unpinned("spec.cluster")),
                Some(uid) if facts.clusters.contains(uid) => Ok(Place::Cluster(uid.clone())),
                Some(_) => Err(gone("cluster", &spec.cluster.name)),
            };
            self.bind(id, place, &spec.role, &spec.subject, RoleContext::Cluster);
        }
    }

    fn project(&mut self) {
        let facts = self.facts;
        for (name, spec) in &facts.project_bindings {
            let id = id(BindingKind::Project, name);
            let place = match &spec.project.uid {
                None => Err(Problem::Unpinned("spec.project")),
                Some(uid) => {
                    let project = facts.projects.get(uid.as_str());
                    let there = project.filter(|project| facts.clusters.contains(&project.cluster));
                    there
                        .map(|project| Place::Project(project.cluster.clone(), project.uid.clone()))
                        .ok_or_else(|| gone("project", &spec.project.name))
                }
            };
            self.bind(id, place, &spec.role, &spec.subject, RoleContext::Project);
        }
    }

    fn bind(
        &mut self,
        id: BindingId,
        place: Result<Place, Problem>,
        role: &RoleReference,
        subject: &BindingSubject,
        context: RoleContext,
    ) {
        let found = place.and_then(|place| {
            let role = self.template(role, context)?;
            Ok((place, role, self.subject(subject)?))
        });
        match found {
            Err(problem) => self.refuse(id, problem),
            Ok((_, _, None)) => {}
            Ok((place, role, Some(subject))) => self.give(&subject, &role, place, &id),
        }
    }

    fn give(&mut self, subject: &Subject, role: &Arc<Role>, place: Place, binding: &BindingId) {
        self.grants.add(Grant {
            subject: subject.clone(),
            role: Arc::clone(role),
            place,
            binding: binding.clone(),
        });
    }

    fn refuse(&mut self, id: BindingId, problem: Problem) {
        self.grants.problems.insert(id, problem);
    }

    /// Who is meant; `None` for somebody who is disabled, and for a group of a provider that is.
    fn subject(&self, subject: &BindingSubject) -> Result<Option<Subject>, Problem> {
        match (&subject.user, &subject.group) {
            (Some(user), None) => {
                let uid = user.uid.as_ref();
                let uid = uid.ok_or(Problem::Unpinned("spec.subject.user"))?;
                self.user(uid, &user.name)
            }
            (None, Some(group)) => {
                let name = GroupName::parse(group);
                let name = name.ok_or_else(|| Problem::NoGroup(group.clone()))?;
                let enabled = self.facts.providers.contains(name.provider());
                Ok(enabled.then_some(Subject::Group(name)))
            }
            _ => Err(Problem::NoSubject),
        }
    }

    fn user(&self, uid: &UserUid, name: &str) -> Result<Option<Subject>, Problem> {
        match self.facts.users.get(uid) {
            None => Err(gone("user", name)),
            Some(false) => Ok(None),
            Some(true) => Ok(Some(Subject::User(UserName::of(uid)))),
        }
    }

    fn template(&mut self, reference: &RoleReference, context: RoleContext) -> Resolved {
        let stored = self.facts.role_templates.get(reference.name.as_str());
        pinned(reference, stored.map(|role| role.uid))?;
        self.template_named(&reference.name, context)
    }

    fn template_named(&mut self, name: &str, context: RoleContext) -> Resolved {
        let facts = self.facts;
        let role = facts.role_templates.get(name);
        let role = role.ok_or_else(|| gone("role", name))?;
        if role.spec.context != context {
            return Err(Problem::Context(name.to_owned()));
        }
        if let Some(known) = self.templates.get(name) {
            return known.clone();
        }
        let find = |name: &str| facts.role_templates.get(name).map(|role| role.spec);
        let resolved = match resolve(name, find) {
            None => Err(gone("role", name)),
            Some(Err(source)) => Err(unusable(name, source)),
            Some(Ok(scoped)) => Ok(Arc::new(Role {
                name: name.to_owned(),
                uid: role.uid.to_owned(),
                scoped,
                namespaced: BTreeMap::new(),
            })),
        };
        self.templates.insert(name.to_owned(), resolved.clone());
        resolved
    }

    fn global_role(&mut self, reference: &RoleReference) -> Result<Global, Problem> {
        let facts = self.facts;
        let name = reference.name.as_str();
        let role = facts.global_roles.get(name);
        pinned(reference, role.map(|role| role.uid))?;
        let role = role.ok_or_else(|| gone("role", name))?;
        if let Some(known) = self.globals.get(name) {
            return known.clone();
        }
        let everywhere: Result<Vec<_>, _> = role
            .spec
            .in_every_cluster
            .iter()
            .map(|name| self.template_named(name, RoleContext::Cluster))
            .collect();
        let global = everywhere.map(|everywhere| Global {
            hub: Arc::new(Role {
                name: name.to_owned(),
                uid: role.uid.to_owned(),
                scoped: Scoped {
                    cluster: Rights::of(&role.spec.rules),
                    project: Rights::default(),
                },
                namespaced: namespaced(role.spec),
            }),
            everywhere,
        });
        self.globals.insert(name.to_owned(), global.clone());
        global
    }
}

fn namespaced(role: &GlobalRoleSpec) -> BTreeMap<String, Rights> {
    let rules = role.namespaced_rules.iter();
    rules
        .map(|(namespace, rules)| (namespace.clone(), Rights::of(rules)))
        .collect()
}

/// Whether the name still is the object that was meant.
fn pinned(reference: &RoleReference, stored: Option<&str>) -> Result<(), Problem> {
    let uid: &RoleUid = reference
        .uid
        .as_ref()
        .ok_or(Problem::Unpinned("spec.role"))?;
    if stored == Some(uid.as_str()) {
        Ok(())
    } else {
        Err(gone("role", &reference.name))
    }
}

fn id(kind: BindingKind, name: &str) -> BindingId {
    BindingId {
        kind,
        name: name.to_owned(),
    }
}

fn gone(what: &'static str, name: &str) -> Problem {
    Problem::Gone {
        what,
        name: name.to_owned(),
    }
}

fn unusable(role: &str, source: Unresolved) -> Problem {
    Problem::Role {
        role: role.to_owned(),
        source,
    }
}
