//! The roles on which an access decision depends. The server uses these roles to check later
//! whether the decision is still valid.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Target;
use super::rights::gives_access_to;
use super::{Grants, RightsHolder, Role, Scope};

/// The roles that gave access to a target, with their rules at the time of the decision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Provenance(Vec<GrantedRole>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct GrantedRole {
    role: Arc<Role>,
    scope: Scope,
    /// The project's namespaces, if the scope is a project.
    namespaces: Vec<String>,
}

impl Provenance {
    /// Returns the names of the roles, sorted and without duplicates.
    pub fn roles(&self) -> BTreeSet<&str> {
        let granted_roles = self.0.iter();
        granted_roles
            .map(|granted| granted.role.name.as_str())
            .collect()
    }
}

impl Grants {
    /// Returns the roles that grant access to a target, or `None` if no role of the user grants
    /// access.
    pub fn provenance(&self, holder: RightsHolder<'_>, target: &Target) -> Option<Provenance> {
        let leading = self
            .of(holder)
            .filter(|grant| gives_access_to(grant, target));
        let granted_roles: Vec<_> = leading
            .map(|grant| GrantedRole {
                role: Arc::clone(&grant.role),
                scope: grant.scope.clone(),
                namespaces: self.namespaces_of(&grant.scope).to_vec(),
            })
            .collect();
        (!granted_roles.is_empty()).then_some(Provenance(granted_roles))
    }

    /// Reports whether a user still has all permissions on which a decision depends. The
    /// permissions may result from roles that did not exist at the time of the decision.
    pub fn still_has(&self, holder: RightsHolder<'_>, provenance: &Provenance) -> bool {
        provenance
            .0
            .iter()
            .all(|granted| self.has_rights_of(holder, granted))
    }

    fn has_rights_of(&self, holder: RightsHolder<'_>, granted: &GrantedRole) -> bool {
        let now = self.namespaces_of(&granted.scope);
        if !granted.namespaces.iter().all(|name| now.contains(name)) {
            return false;
        }
        // A role without rules gives access to the target too.
        if !self
            .of(holder)
            .any(|grant| covers_scope(&grant.scope, &granted.scope))
        {
            return false;
        }
        let mut own = self.of(holder).filter(|grant| grant.scope == granted.scope);
        // Any change of a binding rebuilds all roles, so compare their values.
        if own.any(|grant| *grant.role == *granted.role) {
            return true;
        }
        let (scoped, scope) = (&granted.role.scoped, &granted.scope);
        let whole = match scope {
            Scope::Project(cluster, _) => Scope::Cluster(cluster.clone()),
            _ => scope.clone(),
        };
        let mut namespaced = granted.role.namespaced.iter();
        self.rights_in(holder, &whole)
            .missing(&scoped.cluster)
            .is_none()
            && self
                .rights_in(holder, scope)
                .missing(&scoped.project)
                .is_none()
            && namespaced.all(|(namespace, rights)| {
                let owned = self.rights_in_hub_namespace(holder, namespace);
                owned.missing(rights).is_none()
            })
    }

    fn namespaces_of(&self, scope: &Scope) -> &[String] {
        match scope {
            Scope::Project(_, project) => self.namespaces(project),
            Scope::Hub | Scope::EveryCluster | Scope::Cluster(_) => &[],
        }
    }
}

/// Reports whether a grant in the first scope also applies in the second scope.
fn covers_scope(granted: &Scope, here: &Scope) -> bool {
    match (granted, here) {
        (Scope::EveryCluster, Scope::Cluster(_) | Scope::Project(..)) => true,
        (Scope::Cluster(granted), Scope::Project(here, _)) => granted == here,
        (granted, here) => granted == here,
    }
}
