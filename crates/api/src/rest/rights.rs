//! What the caller of a route may do, as answers tell it: for what to show, the server checks each
//! request again.

use serde::{Deserialize, Serialize};

wire! {
    /// Where in a cluster the caller's roles hold, and what they let the caller do with it.
    #[derive(Default, Eq)]
    #[serde(default)]
    ClusterRights {
        /// Whether the caller's roles let them list pods in all namespaces of the cluster.
        all_namespaces: bool,
        /// Namespaces of the cluster's projects in which the caller has a role, sorted.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        namespaces: Vec<String>,
    }
}
impl ClusterRights {
    /// The rights of an administrator.
    pub fn everything() -> Self {
        Self {
            all_namespaces: true,
            namespaces: Vec::new(),
        }
    }

    /// The only namespace in which the caller has a role.
    pub fn only_namespace(&self) -> Option<&str> {
        match self.namespaces.as_slice() {
            [one] if !self.all_namespaces => Some(one),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_namespace_is_the_single_one_of_a_member_of_one_project() {
        let member = |names: &[&str]| ClusterRights {
            namespaces: names.iter().map(|&name| name.to_owned()).collect(),
            ..ClusterRights::default()
        };
        assert_eq!(member(&["shop"]).only_namespace(), Some("shop"));
        assert_eq!(member(&["shop", "till"]).only_namespace(), None);
        assert_eq!(member(&[]).only_namespace(), None);
        let wide = ClusterRights {
            all_namespaces: true,
            ..member(&["shop"])
        };
        assert_eq!(wide.only_namespace(), None);
    }
}
