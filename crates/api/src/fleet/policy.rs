//! Policy and GitRepoRestriction: limits of the GitRepos and HelmOps of a namespace.

use super::selector::LabelSelector;
use super::wire::{fleet_kind, go_struct};

fleet_kind! {
    /// Limits of the GitRepos and HelmOps of a namespace.
    pub struct Policy = "Policy", "policies", NamespaceResourceScope {
        /// True if each GitRepo and HelmOp must name a service account.
        "requireServiceAccount" require_service_account: bool,
        /// Permitted service accounts.
        "allowedServiceAccounts" allowed_service_accounts: Vec<String>,
        /// Limits of GitRepos.
        "gitRepo" git_repo: Option<GitRepoPolicySpec>,
        /// Limits of HelmOps.
        "helmOp" helm_op: Option<HelmOpPolicySpec>,
    }
}

fleet_kind! {
    /// Limits of the GitRepos of a namespace.
    pub struct GitRepoRestriction =
        "GitRepoRestriction", "gitreporestrictions", NamespaceResourceScope
    {
        /// Service account of GitRepos that name none.
        "defaultServiceAccount" default_service_account: String,
        /// Permitted service accounts.
        "allowedServiceAccounts" allowed_service_accounts: Vec<String>,
        /// Regular expressions of permitted repository URLs.
        "allowedRepoPatterns" allowed_repo_patterns: Vec<String>,
        /// Secret of GitRepos that name none.
        "defaultClientSecretName" default_client_secret_name: String,
        /// Permitted Secrets.
        "allowedClientSecretNames" allowed_client_secret_names: Vec<String>,
        /// Permitted target namespaces.
        "allowedTargetNamespaces" allowed_target_namespaces: Vec<String>,
        /// Labels that target namespaces must have.
        "allowedTargetNamespaceSelector" allowed_target_namespace_selector: Option<LabelSelector>,
    }
}

go_struct! {
    /// Limits of GitRepos.
    pub struct GitRepoPolicySpec {
        /// Service account of GitRepos that name none.
        default_service_account: String,
        /// Secret of GitRepos that name none.
        default_client_secret_name: String,
        /// Permitted Secrets.
        allowed_client_secret_names: Vec<String>,
        /// Regular expressions of permitted repository URLs.
        allowed_repo_patterns: Vec<String>,
    }

    /// Limits of HelmOps.
    pub struct HelmOpPolicySpec {
        /// Service account of HelmOps that name none.
        default_service_account: String,
        /// Secret of HelmOps that name none.
        default_helm_secret_name: String,
        /// Permitted Secrets.
        allowed_helm_secret_names: Vec<String>,
        /// Regular expressions of permitted Helm repositories.
        allowed_helm_repo_patterns: Vec<String>,
        /// Regular expressions of permitted charts.
        allowed_chart_patterns: Vec<String>,
    }
}
