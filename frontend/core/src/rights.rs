//! Rights that a person lacks, in words.

/// What an action needs.
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
    /// To see users.
    ListUsers,
    /// To make users.
    CreateUsers,
    /// To change a user.
    ChangeUser,
    /// To set a user's password.
    SetPassword,
    /// To delete a user.
    DeleteUser,
    /// To see identity providers.
    ListProviders,
    /// To see settings.
    ListSettings,
    /// To change settings.
    ChangeSettings,
    /// To be an administrator.
    Administer,
}

impl Needs {
    /// The missing right, and a role that has it.
    pub const fn words(self) -> &'static str {
        match self {
            Self::ImportClusters => {
                "Requires the right: create clusters (global role Import Clusters)"
            }
            Self::ImportCluster => "Requires the right: update this cluster (role Cluster Owner)",
            Self::ChangeClusters => {
                "Requires the right: update clusters on the hub (global role Administrator)"
            }
            Self::DeleteCluster => "Requires the right: delete clusters (role Cluster Owner)",
            Self::ListUsers => "Requires the right: list users (global role Manage Users)",
            Self::CreateUsers => "Requires the right: create users (global role Manage Users)",
            Self::ChangeUser => {
                "Requires the right: update users (global role Manage Users). Only administrators change administrators"
            }
            Self::SetPassword => {
                "Requires the right: update users (global role Manage Users), and all rights of this user"
            }
            Self::DeleteUser => {
                "Requires the right: delete users (global role Manage Users). Only administrators delete administrators"
            }
            Self::ListProviders => "Requires the right: list authproviders (global role Viewer)",
            Self::ListSettings => "Requires the right: list settings (global role Viewer)",
            Self::ChangeSettings => {
                "Requires the right: update settings (global role Administrator)"
            }
            Self::Administer => "Requires the global role Administrator",
        }
    }

    /// The same for somebody who lacks it; nothing for somebody who may.
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
