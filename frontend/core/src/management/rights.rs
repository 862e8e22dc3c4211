//! Missing rights in words.

use crate::messages::t;

/// The right that an action needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// To import clusters.
    ImportClusters,
    /// To get the import command of one cluster.
    ImportCluster,
    /// To change labels and descriptions of clusters.
    ChangeClusters,
    /// To delete a cluster.
    DeleteCluster,
    /// To list users.
    ListUsers,
    /// To create users.
    CreateUsers,
    /// To update a user.
    ChangeUser,
    /// To set a user's password.
    SetPassword,
    /// To delete a user.
    DeleteUser,
    /// To list identity providers.
    ListProviders,
    /// To list settings.
    ListSettings,
    /// To update settings.
    ChangeSettings,
    /// To be an administrator.
    Administer,
}

impl Needs {
    /// The missing right, and a role that has it.
    pub fn words(self) -> &'static str {
        match self {
            Self::ImportClusters => t().rights.import_clusters(),
            Self::ImportCluster => t().rights.update_cluster(),
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

    /// The missing right; `None` if the user has it.
    pub fn unless(self, may: bool) -> Option<String> {
        (!may).then(|| self.words().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_right_is_named_only_to_somebody_who_lacks_it() {
        assert_eq!(Needs::DeleteCluster.unless(true), None);
        let told = Needs::DeleteCluster.unless(false).unwrap();
        assert_eq!(
            told,
            "Requires the right: delete clusters (role Cluster Owner)"
        );
    }
}
