//! Explains which grants allow an action.

use std::collections::BTreeSet;

use drover_api::ids::ClusterUid;
use drover_rbac::{Rule, RuleTarget};

use super::rights::is_in;
use super::{Grant, Grants, RightsHolder, Scope};
use crate::roles::{Rights, known_group, known_rules};

/// An action in a cluster. [`Grants::who_can`] returns the grants that allow the action.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// UID of the Cluster object.
    pub cluster: &'a ClusterUid,
    /// Kubernetes verb, such as `get`.
    pub verb: &'a str,
    /// The resource or path of the action.
    pub rule_target: RuleTarget<'a>,
    /// Namespace; `None` for all namespaces and for cluster-scoped objects.
    pub namespace: Option<&'a str>,
}

/// A grant that allows the action, or possibly allows the action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowingGrant<'a> {
    /// The grant, with its binding.
    pub grant: &'a Grant,
    /// The rule or the ClusterRole that allows the action.
    pub through: PermissionOrigin,
}

/// The rule or the ClusterRole of a role that allows an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PermissionOrigin {
    /// A rule of the role.
    Rule,
    /// A ClusterRole of the cluster. Drover knows its rules.
    Known(String),
    /// A ClusterRole of the cluster whose rules Drover does not know. The ClusterRole possibly
    /// allows the action.
    Perhaps(String),
}

impl Grants {
    /// Returns all grants that allow the action or possibly allow the action.
    pub fn who_can(&self, question: Question<'_>) -> Vec<AllowingGrant<'_>> {
        let grants = self.in_cluster(question.cluster);
        grants
            .filter_map(|grant| {
                let through = self.allows(grant, question)?;
                Some(AllowingGrant { grant, through })
            })
            .collect()
    }

    /// Reports whether a role of a user allows the action or possibly allows the action.
    pub fn may_be_allowed(&self, holder: RightsHolder<'_>, question: Question<'_>) -> bool {
        let here = |grant: &&Grant| is_in(&grant.scope, question.cluster);
        let mut grants = self.of(holder).filter(here);
        grants.any(|grant| self.allows(grant, question).is_some())
    }

    /// Returns the namespaces of the cluster's projects in which a user has permissions.
    pub fn project_namespaces(
        &self,
        holder: RightsHolder<'_>,
        cluster: &ClusterUid,
    ) -> BTreeSet<&str> {
        let projects = self.of(holder).filter_map(|grant| match &grant.scope {
            Scope::Project(there, project) if there == cluster => {
                let rights = grant.role.scoped.project.downstream();
                (!rights.is_empty()).then_some(project)
            }
            _ => None,
        });
        let namespaces = projects.flat_map(|project| self.namespaces(project));
        namespaces.map(String::as_str).collect()
    }

    fn allows(&self, grant: &Grant, question: Question<'_>) -> Option<PermissionOrigin> {
        let scoped = &grant.role.scoped;
        let whole = through(&scoped.cluster, question);
        let in_project = match &grant.scope {
            Scope::Project(_, project) => question.namespace.is_some_and(|namespace| {
                let own = self.namespaces(project);
                own.iter().any(|own| own == namespace)
            }),
            _ => false,
        };
        let part = in_project
            .then(|| through(&scoped.project, question))
            .flatten();
        match (whole, part) {
            (Some(PermissionOrigin::Perhaps(_)), Some(sure)) => Some(sure),
            (whole, part) => whole.or(part),
        }
    }
}

fn through(rights: &Rights, question: Question<'_>) -> Option<PermissionOrigin> {
    let allows = |rule: &Rule| rule.allows(question.verb, question.rule_target);
    // Rules about Drover's own kinds do not concern the cluster.
    if rights.downstream().rules.iter().any(allows) {
        return Some(PermissionOrigin::Rule);
    }
    let known = rights
        .external
        .iter()
        .find(|name| known_rules(name).iter().any(allows));
    if let Some(name) = known {
        return Some(PermissionOrigin::Known(name.clone()));
    }
    let open = rights
        .external
        .iter()
        .find(|name| may_gather(name, question.rule_target));
    open.map(|name| PermissionOrigin::Perhaps(name.clone()))
}

/// Reports whether a ClusterRole of the cluster can contain rules that Drover does not know and
/// that allow the action. Returns true for every role that Kubernetes does not define. Returns true
/// for roles of Kubernetes if the action is about a custom resource, because a cluster can
/// aggregate rules about custom resources into these roles.
fn may_gather(name: &str, rule_target: RuleTarget<'_>) -> bool {
    match rule_target {
        _ if known_rules(name).is_empty() => true,
        RuleTarget::Resource { group, .. } => !known_group(group),
        RuleTarget::Path(_) => false,
    }
}
