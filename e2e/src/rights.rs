//! Compares the permissions of roles with their use in the audit log, to find permissions
//! that are wider than necessary.
//!
//! A permission is required if an allowed request would fail without the permission.

mod account;

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

pub use self::account::{Account, Exemptions, forbidden};
use crate::{AuditEvent, AuditObject, AuditUser};

/// A single permission of a role.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Right {
    /// The verb and the resource that the permission allows.
    pub deed: AuditedOperation,
    /// The namespace in which the permission applies. `None` if the permission applies in all
    /// namespaces.
    pub namespace: Option<String>,
    /// The name of the object to which the permission applies. `None` if the permission applies to
    /// all names.
    pub name: Option<String>,
}

/// A verb and a resource of a permission or a request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AuditedOperation {
    /// The verb, such as `get`.
    pub verb: String,
    /// The API group. Empty for the core group.
    pub group: String,
    /// The resource, with its subresource after a slash. The path for non-resource requests.
    pub resource: String,
}

/// A permission that an allowed request of an account requires.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Use {
    /// The verb and the resource of the request.
    pub deed: AuditedOperation,
    /// The namespace of the request. Empty for cluster-scoped objects.
    pub namespace: String,
    /// The name of the object in the request. `None` for lists and for creations by POST, because
    /// these requests contain no name.
    pub name: Option<String>,
}

/// The reason why a permission is wider than necessary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Excess {
    /// The audit log contains no request that requires the permission.
    Idle,
    /// The permission applies to all namespaces, but all requests were in one namespace.
    OneNamespace(String),
    /// The permission applies to all names, but all requests were for one name.
    OneName(String),
}

/// A permission that is wider than necessary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooWide {
    /// The permission that is too wide.
    pub right: Right,
    /// The reason why the permission is too wide.
    pub excess: Excess,
}

impl AuditedOperation {
    fn new(verb: &str, group: &str, resource: &str) -> Self {
        Self {
            verb: verb.to_owned(),
            group: group.to_owned(),
            resource: resource.to_owned(),
        }
    }

    /// Returns the group and the resource as `GROUP/RESOURCE`. Returns only the resource for the
    /// core group.
    pub fn to_what(&self) -> String {
        let slash = if self.group.is_empty() { "" } else { "/" };
        format!("{}{slash}{}", self.group, self.resource)
    }
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.deed.verb, self.deed.to_what())?;
        if let Some(name) = &self.name {
            write!(f, " {name}")?;
        }
        match &self.namespace {
            Some(namespace) => write!(f, " in {namespace}"),
            None => f.write_str(" everywhere"),
        }
    }
}

impl fmt::Display for TooWide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let right = &self.right;
        match &self.excess {
            Excess::Idle => write!(f, "{right}: never used"),
            Excess::OneNamespace(namespace) => write!(f, "{right}: used in {namespace} only"),
            Excess::OneName(name) => write!(f, "{right}: used for {name} only"),
        }
    }
}

/// Returns the permissions that a role grants through a binding. `namespace` is the namespace of
/// the binding. `None` means a binding in all namespaces.
fn granted(role: &Value, namespace: Option<&str>) -> Vec<Right> {
    let rules = role["rules"].as_array().into_iter().flatten();
    rules.flat_map(|rule| of_rule(rule, namespace)).collect()
}

fn of_rule(rule: &Value, namespace: Option<&str>) -> Vec<Right> {
    let texts = |key: &str| -> Vec<&str> {
        let list = rule[key].as_array().into_iter().flatten();
        list.filter_map(Value::as_str).collect()
    };
    let mut things: Vec<(&str, &str)> = Vec::new();
    for group in texts("apiGroups") {
        let resources = texts("resources").into_iter();
        things.extend(resources.map(|resource| (group, resource)));
    }
    things.extend(texts("nonResourceURLs").into_iter().map(|path| ("", path)));
    let limits = texts("resourceNames").into_iter();
    let mut limits: Vec<_> = limits.map(|name| Some(name.to_owned())).collect();
    if limits.is_empty() {
        limits.push(None);
    }
    let mut rights = Vec::new();
    for (group, resource) in things {
        for verb in texts("verbs") {
            rights.extend(limits.iter().map(|name| Right {
                deed: AuditedOperation::new(verb, group, resource),
                namespace: namespace.map(str::to_owned),
                name: name.clone(),
            }));
        }
    }
    rights
}

/// Returns the permissions that the request of an audit event required.
fn used(event: &AuditEvent) -> Vec<Use> {
    if let Some(person) = &event.impersonated_user {
        return impersonated(person);
    }
    let decision = event.annotations.get("authorization.k8s.io/decision");
    if decision.map(String::as_str) != Some("allow") {
        return Vec::new();
    }
    let Some(object) = &event.object_ref else {
        let path = event.request_uri.split('?').next().unwrap_or_default();
        return vec![Use {
            deed: AuditedOperation::new(&event.verb, "", path),
            namespace: String::new(),
            name: None,
        }];
    };
    let own = of_object(&event.verb, object);
    let status = event.response_status.as_ref();
    // An apply request that creates the object also needs the permission to create, with the name.
    let created = event.verb == "patch" && status.is_some_and(|status| status.code == 201);
    let also = created.then(|| {
        let mut also = own.clone();
        "create".clone_into(&mut also.deed.verb);
        also
    });
    also.into_iter().chain([own]).collect()
}

fn of_object(verb: &str, object: &AuditObject) -> Use {
    let resource = match object.subresource.as_str() {
        "" => object.resource.clone(),
        subresource => format!("{}/{subresource}", object.resource),
    };
    // For requests without a name in the path, the audit log contains the name of the request body.
    let nameless = ["list", "watch", "deletecollection"].contains(&verb)
        || (verb == "create" && object.subresource.is_empty());
    let named = !nameless && !object.name.is_empty();
    // The namespace of a Namespace object is its own name.
    let namespace = match object.resource.as_str() {
        "namespaces" => "",
        _ => &object.namespace,
    };
    Use {
        deed: AuditedOperation::new(verb, &object.api_group, &resource),
        namespace: namespace.to_owned(),
        name: named.then(|| object.name.clone()),
    }
}

const AUTHENTICATION: &str = "authentication.k8s.io";

fn impersonated(person: &AuditUser) -> Vec<Use> {
    let act = |group: &str, resource: &str, namespace: &str, name: &str| Use {
        deed: AuditedOperation::new("impersonate", group, resource),
        namespace: namespace.to_owned(),
        name: Some(name.to_owned()),
    };
    let account = person.username.strip_prefix("system:serviceaccount:");
    let user = match account.and_then(|account| account.split_once(':')) {
        Some((namespace, name)) => act("", "serviceaccounts", namespace, name),
        None => act("", "users", "", &person.username),
    };
    let uid = (!person.uid.is_empty()).then(|| act(AUTHENTICATION, "uids", "", &person.uid));
    let extra = person.extra.iter().flat_map(|(key, values)| {
        let resource = format!("userextras/{key}");
        values
            .iter()
            .map(move |value| act(AUTHENTICATION, &resource, "", value))
    });
    [user].into_iter().chain(uid).chain(extra).collect()
}

impl Right {
    fn covers(&self, name: &Use) -> bool {
        let fits = |limit: &Option<String>, found: Option<&String>| {
            limit.is_none() || limit.as_ref() == found
        };
        self.deed == name.deed
            && fits(&self.namespace, Some(&name.namespace))
            && fits(&self.name, name.name.as_ref())
    }

    fn excess(&self, uses: &BTreeSet<Use>) -> Option<Excess> {
        let uses: Vec<&Use> = uses.iter().filter(|case| self.covers(case)).collect();
        let Some(first) = uses.first() else {
            return Some(Excess::Idle);
        };
        let same = |of: fn(&Use) -> Option<&str>| {
            let one = of(first)?;
            let all = uses.iter().all(|case| of(case) == Some(one));
            all.then(|| one.to_owned())
        };
        let namespace = || same(|case| Some(&*case.namespace).filter(|name| !name.is_empty()));
        let everywhere = self.namespace.is_none().then(namespace).flatten();
        let any = || {
            self.name
                .is_none()
                .then(|| same(|case| case.name.as_deref()))
        };
        let namespace = everywhere.map(Excess::OneNamespace);
        namespace.or_else(|| any().flatten().map(Excess::OneName))
    }
}

/// Returns the permissions of `rights` that are wider than the permissions that `uses` contains.
fn too_wide(rights: &[Right], uses: &BTreeSet<Use>) -> Vec<TooWide> {
    let judged = rights.iter().filter_map(|right| {
        let excess = right.excess(uses)?;
        Some(TooWide {
            right: right.clone(),
            excess,
        })
    });
    judged.collect()
}

#[cfg(test)]
mod tests;
