//! Label selectors of Kubernetes in text form, such as `env=prod,tier in (a,b),!old`.

use std::collections::BTreeMap;
use std::str::FromStr;

use drover_api::fleet::LabelSelectorRequirement;

/// A parsed label selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LabelSelector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    condition: Condition,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Condition {
    Exists,
    Absent,
    In(Vec<String>),
    NotIn(Vec<String>),
}

/// The error of parsing a [`LabelSelector`].
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "cannot use {text:?} as a label selector: {reason}; write for example env=prod, \
     'tier in (a,b)' or '!old'"
)]
pub(crate) struct LabelSelectorError {
    text: String,
    reason: &'static str,
}

impl LabelSelector {
    /// Reports whether the labels meet all requirements. An object without the label meets
    /// `notin` and `!=`, as in Kubernetes.
    pub(crate) fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.0.iter().all(|requirement| {
            let value = labels.get(&requirement.key);
            match &requirement.condition {
                Condition::Exists => value.is_some(),
                Condition::Absent => value.is_none(),
                Condition::In(values) => value.is_some_and(|value| values.contains(value)),
                Condition::NotIn(values) => !value.is_some_and(|value| values.contains(value)),
            }
        })
    }
}

impl From<LabelSelector> for drover_api::fleet::LabelSelector {
    fn from(selector: LabelSelector) -> Self {
        let requirement = |requirement: Requirement| {
            let (operator, values) = match requirement.condition {
                Condition::Exists => ("Exists", Vec::new()),
                Condition::Absent => ("DoesNotExist", Vec::new()),
                Condition::In(values) => ("In", values),
                Condition::NotIn(values) => ("NotIn", values),
            };
            LabelSelectorRequirement {
                key: requirement.key,
                operator: operator.to_owned(),
                values,
            }
        };
        Self {
            match_expressions: selector.0.into_iter().map(requirement).collect(),
            ..Self::default()
        }
    }
}

impl FromStr for LabelSelector {
    type Err = LabelSelectorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let failed = |reason| LabelSelectorError {
            text: text.to_owned(),
            reason,
        };
        let parts = split(text).map_err(failed)?;
        let requirements: Result<Vec<_>, _> = parts.into_iter().map(requirement).collect();
        let requirements = requirements.map_err(failed)?;
        if requirements.is_empty() {
            return Err(failed("it is empty"));
        }
        Ok(Self(requirements))
    }
}

/// Splits a selector at the commas outside of parentheses.
fn split(text: &str) -> Result<Vec<&str>, &'static str> {
    let (mut parts, mut start, mut inside) = (Vec::new(), 0, false);
    for (at, c) in text.char_indices() {
        match c {
            '(' if inside => return Err("a parenthesis is inside of parentheses"),
            '(' => inside = true,
            ')' if !inside => return Err("a parenthesis is not opened"),
            ')' => inside = false,
            ',' if !inside => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if inside {
        return Err("a parenthesis is not closed");
    }
    parts.push(&text[start..]);
    Ok(parts)
}

fn requirement(text: &str) -> Result<Requirement, &'static str> {
    let text = text.trim();
    if let Some((head, values)) = text.split_once('(') {
        let values = values
            .strip_suffix(')')
            .ok_or("text follows a parenthesis")?;
        let values = values.split(',').map(|v| v.trim().to_owned()).collect();
        let mut words = head.split_whitespace();
        return match (words.next(), words.next(), words.next()) {
            (Some(key), Some("in"), None) => required(key, Condition::In(values)),
            (Some(key), Some("notin"), None) => required(key, Condition::NotIn(values)),
            _ => Err("the operator before a parenthesis is not in or notin"),
        };
    }
    if let Some((key, value)) = text.split_once("!=") {
        return required(key, Condition::NotIn(vec![value.trim().to_owned()]));
    }
    if let Some((key, value)) = text.split_once("==").or_else(|| text.split_once('=')) {
        return required(key, Condition::In(vec![value.trim().to_owned()]));
    }
    match text.strip_prefix('!') {
        Some(key) => required(key, Condition::Absent),
        None => required(text, Condition::Exists),
    }
}

fn required(key: &str, condition: Condition) -> Result<Requirement, &'static str> {
    let key = key.trim();
    let is_valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    if key.is_empty() {
        return Err("a key is empty");
    }
    if !key.chars().all(is_valid) {
        return Err("a key contains a character that labels do not permit");
    }
    Ok(Requirement {
        key: key.to_owned(),
        condition,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let pairs = pairs.iter();
        pairs
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect()
    }

    #[test]
    fn selectors_match_labels_like_kubernetes() {
        let prod = labels(&[("env", "prod"), ("tier", "web")]);
        for (selector, matches) in [
            ("env=prod", true),
            ("env==prod", true),
            ("env = prod , tier=web", true),
            ("env=test", false),
            ("env!=test", true),
            ("env!=prod", false),
            ("zone!=a", true),
            ("env in (test, prod)", true),
            ("env in (test)", false),
            ("env notin (test,dev),tier", true),
            ("zone notin (a)", true),
            ("tier", true),
            ("zone", false),
            ("!zone", true),
            ("!env", false),
            ("env=", false),
        ] {
            let parsed: LabelSelector = selector.parse().unwrap();
            assert_eq!(parsed.matches(&prod), matches, "{selector}");
        }
    }

    #[test]
    fn invalid_selectors_are_rejected() {
        for selector in [
            "",
            " ",
            ",",
            "env=prod,",
            "=a",
            "env in (a",
            "env a)",
            "env in ((a))",
            "env on (a)",
            "in (a)",
            "a b",
            "env in (a) b",
            "a=b=c=(",
        ] {
            assert!(selector.parse::<LabelSelector>().is_err(), "{selector}");
        }
    }
}
