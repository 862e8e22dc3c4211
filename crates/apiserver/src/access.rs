//! Who asks, what they may do, and how they prove it.
//!
//! Authentication, impersonation, RBAC and the reviews behave as kube-apiserver's do. Everything
//! here is pure or works through small traits ([`Objects`], [`Authenticate`], [`Authorizer`],
//! [`Admission`]), so that the embedding program can put its own in their place.

mod authenticate;
mod bootstrap;
mod escalation;
mod identity;
mod impersonation;
mod keys;
mod rbac;
mod review;
mod token;
mod token_request;

use std::borrow::Cow;

use drover_rbac::Asked;
use futures::future::BoxFuture;
use serde_json::Value;

use crate::resource::Resource;
use crate::status::ApiError;

pub use authenticate::{
    Authenticate, AuthenticateError, Authenticated, Bearer, bearer, with_standing_groups,
};
pub use bootstrap::{BootstrapObject, Reconciled, bootstrap_objects, reconcile};
pub use drover_rbac::Rule;
pub use escalation::{RoleWrite, check_role_write};
pub use identity::{Caller, ServiceAccountName};
pub use impersonation::Impersonation;
pub use keys::{GenerateKeyError, Keys, LoadKeysError};
pub use rbac::{Rbac, RbacKind};
pub use review::{ReviewKind, Reviews};
pub(crate) use token::SecretSubject;
pub use token::{BoundTo, Claims, Clock, IssueError, NameAndUid, Subject, Tokens, TokensOptions};
pub(crate) use token_request::seconds_only;
pub use token_request::{TokenRequest, issue_requested};

/// What a caller wants to do.
#[derive(Debug, Clone, Copy)]
pub struct Attributes<'a> {
    /// Who asks.
    pub caller: &'a Caller,
    /// Such as `list`; the lower-case HTTP method for a path.
    pub verb: &'a str,
    /// What it is about.
    pub target: Target<'a>,
}

/// What a request is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target<'a> {
    /// Objects; parts that the request does not name are empty.
    Resource {
        /// Empty for the core group.
        group: &'a str,
        /// Such as `v1`, or `*`.
        version: &'a str,
        /// The plural.
        resource: &'a str,
        /// Such as `status`.
        subresource: &'a str,
        /// Empty for cluster-scoped objects and for all namespaces.
        namespace: &'a str,
        /// Empty for a collection.
        name: &'a str,
    },
    /// Any other path, such as `/version`.
    Path(&'a str),
}

impl<'a> Target<'a> {
    /// What rules are asked about it.
    fn asked(self) -> Asked<'a> {
        match self {
            Self::Path(path) => Asked::Path(path),
            Self::Resource {
                group,
                resource,
                subresource,
                name,
                ..
            } => Asked::Resource {
                group,
                resource,
                subresource,
                name,
            },
        }
    }
}

/// An authoriser's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Whether the caller may.
    pub allowed: bool,
    /// Why, as reviews show it; may be empty.
    pub reason: String,
}

impl Verdict {
    /// The caller may.
    pub fn allow(reason: impl Into<String>) -> Self {
        Self {
            allowed: true,
            reason: reason.into(),
        }
    }

    /// Nothing says that the caller may.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self {
            allowed: false,
            reason: reason.into(),
        }
    }
}

/// Decides what callers may do; must be quick, it is asked for each request.
pub trait Authorizer: Send + Sync {
    /// Whether the caller may.
    fn authorize(&self, attributes: &Attributes<'_>) -> Verdict;

    /// The rules that hold for a caller in a namespace, for `SelfSubjectRulesReview`; the text is
    /// the evaluation error, empty if there was none.
    fn rules_for(&self, caller: &Caller, namespace: &str) -> (Vec<Rule>, String);
}

/// Reads live objects, as they are stored; the server implements it on its store.
pub trait Objects: Send + Sync {
    /// One object, or `None`; the namespace is empty for cluster-scoped ones.
    fn find<'a>(
        &'a self,
        group: &'a str,
        resource: &'a str,
        namespace: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<Value>, ApiError>>;
}

/// A write that is about to be stored, for admission.
#[derive(Debug, Clone, Copy)]
pub struct Review<'a> {
    /// Who writes.
    pub caller: &'a Caller,
    /// What is done.
    pub operation: Operation,
    /// To objects of which resource.
    pub resource: &'a Resource,
    /// Such as `status`; empty for the object itself.
    pub subresource: &'a str,
    /// Empty for cluster-scoped objects.
    pub namespace: &'a str,
    /// The object's name; empty where it is not known yet.
    pub name: &'a str,
    /// As it would be stored; none on delete.
    pub object: Option<&'a Value>,
    /// As it is stored; none on create.
    pub old: Option<&'a Value>,
    /// Whether nothing will be stored.
    pub dry_run: bool,
}

/// `admission.k8s.io` `Operation`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// A new object.
    Create,
    /// A changed one.
    Update,
    /// One that goes.
    Delete,
}

/// Rules about writes that the embedding program adds.
pub trait Admission: Send + Sync {
    /// Refuses a write by an error, which is what the client is shown.
    fn admit<'a>(&'a self, review: Review<'a>) -> BoxFuture<'a, Result<(), ApiError>>;
}

/// Admission that lets everything pass.
#[derive(Debug, Clone, Copy, Default)]
pub struct AdmitAll;

impl Admission for AdmitAll {
    fn admit<'a>(&'a self, _review: Review<'a>) -> BoxFuture<'a, Result<(), ApiError>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// The answer to a request that is not authorised, in kube-apiserver's words.
pub fn forbidden(attributes: &Attributes<'_>, reason: &str) -> ApiError {
    let message = escape_html(&denial(attributes));
    let why: Cow<'_, str> = if reason.is_empty() {
        message.into()
    } else {
        format!("{message}: {reason}").into()
    };
    match attributes.target {
        Target::Path(_) => ApiError::forbidden("", "", "", why),
        Target::Resource {
            group,
            resource,
            name,
            ..
        } => ApiError::forbidden(group, resource, name, why),
    }
}

fn denial(attributes: &Attributes<'_>) -> String {
    let user = &attributes.caller.name;
    let verb = attributes.verb;
    match attributes.target {
        Target::Path(path) => format!("User {user:?} cannot {verb} path {path:?}"),
        Target::Resource {
            group,
            resource,
            subresource,
            namespace,
            ..
        } => {
            let resource = if subresource.is_empty() {
                Cow::Borrowed(resource)
            } else {
                Cow::Owned(format!("{resource}/{subresource}"))
            };
            let place = if namespace.is_empty() {
                "at the cluster scope".to_owned()
            } else {
                format!("in the namespace {namespace:?}")
            };
            format!(
                "User {user:?} cannot {verb} resource {resource:?} in API group {group:?} {place}"
            )
        }
    }
}

/// Names are the caller's to choose, and browsers may show what is answered.
fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask<'a>(caller: &'a Caller, verb: &'a str, target: Target<'a>) -> Attributes<'a> {
        Attributes {
            caller,
            verb,
            target,
        }
    }

    fn pods(
        namespace: &'static str,
        name: &'static str,
        subresource: &'static str,
    ) -> Target<'static> {
        Target::Resource {
            group: "",
            version: "v1",
            resource: "pods",
            subresource,
            namespace,
            name,
        }
    }

    #[test]
    fn a_denied_list_names_user_verb_resource_group_and_namespace() {
        let caller = Caller::user("u", ["system:authenticated"]);
        let error = forbidden(&ask(&caller, "list", pods("d", "", "")), "");
        assert_eq!(
            error.message,
            r#"pods is forbidden: User "u" cannot list resource "pods" in API group "" in the namespace "d""#
        );
        assert_eq!(error.code, 403);
    }

    #[test]
    fn a_denied_subresource_is_named_with_its_resource_and_the_reason_follows() {
        let caller = Caller::user("u", []);
        let error = forbidden(&ask(&caller, "get", pods("", "p", "log")), "because");
        assert_eq!(
            error.message,
            r#"pods "p" is forbidden: User "u" cannot get resource "pods/log" in API group "" at the cluster scope: because"#
        );
    }

    #[test]
    fn a_denied_path_is_named_and_markup_in_names_is_made_harmless() {
        let caller = Caller::user("<b>&", []);
        let error = forbidden(&ask(&caller, "get", Target::Path("/metrics")), "");
        assert_eq!(
            error.message,
            r#"forbidden: User "&lt;b&gt;&amp;" cannot get path "/metrics""#
        );
    }
}
