//! Texts for permissions that the user does not have.

use crate::messages::t;

/// The permission that an action requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequiredRight {
    /// The permission to import clusters.
    ImportClusters,
    /// The permission to create the import command of a cluster.
    ImportCluster,
    /// The permission to change labels and descriptions of clusters.
    ChangeClusters,
    /// The permission to change the authorized endpoint of a cluster.
    ChangeEndpoint,
    /// The permission to delete a cluster.
    DeleteCluster,
    /// The permission to list users.
    ListUsers,
    /// The permission to create users.
    CreateUsers,
    /// The permission to update a user.
    ChangeUser,
    /// The permission to set the password of a user.
    SetPassword,
    /// The permission to delete a user.
    DeleteUser,
    /// The permission to list identity providers.
    ListProviders,
    /// The permission to list settings.
    ListSettings,
    /// The permission to update settings.
    ChangeSettings,
    /// The permissions of an administrator.
    Administer,
}

impl RequiredRight {
    /// Returns the text for the missing permission, with a role that has the permission.
    pub fn words(self) -> &'static str {
        match self {
            Self::ImportClusters => t().rights.import_clusters(),
            Self::ImportCluster | Self::ChangeEndpoint => t().rights.update_cluster(),
            Self::ChangeClusters => t().rights.update_clusters(),
            Self::DeleteCluster => t().rights.delete_cluster(),
            Self::ListUsers => t().rights.list_users(),
            Self::CreateUsers => t().rights.create_users(),
            Self::ChangeUser => t().rights.update_user(),
            Self::SetPassword => t().rights.set_password(),
            Self::DeleteUser => t().rights.delete_user(),
            Self::ListProviders => t().rights.list_providers(),
            Self::ListSettings => t().rights.list_settings(),
            Self::ChangeSettings => t().rights.update_settings(),
            Self::Administer => t().rights.administer(),
        }
    }

    /// Returns the text for the missing permission. Returns `None` if the user has the permission.
    pub fn unless(self, may: bool) -> Option<String> {
        (!may).then(|| self.words().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_permission_is_shown_only_to_users_without_the_permission() {
        assert_eq!(RequiredRight::DeleteCluster.unless(true), None);
        let reported = RequiredRight::DeleteCluster.unless(false).unwrap();
        assert_eq!(
            reported,
            "Requires the permission: delete clusters (role Cluster Owner)"
        );
    }
}
