//! The specs of roles.

use drover_api::kinds::{GlobalRoleSpec, RoleContext, RoleTemplateSpec};
use drover_api::rest::{GlobalRoleDetail, RoleDependents, RoleDetail, RoleUpdate, RoleView};
use drover_api::strict::unknown_field;
use k8s_openapi::api::rbac::v1::PolicyRule;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::matrix::{RuleField, part};
use super::words::{NameListKind, line, names};
use super::{Kind, Listed};
use crate::messages::t;
use crate::problem::{Problem, ProblemKind};
use crate::typed::non_empty;

/// The spec of a role of either kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum RoleSpec {
    /// The spec of a RoleTemplate.
    Template(RoleTemplateSpec),
    /// The spec of a GlobalRole.
    Global(GlobalRoleSpec),
}

/// A list of rules in a spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// The rules for the role's scope.
    Own,
    /// The rules of a project role for the cluster of the project.
    Cluster,
}

impl RoleSpec {
    /// Creates an empty spec.
    pub fn nothing(kind: Kind) -> Self {
        match kind {
            Kind::Template => Self::Template(RoleTemplateSpec::default()),
            Kind::Global => Self::Global(GlobalRoleSpec::default()),
        }
    }

    /// Returns the kind of the role.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Template(_) => Kind::Template,
            Self::Global(_) => Kind::Global,
        }
    }

    /// Returns the context. Returns `None` for global roles.
    pub const fn context(&self) -> Option<RoleContext> {
        match self {
            Self::Template(spec) => Some(spec.context),
            Self::Global(_) => None,
        }
    }

    /// Sets the context. A cluster role has no separate cluster rules, so the cluster rules move to
    /// `rules` and are copied to `moved`. A change back to a project role restores the unchanged
    /// rules in `moved`.
    pub fn set_context(&mut self, context: RoleContext, moved: &mut Vec<PolicyRule>) {
        let Self::Template(spec) = self else {
            return;
        };
        if spec.context == context {
            return;
        }
        spec.context = context;
        match context {
            RoleContext::Cluster => {
                moved.clone_from(&spec.cluster_rules);
                spec.rules.append(&mut spec.cluster_rules);
            }
            RoleContext::Project => {
                for rule in moved.drain(..) {
                    if let Some(at) = spec.rules.iter().rposition(|it| *it == rule) {
                        spec.cluster_rules.push(spec.rules.remove(at));
                    }
                }
            }
        }
    }

    /// Returns the lists of rules with their headings.
    pub fn lists(&self) -> Vec<(Rules, &'static str)> {
        match self.context() {
            None => vec![(Rules::Own, t().roles.on_hub())],
            Some(RoleContext::Cluster) => vec![(Rules::Own, t().roles.in_whole_cluster())],
            Some(RoleContext::Project) => vec![
                (Rules::Own, t().roles.in_project_namespaces()),
                (Rules::Cluster, t().roles.in_project_cluster()),
            ],
        }
    }

    /// Returns a list of rules; empty if the spec does not have the list.
    pub fn rules(&self, which: Rules) -> &[PolicyRule] {
        match (self, which) {
            (Self::Template(spec), Rules::Own) => &spec.rules,
            (Self::Template(spec), Rules::Cluster) => &spec.cluster_rules,
            (Self::Global(spec), Rules::Own) => &spec.rules,
            (Self::Global(_), Rules::Cluster) => &[],
        }
    }

    /// Returns a mutable list of rules. Returns `None` if the spec does not have the list.
    pub fn rules_mut(&mut self, which: Rules) -> Option<&mut Vec<PolicyRule>> {
        match (self, which) {
            (Self::Template(spec), Rules::Own) => Some(&mut spec.rules),
            (Self::Template(spec), Rules::Cluster) => Some(&mut spec.cluster_rules),
            (Self::Global(spec), Rules::Own) => Some(&mut spec.rules),
            (Self::Global(_), Rules::Cluster) => None,
        }
    }

    /// Reports whether a list accepts path rules.
    pub fn takes_paths(&self, which: Rules) -> bool {
        which == Rules::Cluster || self.context() != Some(RoleContext::Project)
    }

    /// Returns the display name; empty if unset.
    pub fn display_name(&self) -> &str {
        let name = match self {
            Self::Template(spec) => &spec.display_name,
            Self::Global(spec) => &spec.display_name,
        };
        name.as_deref().unwrap_or_default()
    }

    /// Returns the description; empty if unset.
    pub fn description(&self) -> &str {
        let text = match self {
            Self::Template(spec) => &spec.description,
            Self::Global(spec) => &spec.description,
        };
        text.as_deref().unwrap_or_default()
    }

    /// Sets the display name.
    pub fn call(&mut self, name: &str) {
        let name = non_empty(name);
        match self {
            Self::Template(spec) => spec.display_name = name,
            Self::Global(spec) => spec.display_name = name,
        }
    }

    /// Sets the description.
    pub fn describe(&mut self, text: &str) {
        let text = non_empty(text);
        match self {
            Self::Template(spec) => spec.description = text,
            Self::Global(spec) => spec.description = text,
        }
    }

    /// Returns the external ClusterRoles in one line. Returns `None` for global roles.
    pub fn external(&self) -> Option<String> {
        match self {
            Self::Template(spec) => Some(line(&spec.external, NameListKind::Plain)),
            Self::Global(_) => None,
        }
    }

    /// Sets the external ClusterRoles from entered text.
    pub fn set_external(&mut self, typed: &str) {
        if let Self::Template(spec) = self {
            spec.external = names(typed, NameListKind::Plain);
        }
    }

    /// Returns the label and the value of the role's checkbox: `locked` of a RoleTemplate, or
    /// `newUserDefault` of a GlobalRole.
    pub fn flag(&self) -> (&'static str, bool) {
        match self {
            Self::Template(spec) => (t().roles.locked_help(), spec.locked),
            Self::Global(spec) => (t().roles.new_user_default(), spec.new_user_default),
        }
    }

    /// Sets `locked` of a RoleTemplate, or `newUserDefault` of a GlobalRole.
    pub const fn set_flag(&mut self, is: bool) {
        match self {
            Self::Template(spec) => spec.locked = is,
            Self::Global(spec) => spec.new_user_default = is,
        }
    }

    /// Returns the number of hub namespaces with rules. Only the YAML shows these rules.
    pub fn hub_namespaces(&self) -> usize {
        match self {
            Self::Template(_) => 0,
            Self::Global(spec) => spec.namespaced_rules.len(),
        }
    }

    /// Returns the inherited roles of a RoleTemplate, or the roles that a GlobalRole grants in all
    /// clusters.
    pub fn others(&self) -> &[String] {
        match self {
            Self::Template(spec) => &spec.inherits,
            Self::Global(spec) => &spec.in_every_cluster,
        }
    }

    /// Returns a mutable list of the inherited roles of a RoleTemplate, or of the roles that a
    /// GlobalRole grants in all clusters.
    pub const fn others_mut(&mut self) -> &mut Vec<String> {
        match self {
            Self::Template(spec) => &mut spec.inherits,
            Self::Global(spec) => &mut spec.in_every_cluster,
        }
    }

    /// Reports whether the user can add the role to the inherited or granted roles of the spec.
    pub fn takes(&self, role: &RoleView) -> bool {
        let context = self.context().unwrap_or(RoleContext::Cluster);
        role.context == context && !role.locked && !self.others().contains(&role.name)
    }

    /// Creates a spec of a role that inherits the role `name`.
    #[must_use]
    pub fn inheriting(&self, name: &str) -> Self {
        match self {
            Self::Template(spec) => Self::Template(RoleTemplateSpec {
                context: spec.context,
                inherits: vec![name.to_owned()],
                ..RoleTemplateSpec::default()
            }),
            Self::Global(_) => self.copied(),
        }
    }

    /// Returns a copy of the spec for a new role. Clears the display name, and `locked` or
    /// `newUserDefault`.
    #[must_use]
    pub fn copied(&self) -> Self {
        let mut spec = self.clone();
        spec.call("");
        match &mut spec {
            Self::Template(spec) => spec.locked = false,
            Self::Global(spec) => spec.new_user_default = false,
        }
        spec
    }

    /// Returns the request that updates the role at this resource version.
    pub fn update(&self, version: &str) -> RoleUpdate {
        RoleUpdate {
            // Specs contain only strings and lists, so serialization cannot fail.
            spec: serde_json::to_value(self).unwrap_or_default(),
            resource_version: Some(version.to_owned()),
        }
    }
}

/// A scope and its effective rules as text.
pub type ScopeRules = (&'static str, Vec<String>);

/// A role as the server stores it.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// The role as a list entry.
    pub listed: Listed,
    /// The spec of the role.
    pub spec: RoleSpec,
    /// The resource version of the role.
    pub version: String,
    /// The effective permissions, by scope.
    pub allowed: Vec<ScopeRules>,
    /// The reason why the role has no effect.
    pub problem: Option<String>,
    /// The roles that inherit the role and block its deletion.
    pub rests_on_it: RoleDependents,
    /// The path of a spec field that this page does not know, because the server is newer.
    strange: Option<String>,
}

impl Stored {
    /// Parses the response of the server.
    pub fn read(kind: Kind, answer: &Value) -> Result<Self, serde_json::Error> {
        let strange = |spec: &RoleSpec| {
            let known = serde_json::to_value(spec).unwrap_or_default();
            let spec = answer.get("spec")?;
            unknown_field(spec, &known, "spec")
        };
        let stored = match kind {
            Kind::Template => Self::template(RoleDetail::deserialize(answer)?, strange),
            Kind::Global => Self::global(GlobalRoleDetail::deserialize(answer)?, strange),
        };
        Ok(stored)
    }

    /// Returns an error if the role contains unknown fields. The page cannot edit or copy such a
    /// role without loss of these fields.
    pub fn outdated(&self) -> Option<Problem> {
        let field = self.strange.as_ref()?;
        let reason = t().roles.page_outdated(field);
        Some(Problem::new(ProblemKind::Failed, reason))
    }

    /// Returns the roles that inherit the role and block its deletion.
    pub fn inheriting_roles(&self) -> Vec<(Kind, String)> {
        let rests = self.rests_on_it.clone();
        let roles = rests.roles.into_iter().map(|name| (Kind::Template, name));
        let globals = rests
            .global_roles
            .into_iter()
            .map(|name| (Kind::Global, name));
        roles.chain(globals).collect()
    }

    fn template(role: RoleDetail, strange: impl FnOnce(&RoleSpec) -> Option<String>) -> Self {
        let both = [
            (
                t().roles.in_cluster(),
                lines(&role.cluster.rules, &role.cluster.external),
            ),
            (
                t().roles.in_project_namespaces(),
                lines(&role.project.rules, &role.project.external),
            ),
        ];
        let spec = RoleSpec::Template(role.spec);
        Self {
            listed: Listed::from(&role.role),
            strange: strange(&spec),
            spec,
            version: role.resource_version,
            allowed: some(both),
            problem: role.problem,
            rests_on_it: role.rests_on_it,
        }
    }

    fn global(role: GlobalRoleDetail, strange: impl FnOnce(&RoleSpec) -> Option<String>) -> Self {
        let allowed = &role.every_cluster;
        let both = [
            (t().roles.on_hub(), lines(&role.spec.rules, &[])),
            (
                t().roles.in_every_cluster(),
                lines(&allowed.rules, &allowed.external),
            ),
        ];
        let spec = RoleSpec::Global(role.spec);
        Self {
            listed: Listed::from(&role.role),
            strange: strange(&spec),
            spec,
            version: role.resource_version,
            allowed: some(both),
            problem: role.problem,
            rests_on_it: RoleDependents::default(),
        }
    }
}

/// Removes the scopes without rules.
fn some(places: [ScopeRules; 2]) -> Vec<ScopeRules> {
    let allowed = places.into_iter();
    allowed.filter(|(_, lines)| !lines.is_empty()).collect()
}

/// Returns one line per rule and per external ClusterRole.
fn lines(rules: &[PolicyRule], external: &[String]) -> Vec<String> {
    let rules = rules.iter().map(rule_text);
    let external = external.iter().map(|name| t().roles.external(name));
    rules.chain(external).collect()
}

/// Formats a rule: `get, list: pods (core)`.
pub fn rule_text(rule: &PolicyRule) -> String {
    let named = match part(rule, RuleField::Names) {
        none if none.is_empty() => none,
        names => t().roles.named(&names),
    };
    format!(
        "{}: {}{named}",
        rule.verbs.join(", "),
        super::matrix::title(rule)
    )
}
