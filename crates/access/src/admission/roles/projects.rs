//! Projects: which namespaces they have, and what those may use.

use drover_api::ids::ClusterUid;
use drover_api::kinds::{ProjectNamespace, ProjectSpec};

use super::{Giver, Known, quota, spec};
use crate::admission::{Operation, Refusal, Write, is_listed};
use crate::grants::{Place, ProjectFacts};

/// Namespaces that are no project's.
const RESERVED: &[&str] = &["kube-*", "drover-*"];

/// Whether a namespace is Kubernetes' own or Drover's, and so no project's.
pub fn is_reserved(namespace: &str) -> bool {
    is_listed(RESERVED, namespace)
}

pub(super) fn admit(write: &Write<'_>, writer: &Giver, known: Known<'_>) -> Result<(), Refusal> {
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
    // It stays where it was made, whatever has taken that name since.
    let pinned = before.as_ref().and_then(|said| said.cluster.uid.as_ref());
    let there = known.facts.clusters.get(name);
    let meant = there.filter(|there| pinned.is_none_or(|pinned| pinned == *there));
    let Some(cluster) = meant else {
        // What is left of a cluster has no owners any more.
        if write.operation == Operation::Delete {
            return super::everything_at(writer, known, &Place::EveryCluster);
        }
        return Err(Refusal::new(match pinned {
            Some(_) => format!(
                "the cluster {name:?} that it was made in is not there: delete the project, and make \
                 it anew if another cluster of that name is meant"
            ),
            None => format!("there is no cluster {name:?}: correct the name in spec.cluster"),
        }));
    };
    let change = Change {
        name: write.called(),
        writer,
        known,
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
    writer: &'a Giver,
    known: Known<'a>,
    cluster: &'a ClusterUid,
}

impl Change<'_> {
    fn made(&self, after: &ProjectSpec) -> Result<(), Refusal> {
        if after.cluster.uid.is_some() {
            return Err(uid());
        }
        self.must("create", "projects", &self.whole())?;
        let unlimited = ProjectSpec::default();
        if limits(after) != limits(&unlimited) {
            self.must("update", "projects", &self.whole())?;
        }
        self.gains(&[], &after.namespaces)?;
        holds(after)
    }

    fn changed(&self, before: &ProjectSpec, after: &ProjectSpec) -> Result<(), Refusal> {
        if before.cluster != after.cluster {
            return Err(uid());
        }
        if limits(before) != limits(after) {
            self.must("update", "projects", &self.whole())?;
        }
        if (&before.display_name, &before.description) != (&after.display_name, &after.description)
        {
            self.must("update", "projects", &self.own()?)?;
        }
        if before.namespaces != after.namespaces {
            self.must("update", "projects/namespaces", &self.own()?)?;
        }
        self.gains(&before.namespaces, &after.namespaces)?;
        holds(after)
    }

    fn deleted(&self) -> Result<(), Refusal> {
        self.must("delete", "projects", &self.whole())
    }

    /// Checks every namespace that is new, or newly to be taken over.
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
                "the namespace {name:?} is Kubernetes' own or Drover's, and no project's: choose \
                 another"
            )));
        }
        let holder = self.holder(name);
        match (namespace.adopt, holder) {
            (false, None) => Ok(()),
            (false, Some((holder, project))) => Err(Refusal::new(
                if self.writer.may(self.known, "get", "projects", &at(project)) {
                    format!(
                        "the namespace {name:?} is in the project {holder:?}: take it out of that one, \
                         and set adopt here to take it over"
                    )
                } else {
                    format!(
                        "the namespace {name:?} is in another project: choose another name, or ask an \
                         owner of the cluster"
                    )
                },
            )),
            (true, Some((_, project))) => self.must("update", "projects/namespaces", &at(project)),
            // Nobody's, so whatever is in it is for those who have all of the cluster.
            (true, None) => super::everything_at(self.writer, self.known, &self.whole()),
        }
    }

    /// The other project of the cluster that has this namespace.
    fn holder(&self, namespace: &str) -> Option<(&str, &ProjectFacts)> {
        let projects = self.known.facts.projects.iter();
        let mut others = projects.filter(|(name, project)| {
            **name != self.name
                && project.cluster == *self.cluster
                && project.namespaces.iter().any(|own| own == namespace)
        });
        others.next().map(|(name, project)| (*name, project))
    }

    fn whole(&self) -> Place {
        Place::Cluster(self.cluster.clone())
    }

    fn own(&self) -> Result<Place, Refusal> {
        let project = self.known.facts.projects.get(self.name);
        let project =
            project.ok_or_else(|| Refusal::new("the project is not known yet; try again"))?;
        Ok(at(project))
    }

    fn must(&self, verb: &str, resource: &str, place: &Place) -> Result<(), Refusal> {
        if self.writer.may(self.known, verb, resource, place) {
            return Ok(());
        }
        let scope = match place {
            Place::Project(..) => "the project",
            Place::Hub | Place::EveryCluster | Place::Cluster(_) => "the whole cluster",
        };
        Err(Refusal::new(format!(
            "your roles in {scope} do not let you {verb} {resource}: ask an owner"
        )))
    }
}

fn at(project: &ProjectFacts) -> Place {
    Place::Project(project.cluster.clone(), project.uid.clone())
}

/// What the cluster's owners say of a project, whoever else may change it.
fn limits(said: &ProjectSpec) -> impl PartialEq + use<'_> {
    (&said.quota, &said.container_defaults, said.pod_security)
}

/// Whether what a project says of quota and defaults can be.
fn holds(said: &ProjectSpec) -> Result<(), Refusal> {
    quota::check(said).map_err(|error| Refusal::new(error.to_string()))
}

fn uid() -> Refusal {
    Refusal::new(
        "a project stays in its cluster, and only Drover's server writes the uid beside the name: \
         leave spec.cluster as it is, without a uid where the project is new",
    )
}
