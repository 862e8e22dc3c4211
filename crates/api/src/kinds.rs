//! The kinds of `management.drover.dev/v1alpha1`, all cluster-scoped.
//!
//! Each file has one kind: the desired state (`…Spec`) and the observed state (`…Status`). The file
//! `check_in` has a part of the kind Cluster.

pub mod auth_provider;
pub mod binding;
pub mod check_in;
pub mod cluster;
pub mod cluster_role_template_binding;
pub mod global_role;
pub mod global_role_binding;
pub mod project;
pub mod project_role_template_binding;
pub mod registration;
pub mod role_template;
pub mod saved_view;
pub mod setting;
pub mod token;
pub mod user;
pub mod user_preferences;

pub use auth_provider::*;
pub use binding::*;
pub use check_in::*;
pub use cluster::*;
pub use cluster_role_template_binding::*;
pub use global_role::*;
pub use global_role_binding::*;
pub use project::*;
pub use project_role_template_binding::*;
pub use registration::*;
pub use role_template::*;
pub use saved_view::*;
pub use setting::*;
pub use token::*;
pub use user::*;
pub use user_preferences::*;

/// Returns the CustomResourceDefinitions of all kinds, in the order in which the server installs
/// them.
#[cfg(feature = "crd")]
pub fn definitions()
-> Vec<k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition>
{
    use kube::CustomResourceExt as _;
    vec![
        AuthProvider::crd(),
        Cluster::crd(),
        ClusterRegistrationToken::crd(),
        ClusterRoleTemplateBinding::crd(),
        GlobalRole::crd(),
        GlobalRoleBinding::crd(),
        Project::crd(),
        ProjectRoleTemplateBinding::crd(),
        RoleTemplate::crd(),
        SavedView::crd(),
        Setting::crd(),
        Token::crd(),
        User::crd(),
        UserPreferences::crd(),
    ]
}

#[cfg(test)]
mod tests;
