//! What a decision stood on, so that it can be seen later whether it still does.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::held::leads_to;
use super::{Grants, Place, Role, Who};
use crate::target::Target;

/// The roles that led somebody somewhere, with what they allowed by then.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Basis(Vec<Ground>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Ground {
    role: Arc<Role>,
    place: Place,
    /// Those of the project, where the place is one.
    namespaces: Vec<String>,
}

impl Basis {
    /// Names of the roles, each once, in the order of names.
    pub fn roles(&self) -> BTreeSet<&str> {
        let grounds = self.0.iter();
        grounds.map(|ground| ground.role.name.as_str()).collect()
    }
}

impl Grants {
    /// The roles by which somebody may use a target; `None` if they have none there.
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

    /// Whether somebody still has all that a decision about them stood on, by whichever roles.
    pub fn still_has(&self, who: Who<'_>, basis: &Basis) -> bool {
        basis.0.iter().all(|ground| self.carries(who, ground))
    }

    fn carries(&self, who: Who<'_>, ground: &Ground) -> bool {
        let now = self.namespaces_of(&ground.place);
        if !ground.namespaces.iter().all(|name| now.contains(name)) {
            return false;
        }
        // A role that allows nothing by itself leads there as well.
        if !self
            .of(who)
            .any(|grant| holds_at(&grant.place, &ground.place))
        {
            return false;
        }
        let mut own = self.of(who).filter(|grant| grant.place == ground.place);
        // Roles are made anew with every change of any binding, so they are compared.
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

/// Whether what is given at one place counts at another.
fn holds_at(given: &Place, here: &Place) -> bool {
    match (given, here) {
        (Place::EveryCluster, Place::Cluster(_) | Place::Project(..)) => true,
        (Place::Cluster(given), Place::Project(here, _)) => given == here,
        (given, here) => given == here,
    }
}
