//! Responds to reviews of tokens, users and access, such as TokenReview and SubjectAccessReview.

mod attributes;
mod selectors;

use drover_rbac::strings;
use jiff::Timestamp;
use serde_json::{Value, json};

use self::attributes::{validate_local, validate_self, validate_subject};
use super::authenticate::{Authenticate, AuthenticateError};
use super::token_request::seconds_only;
use super::{Attributes, Authorizer, Caller, Rule, Target, with_authenticated_group};
use crate::status::ApiError;

/// The dependencies of reviews.
#[derive(Clone, Copy)]
pub struct Reviews<'a> {
    /// Authorizes the requests in access reviews.
    pub authorizer: &'a dyn Authorizer,
    /// Authenticates the tokens in token reviews.
    pub authenticator: &'a dyn Authenticate,
    /// The audiences of the server. A token review without audiences checks for these audiences.
    pub audiences: &'a [String],
    /// The time in `metadata.creationTimestamp` of a `SelfSubjectReview` response.
    pub now: Timestamp,
}

/// The kinds of reviews. Clients create reviews, and the server does not store reviews.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewKind {
    /// A `TokenReview`, which authenticates a token.
    Token,
    /// A `SelfSubjectReview`, which returns the attributes of the caller.
    SelfSubject,
    /// A `SubjectAccessReview`, which checks the access of any user.
    SubjectAccess,
    /// A `LocalSubjectAccessReview`, which checks the access of any user in one namespace.
    LocalSubjectAccess,
    /// A `SelfSubjectAccessReview`, which checks the access of the caller.
    SelfSubjectAccess,
    /// A `SelfSubjectRulesReview`, which lists the rules of the caller in a namespace.
    SelfSubjectRules,
}

impl ReviewKind {
    /// Returns the kind of review for a resource such as `tokenreviews`.
    pub fn of_resource(group: &str, resource: &str) -> Option<Self> {
        Some(match (group, resource) {
            ("authentication.k8s.io", "tokenreviews") => Self::Token,
            ("authentication.k8s.io", "selfsubjectreviews") => Self::SelfSubject,
            ("authorization.k8s.io", "subjectaccessreviews") => Self::SubjectAccess,
            ("authorization.k8s.io", "localsubjectaccessreviews") => Self::LocalSubjectAccess,
            ("authorization.k8s.io", "selfsubjectaccessreviews") => Self::SelfSubjectAccess,
            ("authorization.k8s.io", "selfsubjectrulesreviews") => Self::SelfSubjectRules,
            _ => return None,
        })
    }
}

impl Reviews<'_> {
    /// Responds to a review. `namespace` is the namespace in the request path. `request` is the
    /// decoded body.
    pub async fn answer(
        &self,
        kind: ReviewKind,
        caller: &Caller,
        namespace: &str,
        request: &Value,
    ) -> Result<Value, ApiError> {
        match kind {
            ReviewKind::Token => self.token_review(request).await,
            ReviewKind::SelfSubject => Ok(self.self_subject_review(caller)),
            ReviewKind::SubjectAccess => {
                validate_subject(request)?;
                Ok(self.may(&subject(&request["spec"]), request))
            }
            ReviewKind::LocalSubjectAccess => {
                validate_local(request)?;
                if request["metadata"]["namespace"].as_str() != Some(namespace) {
                    return Err(ApiError::bad_request(format!(
                        "spec.resourceAttributes.namespace must match namespace: {namespace}"
                    )));
                }
                Ok(self.may(&subject(&request["spec"]), request))
            }
            ReviewKind::SelfSubjectAccess => {
                validate_self(request)?;
                Ok(self.may(caller, request))
            }
            ReviewKind::SelfSubjectRules => self.self_subject_rules_review(caller, request),
        }
    }

    async fn token_review(&self, request: &Value) -> Result<Value, ApiError> {
        let token = text(&request["spec"]["token"]);
        if token.is_empty() {
            let reason = "token is required for TokenReview in authentication";
            return Err(ApiError::bad_request(reason));
        }
        let requested = strings(&request["spec"]["audiences"]);
        let requested = if requested.is_empty() {
            self.audiences
        } else {
            &requested
        };
        let mut answer = request.clone();
        answer["status"] = match self.authenticator.authenticate(token, requested).await {
            Ok(Some(known)) => json!({
                "authenticated": true,
                "user": user_info(&with_authenticated_group(known.caller)),
                "audiences": known.audiences,
            }),
            Ok(None) => json!({"user": {}, "error": "invalid bearer token"}),
            Err(AuthenticateError(reason)) => {
                json!({"user": {}, "error": format!("[invalid bearer token, {reason}]")})
            }
        };
        Ok(answer)
    }

    fn self_subject_review(&self, caller: &Caller) -> Value {
        json!({
            "kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1",
            "metadata": { "creationTimestamp": seconds_only(self.now.as_second()) },
            "status": { "userInfo": user_info(caller) },
        })
    }

    fn may(&self, caller: &Caller, request: &Value) -> Value {
        let spec = &request["spec"];
        let requested = &spec["resourceAttributes"];
        let (verb, target) = if requested.is_object() {
            let part = |key: &str| text(&requested[key]);
            let target = Target::Resource {
                group: part("group"),
                version: match part("version") {
                    "" => "*",
                    version => version,
                },
                resource: part("resource"),
                subresource: part("subresource"),
                namespace: part("namespace"),
                name: part("name"),
            };
            (part("verb"), target)
        } else {
            let requested = &spec["nonResourceAttributes"];
            (
                text(&requested["verb"]),
                Target::Path(text(&requested["path"])),
            )
        };
        let decision = self.authorizer.authorize(&Attributes {
            caller,
            verb,
            target,
        });
        let mut answer = request.clone();
        let mut status = json!({ "allowed": decision.allowed });
        if !decision.reason.is_empty() {
            status["reason"] = decision.reason.into();
        }
        if let Some(error) = selectors::evaluation_error(requested) {
            status["evaluationError"] = error.into();
        }
        answer["status"] = status;
        answer
    }

    fn self_subject_rules_review(
        &self,
        caller: &Caller,
        request: &Value,
    ) -> Result<Value, ApiError> {
        let namespace = text(&request["spec"]["namespace"]);
        if namespace.is_empty() {
            return Err(ApiError::bad_request("no namespace on request"));
        }
        let (rules, error) = self.authorizer.rules_for(caller, namespace);
        let on_resources = rules.iter().filter(|rule| !rule.resources.is_empty());
        let on_paths = rules.iter().filter(|rule| !rule.urls.is_empty());
        let mut status = json!({
            "resourceRules": on_resources.map(resource_rule).collect::<Vec<_>>(),
            "nonResourceRules": on_paths.map(path_rule).collect::<Vec<_>>(),
            "incomplete": false,
        });
        if !error.is_empty() {
            status["evaluationError"] = error.into();
        }
        Ok(json!({
            "kind": "SelfSubjectRulesReview", "apiVersion": "authorization.k8s.io/v1",
            "metadata": {}, "spec": {}, "status": status,
        }))
    }
}

fn resource_rule(rule: &Rule) -> Value {
    Rule {
        urls: Vec::new(),
        ..rule.clone()
    }
    .to_value()
}

fn path_rule(rule: &Rule) -> Value {
    json!({ "verbs": rule.verbs, "nonResourceURLs": rule.urls })
}

/// Returns the user in an access review, with exactly the groups in the review.
fn subject(spec: &Value) -> Caller {
    let extra = spec["extra"].as_object().into_iter().flatten();
    Caller {
        name: text(&spec["user"]).to_owned(),
        uid: text(&spec["uid"]).to_owned(),
        groups: strings(&spec["groups"]),
        extra: extra
            .map(|(key, values)| (key.clone(), strings(values)))
            .collect(),
    }
}

/// Formats the user as `authentication.k8s.io` `UserInfo`, without empty fields.
fn user_info(caller: &Caller) -> Value {
    let mut info = json!({});
    for (key, text) in [("username", &caller.name), ("uid", &caller.uid)] {
        if !text.is_empty() {
            info[key] = text.as_str().into();
        }
    }
    if !caller.groups.is_empty() {
        info["groups"] = json!(caller.groups);
    }
    if !caller.extra.is_empty() {
        info["extra"] = json!(caller.extra);
    }
    info
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
