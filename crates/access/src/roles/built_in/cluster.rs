//! Roles in clusters.

use drover_api::kinds::{RoleContext, RoleTemplateSpec};
use k8s_openapi::api::rbac::v1::PolicyRule;

use super::{BuiltIn, MANAGE, VIEW, drover, everything, rule};

pub(super) fn all() -> Vec<BuiltIn<RoleTemplateSpec>> {
    vec![
        role(
            "cluster-owner",
            "Cluster Owner",
            "Everything in the cluster, and who else has a role there.",
            everything(),
        ),
        role(
            "cluster-member",
            "Cluster Member",
            "Sees the cluster's nodes and classes, and makes projects of their own.",
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
            "Reads everything in the cluster but Secrets.",
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
            "Sees who has which role in the cluster.",
            vec![drover(&["clusterroletemplatebindings"], VIEW)],
        ),
        role(
            "cluster-members-manage",
            "Manage Cluster Members",
            "Gives and takes roles in the cluster, as far as their own rights there go.",
            vec![drover(&["clusterroletemplatebindings"], MANAGE)],
        ),
        role(
            "projects-create",
            "Create Projects",
            "Makes projects, and owns those.",
            vec![drover(&["projects"], &["create"])],
        ),
        role(
            "projects-view",
            "View All Projects",
            "Sees all projects of the cluster and their members.",
            vec![drover(&["projects", "projectroletemplatebindings"], VIEW)],
        ),
        role(
            "nodes-view",
            "View Nodes",
            "Reads nodes and what they use.",
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
            "Makes and deletes storage classes, and deletes volumes.",
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

/// What objects in namespaces name, and nobody's own.
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
        // Whoever makes a volume chooses a path of a node, or somebody else's disk.
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

/// To read only: who writes a definition chooses who converts all objects of its kind.
fn definitions() -> Vec<PolicyRule> {
    vec![
        rule("apiextensions.k8s.io", &["customresourcedefinitions"], VIEW),
        rule("apiregistration.k8s.io", &["apiservices"], VIEW),
    ]
}
