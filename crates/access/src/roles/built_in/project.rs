//! Built-in roles for projects.

use drover_api::kinds::{RoleContext, RoleTemplateSpec};
use k8s_openapi::api::rbac::v1::PolicyRule;

use super::cluster::classes;
use super::{ALL, BuiltIn, MANAGE, VIEW, drover, rule};

pub(super) fn all() -> Vec<BuiltIn<RoleTemplateSpec>> {
    let mut all = vec![
        whole(
            "project-owner",
            "Project Owner",
            "All permissions in the project's namespaces, and management of its namespaces and role \
             bindings.",
            "admin",
            vec![drover(&["projects"], &["get", "update", "patch"])],
            &[
                "namespaces-manage",
                "project-members-manage",
                "project-member",
                "read-only",
            ],
        ),
        whole(
            "project-member",
            "Project Member",
            "Works in the project's namespaces, and reads its members.",
            "edit",
            readable_objects(),
            &MANAGED,
        ),
        whole(
            "read-only",
            "Read Only",
            "Reads all objects in the project's namespaces except Secrets.",
            "view",
            readable_objects(),
            &READ,
        ),
        part(
            "namespaces-manage",
            "Manage Namespaces",
            "Creates namespaces in the project, and removes them from it.",
            vec![
                drover(&["projects"], &["get"]),
                drover(&["projects/namespaces"], ALL),
            ],
        ),
        part(
            "project-members-manage",
            "Manage Project Members",
            "Creates and deletes role bindings in the project, within the user's own permissions there.",
            vec![
                drover(&["projects"], &["get"]),
                drover(&["projectroletemplatebindings"], MANAGE),
            ],
        ),
    ];
    for set in SETS {
        all.push(part(
            set.view,
            &format!("View {}", set.title),
            &format!("Reads {}.", set.description),
            rules(set, VIEW),
        ));
        all.push(part(
            set.manage,
            &format!("Manage {}", set.title),
            &format!("Creates, changes and deletes {}.", set.description),
            rules(set, MANAGE),
        ));
    }
    all
}

/// A set of resources, for which Drover creates two roles: one to view and one to manage the
/// resources.
struct Set {
    view: &'static str,
    manage: &'static str,
    title: &'static str,
    description: &'static str,
    /// API groups and resources that both roles can read and only the managing role can change.
    managed: &'static [(&'static str, &'static [&'static str])],
    /// API groups and resources that both roles can only read.
    read: &'static [(&'static str, &'static [&'static str])],
}

const SETS: &[Set] = &[
    Set {
        view: "workloads-view",
        manage: "workloads-manage",
        title: "Workloads",
        description: "workloads and their pods, which can use every Secret and service account of the \
               project's namespaces",
        managed: &[
            ("", &["pods", "replicationcontrollers"]),
            (
                "apps",
                &[
                    "daemonsets",
                    "deployments",
                    "deployments/scale",
                    "replicasets",
                    "replicasets/scale",
                    "statefulsets",
                    "statefulsets/scale",
                ],
            ),
            ("batch", &["cronjobs", "jobs"]),
            ("autoscaling", &["horizontalpodautoscalers"]),
            ("policy", &["poddisruptionbudgets"]),
        ],
        read: &[
            ("", &["pods/log", "pods/status", "events"]),
            ("events.k8s.io", &["events"]),
            ("apps", &["controllerrevisions"]),
            ("metrics.k8s.io", &["pods"]),
        ],
    },
    Set {
        view: "configmaps-view",
        manage: "configmaps-manage",
        title: "Config Maps",
        description: "config maps",
        managed: &[("", &["configmaps"])],
        read: &[],
    },
    Set {
        view: "secrets-view",
        manage: "secrets-manage",
        title: "Secrets",
        description: "secrets",
        managed: &[("", &["secrets"])],
        read: &[],
    },
    Set {
        view: "services-view",
        manage: "services-manage",
        title: "Services and Routes",
        description: "services, ingresses, routes and network policies",
        managed: &[
            ("", &["services"]),
            ("networking.k8s.io", &["ingresses", "networkpolicies"]),
            (
                "gateway.networking.k8s.io",
                &["gateways", "httproutes", "grpcroutes"],
            ),
        ],
        // The writer of these could route a service to other users' pods (CVE-2021-25740).
        read: &[
            ("", &["endpoints"]),
            ("discovery.k8s.io", &["endpointslices"]),
        ],
    },
    Set {
        view: "volumes-view",
        manage: "volumes-manage",
        title: "Volume Claims",
        description: "volume claims",
        managed: &[("", &["persistentvolumeclaims"])],
        read: &[],
    },
    Set {
        view: "serviceaccounts-view",
        manage: "serviceaccounts-manage",
        title: "Service Accounts",
        description: "service accounts, without their tokens",
        managed: &[("", &["serviceaccounts"])],
        read: &[],
    },
];

fn rules(set: &Set, verbs: &[&str]) -> Vec<PolicyRule> {
    let managed = set
        .managed
        .iter()
        .map(|(group, list)| rule(group, list, verbs));
    let read = set.read.iter().map(|(group, list)| rule(group, list, VIEW));
    managed.chain(read).collect()
}

/// Names of the built-in roles that the role `project-member` inherits.
const MANAGED: [&str; 6] = [
    "workloads-manage",
    "configmaps-manage",
    "secrets-manage",
    "services-manage",
    "volumes-manage",
    "serviceaccounts-manage",
];

/// Names of the built-in roles that the role `read-only` inherits. Excludes the role that reads
/// Secrets.
const READ: [&str; 5] = [
    "workloads-view",
    "configmaps-view",
    "services-view",
    "volumes-view",
    "serviceaccounts-view",
];

/// Returns rules for the objects of a project that every project member can read.
fn readable_objects() -> Vec<PolicyRule> {
    vec![
        drover(&["projects"], &["get"]),
        drover(&["projectroletemplatebindings"], VIEW),
    ]
}

/// Creates a role with three parts: the ClusterRole `external` of the cluster, additional rules,
/// and inherited built-in roles.
fn whole(
    name: &'static str,
    display_name: &str,
    description: &str,
    external: &str,
    rules: Vec<PolicyRule>,
    inherits: &[&str],
) -> BuiltIn<RoleTemplateSpec> {
    let mut role = part(name, display_name, description, rules);
    role.spec.external.push(external.to_owned());
    role.spec.inherits = inherits.iter().map(|&name| name.to_owned()).collect();
    role.spec.cluster_rules = classes();
    role
}

/// Creates a role for one set of resources. Administrators combine such roles.
fn part(
    name: &'static str,
    display_name: &str,
    description: &str,
    rules: Vec<PolicyRule>,
) -> BuiltIn<RoleTemplateSpec> {
    let spec = RoleTemplateSpec {
        context: RoleContext::Project,
        display_name: Some(display_name.to_owned()),
        description: Some(description.to_owned()),
        rules,
        ..Default::default()
    };
    BuiltIn { name, spec }
}
