//! Permissions of the agent's account and of the lanes' accounts. Each account has only the
//! permissions that it needs.
//!
//! The user lane's account has no permissions in the manifest. The server's access controller
//! allows the account to impersonate the users with access to the cluster, and no other users.

use drover_access::admission::RBAC;
use drover_api::agent::Lane;
use drover_api::group::{
    AGENT_NAMESPACE, DEPLOYER_ACCOUNT, DEPLOYER_LEASE, FLEET_AGENT, FLEET_BOOTSTRAP_SECRET,
    NODE_AGENT_NAMESPACE, NODE_REPORT_POLICY, RELEASE_KEY_SECRET, TUNNEL_NODES,
};
use k8s_openapi::api::rbac::v1::{
    ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{AGENT, ManifestError, Stream, cluster_meta, meta};

pub(super) const CONTROLLER: &str = "drover-controller";
pub(super) const REPORT: &str = "drover-report";

pub(super) fn write(stream: &mut Stream) -> Result<(), ManifestError> {
    for (name, rules) in [
        (AGENT, agent()),
        (CONTROLLER, controller_in_agent_namespace()),
        (REPORT, report_here()),
    ] {
        role(stream, meta(name), rules)?;
        binding(stream, meta(name), name, vec![account(name)])?;
    }
    for (name, rules) in [(CONTROLLER, controller()), (REPORT, report())] {
        stream.object(
            "ClusterRole",
            &ClusterRole {
                metadata: cluster_meta(name),
                rules: Some(rules),
                ..Default::default()
            },
        )?;
        stream.object(
            "ClusterRoleBinding",
            &ClusterRoleBinding {
                metadata: cluster_meta(name),
                role_ref: role_ref("ClusterRole", name),
                subjects: Some(vec![account(name)]),
            },
        )?;
    }
    deployer(stream)
}

/// Writes the rights of an agent that registers at a hub as Fleet's agent does.
pub(super) fn write_fleet(stream: &mut Stream) -> Result<(), ManifestError> {
    role(stream, meta(AGENT), fleet_agent())?;
    binding(stream, meta(AGENT), AGENT, vec![account(AGENT)])?;
    deployer(stream)
}

fn deployer(stream: &mut Stream) -> Result<(), ManifestError> {
    stream.object(
        "ClusterRoleBinding",
        &ClusterRoleBinding {
            metadata: cluster_meta(DEPLOYER_ACCOUNT),
            // Bundles contain any objects. A bundle with `serviceAccount` has only the permissions of
            // that account.
            role_ref: role_ref("ClusterRole", "cluster-admin"),
            subjects: Some(vec![account(DEPLOYER_ACCOUNT)]),
        },
    )
}

/// Writes a Role.
pub(super) fn role(
    stream: &mut Stream,
    metadata: ObjectMeta,
    permissions: Vec<PolicyRule>,
) -> Result<(), ManifestError> {
    let role = Role {
        metadata,
        rules: Some(permissions),
    };
    stream.object("Role", &role)
}

/// Writes a RoleBinding of a Role in the same namespace.
pub(super) fn binding(
    stream: &mut Stream,
    metadata: ObjectMeta,
    role: &str,
    subjects: Vec<Subject>,
) -> Result<(), ManifestError> {
    let binding = RoleBinding {
        metadata,
        role_ref: role_ref("Role", role),
        subjects: Some(subjects),
    };
    stream.object("RoleBinding", &binding)
}

/// Returns a reference to a Role or ClusterRole.
pub fn role_ref(kind: &str, name: &str) -> RoleRef {
    RoleRef {
        api_group: Some(RBAC.to_owned()),
        kind: kind.to_owned(),
        name: name.to_owned(),
    }
}

/// Returns a service account of the agent's namespace as a subject.
pub fn account(name: &str) -> Subject {
    account_in(AGENT_NAMESPACE, name)
}

/// Returns a service account as a subject.
pub(super) fn account_in(namespace: &str, name: &str) -> Subject {
    Subject {
        kind: "ServiceAccount".to_owned(),
        name: name.to_owned(),
        namespace: Some(namespace.to_owned()),
        ..Default::default()
    }
}

pub(super) fn rule(group: &str, resources: &[&str], names: &[&str], verbs: &[&str]) -> PolicyRule {
    let owned = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    PolicyRule {
        api_groups: Some(vec![group.to_owned()]),
        resources: Some(owned(resources)),
        resource_names: (!names.is_empty()).then(|| owned(names)),
        verbs: owned(verbs),
        ..Default::default()
    }
}

/// Returns the rules of the agent's account. The rules permit access to the agent's own objects,
/// and token requests for the accounts of the lanes and of the deployer.
fn agent() -> Vec<PolicyRule> {
    let [user, controller, report] = Lane::ALL.map(Lane::service_account);
    let accounts = [user, controller, report, DEPLOYER_ACCOUNT];
    let leases = "coordination.k8s.io";
    vec![
        // RBAC cannot restrict `create` by name.
        rule("", &["secrets", "configmaps"], &[], &["create"]),
        rule(
            "",
            &["secrets"],
            &["drover-agent-key", "drover-agent-registration"],
            &["get", "patch"],
        ),
        rule("", &["secrets"], &[RELEASE_KEY_SECRET], &["get"]),
        rule("", &["configmaps"], &["drover-agent-server"], &["get"]),
        rule(
            "",
            &["configmaps"],
            &["drover-agent-status"],
            &["get", "patch"],
        ),
        rule("", &["serviceaccounts/token"], &accounts, &["create"]),
        // One replica deploys bundles.
        rule(leases, &["leases"], &[], &["create"]),
        rule(leases, &["leases"], &[DEPLOYER_LEASE], &["get", "update"]),
        rule("apps", &["deployments"], &[AGENT], &["get"]),
        rule("events.k8s.io", &["events"], &[], &["create", "patch"]),
    ]
}

/// Returns the rules of the agent's account if the agent registers as Fleet's agent does. The agent has no
/// tunnel, so that the account cannot use the accounts of lanes.
fn fleet_agent() -> Vec<PolicyRule> {
    let leases = "coordination.k8s.io";
    vec![
        // RBAC cannot restrict `create` by name.
        rule("", &["secrets", "configmaps"], &[], &["create"]),
        rule(
            "",
            &["secrets"],
            &[FLEET_BOOTSTRAP_SECRET],
            &["get", "delete"],
        ),
        rule("", &["secrets"], &[FLEET_AGENT], &["get", "update"]),
        rule("", &["secrets"], &[RELEASE_KEY_SECRET], &["get"]),
        rule("", &["configmaps"], &[FLEET_AGENT], &["get"]),
        rule(
            "",
            &["configmaps"],
            &["drover-agent-status"],
            &["get", "patch"],
        ),
        rule(
            "",
            &["serviceaccounts/token"],
            &[DEPLOYER_ACCOUNT],
            &["create"],
        ),
        rule(leases, &["leases"], &[], &["create"]),
        rule(leases, &["leases"], &[DEPLOYER_LEASE], &["get", "update"]),
        rule("events.k8s.io", &["events"], &[], &["create", "patch"]),
    ]
}

/// Returns the rules of the controller lane's account for the whole cluster. An account that can
/// bind any role effectively has all permissions. RBAC cannot limit the account to certain roles,
/// because the names of the roles contain UIDs from the hub and users define the rules.
fn controller() -> Vec<PolicyRule> {
    let write = ["list", "create", "update", "delete"];
    let bindings = ["clusterrolebindings", "rolebindings"];
    vec![
        rule(RBAC, &["clusterroles"], &[], &write),
        rule(RBAC, &["clusterroles"], &[], &["bind", "escalate"]),
        // The controllers remove subjects without a role from another owner's binding and keep the
        // other subjects.
        rule(RBAC, &["roles"], &[], &["bind"]),
        rule(RBAC, &bindings, &[], &write),
        // The controllers create namespaces and quotas of projects. The account cannot delete
        // namespaces.
        rule("", &["namespaces"], &[], &["list", "create", "patch"]),
        rule("", &["resourcequotas", "limitranges"], &[], &write),
        // The server removes the agents' namespaces after the Cluster was deleted.
        rule(
            "",
            &["namespaces"],
            &[AGENT_NAMESPACE, NODE_AGENT_NAMESPACE],
            &["get", "delete"],
        ),
        rule(
            RBAC,
            &["clusterroles", "clusterrolebindings"],
            &[REPORT, CONTROLLER],
            &["get", "patch"],
        ),
        rule(
            RBAC,
            &["clusterrolebindings"],
            &[DEPLOYER_ACCOUNT],
            &["get", "patch"],
        ),
        rule(
            "admissionregistration.k8s.io",
            &[
                "validatingadmissionpolicies",
                "validatingadmissionpolicybindings",
            ],
            &[NODE_REPORT_POLICY],
            &["get", "patch"],
        ),
        // The server checks whether this cluster allows a user to impersonate another (`kubectl
        // --as`).
        rule(
            "authorization.k8s.io",
            &["subjectaccessreviews"],
            &[],
            &["create"],
        ),
        // The server probes the API server through the tunnel.
        health(),
    ]
}

/// Returns the rules of the controller lane's account in the agent's namespace. The server upgrades
/// the agent and selects the nodes with a tunnel with these permissions.
fn controller_in_agent_namespace() -> Vec<PolicyRule> {
    vec![
        rule("apps", &["deployments"], &[AGENT], &["get", "patch"]),
        // RBAC cannot restrict `create` by name.
        rule("", &["configmaps"], &[], &["create"]),
        rule("", &["configmaps"], &[TUNNEL_NODES], &["get", "patch"]),
        // The server reads the certificate authority for kubeconfigs with direct access.
        rule("", &["configmaps"], &["kube-root-ca.crt"], &["get"]),
    ]
}

fn report() -> Vec<PolicyRule> {
    vec![
        rule("", &["nodes", "pods", "events"], &[], &["list", "watch"]),
        // The server checks whether another writer changed the objects that the server applied.
        rule(
            RBAC,
            &["clusterroles", "clusterrolebindings", "rolebindings"],
            &[],
            &["list", "watch"],
        ),
        rule(
            "",
            &["namespaces", "resourcequotas", "limitranges"],
            &[],
            &["list", "watch"],
        ),
        rule("metrics.k8s.io", &["nodes"], &[], &["list"]),
        // The agent verifies the tokens of node agents.
        rule("authentication.k8s.io", &["tokenreviews"], &[], &["create"]),
        health(),
    ]
}

fn report_here() -> Vec<PolicyRule> {
    vec![rule("apps", &["deployments"], &[AGENT], &["get"])]
}

/// Returns the rule for the API server's health endpoints.
fn health() -> PolicyRule {
    let paths = ["/livez", "/readyz", "/version"];
    PolicyRule {
        non_resource_urls: Some(paths.map(str::to_owned).to_vec()),
        verbs: vec!["get".to_owned()],
        ..Default::default()
    }
}
