//! Rights on the hub with which somebody becomes an administrator of Drover.

use drover_api::group::{GROUP, HUB_NAMESPACE};
use serde_json::Value;

use super::{CERTIFICATES, DEFINITIONS, RBAC, is_private, is_servers_secret};
use crate::names::account;

/// Where a role's rules hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope<'a> {
    /// In all namespaces and outside of them.
    Everywhere,
    /// In this namespace only.
    Namespace(&'a str),
}

/// Where a right has to hold to be a back door.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Outside of namespaces.
    Cluster,
    /// In the server's namespaces or in Kubernetes' own.
    Private,
}

struct Right {
    group: &'static str,
    /// Empty for all of the group.
    resources: &'static [&'static str],
    verbs: &'static [&'static str],
    place: Place,
    /// Completes "lets somebody …".
    what: &'static str,
}

const WRITE: &[&str] = &["create", "update", "patch", "delete", "deletecollection"];
const CHANGE: &[&str] = &["create", "update", "patch"];
/// Deleting many answers with what is deleted.
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
/// Verbs on one object that the request names. What any other is about has the empty name, or one
/// that is not asked about.
const NAMING: &[&str] = &["get", "update", "patch", "delete"];

const RIGHTS: &[Right] = &[
    Right {
        group: GROUP,
        resources: &[],
        verbs: WRITE,
        place: Place::Cluster,
        what: "write Drover's own objects",
    },
    Right {
        group: "",
        resources: &["secrets"],
        verbs: READ_OR_WRITE,
        place: Place::Private,
        what: "use the server's Secrets",
    },
    Right {
        group: "",
        resources: &["serviceaccounts/token"],
        verbs: &["create"],
        place: Place::Private,
        what: "make tokens of the server's account",
    },
    Right {
        group: "",
        resources: &["pods", "pods/ephemeralcontainers", "replicationcontrollers"],
        verbs: CHANGE,
        place: Place::Private,
        what: "run programs as the server's account",
    },
    Right {
        group: "",
        resources: &["pods/exec", "pods/attach"],
        verbs: &["get", "create"],
        place: Place::Private,
        what: "run programs in the server's pods",
    },
    Right {
        group: "apps",
        resources: &[],
        verbs: CHANGE,
        place: Place::Private,
        what: "run programs as the server's account",
    },
    Right {
        group: "batch",
        resources: &[],
        verbs: CHANGE,
        place: Place::Private,
        what: "run programs as the server's account",
    },
    Right {
        group: "",
        resources: &["nodes/proxy"],
        verbs: &["get", "create"],
        place: Place::Cluster,
        what: "run programs in the server's pods",
    },
    Right {
        group: RBAC,
        resources: &["roles", "clusterroles"],
        verbs: &["bind", "escalate"],
        place: Place::Private,
        what: "give rights that they do not have",
    },
    Right {
        group: "admissionregistration.k8s.io",
        resources: &[],
        verbs: WRITE,
        place: Place::Cluster,
        what: "change what is written, or who is asked about it",
    },
    Right {
        group: DEFINITIONS,
        resources: &["customresourcedefinitions"],
        verbs: WRITE,
        place: Place::Cluster,
        what: "change what Drover's kinds are",
    },
    Right {
        group: "apiregistration.k8s.io",
        resources: &["apiservices"],
        verbs: WRITE,
        place: Place::Cluster,
        what: "answer in the hub's place",
    },
    Right {
        group: CERTIFICATES,
        resources: &["certificatesigningrequests/approval", "signers"],
        verbs: &["update", "patch", "approve", "sign"],
        place: Place::Cluster,
        what: "get a certificate of any name",
    },
    Right {
        group: CERTIFICATES,
        resources: &[
            "certificatesigningrequests/nodeclient",
            "certificatesigningrequests/selfnodeclient",
        ],
        verbs: &["create"],
        place: Place::Cluster,
        what: "get the certificate of a node, whose pods' accounts it can use",
    },
];

/// As whom, and with what, somebody can act.
const IMPERSONATED: &[&str] = &[
    "*",
    "users",
    "groups",
    "serviceaccounts",
    "uids",
    "userextras",
    "nodes",
];

/// The first back door among a role's rules, as it completes "lets somebody …"; `server` is the
/// server's own name on the hub.
pub fn of_role(role: &Value, scope: Scope<'_>, server: &str) -> Option<&'static str> {
    let rules = role.get("rules").and_then(Value::as_array);
    rules
        .into_iter()
        .flatten()
        .find_map(|rule| of_rule(rule, scope, server))
}

fn of_rule(rule: &Value, scope: Scope<'_>, server: &str) -> Option<&'static str> {
    if impersonates(rule, scope, server) {
        return Some("act as others");
    }
    let granted = RIGHTS
        .iter()
        .find(|right| right.granted_by(rule, scope, server));
    granted.map(|right| right.what)
}

impl Right {
    fn granted_by(&self, rule: &Value, scope: Scope<'_>, server: &str) -> bool {
        let holds = match scope {
            Scope::Everywhere => true,
            Scope::Namespace(name) => self.place == Place::Private && is_private(name, server),
        };
        holds
            && texts(rule, "apiGroups").any(|group| group == "*" || group == self.group)
            && texts(rule, "verbs").any(|verb| verb == "*" || self.verbs.contains(&verb))
            && texts(rule, "resources").any(|asked| self.covers(asked))
            && self.reaches(rule, scope, server)
    }

    fn covers(&self, asked: &str) -> bool {
        self.resources.is_empty()
            || asked == "*"
            || self.resources.iter().any(|own| covers(asked, own))
    }

    /// Whether the names to which a rule is limited are such that it matters.
    fn reaches(&self, rule: &Value, scope: Scope<'_>, server: &str) -> bool {
        // Where the server's account, or one of Kubernetes, may have a token in a Secret, no
        // Secret's name tells its worth; and everywhere is there, too.
        let has_accounts = account(server).is_some_and(|(namespace, _)| namespace == HUB_NAMESPACE);
        let names_tell = self.resources == ["secrets"]
            && scope == Scope::Namespace(HUB_NAMESPACE)
            && !has_accounts;
        !names_tell || !is_limited(rule) || texts(rule, "resourceNames").any(is_servers_secret)
    }
}

/// Whether a rule's names limit all that it lets somebody do.
fn is_limited(rule: &Value) -> bool {
    let mut names = texts(rule, "resourceNames").peekable();
    names.peek().is_some()
        && names.all(|name| !name.is_empty())
        && texts(rule, "verbs").all(|verb| NAMING.contains(&verb))
}

/// Whether a rule's resource is this one: itself, or `*/subresource`.
fn covers(asked: &str, own: &str) -> bool {
    let of_all = asked.strip_prefix("*/");
    asked == own
        || of_all.is_some_and(|part| own.split_once('/').is_some_and(|(_, own)| own == part))
}

/// Whether a rule lets somebody act as others; constrained impersonation (`impersonate:…`)
/// included. No limit to names makes it harmless: any name may be the server's own on this hub, or
/// that of somebody who may do everything there.
fn impersonates(rule: &Value, scope: Scope<'_>, server: &str) -> bool {
    let verb = texts(rule, "verbs").any(|verb| verb == "*" || verb.starts_with("impersonate"));
    let group =
        texts(rule, "apiGroups").any(|group| matches!(group, "" | "*" | "authentication.k8s.io"));
    let resource = texts(rule, "resources").any(|asked| match scope {
        Scope::Everywhere => {
            let what = asked.split_once('/').map_or(asked, |(what, _)| what);
            IMPERSONATED.contains(&what)
        }
        Scope::Namespace(name) => {
            is_private(name, server) && matches!(asked, "*" | "serviceaccounts")
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
