//! Resolves a role with all inherited roles.

use std::collections::BTreeMap;

use drover_api::kinds::{RoleContext, RoleTemplateSpec};
use thiserror::Error;

use super::{InvalidRule, Rights, Scoped, ValidationScope, check_all};

/// Maximum depth of inheritance.
const MAX_DEPTH: usize = 16;
/// Maximum number of rules in a role, and of individual permissions in these rules. Kubernetes
/// limits the size of a ClusterRole. Admission compares all permissions at each write.
const MAX_RULES: usize = 500;
const MAX_RIGHTS: usize = 5_000;

/// Reasons why a role cannot be resolved. Such a role grants nothing, and users cannot bind such a
/// role.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unresolved {
    /// An inherited role does not exist.
    #[error(
        "the role {role:?} inherits the role {inherited:?}, which does not exist: create \
         {inherited:?}, or remove {inherited:?} from spec.inherits of {role:?}"
    )]
    Missing {
        /// Name of the role whose `spec.inherits` contains the missing role.
        role: String,
        /// Name of the missing role.
        inherited: String,
    },
    /// The role inherits itself, directly or through other roles.
    #[error(
        "the role inherits itself: {inheritance_chain}; remove one of these roles from \
         spec.inherits",
        inheritance_chain = .0.join(" → ")
    )]
    Circle(Vec<String>),
    /// The context (cluster or project) of an inherited role differs from the context of the
    /// inheriting role.
    #[error(
        "the role {role:?} inherits the role {inherited:?}, which is a role for {context}: \
         inherit only roles of the same context",
        context = place(*.context)
    )]
    Elsewhere {
        /// Name of the role whose `spec.inherits` contains the inherited role.
        role: String,
        /// Name of the inherited role.
        inherited: String,
        /// Context of the inherited role.
        context: RoleContext,
    },
    /// The chain of inherited roles is longer than the limit.
    #[error(
        "the chain of inherited roles is longer than {MAX_DEPTH} roles: inherit the last roles \
         of the chain directly"
    )]
    TooDeep,
    /// The role has too many rules.
    #[error(
        "the role and its inherited roles have more than {MAX_RULES} rules or {MAX_RIGHTS} \
         permissions: split the role into several roles"
    )]
    TooLarge,
    /// Kubernetes rejects a rule of the role or of an inherited role.
    #[error("the role {role:?} is invalid: spec.{source}")]
    Invalid {
        /// Name of the role that contains the rule.
        role: String,
        /// The invalid rule and its problem.
        source: InvalidRule,
    },
    /// The name of a ClusterRole is invalid.
    #[error(
        "the role {role:?} is invalid: spec.external contains {external:?}, which is not a valid \
         ClusterRole name"
    )]
    NoClusterRole {
        /// Name of the role whose `spec.external` contains the invalid name.
        role: String,
        /// The invalid name.
        external: String,
    },
}

fn place(context: RoleContext) -> &'static str {
    match context {
        RoleContext::Cluster => "clusters",
        RoleContext::Project => "projects",
    }
}

/// Returns the permissions of a role including all inherited roles, or `None` if the role does not
/// exist. `find` returns a role by name. The function visits each role once, so the run time is
/// linear in the number of roles.
pub fn resolve<'a>(
    name: &str,
    find: impl Fn(&str) -> Option<&'a RoleTemplateSpec>,
) -> Option<Result<Scoped, Unresolved>> {
    let role = find(name)?;
    let mut walk = Walk {
        find,
        context: role.context,
        path: vec![name.to_owned()],
        heights: BTreeMap::new(),
        rights: Scoped::default(),
    };
    Some(walk.visit(name, role).map(|()| walk.rights))
}

struct Walk<F> {
    find: F,
    context: RoleContext,
    /// Names of the roles on the path from the resolved role to the current role.
    path: Vec<String>,
    /// The visited roles, each with its depth in the chain of inherited roles.
    heights: BTreeMap<String, usize>,
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
            if !self.heights.contains_key(inherited) {
                let next = self.inherited(name, inherited)?;
                self.path.push(inherited.clone());
                self.visit(inherited, next)?;
                self.path.pop();
            }
            let below = self.heights.get(inherited).copied().unwrap_or_default();
            height = height.max(below + 1);
            if self.path.len() + below > MAX_DEPTH {
                return Err(Unresolved::TooDeep);
            }
        }
        self.heights.insert(name.to_owned(), height);
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

    /// Adds the rules in the spec of the current role.
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

/// Checks whether Kubernetes accepts the rules in the role's own spec.
fn check(name: &str, role: &RoleTemplateSpec, context: RoleContext) -> Result<(), Unresolved> {
    let reach = match context {
        RoleContext::Cluster => ValidationScope::Cluster,
        RoleContext::Project => ValidationScope::Namespaces,
    };
    let rules = check_all("rules", &role.rules, reach);
    let rules = rules.and_then(|()| {
        check_all(
            "clusterRules",
            &role.cluster_rules,
            ValidationScope::Cluster,
        )
    });
    rules.map_err(|source| Unresolved::Invalid {
        role: name.to_owned(),
        source,
    })?;
    // Kubernetes only requires that a role's name is a valid path segment.
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
