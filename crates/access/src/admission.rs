//! Admission rules for writes to the hub that no schema can express. The rules apply to Drover's
//! kinds, the server's Secrets and accounts, and the hub's roles and bindings.
//!
//! The embedded hub calls [`admit`] in process. An external hub calls the server's webhook. The
//! server also calls [`admit`] before a write for a user of the REST API. The REST API has
//! additional rules, for example that administrators cannot delete their own user.
//!
//! | writer | forbidden write | reason |
//! |---|---|---|
//! | all except the server | create tokens and registration tokens, or change their specs | a writer who chooses the hash of a secret knows the secret |
//! | all except the server | create, disable, enable or delete administrators, or clear a required password change | the server checks the caller's permissions, and that one administrator remains |
//! | all except the server | write the status of Drover's kinds, or their `management.drover.dev/` annotations | the status contains the key that authenticates the cluster |
//! | all except the server | write the server's Secrets, or create tokens of its account | these credentials identify the server |
//! | all except the server | delete the server's namespace, or write or delete the definitions of Drover's kinds | the deletion of the namespace or of a definition also deletes all contained objects |
//! | all except the server | bind a role to a `drover:` name | the permissions would outlive the user's role in Drover |
//! | all except the server | write or delete the roles and bindings of hub access, including labels and finalizers | the permissions would outlive the user's role in Drover |
//! | all | bind a privilege escalation to all users | every user would become an administrator |
//! | Drover users | grant a privilege escalation by role, binding, label or aggregation | the grant would outlive the user's own permissions |
//! | Drover users | bind a missing role | the future rules of the role are unknown |
//! | Drover users and service accounts | create tokens of accounts in system namespaces | the token would outlive the user's own permissions |
//! | Drover users and service accounts | change or delete a role that Kubernetes restores | a binding of the changed role would grant the restored rules later |
//! | Drover users and service accounts | approve a client certificate for the hub | the certificate would outlive the user's own permissions |
//! | Drover users and service accounts | request a node's certificate, which Kubernetes approves automatically | the certificate would outlive the user's own permissions |
//! | Drover users and service accounts | create a bootstrap token | the token would outlive the user's own permissions |
//! | all | set an invalid value of a setting | the value would not take effect |
//! | all | configure an AuthProvider to read one of the server's own Secrets | the server would send the Secret to the provider |
//! | all | save a view whose path leaves the web UI | the page of another user would open the path |
//! | all except the owner and administrators | write preferences and saved views, or share a view without the permission | see the module `owned` |
//! | all except administrators | write AuthProviders or security settings, change an administrator, set the agent's image, or change owner references and finalizers | see [`admit_by_roles`] |
//! | all | grant permissions that the writer does not have, by a role, a binding or a project | see [`roles`] |
//!
//! A *privilege escalation* is a permission that makes its user an administrator of Drover: see
//! [`privilege_escalation`]. The rules do not apply to Kubernetes itself (garbage collector and
//! other controllers), whose accounts depend on the hub: see [`AdmissionContext`].

mod administered;
mod certificates;
mod defaults;
mod foundations;
mod kinds;
mod owned;
pub mod privilege_escalation;
mod rbac;
pub mod roles;
mod secrets;

use drover_api::group::{GROUP, HUB_NAMESPACE};
use serde_json::Value;
use thiserror::Error;

use self::roles::{HubRoles, UserWithGroups, WriterRights};
use crate::names::{self, ACCOUNT_PREFIX, account};

pub use administered::changed_user;
pub use certificates::{CLIENT_SIGNERS, SELF_APPROVED_SIGNER};
pub use defaults::DEFAULT_ROLES;
pub use owned::check_view_name;
pub use rbac::{HUB_LABEL, HUB_PREFIX, RoleName};
pub use roles::{ObjectReference, ReferenceKind, deleted_role, references_in};
pub use secrets::{BOOTSTRAP_TOKEN, SERVERS_SECRETS, is_servers_secret};

/// API group of RBAC roles and bindings.
pub const RBAC: &str = "rbac.authorization.k8s.io";
/// API group of CustomResourceDefinitions.
pub const DEFINITIONS: &str = "apiextensions.k8s.io";
/// API group of CertificateSigningRequests.
pub const CERTIFICATES: &str = "certificates.k8s.io";
/// Namespace of the accounts of Kubernetes controllers on an external hub.
pub const SYSTEM_NAMESPACE: &str = "kube-system";

/// Operation of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Creates an object, or a token of an account.
    Create,
    /// Changes an object.
    Update,
    /// Deletes an object.
    Delete,
}

/// A write that needs admission.
#[derive(Clone, Copy, Debug)]
pub struct Write<'a> {
    /// User name of the writer.
    pub writer: &'a str,
    /// Groups of the writer.
    pub groups: &'a [String],
    /// Operation of the write.
    pub operation: Operation,
    /// API group; empty for the core group.
    pub group: &'a str,
    /// Plural name of the resource.
    pub resource: &'a str,
    /// Subresource such as `status`; empty for the object itself.
    pub subresource: &'a str,
    /// Namespace; empty for cluster-scoped objects.
    pub namespace: &'a str,
    /// Name of the object; empty if the hub generates it.
    pub name: &'a str,
    /// The object after the write.
    pub object: Option<&'a Value>,
    /// The stored object before the write.
    pub old: Option<&'a Value>,
}

/// Reason for the rejection of a write, with a remedy.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Refusal(String);

impl Refusal {
    fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

impl<'a> Write<'a> {
    /// Reports whether the writer's user name is the name of a Drover user.
    fn is_by_drover_user(&self) -> bool {
        self.writer.starts_with(names::PREFIX)
    }

    /// Reports whether the writer is a service account. Admission restricts service accounts,
    /// because the user who created the account may no longer have access.
    fn is_by_service_account(&self) -> bool {
        self.writer.starts_with(ACCOUNT_PREFIX)
    }

    fn of(&self, part: &str) -> Option<&'a Value> {
        self.object.and_then(|object| object.pointer(part))
    }

    fn of_old(&self, part: &str) -> Option<&'a Value> {
        self.old.and_then(|object| object.pointer(part))
    }

    /// Returns the name of the object, or its `generateName` if the hub generates the name. If the
    /// request deletes a collection, returns the name of the stored object.
    fn object_name(&self) -> &'a str {
        if !self.name.is_empty() {
            return self.name;
        }
        let name = self.of_old("/metadata/name");
        let name = name.or_else(|| self.of("/metadata/name"));
        let name = name.or_else(|| self.of("/metadata/generateName"));
        name.and_then(Value::as_str).unwrap_or_default()
    }

    /// Reports whether the write changes a field. Missing, null and empty values are equal.
    fn changes(&self, part: &str) -> bool {
        !same(self.of(part), self.of_old(part))
    }
}

fn same(one: Option<&Value>, other: Option<&Value>) -> bool {
    let nothing = |value: Option<&Value>| match value {
        None | Some(Value::Null) => true,
        Some(Value::Object(map)) => map.is_empty(),
        Some(Value::Array(list)) => list.is_empty(),
        Some(_) => false,
    };
    one == other || (nothing(one) && nothing(other))
}

/// The context of an admission decision: the user name of the server's account on the hub, and the
/// hub's controllers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdmissionContext<'a> {
    server: &'a str,
    controllers: Controllers,
}

/// The identity of Kubernetes' controllers on the hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Controllers {
    /// The controllers run in the process of the hub's API server and use the identity of the API
    /// server.
    InProcess,
    /// Each controller is a program with its own service account.
    Accounts,
}

impl<'a> AdmissionContext<'a> {
    /// Creates the context of the embedded hub. The hub's controllers have no accounts, so all
    /// accounts in `kube-system` belong to users.
    pub const fn embedded(server: &'a str) -> Self {
        Self {
            server,
            controllers: Controllers::InProcess,
        }
    }

    /// Creates the context of an external hub, whose controllers have accounts in `kube-system`.
    pub const fn external(server: &'a str) -> Self {
        Self {
            server,
            controllers: Controllers::Accounts,
        }
    }

    /// Creates the context for writes that the server sends on behalf of a user of the REST API.
    /// The context contains no account of the server, so the server's exemption does not apply to
    /// the user.
    pub const fn for_users() -> Self {
        Self {
            server: "",
            controllers: Controllers::InProcess,
        }
    }

    /// Reports whether the rules apply to a writer. The server and Kubernetes' controllers are
    /// exempt.
    pub fn concerns(&self, writer: &str) -> bool {
        let accounts = writer.strip_prefix(ACCOUNT_PREFIX);
        let of_kubernetes = writer == "system:apiserver"
            || match self.controllers {
                Controllers::InProcess => false,
                Controllers::Accounts => {
                    writer == "system:kube-controller-manager"
                        || accounts.is_some_and(|name| name.starts_with("kube-system:"))
                }
            };
        writer != self.server && !of_kubernetes
    }
}

/// Returns the namespaces whose service accounts belong to the server or to Kubernetes. The
/// server's account and the server's Secrets can be in different namespaces.
pub fn private_namespaces(server: &str) -> Vec<&str> {
    let mut all = vec![HUB_NAMESPACE, SYSTEM_NAMESPACE];
    let own = account(server).map(|(namespace, _)| namespace);
    all.extend(own.filter(|own| ![HUB_NAMESPACE, SYSTEM_NAMESPACE].contains(own)));
    all
}

fn is_private(namespace: &str, server: &str) -> bool {
    private_namespaces(server).contains(&namespace)
}

/// Reports whether a name matches one of the patterns. A pattern that ends with `*` matches all
/// names with this prefix.
fn is_listed(patterns: &[&str], name: &str) -> bool {
    patterns
        .iter()
        .any(|pattern| match pattern.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix),
            None => name == *pattern,
        })
}

/// Returns the name of the RBAC role that the caller must read and pass to [`admit`]. Returns
/// `None` if [`admit`] needs no role.
pub fn role_needed(write: &Write<'_>, context: AdmissionContext<'_>) -> Option<RoleName> {
    if context.concerns(write.writer) {
        rbac::role_needed(write)
    } else {
        None
    }
}

/// Allows or rejects a write. `role` is the stored role with the name from [`role_needed`], if this
/// role exists.
pub fn admit(
    write: &Write<'_>,
    context: AdmissionContext<'_>,
    role: Option<&Value>,
) -> Result<(), Refusal> {
    if !context.concerns(write.writer) {
        return Ok(());
    }
    let server = context.server;
    match (write.group, write.resource) {
        (GROUP, _) => kinds::admit(write),
        ("", "secrets") => secrets::admit(write, server),
        ("", "serviceaccounts") => secrets::admit_account(write, server),
        ("", "namespaces") => foundations::admit_namespace(write),
        (DEFINITIONS, "customresourcedefinitions") => foundations::admit_definition(write),
        (CERTIFICATES, "certificatesigningrequests") => certificates::admit(write),
        (RBAC, _) => rbac::admit(write, server, role),
        _ => Ok(()),
    }
}

/// Drover's kinds whose deletion needs admission.
pub const KINDS_CHECKED_ON_DELETE: [&str; 11] = [
    "authproviders",
    "clusterroletemplatebindings",
    "globalrolebindings",
    "globalroles",
    "projectroletemplatebindings",
    "projects",
    "roletemplates",
    "savedviews",
    "settings",
    "userpreferences",
    "users",
];

/// Reports whether [`admit_by_roles`] must also check a write.
pub fn depends_on_roles(write: &Write<'_>) -> bool {
    roles::concerns(write) || administered::concerns(write) || owned::concerns(write)
}

/// Reports whether the decision depends on the writer's permissions.
pub fn depends_on_writer(write: &Write<'_>) -> bool {
    (roles::concerns(write) && !roles::keeps_spec(write))
        || administered::concerns(write)
        || owned::concerns(write)
}

/// Allows or rejects a write, depending on the writer's roles in Drover. Call this function after
/// [`admit`]. `changed` is the user with the name from [`changed_user`].
pub fn admit_by_roles(
    write: &Write<'_>,
    writer: &WriterRights,
    changed: Option<&UserWithGroups>,
    hub_roles: HubRoles<'_>,
) -> Result<(), Refusal> {
    administered::admit(write, writer, changed, hub_roles)?;
    owned::admit(write, writer, hub_roles)?;
    roles::admit(write, writer, hub_roles)
}

#[cfg(test)]
mod tests;
