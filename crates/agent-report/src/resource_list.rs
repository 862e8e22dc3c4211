//! Sums of quantities by resource, such as the requests of all pods.

use std::collections::BTreeMap;

use drover_quantity::Quantity;

/// Kubernetes quantities by resource name, such as `cpu`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceList(BTreeMap<String, Quantity>);

impl ResourceList {
    /// Parses the quantities. Skips resources with an invalid quantity.
    pub fn read<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        Self(
            pairs
                .into_iter()
                .filter_map(|(name, text)| Some((name.to_owned(), Quantity::parse(text).ok()?)))
                .collect(),
        )
    }

    /// Adds the quantities of `other`, resource by resource.
    pub fn add(&mut self, other: &Self) {
        for (name, amount) in &other.0 {
            let sum = self.0.entry(name.clone()).or_default();
            *sum = sum.saturating_add(*amount);
        }
    }

    /// Subtracts the quantities of `other`, and removes each resource whose quantity becomes zero.
    pub fn remove(&mut self, other: &Self) {
        for (name, amount) in &other.0 {
            if let Some(sum) = self.0.get_mut(name) {
                *sum = sum.saturating_sub(*amount);
            }
        }
        self.0.retain(|_, amount| !amount.is_zero());
    }

    /// Sets each resource to the maximum of its quantities in `self` and in `other`.
    pub fn max(&mut self, other: &Self) {
        for (name, amount) in &other.0 {
            let largest = self.0.entry(name.clone()).or_default();
            *largest = largest.max(*amount);
        }
    }

    /// Copies each quantity in `other` to `self`. Keeps the quantities of resources that `other`
    /// does not contain.
    pub fn overlay(&mut self, other: &Self) {
        self.0
            .extend(other.0.iter().map(|(name, amount)| (name.clone(), *amount)));
    }

    /// Returns the quantities by resource name, as canonical Kubernetes quantities.
    pub fn to_strings(&self) -> BTreeMap<String, String> {
        self.0
            .iter()
            .map(|(name, amount)| (name.clone(), amount.to_string()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resource_list_is_unchanged_after_addition_and_subtraction_of_equal_resources() {
        let mut sum = ResourceList::read([("cpu", "1"), ("memory", "1Gi")]);
        let pod = ResourceList::read([("cpu", "250m"), ("nvidia.com/gpu", "2"), ("bad", "x")]);
        sum.add(&pod);
        assert_eq!(sum.to_strings()["cpu"], "1250m");
        assert!(!sum.to_strings().contains_key("bad"));
        sum.remove(&pod);
        assert_eq!(sum, ResourceList::read([("cpu", "1"), ("memory", "1Gi")]));
    }
}
