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
        /// Get the command that imports it.
        may_import: bool,
        /// Change its labels and its description, on the hub.
        may_change: bool,
        /// Delete it.
        may_delete: bool,
    }
}
wire! {
    /// What the caller's own roles let them do with a user.
    #[derive(Copy, Default, Eq)]
    #[serde(default)]
    UserRights {
        /// Change the display name, disable and enable.
        may_change: bool,
        /// Delete the user.
        may_delete: bool,
        /// Set a password, which lets the caller sign in as the user.
        may_set_password: bool,
        /// Make the user an administrator, or an administrator a user; link and unlink identities.
        may_administer: bool,
    }
}
wire! {
    /// What the caller's own roles let them do on the hub.
    #[derive(Copy, Default, Eq)]
    #[serde(default)]
    CallerRights {
        /// Import clusters.
        may_import_clusters: bool,
        /// Change labels and descriptions of all clusters.
        may_change_clusters: bool,
        /// See all users.
        may_list_users: bool,
        /// Make users.
        may_create_users: bool,
        /// See the identity providers.
        may_list_providers: bool,
        /// See the settings.
        may_list_settings: bool,
        /// Change settings, but for those that only administrators change.
        may_change_settings: bool,
        /// See who has a global role.
        may_list_global_members: bool,
        /// See and delete everybody's tokens.
        may_list_tokens: bool,
    }
}
impl ClusterRights {
    /// The rights of an administrator.
    pub fn everything() -> Self {
        Self {
            all_namespaces: true,
            namespaces: Vec::new(),
            may_import: true,
            may_change: true,
            may_delete: true,
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
