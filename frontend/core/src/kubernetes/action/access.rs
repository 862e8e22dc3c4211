//! The permission that an action requires, and its check by a SelfSubjectAccessReview.

use serde_json::{Value, json};

use super::Action;
use crate::explain::Question;
use crate::kind::Kind;
use crate::kubectl::KubectlObject;
use crate::messages::t;
use crate::url::segment;

/// The permission that an action on one object requires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    verb: &'static str,
    group: String,
    resource: String,
    subresource: &'static str,
    namespace: Option<String>,
    name: Option<String>,
}

impl Access {
    /// Returns the permission that an action on an object requires.
    pub fn of(action: Action, target: &KubectlObject) -> Self {
        let (verb, subresource) = match action {
            Action::Scale => ("patch", "scale"),
            Action::Delete => ("delete", ""),
            Action::Evict | Action::Drain => ("create", "eviction"),
            Action::Debug => ("patch", "ephemeralcontainers"),
            Action::Trigger => ("create", ""),
            Action::Forward => ("create", "portforward"),
            Action::Download | Action::Upload => ("create", "exec"),
            _ => ("patch", ""),
        };
        let resource = match action {
            Action::Trigger => "jobs",
            Action::Drain | Action::Forward => "pods",
            _ => target.kind.plural,
        };
        // The names of the created Job, of the evicted pods and of the selected pod are not known.
        let is_named = match action {
            Action::Trigger | Action::Drain => false,
            // The server selects a pod of a Service.
            Action::Forward => target.kind == Kind::PODS,
            _ => true,
        };
        Self {
            verb,
            group: target.kind.group().to_owned(),
            resource: resource.to_owned(),
            subresource,
            namespace: target.namespace.clone(),
            name: is_named.then(|| target.name.clone()),
        }
    }

    /// Returns the permission to read an object.
    pub fn to_read(target: &KubectlObject) -> Self {
        Self {
            verb: "get",
            ..Self::of(Action::Labels, target)
        }
    }

    /// Returns the permission to replace an object.
    pub fn to_update(target: &KubectlObject) -> Self {
        Self {
            verb: "update",
            ..Self::of(Action::Labels, target)
        }
    }

    /// Returns the permission for all Pods of the namespace, or for a subresource of the Pods.
    pub fn on_pods(verb: &'static str, namespace: String, subresource: &'static str) -> Self {
        Self {
            verb,
            group: String::new(),
            resource: Kind::PODS.plural.to_owned(),
            subresource,
            namespace: Some(namespace),
            name: None,
        }
    }

    /// Returns the permission for all objects of the namespace.
    #[must_use]
    pub fn without_name(self) -> Self {
        Self { name: None, ..self }
    }

    /// Returns the API path of the access reviews of a cluster.
    pub fn review_path(cluster: &str) -> String {
        format!(
            "/k8s/clusters/{}/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            segment(cluster)
        )
    }

    /// Returns the SelfSubjectAccessReview for the permission.
    pub fn review(&self) -> Value {
        json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {
                "verb": self.verb,
                "group": self.group,
                "resource": self.resource,
                "subresource": self.subresource,
                "namespace": self.namespace.as_deref().unwrap_or_default(),
                "name": self.name.as_deref().unwrap_or_default(),
            }},
        })
    }

    /// Reports whether the answered review denies the permission. An answer without a result does
    /// not deny the permission, because the server checks the request again.
    pub fn is_denied(answer: &Value) -> bool {
        answer.pointer("/status/allowed").and_then(Value::as_bool) == Some(false)
    }

    /// Returns the access check that explains the permission to the user.
    pub fn question(&self, cluster: &str) -> Question {
        Question {
            cluster: cluster.to_owned(),
            verb: self.verb.to_owned(),
            resource: self.resource_words(),
            object: self.name.clone().unwrap_or_default(),
            namespace: self.namespace.clone().unwrap_or_default(),
            user: String::new(),
        }
    }

    /// Returns the resource in the form of kubectl: `deployments.apps/scale`.
    fn resource_words(&self) -> String {
        let mut resource = self.resource.clone();
        if !self.group.is_empty() {
            resource = format!("{resource}.{}", self.group);
        }
        if !self.subresource.is_empty() {
            resource = format!("{resource}/{}", self.subresource);
        }
        resource
    }

    /// Returns the permission in the form of `kubectl auth can-i`.
    pub fn words(&self) -> String {
        let resource = self.resource_words();
        match &self.namespace {
            Some(namespace) => t().actions.right_in(self.verb, &resource, namespace),
            None => t().actions.right(self.verb, &resource),
        }
    }

    /// Returns the text for a user who does not have the permission.
    pub fn missing(&self) -> String {
        match self.namespace {
            Some(_) => t().actions.missing_right(&self.words()),
            None => t().actions.missing_cluster_right(&self.words()),
        }
    }
}
