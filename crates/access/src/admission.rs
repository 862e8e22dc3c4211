//! Rules about what is written to the hub that no schema can say: about Drover's own kinds, the
//! server's Secrets and accounts, and the hub's roles and bindings.
//!
//! The embedded hub asks [`admit`] in process; a hub elsewhere asks it through a webhook. The server
//! asks it before it writes for a user who called REST. Administrators of Drover change users by REST
//! without these rules: REST has its own, for example that no administrator deletes themselves.
//!
//! | who | may not | why |
//! |---|---|---|
//! | anybody but the server | make tokens and registration tokens, or change what they say | who writes a hash knows the secret |
//! | anybody but the server | make administrators, disable, enable or delete them, or waive a password's change | the server checks who asks, and that one stays |
//! | anybody but the server | write the status of Drover's kinds, or their `management.drover.dev/` annotations | a status binds a cluster's key |
//! | anybody but the server | write its Secrets, or make tokens of its account | they are the server |
//! | anybody but the server | delete its namespace, or write or delete the definitions of its kinds | whatever they hold goes with them |
//! | anybody but the server | bind a role to a `drover:` name | rights would outlive the person's role in Drover |
//! | anybody but the server | write or delete the roles and bindings that rights on the hub come to, their labels and finalizers included | likewise |
//! | anybody | bind a back door to everybody | everybody is somebody |
//! | a person of Drover | give a back door to anybody, by role, binding, label or aggregation | it would outlive their own rights |
//! | a person of Drover | bind a role that is not there | nobody knows what it will let them do |
//! | a person of Drover, or a service account | make tokens of accounts in the system's namespaces | likewise |
//! | a person of Drover, or a service account | change or delete a role that Kubernetes restores | bound while it is harmless, it would be a back door later |
//! | a person of Drover | approve a certificate with which clients log in to the hub | likewise |
//! | a person of Drover | ask for a node's certificate, which Kubernetes approves by itself | likewise |
//! | a person of Drover | make a bootstrap token | likewise |
//! | anybody | set a setting to what it cannot be | it would not take effect |
//! | anybody | have an AuthProvider read one of the server's own Secrets | it would be sent to whoever the provider is |
//! | whoever does not administer Drover | write AuthProviders or settings that affect security, change an administrator, say which agent runs, or change owner references and finalizers | see [`admit_by_roles`] |
//! | anybody | give by a role, a binding or a project what they do not have | see [`roles`] |
//!
//! A *back door* is a right with which somebody becomes an administrator of Drover: see
//! [`back_door`]. Kubernetes itself (its garbage collector and other controllers) is let through:
//! who that is depends on the hub that asks, see [`Asker`].

mod administered;
pub mod back_door;
mod certificates;
mod defaults;
mod foundations;
mod kinds;
mod rbac;
pub mod roles;
mod secrets;

use drover_api::group::{GROUP, HUB_NAMESPACE};
use serde_json::Value;
use thiserror::Error;

use self::roles::{Giver, Known, Person};
use crate::names::{self, ACCOUNT_PREFIX, account};

pub use administered::changed_user;
pub use certificates::{CLIENT_SIGNERS, SELF_APPROVED_SIGNER};
pub use defaults::DEFAULT_ROLES;
pub use rbac::{HUB_LABEL, HUB_PREFIX, RoleName};
pub use roles::{Named, NamedKind, deleted_role, names_in};
pub use secrets::{BOOTSTRAP_TOKEN, SERVERS_SECRETS, is_servers_secret};

/// The group of Kubernetes' roles and bindings.
pub const RBAC: &str = "rbac.authorization.k8s.io";
/// The group of the definitions of kinds.
pub const DEFINITIONS: &str = "apiextensions.k8s.io";
/// The group of requests for certificates.
pub const CERTIFICATES: &str = "certificates.k8s.io";
/// Where Kubernetes' own controllers have their accounts, if they have any.
pub const SYSTEM_NAMESPACE: &str = "kube-system";

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A new object, or a new token of an account.
    Create,
    /// A changed one.
    Update,
    /// One that goes.
    Delete,
}

/// Something that is about to be stored.
#[derive(Clone, Copy, Debug)]
pub struct Write<'a> {
    /// The name of whoever writes.
    pub writer: &'a str,
    /// Their groups.
    pub groups: &'a [String],
    /// What they do.
    pub operation: Operation,
    /// The API group; empty for the core.
    pub group: &'a str,
    /// The plural.
    pub resource: &'a str,
    /// Such as `status`; empty for the object itself.
    pub subresource: &'a str,
    /// Empty for what is in no namespace.
    pub namespace: &'a str,
    /// The object's name; empty where the hub makes it up.
    pub name: &'a str,
    /// As it would be stored.
    pub object: Option<&'a Value>,
    /// As it is stored.
    pub old: Option<&'a Value>,
}

/// Why something may not be stored; says what to do instead.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Refusal(String);

impl Refusal {
    fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

impl<'a> Write<'a> {
    /// Whether a person writes under a name that Drover gave.
    fn by_person(&self) -> bool {
        self.writer.starts_with(names::PREFIX)
    }

    /// Whether a service account writes; whoever made it may have left since.
    fn by_account(&self) -> bool {
        self.writer.starts_with(ACCOUNT_PREFIX)
    }

    fn of(&self, part: &str) -> Option<&'a Value> {
        self.object.and_then(|object| object.pointer(part))
    }

    fn of_old(&self, part: &str) -> Option<&'a Value> {
        self.old.and_then(|object| object.pointer(part))
    }

    /// The object's name, or how it will begin where the hub makes it up. What is deleted with
    /// others of its kind says its name itself.
    fn called(&self) -> &'a str {
        if !self.name.is_empty() {
            return self.name;
        }
        let said = self.of_old("/metadata/name");
        let said = said.or_else(|| self.of("/metadata/name"));
        let said = said.or_else(|| self.of("/metadata/generateName"));
        said.and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether a part is another than before; nothing, null and empty are the same.
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

/// Which hub asks, and who the server is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asker<'a> {
    server: &'a str,
    controllers: Controllers,
}

/// As whom Kubernetes' own controllers write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Controllers {
    /// As the API server, in whose process they run.
    InProcess,
    /// As programs, each with an account.
    Accounts,
}

impl<'a> Asker<'a> {
    /// The embedded hub. Its controllers need no accounts, so those of `kube-system` are people's.
    pub const fn embedded(server: &'a str) -> Self {
        Self {
            server,
            controllers: Controllers::InProcess,
        }
    }

    /// A hub elsewhere, whose controllers have accounts in `kube-system`.
    pub const fn elsewhere(server: &'a str) -> Self {
        Self {
            server,
            controllers: Controllers::Accounts,
        }
    }

    /// The server itself, before it writes to the hub for a person. Only people write this way, so
    /// that no name is exempt.
    pub const fn for_people() -> Self {
        Self {
            server: "",
            controllers: Controllers::InProcess,
        }
    }

    /// Whether rules are asked at all: not for the server itself, and not for Kubernetes.
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

/// The namespaces in which whoever runs programs or has tokens of accounts is the server, or
/// Kubernetes: the server's own may be another than that of its Secrets.
pub fn private_namespaces(server: &str) -> Vec<&str> {
    let mut all = vec![HUB_NAMESPACE, SYSTEM_NAMESPACE];
    let own = account(server).map(|(namespace, _)| namespace);
    all.extend(own.filter(|own| ![HUB_NAMESPACE, SYSTEM_NAMESPACE].contains(own)));
    all
}

fn is_private(namespace: &str, server: &str) -> bool {
    private_namespaces(server).contains(&namespace)
}

/// Whether a name is one of these; those that end with `*` are prefixes.
fn is_listed(patterns: &[&str], name: &str) -> bool {
    patterns
        .iter()
        .any(|pattern| match pattern.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix),
            None => name == *pattern,
        })
}

/// The role without whose rules [`admit`] cannot decide.
pub fn role_needed(write: &Write<'_>, asker: Asker<'_>) -> Option<RoleName> {
    if asker.concerns(write.writer) {
        rbac::role_needed(write)
    } else {
        None
    }
}

/// Whether it may be stored; `role` is the stored role that [`role_needed`] names, if there is one.
pub fn admit(write: &Write<'_>, asker: Asker<'_>, role: Option<&Value>) -> Result<(), Refusal> {
    if !asker.concerns(write.writer) {
        return Ok(());
    }
    let server = asker.server;
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

/// Drover's kinds of which a rule could refuse that one is deleted.
pub const JUDGED_WHEN_DELETED: [&str; 9] = [
    "authproviders",
    "clusterroletemplatebindings",
    "globalrolebindings",
    "globalroles",
    "projectroletemplatebindings",
    "projects",
    "roletemplates",
    "settings",
    "users",
];

/// Whether a write also depends on what Drover's roles are, which [`admit_by_roles`] has to know.
pub fn depends_on_roles(write: &Write<'_>) -> bool {
    roles::concerns(write) || administered::concerns(write)
}

/// Whether it depends on what its writer has; otherwise anybody's write is judged the same.
pub fn depends_on_writer(write: &Write<'_>) -> bool {
    (roles::concerns(write) && !roles::keeps(write)) || administered::concerns(write)
}

/// Whether it may be stored by the word of Drover's roles, after [`admit`] has said so; `changed` is
/// the person whom [`changed_user`] names.
pub fn admit_by_roles(
    write: &Write<'_>,
    writer: &Giver,
    changed: Option<&Person>,
    known: Known<'_>,
) -> Result<(), Refusal> {
    administered::admit(write, writer, changed, known)?;
    roles::admit(write, writer, known)
}

#[cfg(test)]
mod tests;
