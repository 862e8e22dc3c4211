//! Permissions on the hub that permit privilege escalation. A user with one of these permissions
//! can become an administrator of Drover.

use drover_api::group::{GROUP, HUB_NAMESPACE};
use serde_json::Value;

use super::{CERTIFICATES, DEFINITIONS, RBAC, is_private, is_servers_secret};
use crate::names::account;

/// Scope of a role's rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleScope<'a> {
    /// All namespaces, and cluster-scoped objects.
    Everywhere,
    /// A single namespace.
    Namespace(&'a str),
}

/// Scope in which a permission permits privilege escalation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SensitiveScope {
    /// Cluster-scoped objects.
    Cluster,
    /// Namespaces that belong to the server or to Kubernetes.
    Private,
}

struct Right {
    group: &'static str,
    /// Plural names of resources. An empty list means all resources of the API group.
    resources: &'static [&'static str],
    verbs: &'static [&'static str],
    scope: SensitiveScope,
    /// Description of the permission. The text completes the message "the role lets users …".
    description: &'static str,
}

const WRITE: &[&str] = &["create", "update", "patch", "delete", "deletecollection"];
const CHANGE: &[&str] = &["create", "update", "patch"];
/// All verbs that read or write objects. The response to a collection deletion contains the deleted
/// objects.
const READ_OR_WRITE: &[&str] = &[
    "get",
    "list",
    "watch",
    "create",
    "update",
    "patch",
    "delete",
    "deletecollection",
];
/// Verbs that a rule can limit to its resource names.
const NAMING: &[&str] = &["get", "update", "patch", "delete"];

const RIGHTS: &[Right] = &[
    Right {
        group: GROUP,
        resources: &[],
        verbs: WRITE,
        scope: SensitiveScope::Cluster,
        description: "write Drover's own objects",
    },
    Right {
        group: "",
        resources: &["secrets"],
        verbs: READ_OR_WRITE,
        scope: SensitiveScope::Private,
        description: "use the server's Secrets",
    },
    Right {
        group: "",
        resources: &["serviceaccounts/token"],
        verbs: &["create"],
        scope: SensitiveScope::Private,
        description: "create tokens of the server's account",
    },
    Right {
        group: "",
        resources: &["pods", "pods/ephemeralcontainers", "replicationcontrollers"],
        verbs: CHANGE,
        scope: SensitiveScope::Private,
        description: "run programs as the server's account",
    },
    Right {
        group: "",
        resources: &["pods/exec", "pods/attach"],
        verbs: &["get", "create"],
        scope: SensitiveScope::Private,
        description: "run programs in the server's pods",
    },
    Right {
        group: "apps",
        resources: &[],
        verbs: CHANGE,
        scope: SensitiveScope::Private,
        description: "run programs as the server's account",
    },
    Right {
        group: "batch",
        resources: &[],
        verbs: CHANGE,
        scope: SensitiveScope::Private,
        description: "run programs as the server's account",
    },
    Right {
        group: "",
        resources: &["nodes/proxy"],
        verbs: &["get", "create"],
        scope: SensitiveScope::Cluster,
        description: "run programs in the server's pods",
    },
    Right {
        group: RBAC,
        resources: &["roles", "clusterroles"],
        verbs: &["bind", "escalate"],
        scope: SensitiveScope::Private,
        description: "grant permissions that they do not have",
    },
    Right {
        group: "admissionregistration.k8s.io",
        resources: &[],
        verbs: WRITE,
        scope: SensitiveScope::Cluster,
        description: "change written objects, or the webhooks that receive them",
    },
    Right {
        group: DEFINITIONS,
        resources: &["customresourcedefinitions"],
        verbs: WRITE,
        scope: SensitiveScope::Cluster,
        description: "change the definitions of Drover's kinds",
    },
    Right {
        group: "apiregistration.k8s.io",
        resources: &["apiservices"],
        verbs: WRITE,
        scope: SensitiveScope::Cluster,
        description: "serve requests in place of the hub",
    },
    Right {
        group: CERTIFICATES,
        resources: &["certificatesigningrequests/approval", "signers"],
        verbs: &["update", "patch", "approve", "sign"],
        scope: SensitiveScope::Cluster,
        description: "get a certificate of any name",
    },
    Right {
        group: CERTIFICATES,
        resources: &[
            "certificatesigningrequests/nodeclient",
            "certificatesigningrequests/selfnodeclient",
        ],
        verbs: &["create"],
        scope: SensitiveScope::Cluster,
        description: "get the certificate of a node, and use the accounts of its pods",
    },
];

/// Resources whose verb `impersonate` permits impersonation.
const IMPERSONATED: &[&str] = &[
    "*",
    "users",
    "groups",
    "serviceaccounts",
    "uids",
    "userextras",
    "nodes",
];

/// Returns a description of the first permission of a role that permits privilege escalation. The
/// text completes the message "the role lets users …". `server` is the server's user name on the
/// hub.
pub fn of_role(role: &Value, scope: RuleScope<'_>, server: &str) -> Option<&'static str> {
    let rules = role.get("rules").and_then(Value::as_array);
    rules
        .into_iter()
        .flatten()
        .find_map(|rule| of_rule(rule, scope, server))
}

fn of_rule(rule: &Value, scope: RuleScope<'_>, server: &str) -> Option<&'static str> {
    if impersonates(rule, scope, server) {
        return Some("impersonate other users");
    }
    let granted = RIGHTS
        .iter()
        .find(|right| right.granted_by(rule, scope, server));
    granted.map(|right| right.description)
}

impl Right {
    fn granted_by(&self, rule: &Value, scope: RuleScope<'_>, server: &str) -> bool {
        let holds = match scope {
            RuleScope::Everywhere => true,
            RuleScope::Namespace(name) => {
                self.scope == SensitiveScope::Private && is_private(name, server)
            }
        };
        holds
            && texts(rule, "apiGroups").any(|group| group == "*" || group == self.group)
            && texts(rule, "verbs").any(|verb| verb == "*" || self.verbs.contains(&verb))
            && texts(rule, "resources").any(|requested| self.covers(requested))
            && self.reaches(rule, scope, server)
    }

    fn covers(&self, requested: &str) -> bool {
        self.resources.is_empty()
            || requested == "*"
            || self.resources.iter().any(|own| covers(requested, own))
    }

    /// Reports whether the resource names of a rule include the name of a sensitive object.
    fn reaches(&self, rule: &Value, scope: RuleScope<'_>, server: &str) -> bool {
        // A Secret may contain a token of the server's or Kubernetes' account in these namespaces,
        // so all its names are sensitive. The scope Everywhere includes these namespaces.
        let has_accounts = account(server).is_some_and(|(namespace, _)| namespace == HUB_NAMESPACE);
        let names_tell = self.resources == ["secrets"]
            && scope == RuleScope::Namespace(HUB_NAMESPACE)
            && !has_accounts;
        !names_tell || !is_limited(rule) || texts(rule, "resourceNames").any(is_servers_secret)
    }
}

/// Reports whether a rule has resource names, and all verbs of the rule are limited to these names.
fn is_limited(rule: &Value) -> bool {
    let mut names = texts(rule, "resourceNames").peekable();
    names.peek().is_some()
        && names.all(|name| !name.is_empty())
        && texts(rule, "verbs").all(|verb| NAMING.contains(&verb))
}

/// Reports whether a rule includes this resource, either by its name or as `*/subresource`.
fn covers(requested: &str, own: &str) -> bool {
    let of_all = requested.strip_prefix("*/");
    requested == own
        || of_all.is_some_and(|part| own.split_once('/').is_some_and(|(_, own)| own == part))
}

/// Reports whether a rule permits impersonation, including constrained impersonation
/// (`impersonate:…`). Ignores resource names, because any name may be the name of the server or of
/// an administrator.
fn impersonates(rule: &Value, scope: RuleScope<'_>, server: &str) -> bool {
    let verb = texts(rule, "verbs").any(|verb| verb == "*" || verb.starts_with("impersonate"));
    let group =
        texts(rule, "apiGroups").any(|group| matches!(group, "" | "*" | "authentication.k8s.io"));
    let resource = texts(rule, "resources").any(|requested| match scope {
        RuleScope::Everywhere => {
            let description = requested
                .split_once('/')
                .map_or(requested, |(description, _)| description);
            IMPERSONATED.contains(&description)
        }
        RuleScope::Namespace(name) => {
            is_private(name, server) && matches!(requested, "*" | "serviceaccounts")
        }
    });
    verb && group && resource
}

fn texts<'a>(rule: &'a Value, field: &str) -> impl Iterator<Item = &'a str> {
    let list = rule.get(field).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str)
}

#[cfg(test)]
mod tests;
