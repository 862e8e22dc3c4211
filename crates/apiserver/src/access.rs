//! Authentication, impersonation, authorization and reviews, as in kube-apiserver.
//!
//! The code of this module is pure or uses small traits ([`Objects`], [`Authenticate`],
//! [`Authorizer`], [`Admission`]). The embedding program can supply implementations of these
//! traits.

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

use drover_rbac::RuleTarget;
use futures::future::BoxFuture;
use serde_json::Value;

use crate::resource::Resource;
use crate::status::ApiError;

pub use authenticate::{
    Authenticate, AuthenticateError, Authenticated, Bearer, bearer, with_authenticated_group,
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

/// An authorization request.
#[derive(Debug, Clone, Copy)]
pub struct Attributes<'a> {
    /// The user who sends the request.
    pub caller: &'a Caller,
    /// A verb such as `list`. For a non-resource path, the lower-case HTTP method.
    pub verb: &'a str,
    /// The resource or the non-resource path of the request.
    pub target: Target<'a>,
}

/// The resource or the non-resource path of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target<'a> {
    /// A resource. A field is empty if the request does not contain its value.
    Resource {
        /// The API group. Empty for the core group.
        group: &'a str,
        /// The API version such as `v1`, or `*`.
        version: &'a str,
        /// The plural name of the resource.
        resource: &'a str,
        /// A subresource such as `status`, or empty.
        subresource: &'a str,
        /// The namespace. Empty for cluster-scoped objects and for all namespaces.
        namespace: &'a str,
        /// The name of the object. Empty for a collection.
        name: &'a str,
    },
    /// A non-resource path such as `/version`.
    Path(&'a str),
}

impl<'a> Target<'a> {
    /// Returns the fields of the target that the authorizer compares with RBAC rules.
    fn rule_target(self) -> RuleTarget<'a> {
        match self {
            Self::Path(path) => RuleTarget::Path(path),
            Self::Resource {
                group,
                resource,
                subresource,
                name,
                ..
            } => RuleTarget::Resource {
                group,
                resource,
                subresource,
                name,
            },
        }
    }
}

/// The decision of an authorizer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorizationDecision {
    /// True if the request is allowed.
    pub allowed: bool,
    /// The reason for the decision, for the status of access reviews. May be empty.
    pub reason: String,
}

impl AuthorizationDecision {
    /// Creates a decision that allows the request.
    pub fn allow(reason: impl Into<String>) -> Self {
        Self {
            allowed: true,
            reason: reason.into(),
        }
    }

    /// Creates a decision that denies the request.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self {
            allowed: false,
            reason: reason.into(),
        }
    }
}

/// An authorizer of requests. The server calls the authorizer for each request, so an
/// implementation must not block.
pub trait Authorizer: Send + Sync {
    /// Returns the decision for the request that `attributes` describes.
    fn authorize(&self, attributes: &Attributes<'_>) -> AuthorizationDecision;

    /// Returns the rules that apply to a caller in a namespace, for a `SelfSubjectRulesReview`.
    /// Also returns the evaluation error, which is empty if the evaluation succeeded.
    fn rules_for(&self, caller: &Caller, namespace: &str) -> (Vec<Rule>, String);
}

/// Read access to stored objects. The server implements this trait with its store.
pub trait Objects: Send + Sync {
    /// Returns an object, or `None` if it does not exist. `namespace` is empty for cluster-scoped
    /// objects.
    fn find<'a>(
        &'a self,
        group: &'a str,
        resource: &'a str,
        namespace: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<Value>, ApiError>>;
}

/// A write that admission reviews before the server stores the object.
#[derive(Debug, Clone, Copy)]
pub struct Review<'a> {
    /// The user who sends the request.
    pub caller: &'a Caller,
    /// The type of write.
    pub operation: Operation,
    /// The resource of the object.
    pub resource: &'a Resource,
    /// A subresource such as `status`. Empty for the object itself.
    pub subresource: &'a str,
    /// The namespace of the object. Empty for cluster-scoped objects.
    pub namespace: &'a str,
    /// The name of the object. Empty on create with `generateName`.
    pub name: &'a str,
    /// The object to store. `None` on delete.
    pub object: Option<&'a Value>,
    /// The stored object. `None` on create.
    pub old: Option<&'a Value>,
    /// True if the request is a dry run.
    pub dry_run: bool,
}

/// The `Operation` of an `admission.k8s.io` review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// The write creates the object.
    Create,
    /// The write updates an existing object.
    Update,
    /// The write deletes the object.
    Delete,
}

/// Admission rules of the embedding program. The server also applies its own admission rules.
pub trait Admission: Send + Sync {
    /// Reviews a write. Returns the error for the client if admission rejects the write.
    fn admit<'a>(&'a self, review: Review<'a>) -> BoxFuture<'a, Result<(), ApiError>>;
}

/// Admission that allows all writes.
#[derive(Debug, Clone, Copy, Default)]
pub struct AdmitAll;

impl Admission for AdmitAll {
    fn admit<'a>(&'a self, _review: Review<'a>) -> BoxFuture<'a, Result<(), ApiError>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// Returns the response to an unauthorized request, with kube-apiserver's message.
pub fn forbidden(attributes: &Attributes<'_>, reason: &str) -> ApiError {
    let message = escape_html(&denial(attributes));
    let cause: Cow<'_, str> = if reason.is_empty() {
        message.into()
    } else {
        format!("{message}: {reason}").into()
    };
    match attributes.target {
        Target::Path(_) => ApiError::forbidden("", "", "", cause),
        Target::Resource {
            group,
            resource,
            name,
            ..
        } => ApiError::forbidden(group, resource, name, cause),
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

/// Escapes HTML, because callers choose names and a browser may render the response as HTML.
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
    fn forbidden_list_error_has_user_verb_resource_group_and_namespace() {
        let caller = Caller::user("u", ["system:authenticated"]);
        let error = forbidden(&ask(&caller, "list", pods("d", "", "")), "");
        assert_eq!(
            error.message,
            r#"pods is forbidden: User "u" cannot list resource "pods" in API group "" in the namespace "d""#
        );
        assert_eq!(error.code, 403);
    }

    #[test]
    fn forbidden_subresource_error_has_resource_and_reason() {
        let caller = Caller::user("u", []);
        let error = forbidden(&ask(&caller, "get", pods("", "p", "log")), "because");
        assert_eq!(
            error.message,
            r#"pods "p" is forbidden: User "u" cannot get resource "pods/log" in API group "" at the cluster scope: because"#
        );
    }

    #[test]
    fn forbidden_path_error_escapes_html() {
        let caller = Caller::user("<b>&", []);
        let error = forbidden(&ask(&caller, "get", Target::Path("/metrics")), "");
        assert_eq!(
            error.message,
            r#"forbidden: User "&lt;b&gt;&amp;" cannot get path "/metrics""#
        );
    }
}
