//! Nobody gives what they do not have, or changes what others have by it.

use std::collections::BTreeMap;

use thiserror::Error;

use super::{Grants, Place, Who};
use crate::roles::{Lacking, Rights, Scoped};

/// What somebody would give, change or take beyond what they have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("your own roles {scope} lack what this is about: {lacking}")]
pub struct Escalation {
    /// Completes "your own roles …".
    pub scope: &'static str,
    /// What they lack.
    pub lacking: Lacking,
}

impl Grants {
    /// Whether somebody may give a role at a place: they have all of it there themselves.
    pub fn may_give(&self, who: Who<'_>, role: &Scoped, place: &Place) -> Result<(), Escalation> {
        match place {
            Place::Hub => has(&self.held(who, place), &role.cluster, "on the hub"),
            Place::EveryCluster => has(&self.held(who, place), &role.cluster, "in every cluster"),
            Place::Cluster(_) => has(&self.held(who, place), &role.cluster, "in the cluster"),
            Place::Project(cluster, _) => {
                let whole = Place::Cluster(cluster.clone());
                has(&self.held(who, &whole), &role.cluster, "in the cluster")?;
                has(&self.held(who, place), &role.project, "in the project")
            }
        }
    }

    /// Whether somebody may give rights in single namespaces of the hub.
    pub fn may_give_in_hub_namespaces(
        &self,
        who: Who<'_>,
        namespaced: &BTreeMap<String, Rights>,
    ) -> Result<(), Escalation> {
        namespaced.iter().try_for_each(|(namespace, rights)| {
            let held = self.held_in_hub_namespace(who, namespace);
            has(&held, rights, "in that namespace of the hub")
        })
    }

    /// Whether somebody may do all that another may, and so gains nothing by signing in as them.
    pub fn may_act_for(&self, who: Who<'_>, other: Who<'_>) -> Result<(), Escalation> {
        self.of(other).try_for_each(|grant| {
            self.may_give(who, &grant.role.scoped, &grant.place)?;
            self.may_give_in_hub_namespaces(who, &grant.role.namespaced)
        })
    }

    /// Whether somebody may write, change or delete a RoleTemplate, which may be given to anybody
    /// anywhere, now or later: they have all that it said and all that it says in every cluster.
    ///
    /// What it said counts as well. A role that is stripped by somebody who lacks its rights could be
    /// given while it is harmless, and would be what it was once whoever cares for it restores it.
    pub fn may_write_template(
        &self,
        who: Who<'_>,
        before: Option<&Scoped>,
        after: Option<&Scoped>,
    ) -> Result<(), Escalation> {
        let held = self.held(who, &Place::EveryCluster);
        for role in [before, after].into_iter().flatten() {
            let mut all = role.cluster.clone();
            all.extend(&role.project);
            has(&held, &all, "in every cluster")?;
        }
        Ok(())
    }
}

fn has(held: &Rights, wanted: &Rights, scope: &'static str) -> Result<(), Escalation> {
    match held.missing(wanted) {
        None => Ok(()),
        Some(lacking) => Err(Escalation { scope, lacking }),
    }
}
