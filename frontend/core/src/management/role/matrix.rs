//! The rules of a role as rows of checkboxes. Each row represents one rule, and each column
//! represents a verb. Edits do not change the fields of a rule that the row does not show.

use k8s_openapi::api::rbac::v1::PolicyRule;

use super::words::{NameListKind, line, names};
use crate::messages::t;

/// The verbs that have a column.
pub const VERBS: [&str; 8] = [
    "get",
    "list",
    "watch",
    "create",
    "update",
    "patch",
    "delete",
    "deletecollection",
];
/// The wildcard for all verbs.
pub const ALL: &str = "*";

/// The state of a checkbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The rule does not contain the verb.
    Off,
    /// The rule contains the verb.
    On,
    /// The rule contains `*`, which includes the verb.
    Implied,
}

/// Returns the checkbox state of a verb in a rule.
pub fn mark(rule: &PolicyRule, verb: &str) -> Mark {
    if rule.verbs.iter().any(|own| own == verb) {
        Mark::On
    } else if rule.verbs.iter().any(|own| own == ALL) {
        Mark::Implied
    } else {
        Mark::Off
    }
}

/// Adds a verb to a rule, or removes the verb. The function does not change the remaining verbs.
#[must_use]
pub fn toggled(rule: &PolicyRule, verb: &str) -> PolicyRule {
    let mut rule = rule.clone();
    if rule.verbs.iter().any(|own| own == verb) {
        rule.verbs.retain(|own| own != verb);
        return rule;
    }
    // Verbs have a conventional order.
    let place = |verb: &str| VERBS.iter().position(|known| *known == verb);
    let before = |own: &String| match (place(own), place(verb)) {
        (Some(own), Some(new)) => own > new,
        (None, Some(_)) => own != ALL,
        (_, None) => verb == ALL,
    };
    let at = rule.verbs.iter().position(before);
    let at = at.unwrap_or(rule.verbs.len());
    rule.verbs.insert(at, verb.to_owned());
    rule
}

/// Returns the verbs without a column, such as `impersonate`.
pub fn others(rule: &PolicyRule) -> String {
    let others: Vec<String> = rule
        .verbs
        .iter()
        .filter(|it| !is_known(it))
        .cloned()
        .collect();
    line(&others, NameListKind::Plain)
}

/// Sets the verbs without a column.
#[must_use]
pub fn with_others(rule: &PolicyRule, typed: &str) -> PolicyRule {
    let mut rule = rule.clone();
    rule.verbs.retain(|verb| is_known(verb));
    for verb in names(typed, NameListKind::Plain) {
        if !rule.verbs.contains(&verb) {
            rule.verbs.push(verb);
        }
    }
    rule
}

fn is_known(verb: &str) -> bool {
    verb == ALL || VERBS.contains(&verb)
}

/// A text field of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleField {
    /// The API groups of the resources.
    Groups,
    /// The resources, such as `pods/log`.
    Resources,
    /// The names of objects (`resourceNames`); empty for all objects.
    Names,
    /// The non-resource URLs, such as `/metrics`.
    Paths,
}

impl RuleField {
    const fn words(self) -> NameListKind {
        match self {
            Self::Groups => NameListKind::Groups,
            Self::Resources | Self::Names | Self::Paths => NameListKind::Plain,
        }
    }
}

/// Returns the names in a field.
fn list(rule: &PolicyRule, part: RuleField) -> &[String] {
    let list = match part {
        RuleField::Groups => &rule.api_groups,
        RuleField::Resources => &rule.resources,
        RuleField::Names => &rule.resource_names,
        RuleField::Paths => &rule.non_resource_urls,
    };
    list.as_deref().unwrap_or_default()
}

/// Formats the names in a field as one line.
pub fn part(rule: &PolicyRule, part: RuleField) -> String {
    line(list(rule, part), part.words())
}

/// Sets the names in a field of a rule. For a path rule, an empty path field is `[]` instead of
/// unset, so that the rule stays a path rule.
#[must_use]
pub fn with_part(rule: &PolicyRule, part: RuleField, typed: &str) -> PolicyRule {
    let mut rule = rule.clone();
    let stays = part == RuleField::Paths && is_about_paths(&rule);
    let list = match part {
        RuleField::Groups => &mut rule.api_groups,
        RuleField::Resources => &mut rule.resources,
        RuleField::Names => &mut rule.resource_names,
        RuleField::Paths => &mut rule.non_resource_urls,
    };
    *list = Some(names(typed, part.words())).filter(|names| stays || !names.is_empty());
    rule
}

/// Reports whether a rule is a path rule.
fn is_about_paths(rule: &PolicyRule) -> bool {
    let empty = |part| list(rule, part).is_empty();
    rule.non_resource_urls.is_some() && empty(RuleField::Groups) && empty(RuleField::Resources)
}

/// Reports whether the row of a rule shows a field.
pub fn has_field(rule: &PolicyRule, part: RuleField) -> bool {
    !list(rule, part).is_empty() || (part == RuleField::Paths) == is_about_paths(rule)
}

/// Returns the name of a row: `deployments (apps)`.
pub fn title(rule: &PolicyRule) -> String {
    let (resources, paths) = (
        part(rule, RuleField::Resources),
        part(rule, RuleField::Paths),
    );
    let named = format!("{resources} ({})", part(rule, RuleField::Groups));
    match (resources.is_empty(), paths.is_empty()) {
        (false, false) => format!("{named}, {paths}"),
        (false, true) => named,
        (true, false) => paths,
        (true, true) => t().roles.empty_rule().to_owned(),
    }
}

/// Creates a rule with the read verbs.
pub fn new_rule() -> PolicyRule {
    PolicyRule {
        api_groups: Some(vec![String::new()]),
        verbs: VERBS[..3].iter().map(|&verb| verb.to_owned()).collect(),
        ..PolicyRule::default()
    }
}

/// Creates a path rule.
pub fn new_paths() -> PolicyRule {
    PolicyRule {
        non_resource_urls: Some(vec!["/version".to_owned()]),
        verbs: vec!["get".to_owned()],
        ..PolicyRule::default()
    }
}
