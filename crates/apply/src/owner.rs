//! The label that marks the objects of one owner.

use kube::ResourceExt;

/// The owner of a set of objects. A label selects the objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// All objects with the label, regardless of its value.
    Label(String),
    /// All objects with this value of the label.
    Value {
        /// Key of the label.
        label: String,
        /// Value of the label.
        value: String,
    },
    /// All objects that have none of these labels: the objects of other owners.
    Without(Vec<String>),
}

impl Owner {
    /// Selects all objects with the label.
    pub fn label(label: &str) -> Self {
        Self::Label(label.to_owned())
    }

    /// Selects all objects with this value of the label.
    pub fn value(label: &str, value: &str) -> Self {
        Self::Value {
            label: label.to_owned(),
            value: value.to_owned(),
        }
    }

    /// Selects all objects that have none of these labels.
    pub fn without(labels: &[&str]) -> Self {
        Self::Without(labels.iter().map(|&label| label.to_owned()).collect())
    }

    /// Returns the label selector.
    pub fn selector(&self) -> String {
        match self {
            Self::Label(label) => label.clone(),
            Self::Value { label, value } => format!("{label}={value}"),
            Self::Without(labels) => {
                let absent: Vec<_> = labels.iter().map(|label| format!("!{label}")).collect();
                absent.join(",")
            }
        }
    }

    /// Returns true if the object has the owner's label.
    pub fn owns(&self, object: &impl ResourceExt) -> bool {
        let labels = object.labels();
        match self {
            Self::Label(label) => labels.contains_key(label),
            Self::Value { label, value } => labels.get(label) == Some(value),
            Self::Without(absent) => !absent.iter().any(|label| labels.contains_key(label)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;

    #[test]
    fn owner_selects_objects_by_label_key_label_value_or_missing_labels() {
        let mut object = ConfigMap::default();
        object.metadata.labels = Some(BTreeMap::from([("a".to_owned(), "1".to_owned())]));
        for (owner, selector, owns) in [
            (Owner::label("a"), "a", true),
            (Owner::label("b"), "b", false),
            (Owner::value("a", "1"), "a=1", true),
            (Owner::value("a", "2"), "a=2", false),
            (Owner::without(&["a", "b"]), "!a,!b", false),
            (Owner::without(&["b"]), "!b", true),
        ] {
            assert_eq!(owner.selector(), selector);
            assert_eq!(owner.owns(&object), owns, "{selector}");
        }
    }
}
