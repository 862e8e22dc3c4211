//! The names of defined resources: each belongs to one definition of a group.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A definition, as far as names go.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Definition {
    /// Its API group.
    pub group: String,
    /// The names that it asks for.
    pub wants: Names,
    /// The names that it was given.
    pub has: Names,
    /// Whether its resource is served.
    pub established: bool,
    /// Whether it was given all names that it asks for.
    pub accepted: bool,
}

/// `CustomResourceDefinitionNames`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Names {
    /// Groups of resources such as `all`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// Such as `Widget`.
    pub kind: String,
    /// Such as `WidgetList`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub list_kind: String,
    /// Such as `widgets`.
    pub plural: String,
    /// Such as `wd`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub short_names: Vec<String>,
    /// Such as `widget`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub singular: String,
}

/// Why not all names were given: the condition's reason and message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Conflict {
    pub(super) reason: &'static str,
    pub(super) message: String,
}

impl Definition {
    /// Reads a `CustomResourceDefinition`.
    pub fn parse(object: &Value) -> Self {
        let names = |value: &Value| Names::deserialize(value).unwrap_or_default();
        let is_true = |kind: &str| {
            let conditions = object["status"]["conditions"].as_array();
            conditions
                .into_iter()
                .flatten()
                .any(|own| own["type"] == kind && own["status"] == "True")
        };
        Self {
            group: object["spec"]["group"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            wants: names(&object["spec"]["names"]),
            has: names(&object["status"]["acceptedNames"]),
            established: is_true("Established"),
            accepted: is_true("NamesAccepted"),
        }
    }

    /// The names that it is given beside these others, and the last conflict if there was one.
    pub(super) fn accept(&self, others: &[Self]) -> (Names, Option<Conflict>) {
        let others = || others.iter().filter(|other| other.group == self.group);
        let resource_taken = |name: &str| {
            others().any(|other| {
                other.has.plural == name
                    || other.has.singular == name
                    || other.has.short_names.iter().any(|own| own == name)
            })
        };
        let kind_taken = |name: &str| {
            others().any(|other| other.has.kind == name || other.has.list_kind == name)
        };
        let (wants, has) = (&self.wants, &self.has);
        let mut given = has.clone();
        given.categories.clone_from(&wants.categories);
        let mut conflict = None;
        let mut claim = |reason, wanted: &String, own: &mut String, taken: bool| {
            if wanted != own && taken {
                let message = in_use(wanted);
                conflict = Some(Conflict { reason, message });
            } else {
                own.clone_from(wanted);
            }
        };
        let taken = resource_taken(&wants.plural);
        claim("PluralConflict", &wants.plural, &mut given.plural, taken);
        let taken = resource_taken(&wants.singular);
        claim(
            "SingularConflict",
            &wants.singular,
            &mut given.singular,
            taken,
        );
        let short: Vec<String> = wants
            .short_names
            .iter()
            .filter(|name| !has.short_names.contains(name) && resource_taken(name))
            .map(|name| in_use(name))
            .collect();
        if let Some(message) = aggregate(&short) {
            let reason = "ShortNamesConflict";
            conflict = Some(Conflict { reason, message });
        } else {
            given.short_names.clone_from(&wants.short_names);
        }
        let mut claim = |reason, wanted: &String, own: &mut String| {
            if wanted != own && kind_taken(wanted) {
                let message = in_use(wanted);
                conflict = Some(Conflict { reason, message });
            } else {
                own.clone_from(wanted);
            }
        };
        claim("KindConflict", &wants.kind, &mut given.kind);
        claim("ListKindConflict", &wants.list_kind, &mut given.list_kind);
        (given, conflict)
    }
}

fn in_use(name: &str) -> String {
    format!("{name:?} is already in use")
}

fn aggregate(errors: &[String]) -> Option<String> {
    match errors {
        [] => None,
        [one] => Some(one.clone()),
        many => Some(format!("[{}]", many.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(plural: &str, short: &[&str], kind: &str) -> Names {
        Names {
            plural: plural.to_owned(),
            short_names: short.iter().map(|&name| name.to_owned()).collect(),
            kind: kind.to_owned(),
            ..Names::default()
        }
    }

    fn wanting(wants: Names) -> Definition {
        Definition {
            group: "g".to_owned(),
            wants,
            ..Definition::default()
        }
    }

    fn having(has: Names) -> Definition {
        Definition {
            group: "g".to_owned(),
            wants: has.clone(),
            has,
            ..Definition::default()
        }
    }

    #[test]
    fn names_that_nobody_of_the_group_has_are_given() {
        let wants = names("widgets", &["wd"], "Widget");
        let other = Definition {
            group: "other".to_owned(),
            ..having(wants.clone())
        };
        let (given, conflict) = wanting(wants.clone()).accept(&[other]);
        assert_eq!((given, conflict), (wants, None));
    }

    #[test]
    fn names_that_are_taken_are_refused_and_the_others_are_given() {
        let others = [having(names("gadgets", &["wd", "w"], "Widget"))];
        let (given, conflict) =
            wanting(names("widgets", &["wd", "w", "x"], "Wotsit")).accept(&others);
        assert_eq!(given, names("widgets", &[], "Wotsit"));
        assert_eq!(
            conflict,
            Some(Conflict {
                reason: "ShortNamesConflict",
                message: r#"["wd" is already in use, "w" is already in use]"#.to_owned(),
            })
        );
        let (given, conflict) = wanting(names("gadgets", &[], "Widget")).accept(&others);
        assert_eq!(given, Names::default());
        assert_eq!(conflict.unwrap().reason, "KindConflict");
    }

    #[test]
    fn a_definition_keeps_the_names_that_it_has() {
        let mut own = having(names("widgets", &["wd"], "Widget"));
        own.wants.short_names.push("w".to_owned());
        let others = [having(names("x", &["w"], "X"))];
        let (given, conflict) = own.accept(&others);
        assert_eq!(given, own.has);
        assert_eq!(conflict.unwrap().message, r#""w" is already in use"#);
    }
}
