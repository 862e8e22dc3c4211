//! Rules as rows of boxes: what each allows to do with its resources.
//!
//! A rule is a row, and a row is nothing but the rule: what the boxes do not show stays as it is.

use k8s_openapi::api::rbac::v1::PolicyRule;

use super::words::{Words, line, names};
use crate::messages::t;

/// The verbs with a column.
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
/// All verbs.
pub const ALL: &str = "*";

/// The state of a checkbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Not allowed.
    Off,
    /// Allowed.
    On,
    /// Allowed by `*`.
    Implied,
}

/// The state of a verb in a rule.
pub fn mark(rule: &PolicyRule, verb: &str) -> Mark {
    if rule.verbs.iter().any(|own| own == verb) {
        Mark::On
    } else if rule.verbs.iter().any(|own| own == ALL) {
        Mark::Implied
    } else {
        Mark::Off
    }
}

/// Toggles a verb; other verbs stay, including implied ones.
#[must_use]
pub fn toggled(rule: &PolicyRule, verb: &str) -> PolicyRule {
    let mut rule = rule.clone();
    if rule.verbs.iter().any(|own| own == verb) {
        rule.verbs.retain(|own| own != verb);
        return rule;
    }
    // The conventional position.
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

/// Verbs without a column, such as `impersonate`.
pub fn others(rule: &PolicyRule) -> String {
    let others: Vec<String> = rule
        .verbs
        .iter()
        .filter(|it| !is_known(it))
        .cloned()
        .collect();
    line(&others, Words::Plain)
}

/// Sets the verbs without a column.
#[must_use]
pub fn with_others(rule: &PolicyRule, typed: &str) -> PolicyRule {
    let mut rule = rule.clone();
    rule.verbs.retain(|verb| is_known(verb));
    for verb in names(typed, Words::Plain) {
        if !rule.verbs.contains(&verb) {
            rule.verbs.push(verb);
        }
    }
    rule
}

fn is_known(verb: &str) -> bool {
    verb == ALL || VERBS.contains(&verb)
}

/// A field of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// API groups.
    Groups,
    /// Resources, such as `pods/log`.
    Resources,
    /// Names of single objects; all of them if there is none.
    Names,
    /// Paths such as `/metrics`.
    Paths,
}

impl Part {
    const fn words(self) -> Words {
        match self {
            Self::Groups => Words::Groups,
            Self::Resources | Self::Names | Self::Paths => Words::Plain,
        }
    }
}

/// The names in a part.
fn list(rule: &PolicyRule, part: Part) -> &[String] {
    let list = match part {
        Part::Groups => &rule.api_groups,
        Part::Resources => &rule.resources,
        Part::Names => &rule.resource_names,
        Part::Paths => &rule.non_resource_urls,
    };
    list.as_deref().unwrap_or_default()
}

/// A field as one line.
pub fn part(rule: &PolicyRule, part: Part) -> String {
    line(list(rule, part), part.words())
}

/// Sets a field; a path rule stays one while it is empty.
#[must_use]
pub fn with_part(rule: &PolicyRule, part: Part, typed: &str) -> PolicyRule {
    let mut rule = rule.clone();
    let stays = part == Part::Paths && is_about_paths(&rule);
    let list = match part {
        Part::Groups => &mut rule.api_groups,
        Part::Resources => &mut rule.resources,
        Part::Names => &mut rule.resource_names,
        Part::Paths => &mut rule.non_resource_urls,
    };
    *list = Some(names(typed, part.words())).filter(|names| stays || !names.is_empty());
    rule
}

/// Whether a rule is a path rule.
fn is_about_paths(rule: &PolicyRule) -> bool {
    let empty = |part| list(rule, part).is_empty();
    rule.non_resource_urls.is_some() && empty(Part::Groups) && empty(Part::Resources)
}

/// Whether the row of a rule shows a field.
pub fn has_field(rule: &PolicyRule, part: Part) -> bool {
    !list(rule, part).is_empty() || (part == Part::Paths) == is_about_paths(rule)
}

/// The name of a row: `deployments (apps)`.
pub fn title(rule: &PolicyRule) -> String {
    let (resources, paths) = (part(rule, Part::Resources), part(rule, Part::Paths));
    let named = format!("{resources} ({})", part(rule, Part::Groups));
    match (resources.is_empty(), paths.is_empty()) {
        (false, false) => format!("{named}, {paths}"),
        (false, true) => named,
        (true, false) => paths,
        (true, true) => t().roles.empty_rule().to_owned(),
    }
}

/// A new rule with read verbs.
pub fn new_rule() -> PolicyRule {
    PolicyRule {
        api_groups: Some(vec![String::new()]),
        verbs: VERBS[..3].iter().map(|&verb| verb.to_owned()).collect(),
        ..PolicyRule::default()
    }
}

/// A new path rule.
pub fn new_paths() -> PolicyRule {
    PolicyRule {
        non_resource_urls: Some(vec!["/version".to_owned()]),
        verbs: vec!["get".to_owned()],
        ..PolicyRule::default()
    }
}
