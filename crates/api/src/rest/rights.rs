//! The caller's permissions, for display. The server checks the permissions for each request again.

use serde::{Deserialize, Serialize};

wire! {
    /// The scope of the caller's roles in a cluster, and the caller's permissions for operations on
    /// the Cluster object.
    #[derive(Default, Eq)]
    #[serde(default)]
    ClusterRights {
        /// True if the caller can list pods in all namespaces of the cluster.
        all_namespaces: bool,
        /// Namespaces of the cluster's projects in which the caller has a role, sorted.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        namespaces: Vec<String>,
        /// True if the caller can create the command that imports the cluster.
        may_import: bool,
        /// True if the caller can change the cluster's labels and description on the hub.
        may_change: bool,
        /// True if the caller can delete the cluster.
        may_delete: bool,
    }
}
wire! {
    /// The caller's permissions for operations on a user.
    #[derive(Copy, Default, Eq)]
    #[serde(default)]
    UserRights {
        /// True if the caller can change the display name, and disable and enable the user.
        may_change: bool,
        /// True if the caller can delete the user.
        may_delete: bool,
        /// True if the caller can set the user's password. With the new password, the caller can
        /// sign in as the user.
        may_set_password: bool,
        /// True if the caller can grant and remove the user's administrator permission, and can
        /// link and unlink the user's identities.
        may_administer: bool,
    }
}
wire! {
    /// The caller's permissions on the hub.
    #[derive(Copy, Default, Eq)]
    #[serde(default)]
    CallerRights {
        /// True if the caller can import clusters.
        may_import_clusters: bool,
        /// True if the caller can change labels and descriptions of all clusters.
        may_change_clusters: bool,
        /// True if the caller can list users.
        may_list_users: bool,
        /// True if the caller can create users.
        may_create_users: bool,
        /// True if the caller can list identity providers.
        may_list_providers: bool,
        /// True if the caller can list settings.
        may_list_settings: bool,
        /// True if the caller can change settings. Some settings additionally require an
        /// administrator.
        may_change_settings: bool,
        /// True if the caller can list bindings of global roles.
        may_list_global_members: bool,
        /// True if the caller can list and delete the tokens of all users.
        may_list_tokens: bool,
    }
}
impl ClusterRights {
    /// Returns the permissions of an administrator for a cluster.
    pub fn everything() -> Self {
        Self {
            all_namespaces: true,
            namespaces: Vec::new(),
            may_import: true,
            may_change: true,
            may_delete: true,
        }
    }

    /// Returns the only namespace in which the caller has a role. Returns `None` if the caller has
    /// roles in several namespaces, or can list pods in all namespaces.
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
    fn default_namespace_is_set_only_for_member_of_one_namespace() {
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
