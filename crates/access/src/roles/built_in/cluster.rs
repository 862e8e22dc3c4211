//! Built-in roles for clusters.

use drover_api::kinds::{RoleContext, RoleTemplateSpec};
use k8s_openapi::api::rbac::v1::PolicyRule;

use super::{BuiltIn, MANAGE, VIEW, drover, everything, rule};

pub(super) fn all() -> Vec<BuiltIn<RoleTemplateSpec>> {
    vec![
        role(
            "cluster-owner",
            "Cluster Owner",
            "All permissions in the cluster, and management of its role bindings.",
            everything(),
        ),
        role(
            "cluster-member",
            "Cluster Member",
            "Reads the cluster's nodes and classes, and creates own projects.",
            [
                classes(),
                nodes(VIEW),
                vec![drover(&["projects"], &["create"])],
            ]
            .concat(),
        ),
        external(
            "cluster-viewer",
            "Cluster Viewer",
            "Reads all objects in the cluster except Secrets.",
            "view",
            [
                classes(),
                nodes(VIEW),
                storage(VIEW),
                definitions(),
                vec![
                    rule("", &["namespaces"], VIEW),
                    drover(&["projects", "projectroletemplatebindings"], VIEW),
                    drover(&["clusterroletemplatebindings"], VIEW),
                ],
            ]
            .concat(),
        ),
        role(
            "cluster-members-view",
            "View Cluster Members",
            "Reads the role bindings of the cluster.",
            vec![drover(&["clusterroletemplatebindings"], VIEW)],
        ),
        role(
            "cluster-members-manage",
            "Manage Cluster Members",
            "Creates and deletes role bindings in the cluster, within the user's own permissions there.",
            vec![drover(&["clusterroletemplatebindings"], MANAGE)],
        ),
        role(
            "projects-create",
            "Create Projects",
            "Creates projects, and owns them.",
            vec![drover(&["projects"], &["create"])],
        ),
        role(
            "projects-view",
            "View All Projects",
            "Reads all projects of the cluster and their members.",
            vec![drover(&["projects", "projectroletemplatebindings"], VIEW)],
        ),
        role(
            "nodes-view",
            "View Nodes",
            "Reads nodes and their usage.",
            nodes(VIEW),
        ),
        role(
            "nodes-manage",
            "Manage Nodes",
            "Changes, cordons and deletes nodes.",
            nodes(MANAGE),
        ),
        role(
            "storage-view",
            "View Cluster Storage",
            "Reads volumes and storage classes.",
            storage(VIEW),
        ),
        role(
            "storage-manage",
            "Manage Cluster Storage",
            "Creates and deletes storage classes, and deletes volumes.",
            storage(MANAGE),
        ),
    ]
}

fn role(
    name: &'static str,
    display_name: &str,
    description: &str,
    rules: Vec<PolicyRule>,
) -> BuiltIn<RoleTemplateSpec> {
    let spec = RoleTemplateSpec {
        context: RoleContext::Cluster,
        display_name: Some(display_name.to_owned()),
        description: Some(description.to_owned()),
        rules,
        ..Default::default()
    };
    BuiltIn { name, spec }
}

fn external(
    name: &'static str,
    display_name: &str,
    description: &str,
    external: &str,
    rules: Vec<PolicyRule>,
) -> BuiltIn<RoleTemplateSpec> {
    let mut role = role(name, display_name, description, rules);
    role.spec.external.push(external.to_owned());
    role
}

/// Returns rules for cluster-scoped objects to which namespaced objects refer.
pub(super) fn classes() -> Vec<PolicyRule> {
    vec![
        rule("storage.k8s.io", &["storageclasses"], VIEW),
        rule("networking.k8s.io", &["ingressclasses"], VIEW),
        rule("scheduling.k8s.io", &["priorityclasses"], VIEW),
        rule("node.k8s.io", &["runtimeclasses"], VIEW),
        rule("snapshot.storage.k8s.io", &["volumesnapshotclasses"], VIEW),
        rule("gateway.networking.k8s.io", &["gatewayclasses"], VIEW),
    ]
}

fn nodes(verbs: &[&str]) -> Vec<PolicyRule> {
    vec![
        rule("", &["nodes"], verbs),
        rule("metrics.k8s.io", &["nodes"], VIEW),
    ]
}

const READ_AND_DELETE: &[&str] = &["get", "list", "watch", "delete", "deletecollection"];

fn storage(verbs: &[&str]) -> Vec<PolicyRule> {
    let volumes = if verbs == VIEW { VIEW } else { READ_AND_DELETE };
    vec![
        // The creator of a volume can choose a path of a node, or another user's disk.
        rule("", &["persistentvolumes"], volumes),
        rule(
            "storage.k8s.io",
            &[
                "storageclasses",
                "csidrivers",
                "csinodes",
                "csistoragecapacities",
                "volumeattachments",
                "volumeattributesclasses",
            ],
            verbs,
        ),
    ]
}

/// Returns rules to read CustomResourceDefinitions and APIServices. The role does not grant write
/// access, because a definition selects the conversion webhook of all objects of its kind.
fn definitions() -> Vec<PolicyRule> {
    vec![
        rule("apiextensions.k8s.io", &["customresourcedefinitions"], VIEW),
        rule("apiregistration.k8s.io", &["apiservices"], VIEW),
    ]
}
