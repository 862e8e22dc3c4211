//! Built-in roles for the hub and every cluster.

use drover_api::kinds::GlobalRoleSpec;
use k8s_openapi::api::rbac::v1::PolicyRule;

use super::{BuiltIn, MANAGE, VIEW, drover, everything};

pub(super) fn all() -> Vec<BuiltIn<GlobalRoleSpec>> {
    vec![
        role(
            "administrator",
            "Administrator",
            "All permissions on the hub and in every cluster.",
            everything(),
            &["cluster-owner"],
        ),
        role(
            "viewer",
            "Viewer",
            "Reads all objects except Secrets on the hub and in every cluster.",
            vec![drover(
                &[
                    "authproviders",
                    "clusterroletemplatebindings",
                    "clusters",
                    "globalrolebindings",
                    "globalroles",
                    "projectroletemplatebindings",
                    "projects",
                    "roletemplates",
                    "settings",
                    "users",
                ],
                VIEW,
            )],
            &["cluster-viewer"],
        ),
        role(
            "clusters-import",
            "Import Clusters",
            "Imports clusters, and owns them.",
            vec![drover(&["clusters"], &["create"])],
            &[],
        ),
        role(
            "users-manage",
            "Manage Users",
            "Creates, disables and deletes users who are not administrators.",
            vec![drover(&["users"], MANAGE)],
            &[],
        ),
        role(
            "roles-manage",
            "Manage Roles",
            "Creates and changes roles, within the user's own permissions.",
            vec![drover(&["roletemplates", "globalroles"], MANAGE)],
            &[],
        ),
    ]
}

fn role(
    name: &'static str,
    display_name: &str,
    description: &str,
    rules: Vec<PolicyRule>,
    in_every_cluster: &[&str],
) -> BuiltIn<GlobalRoleSpec> {
    let spec = GlobalRoleSpec {
        display_name: Some(display_name.to_owned()),
        description: Some(description.to_owned()),
        rules,
        in_every_cluster: in_every_cluster
            .iter()
            .map(|&name| name.to_owned())
            .collect(),
        ..Default::default()
    };
    BuiltIn { name, spec }
}
