//! Admission of projects: their namespaces and limits.

use drover_api::ids::ClusterUid;
use drover_api::kinds::{ProjectNamespace, ProjectSpec};

use super::{HubRoles, WriterRights, quota, spec};
use crate::admission::{Operation, Refusal, Write, is_listed};
use crate::grants::{ProjectFacts, Scope};

/// Name patterns of namespaces that cannot be part of a project.
const RESERVED: &[&str] = &["kube-*", "drover-*"];

/// Reports whether a namespace is reserved for Kubernetes or Drover.
pub fn is_reserved(namespace: &str) -> bool {
    is_listed(RESERVED, namespace)
}

pub(super) fn admit(
    write: &Write<'_>,
    writer: &WriterRights,
    hub_roles: HubRoles<'_>,
) -> Result<(), Refusal> {
    if write.operation == Operation::Update && !write.changes("/spec") {
        return Ok(());
    }
    let before: Option<ProjectSpec> = match write.operation {
        Operation::Create => None,
        Operation::Update | Operation::Delete => spec(write.old)?,
    };
    let after: Option<ProjectSpec> = match write.operation {
        Operation::Delete => None,
        Operation::Create | Operation::Update => spec(write.object)?,
    };
    let said = before.as_ref().or(after.as_ref());
    let name = said.map_or("", |said| said.cluster.name.as_str());
    // The project stays in its pinned cluster, even if another cluster has the name now.
    let pinned = before.as_ref().and_then(|said| said.cluster.uid.as_ref());
    let there = hub_roles.facts.clusters.get(name);
    let meant = there.filter(|there| pinned.is_none_or(|pinned| pinned == *there));
    let Some(cluster) = meant else {
        // A deleted cluster has no owners.
        if write.operation == Operation::Delete {
            return super::require_all_rights_in(writer, hub_roles, &Scope::EveryCluster);
        }
        return Err(Refusal::new(match pinned {
            Some(_) => format!(
                "the project's cluster {name:?} was deleted: delete the project; for a new \
                 cluster with the name {name:?}, create a new project"
            ),
            None => format!("cluster {name:?} not found: correct the name in spec.cluster"),
        }));
    };
    let change = Change {
        name: write.object_name(),
        writer,
        hub_roles,
        cluster,
    };
    match (&before, &after) {
        (None, Some(after)) => change.made(after),
        (Some(before), Some(after)) => change.changed(before, after),
        (_, None) => change.deleted(),
    }
}

struct Change<'a> {
    name: &'a str,
    writer: &'a WriterRights,
    hub_roles: HubRoles<'a>,
    cluster: &'a ClusterUid,
}

impl Change<'_> {
    fn made(&self, after: &ProjectSpec) -> Result<(), Refusal> {
        if after.cluster.uid.is_some() {
            return Err(uid());
        }
        self.require("create", "projects", &self.cluster_scope())?;
        let unlimited = ProjectSpec::default();
        if limits(after) != limits(&unlimited) {
            self.require("update", "projects", &self.cluster_scope())?;
        }
        self.gains(&[], &after.namespaces)?;
        holds(after)
    }

    fn changed(&self, before: &ProjectSpec, after: &ProjectSpec) -> Result<(), Refusal> {
        if before.cluster != after.cluster {
            return Err(uid());
        }
        if limits(before) != limits(after) {
            self.require("update", "projects", &self.cluster_scope())?;
        }
        if (&before.display_name, &before.description) != (&after.display_name, &after.description)
        {
            self.require("update", "projects", &self.project_scope()?)?;
        }
        if before.namespaces != after.namespaces {
            self.require("update", "projects/namespaces", &self.project_scope()?)?;
        }
        self.gains(&before.namespaces, &after.namespaces)?;
        holds(after)
    }

    fn deleted(&self) -> Result<(), Refusal> {
        self.require("delete", "projects", &self.cluster_scope())
    }

    /// Checks all namespaces that the write adds to the project or marks for adoption.
    fn gains(
        &self,
        before: &[ProjectNamespace],
        after: &[ProjectNamespace],
    ) -> Result<(), Refusal> {
        let new = after.iter().filter(|namespace| !before.contains(namespace));
        for namespace in new {
            self.gain(namespace)?;
        }
        Ok(())
    }

    fn gain(&self, namespace: &ProjectNamespace) -> Result<(), Refusal> {
        let name = namespace.name.as_str();
        if is_reserved(name) {
            return Err(Refusal::new(format!(
                "the namespace {name:?} is reserved for Kubernetes or Drover: use a different \
                 name"
            )));
        }
        let holder = self.holder(name);
        match (namespace.adopt, holder) {
            (false, None) => Ok(()),
            (false, Some((holder, project))) => Err(Refusal::new(
                if self
                    .writer
                    .may(self.hub_roles, "get", "projects", &at(project))
                {
                    format!(
                        "the namespace {name:?} belongs to the project {holder:?}: first remove \
                         the namespace from the project {holder:?}, then set adopt in this \
                         project"
                    )
                } else {
                    format!(
                        "the namespace {name:?} belongs to a different project: use a different \
                         name, or ask an owner of the cluster"
                    )
                },
            )),
            (true, Some((_, project))) => {
                self.require("update", "projects/namespaces", &at(project))
            }
            // A namespace without project may have any content, so its adoption requires all
            // permissions in the cluster.
            (true, None) => {
                super::require_all_rights_in(self.writer, self.hub_roles, &self.cluster_scope())
            }
        }
    }

    /// Returns the project of the cluster that already contains this namespace. Ignores the project
    /// that the write changes.
    fn holder(&self, namespace: &str) -> Option<(&str, &ProjectFacts)> {
        let projects = self.hub_roles.facts.projects.iter();
        let mut others = projects.filter(|(name, project)| {
            **name != self.name
                && project.cluster == *self.cluster
                && project.namespaces.iter().any(|own| own == namespace)
        });
        others.next().map(|(name, project)| (*name, project))
    }

    fn cluster_scope(&self) -> Scope {
        Scope::Cluster(self.cluster.clone())
    }

    fn project_scope(&self) -> Result<Scope, Refusal> {
        let project = self.hub_roles.facts.projects.get(self.name);
        let project = project
            .ok_or_else(|| Refusal::new("the server has not loaded the project yet; try again"))?;
        Ok(at(project))
    }

    fn require(&self, verb: &str, resource: &str, scope: &Scope) -> Result<(), Refusal> {
        if self.writer.may(self.hub_roles, verb, resource, scope) {
            return Ok(());
        }
        let scope = match scope {
            Scope::Project(..) => "the project",
            Scope::Hub | Scope::EveryCluster | Scope::Cluster(_) => "the whole cluster",
        };
        Err(Refusal::new(format!(
            "your roles in {scope} do not allow you to {verb} {resource}: ask an owner for a role"
        )))
    }
}

fn at(project: &ProjectFacts) -> Scope {
    Scope::Project(project.cluster.clone(), project.uid.clone())
}

/// Returns the fields of a project's spec that only owners of the cluster may change.
fn limits(spec: &ProjectSpec) -> impl PartialEq + use<'_> {
    (&spec.quota, &spec.container_defaults, spec.pod_security)
}

/// Validates the quota and the defaults of a project.
fn holds(spec: &ProjectSpec) -> Result<(), Refusal> {
    quota::check(spec).map_err(|error| Refusal::new(error.to_string()))
}

fn uid() -> Refusal {
    Refusal::new(
        "spec.cluster of a project is immutable, and only Drover's server can write \
         spec.cluster.uid: omit spec.cluster.uid in a new project, and do not change spec.cluster \
         of an existing project",
    )
}
