//! Checks against privilege escalation: users can grant and change only permissions that they have
//! themselves.

use std::collections::BTreeMap;

use thiserror::Error;

use super::{Grants, RightsHolder, Scope};
use crate::roles::{MissingPermissions, Rights, Scoped};

/// The permissions that the writer needs for a write but does not have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("your roles {scope} lack permissions that this write requires: {lacking}")]
pub struct Escalation {
    /// Description of the scope. The text completes the message "your roles …".
    pub scope: &'static str,
    /// The permissions that the writer does not have in the scope.
    pub lacking: MissingPermissions,
}

impl Grants {
    /// Checks whether a user may grant a role in a scope. The user must have all permissions of the
    /// role in this scope.
    pub fn may_grant(
        &self,
        holder: RightsHolder<'_>,
        role: &Scoped,
        scope: &Scope,
    ) -> Result<(), Escalation> {
        match scope {
            Scope::Hub => has(&self.rights_in(holder, scope), &role.cluster, "on the hub"),
            Scope::EveryCluster => has(
                &self.rights_in(holder, scope),
                &role.cluster,
                "in every cluster",
            ),
            Scope::Cluster(_) => has(
                &self.rights_in(holder, scope),
                &role.cluster,
                "in the cluster",
            ),
            Scope::Project(cluster, _) => {
                let whole = Scope::Cluster(cluster.clone());
                has(
                    &self.rights_in(holder, &whole),
                    &role.cluster,
                    "in the cluster",
                )?;
                has(
                    &self.rights_in(holder, scope),
                    &role.project,
                    "in the project",
                )
            }
        }
    }

    /// Checks whether a user may grant permissions in individual namespaces of the hub.
    pub fn may_grant_in_hub_namespaces(
        &self,
        holder: RightsHolder<'_>,
        namespaced: &BTreeMap<String, Rights>,
    ) -> Result<(), Escalation> {
        namespaced.iter().try_for_each(|(namespace, rights)| {
            let owned = self.rights_in_hub_namespace(holder, namespace);
            has(&owned, rights, "in that namespace of the hub")
        })
    }

    /// Checks that the user has all permissions of the impersonated user. Impersonation must not
    /// add permissions.
    pub fn may_act_for(
        &self,
        holder: RightsHolder<'_>,
        other: RightsHolder<'_>,
    ) -> Result<(), Escalation> {
        self.of(other).try_for_each(|grant| {
            self.may_grant(holder, &grant.role.scoped, &grant.scope)?;
            self.may_grant_in_hub_namespaces(holder, &grant.role.namespaced)
        })
    }

    /// Checks whether a user may write or delete a RoleTemplate. A RoleTemplate can be bound in
    /// every cluster. In every cluster, the user must have the role's permissions before and after
    /// the write.
    ///
    /// Without the check of the permissions before the write, a user could remove the role's rules
    /// and bind the harmless role. After an administrator restores the rules, the binding would
    /// grant them.
    pub fn may_write_template(
        &self,
        holder: RightsHolder<'_>,
        before: Option<&Scoped>,
        after: Option<&Scoped>,
    ) -> Result<(), Escalation> {
        let owned = self.rights_in(holder, &Scope::EveryCluster);
        for role in [before, after].into_iter().flatten() {
            let mut all = role.cluster.clone();
            all.extend(&role.project);
            has(&owned, &all, "in every cluster")?;
        }
        Ok(())
    }
}

fn has(owned: &Rights, desired: &Rights, scope: &'static str) -> Result<(), Escalation> {
    match owned.missing(desired) {
        None => Ok(()),
        Some(lacking) => Err(Escalation { scope, lacking }),
    }
}
