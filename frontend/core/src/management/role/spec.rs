//! What a role of either kind says.

use drover_api::kinds::{GlobalRoleSpec, RoleContext, RoleTemplateSpec};
use drover_api::rest::{GlobalRoleDetail, RestsOnIt, RoleDetail, RoleUpdate, RoleView};
use drover_api::strict::unknown_field;
use k8s_openapi::api::rbac::v1::PolicyRule;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::matrix::{Part, part};
use super::words::{Words, line, names};
use super::{Kind, Listed};
use crate::messages::t;
use crate::problem::{Problem, ProblemKind};
use crate::typed::non_empty;

/// The spec of a role.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum RoleSpec {
    /// Of one in clusters and projects.
    Template(RoleTemplateSpec),
    /// Of one on the hub and in every cluster.
    Global(GlobalRoleSpec),
}

/// A list of rules in a spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// What it allows where it is given.
    Own,
    /// What a role in a project allows in the whole cluster.
    Cluster,
}

impl RoleSpec {
    /// Nothing yet.
    pub fn nothing(kind: Kind) -> Self {
        match kind {
            Kind::Template => Self::Template(RoleTemplateSpec::default()),
            Kind::Global => Self::Global(GlobalRoleSpec::default()),
        }
    }

    /// Which kind of role says this.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Template(_) => Kind::Template,
            Self::Global(_) => Kind::Global,
        }
    }

    /// Where people are given it; `None` if everywhere.
    pub const fn context(&self) -> Option<RoleContext> {
        match self {
            Self::Template(spec) => Some(spec.context),
            Self::Global(_) => None,
        }
    }

    /// Says where people are given it. A role in clusters has its rules in one list: those that
    /// were moved there are kept in `moved`, and go back as far as they are still the same.
    pub fn put_in(&mut self, context: RoleContext, moved: &mut Vec<PolicyRule>) {
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

    /// Which lists of rules it has, each with what they are about.
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

    /// One of its lists.
    pub fn rules(&self, which: Rules) -> &[PolicyRule] {
        match (self, which) {
            (Self::Template(spec), Rules::Own) => &spec.rules,
            (Self::Template(spec), Rules::Cluster) => &spec.cluster_rules,
            (Self::Global(spec), Rules::Own) => &spec.rules,
            (Self::Global(_), Rules::Cluster) => &[],
        }
    }

    /// The same, to change it; `None` where it has none.
    pub fn rules_mut(&mut self, which: Rules) -> Option<&mut Vec<PolicyRule>> {
        match (self, which) {
            (Self::Template(spec), Rules::Own) => Some(&mut spec.rules),
            (Self::Template(spec), Rules::Cluster) => Some(&mut spec.cluster_rules),
            (Self::Global(spec), Rules::Own) => Some(&mut spec.rules),
            (Self::Global(_), Rules::Cluster) => None,
        }
    }

    /// Whether rules about paths are taken in a list.
    pub fn takes_paths(&self, which: Rules) -> bool {
        which == Rules::Cluster || self.context() != Some(RoleContext::Project)
    }

    /// What people call it; empty if as the object is.
    pub fn display_name(&self) -> &str {
        let name = match self {
            Self::Template(spec) => &spec.display_name,
            Self::Global(spec) => &spec.display_name,
        };
        name.as_deref().unwrap_or_default()
    }

    /// What it is for; may be empty.
    pub fn description(&self) -> &str {
        let text = match self {
            Self::Template(spec) => &spec.description,
            Self::Global(spec) => &spec.description,
        };
        text.as_deref().unwrap_or_default()
    }

    /// Says how people call it.
    pub fn call(&mut self, name: &str) {
        let name = non_empty(name);
        match self {
            Self::Template(spec) => spec.display_name = name,
            Self::Global(spec) => spec.display_name = name,
        }
    }

    /// Says what it is for.
    pub fn describe(&mut self, text: &str) {
        let text = non_empty(text);
        match self {
            Self::Template(spec) => spec.description = text,
            Self::Global(spec) => spec.description = text,
        }
    }

    /// ClusterRoles that clusters have by themselves, in one line; `None` where there are none.
    pub fn external(&self) -> Option<String> {
        match self {
            Self::Template(spec) => Some(line(&spec.external, Words::Plain)),
            Self::Global(_) => None,
        }
    }

    /// Says which those are.
    pub fn name_external(&mut self, typed: &str) {
        if let Self::Template(spec) = self {
            spec.external = names(typed, Words::Plain);
        }
    }

    /// The one thing that it is or is not, in words, and whether it is: locked, or for everybody new.
    pub fn flag(&self) -> (&'static str, bool) {
        match self {
            Self::Template(spec) => (t().roles.locked_help(), spec.locked),
            Self::Global(spec) => (t().roles.new_user_default(), spec.new_user_default),
        }
    }

    /// Says that it is, or is not.
    pub const fn set_flag(&mut self, is: bool) {
        match self {
            Self::Template(spec) => spec.locked = is,
            Self::Global(spec) => spec.new_user_default = is,
        }
    }

    /// In how many single namespaces of the hub it allows something; that is changed in the text.
    pub fn hub_namespaces(&self) -> usize {
        match self {
            Self::Template(_) => 0,
            Self::Global(spec) => spec.namespaced_rules.len(),
        }
    }

    /// The roles whose rights it has as well: those that it inherits, or gives in every cluster.
    pub fn others(&self) -> &[String] {
        match self {
            Self::Template(spec) => &spec.inherits,
            Self::Global(spec) => &spec.in_every_cluster,
        }
    }

    /// The same, to change them.
    pub const fn others_mut(&mut self) -> &mut Vec<String> {
        match self {
            Self::Template(spec) => &mut spec.inherits,
            Self::Global(spec) => &mut spec.in_every_cluster,
        }
    }

    /// Whether a role can be one of those.
    pub fn takes(&self, role: &RoleView) -> bool {
        let context = self.context().unwrap_or(RoleContext::Cluster);
        role.context == context && !role.locked && !self.others().contains(&role.name)
    }

    /// A new role that has all rights of this one by inheriting it.
    #[must_use]
    pub fn heir(&self, name: &str) -> Self {
        match self {
            Self::Template(spec) => Self::Template(RoleTemplateSpec {
                context: spec.context,
                inherits: vec![name.to_owned()],
                ..RoleTemplateSpec::default()
            }),
            Self::Global(_) => self.copied(),
        }
    }

    /// A new role that says the same, which people can be given.
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

    /// What is sent to change a role to this, from a version.
    pub fn update(&self, version: &str) -> RoleUpdate {
        RoleUpdate {
            // Specs hold texts and lists of them, which can always be written.
            spec: serde_json::to_value(self).unwrap_or_default(),
            resource_version: Some(version.to_owned()),
        }
    }
}

/// A place, and one line for each rule that counts there.
pub type Place = (&'static str, Vec<String>);

/// A role as the server has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// As it is listed.
    pub listed: Listed,
    /// What it says.
    pub spec: RoleSpec,
    /// Version of the object.
    pub version: String,
    /// What it allows with all that it inherits.
    pub allowed: Vec<Place>,
    /// Why it allows nothing.
    pub problem: Option<String>,
    /// What it cannot be deleted for.
    pub rests_on_it: RestsOnIt,
    /// A field of its spec that this page does not know: the server is newer.
    strange: Option<String>,
}

impl Stored {
    /// Reads the server's answer about a role of a kind; an error says what is not as it should be.
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

    /// Why it can be neither changed nor copied here: what this page does not know would be lost.
    pub fn outdated(&self) -> Option<Problem> {
        let field = self.strange.as_ref()?;
        let why = t().roles.page_outdated(field);
        Some(Problem::new(ProblemKind::Failed, why))
    }

    /// The roles that have its rights by naming it; while there is one it cannot be deleted.
    pub fn heirs(&self) -> Vec<(Kind, String)> {
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
            rests_on_it: RestsOnIt::default(),
        }
    }
}

/// Where something is allowed.
fn some(places: [Place; 2]) -> Vec<Place> {
    let allowed = places.into_iter();
    allowed.filter(|(_, lines)| !lines.is_empty()).collect()
}

/// One line for each rule, and for each of the cluster's own roles.
fn lines(rules: &[PolicyRule], external: &[String]) -> Vec<String> {
    let rules = rules.iter().map(in_words);
    let external = external.iter().map(|name| t().roles.external(name));
    rules.chain(external).collect()
}

/// A rule as people say it: `get, list: pods (core)`.
pub fn in_words(rule: &PolicyRule) -> String {
    let named = match part(rule, Part::Names) {
        none if none.is_empty() => none,
        names => t().roles.named(&names),
    };
    format!(
        "{}: {}{named}",
        rule.verbs.join(", "),
        super::matrix::title(rule)
    )
}
