//! The roles on which a decision depends, to check later whether the decision is still valid.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::held::leads_to;
use super::{Grants, Place, Role, Who};
use crate::target::Target;

/// The roles that gave access to a target, with their rules at the time of the decision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Basis(Vec<Ground>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Ground {
    role: Arc<Role>,
    place: Place,
    /// The project's namespaces, if the scope is a project.
    namespaces: Vec<String>,
}

impl Basis {
    /// Names of the roles, sorted and unique.
    pub fn roles(&self) -> BTreeSet<&str> {
        let grounds = self.0.iter();
        grounds.map(|ground| ground.role.name.as_str()).collect()
    }
}

impl Grants {
    /// The roles that give access to a target; `None` without any role there.
    pub fn basis(&self, who: Who<'_>, target: &Target) -> Option<Basis> {
        let leading = self.of(who).filter(|grant| leads_to(grant, target));
        let grounds: Vec<_> = leading
            .map(|grant| Ground {
                role: Arc::clone(&grant.role),
                place: grant.place.clone(),
                namespaces: self.namespaces_of(&grant.place).to_vec(),
            })
            .collect();
        (!grounds.is_empty()).then_some(Basis(grounds))
    }

    /// Reports whether a subject still has all rights of a decision, through any roles.
    pub fn still_has(&self, who: Who<'_>, basis: &Basis) -> bool {
        basis.0.iter().all(|ground| self.carries(who, ground))
    }

    fn carries(&self, who: Who<'_>, ground: &Ground) -> bool {
        let now = self.namespaces_of(&ground.place);
        if !ground.namespaces.iter().all(|name| now.contains(name)) {
            return false;
        }
        // A role without rules gives access to the target too.
        if !self
            .of(who)
            .any(|grant| holds_at(&grant.place, &ground.place))
        {
            return false;
        }
        let mut own = self.of(who).filter(|grant| grant.place == ground.place);
        // Any change of a binding rebuilds all roles, so compare their values.
        if own.any(|grant| *grant.role == *ground.role) {
            return true;
        }
        let (scoped, place) = (&ground.role.scoped, &ground.place);
        let whole = match place {
            Place::Project(cluster, _) => Place::Cluster(cluster.clone()),
            _ => place.clone(),
        };
        let mut namespaced = ground.role.namespaced.iter();
        self.held(who, &whole).missing(&scoped.cluster).is_none()
            && self.held(who, place).missing(&scoped.project).is_none()
            && namespaced.all(|(namespace, rights)| {
                let held = self.held_in_hub_namespace(who, namespace);
                held.missing(rights).is_none()
            })
    }

    fn namespaces_of(&self, place: &Place) -> &[String] {
        match place {
            Place::Project(_, project) => self.namespaces(project),
            Place::Hub | Place::EveryCluster | Place::Cluster(_) => &[],
        }
    }
}

/// Reports whether a grant in one scope applies to another scope.
fn holds_at(given: &Place, here: &Place) -> bool {
    match (given, here) {
        (Place::EveryCluster, Place::Cluster(_) | Place::Project(..)) => true,
        (Place::Cluster(given), Place::Project(here, _)) => given == here,
        (given, here) => given == here,
    }
}
