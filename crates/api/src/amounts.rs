//! Quantities by resource name, in little memory.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};

/// Kubernetes quantities by resource name, such as `cpu: 500m`. The JSON form is an object.
///
/// The server stores several of these maps for each cluster, and most have three entries. A
/// `BTreeMap` reserves memory for eleven entries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "BTreeMap<String, String>")]
pub struct Amounts(Box<[(Box<str>, Box<str>)]>);

impl Amounts {
    /// Returns the quantity of a resource.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.binary_search_by(|(other, _)| (**other).cmp(name));
        found.ok().map(|index| &*self.0[index].1)
    }

    /// Returns all quantities, sorted by resource name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, amount)| (&**name, &**amount))
    }

    /// Returns the resource names in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.iter().map(|(name, _)| name)
    }

    /// Reports whether the map has no entry.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Amounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

#[cfg(feature = "crd")]
impl schemars::JsonSchema for Amounts {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Amounts".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        BTreeMap::<String, String>::json_schema(generator)
    }
}

impl From<BTreeMap<String, String>> for Amounts {
    fn from(amounts: BTreeMap<String, String>) -> Self {
        let boxed = |(name, amount): (String, String)| (name.into(), amount.into());
        Self(amounts.into_iter().map(boxed).collect())
    }
}

impl From<Amounts> for BTreeMap<String, String> {
    fn from(amounts: Amounts) -> Self {
        let owned = |(name, amount): (Box<str>, Box<str>)| (name.into(), amount.into());
        amounts.0.into_iter().map(owned).collect()
    }
}

impl FromIterator<(String, String)> for Amounts {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(entries: I) -> Self {
        BTreeMap::from_iter(entries).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_and_written_as_a_sorted_object() {
        let text = r#"{"memory":"1Gi","cpu":"2","pods":"110"}"#;
        let amounts: Amounts = serde_json::from_str(text).unwrap();
        assert_eq!(amounts.get("cpu"), Some("2"));
        assert_eq!(amounts.get("memory"), Some("1Gi"));
        assert_eq!(amounts.get("gpu"), None);
        assert!(amounts.names().eq(["cpu", "memory", "pods"]));
        let written = serde_json::to_string(&amounts).unwrap();
        assert_eq!(written, r#"{"cpu":"2","memory":"1Gi","pods":"110"}"#);
    }

    #[test]
    fn later_quantity_of_a_resource_replaces_the_earlier_quantity() {
        let entry = |name: &str, amount: &str| (name.to_owned(), amount.to_owned());
        let amounts: Amounts = [entry("b", "1"), entry("a", "1"), entry("b", "2")]
            .into_iter()
            .collect();
        assert!(amounts.iter().eq([("a", "1"), ("b", "2")]));
        assert!(!amounts.is_empty() && Amounts::default().is_empty());
    }
}
