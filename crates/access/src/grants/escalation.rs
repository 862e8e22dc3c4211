//! Checks against privilege escalation: users can grant and change only permissions that they have.

use std::collections::BTreeMap;

use thiserror::Error;

use super::{Grants, RightsHolder, Scope};
use crate::roles::{Lacking, Rights, Scoped};

/// The permissions that a write requires and the writer lacks.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("your own roles {scope} lack permissions that this write requires: {lacking}")]
pub struct Escalation {
    /// The scope, as the end of the message "your own roles …".
    pub scope: &'static str,
    /// The missing permissions.
    pub lacking: Lacking,
}

impl Grants {
    /// Checks whether a user may grant a role in a scope, which requires all permissions of the
    /// role there.
    pub fn may_grant(
        &self,
        who: RightsHolder<'_>,
        role: &Scoped,
        scope: &Scope,
    ) -> Result<(), Escalation> {
        match scope {
            Scope::Hub => has(&self.rights_in(who, scope), &role.cluster, "on the hub"),
            Scope::EveryCluster => has(
                &self.rights_in(who, scope),
                &role.cluster,
                "in every cluster",
            ),
            Scope::Cluster(_) => has(&self.rights_in(who, scope), &role.cluster, "in the cluster"),
            Scope::Project(cluster, _) => {
                let whole = Scope::Cluster(cluster.clone());
                has(
                    &self.rights_in(who, &whole),
                    &role.cluster,
                    "in the cluster",
                )?;
                has(&self.rights_in(who, scope), &role.project, "in the project")
            }
        }
    }

    /// Checks whether a user may grant permissions in individual namespaces of the hub.
    pub fn may_grant_in_hub_namespaces(
        &self,
        who: RightsHolder<'_>,
        namespaced: &BTreeMap<String, Rights>,
    ) -> Result<(), Escalation> {
        namespaced.iter().try_for_each(|(namespace, rights)| {
            let held = self.rights_in_hub_namespace(who, namespace);
            has(&held, rights, "in that namespace of the hub")
        })
    }

    /// Checks whether a user has all permissions of the user to impersonate, so that the
    /// impersonation adds no permissions.
    pub fn may_act_for(
        &self,
        who: RightsHolder<'_>,
        other: RightsHolder<'_>,
    ) -> Result<(), Escalation> {
        self.of(other).try_for_each(|grant| {
            self.may_grant(who, &grant.role.scoped, &grant.scope)?;
            self.may_grant_in_hub_namespaces(who, &grant.role.namespaced)
        })
    }

    /// Checks whether a user may write or delete a RoleTemplate. A RoleTemplate may be granted in
    /// every cluster, so the user needs all its old and new permissions in every cluster.
    ///
    /// The check includes the old permissions. Otherwise a user could remove the role's rules and
    /// grant the harmless role. The grant would contain the old rules after an administrator
    /// restores them.
    pub fn may_write_template(
        &self,
        who: RightsHolder<'_>,
        before: Option<&Scoped>,
        after: Option<&Scoped>,
    ) -> Result<(), Escalation> {
        let held = self.rights_in(who, &Scope::EveryCluster);
        for role in [before, after].into_iter().flatten() {
            let mut all = role.cluster.clone();
            all.extend(&role.project);
            has(&held, &all, "in every cluster")?;
        }
        Ok(())
    }
}

fn has(held: &Rights, desired: &Rights, scope: &'static str) -> Result<(), Escalation> {
    match held.missing(desired) {
        None => Ok(()),
        Some(lacking) => Err(Escalation { scope, lacking }),
    }
}
