//! What a role allows with all that it inherits.

use std::collections::BTreeMap;

use drover_api::kinds::{RoleContext, RoleTemplateSpec};
use thiserror::Error;

use super::{InvalidRule, Reach, Rights, Scoped, check_all};

/// How many roles may stand between a role and the farthest that it inherits.
const MAX_DEPTH: usize = 16;
/// Most rules that a role may come to, and most rights of one verb, group, resource and name each: a
/// ClusterRole has to hold them, and somebody to be compared with them at each write.
const MAX_RULES: usize = 500;
const MAX_RIGHTS: usize = 5_000;

/// Why it cannot be known what a role allows. Such a role allows nothing and is given to nobody.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unresolved {
    /// One of those that it inherits is not there.
    #[error(
        "it inherits from {inherited:?} by way of {role:?}, and there is no such RoleTemplate: \
         make it, or take it out of spec.inherits of {role:?}"
    )]
    Missing {
        /// Whose `spec.inherits` names it.
        role: String,
        /// What is not there.
        inherited: String,
    },
    /// It inherits itself.
    #[error("it inherits itself: {}; take one of them out of spec.inherits", .0.join(" → "))]
    Circle(Vec<String>),
    /// One of those that it inherits is for somewhere else.
    #[error(
        "{role:?} inherits from {inherited:?}, which is for {}: inherit roles of the same context",
        place(*.context)
    )]
    Elsewhere {
        /// Whose `spec.inherits` names it.
        role: String,
        /// What is for somewhere else.
        inherited: String,
        /// What that one is for.
        context: RoleContext,
    },
    /// It inherits over too many.
    #[error("it inherits over more than {MAX_DEPTH} roles: inherit the farther ones straight")]
    TooDeep,
    /// It has too many rules.
    #[error(
        "it comes to more than {MAX_RULES} rules or {MAX_RIGHTS} single rights with all that it \
         inherits: cut it into several roles"
    )]
    TooLarge,
    /// Kubernetes does not take one of its rules, or of those that it inherits.
    #[error("{role:?}: spec.{source}")]
    Invalid {
        /// Whose rule.
        role: String,
        /// Which, and what is wrong.
        source: InvalidRule,
    },
    /// A ClusterRole of the cluster's own that no cluster has.
    #[error("{role:?}: spec.external names {external:?}, which is no name of a ClusterRole")]
    NoClusterRole {
        /// Whose `spec.external`.
        role: String,
        /// The name.
        external: String,
    },
}

fn place(context: RoleContext) -> &'static str {
    match context {
        RoleContext::Cluster => "clusters",
        RoleContext::Project => "projects",
    }
}

/// What the role of this name allows with all that it inherits; `None` if there is no such role.
///
/// `find` looks a role up by name. Each role counts once, whichever ways lead to it, so the time is
/// linear in the roles.
pub fn resolve<'a>(
    name: &str,
    find: impl Fn(&str) -> Option<&'a RoleTemplateSpec>,
) -> Option<Result<Scoped, Unresolved>> {
    let role = find(name)?;
    let mut walk = Walk {
        find,
        context: role.context,
        path: vec![name.to_owned()],
        seen: BTreeMap::new(),
        rights: Scoped::default(),
    };
    Some(walk.visit(name, role).map(|()| walk.rights))
}

struct Walk<F> {
    find: F,
    context: RoleContext,
    /// From the role that was asked for to the one that is looked at.
    path: Vec<String>,
    /// Those that were looked at, and how far below them the farthest is.
    seen: BTreeMap<String, usize>,
    rights: Scoped,
}

impl<'a, F: Fn(&str) -> Option<&'a RoleTemplateSpec>> Walk<F> {
    fn visit(&mut self, name: &str, role: &RoleTemplateSpec) -> Result<(), Unresolved> {
        self.take(name, role)?;
        let mut height = 0;
        for inherited in &role.inherits {
            if let Some(first) = self.path.iter().position(|above| above == inherited) {
                let mut circle = self.path[first..].to_vec();
                circle.push(inherited.clone());
                return Err(Unresolved::Circle(circle));
            }
            if !self.seen.contains_key(inherited) {
                let next = self.inherited(name, inherited)?;
                self.path.push(inherited.clone());
                self.visit(inherited, next)?;
                self.path.pop();
            }
            let below = self.seen.get(inherited).copied().unwrap_or_default();
            height = height.max(below + 1);
            if self.path.len() + below > MAX_DEPTH {
                return Err(Unresolved::TooDeep);
            }
        }
        self.seen.insert(name.to_owned(), height);
        Ok(())
    }

    fn inherited(&self, role: &str, inherited: &str) -> Result<&'a RoleTemplateSpec, Unresolved> {
        if self.path.len() > MAX_DEPTH {
            return Err(Unresolved::TooDeep);
        }
        let next = (self.find)(inherited).ok_or_else(|| Unresolved::Missing {
            role: role.to_owned(),
            inherited: inherited.to_owned(),
        })?;
        if next.context == self.context {
            return Ok(next);
        }
        Err(Unresolved::Elsewhere {
            role: role.to_owned(),
            inherited: inherited.to_owned(),
            context: next.context,
        })
    }

    /// Adds what a role says itself.
    fn take(&mut self, name: &str, role: &RoleTemplateSpec) -> Result<(), Unresolved> {
        check(name, role, self.context)?;
        let mut own = Rights::of(&role.rules);
        own.external.extend(role.external.iter().cloned());
        match self.context {
            RoleContext::Cluster => self.rights.cluster.extend(&own),
            RoleContext::Project => {
                self.rights.project.extend(&own);
                self.rights.cluster.extend(&Rights::of(&role.cluster_rules));
            }
        }
        let all = [&self.rights.cluster.rules, &self.rights.project.rules];
        let rules: usize = all.iter().map(|rules| rules.len()).sum();
        let sizes = all.into_iter().flatten().map(drover_rbac::Rule::size);
        let rights = sizes.fold(0, usize::saturating_add);
        if rules > MAX_RULES || rights > MAX_RIGHTS {
            return Err(Unresolved::TooLarge);
        }
        Ok(())
    }
}

/// Whether clusters take what a role says itself.
fn check(name: &str, role: &RoleTemplateSpec, context: RoleContext) -> Result<(), Unresolved> {
    let reach = match context {
        RoleContext::Cluster => Reach::Cluster,
        RoleContext::Project => Reach::Namespaces,
    };
    let rules = check_all("rules", &role.rules, reach);
    let rules = rules.and_then(|()| check_all("clusterRules", &role.cluster_rules, Reach::Cluster));
    rules.map_err(|source| Unresolved::Invalid {
        role: name.to_owned(),
        source,
    })?;
    // As a segment of a path, which is all that Kubernetes asks of a role's name.
    let fits =
        |external: &str| !matches!(external, "" | "." | "..") && !external.contains(['/', '%']);
    match role.external.iter().find(|external| !fits(external)) {
        None => Ok(()),
        Some(external) => Err(Unresolved::NoClusterRole {
            role: name.to_owned(),
            external: external.clone(),
        }),
    }
}
