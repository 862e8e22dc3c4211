//! Claims of service account tokens.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use uuid::Uuid;

use crate::access::Caller;
use crate::access::identity::ServiceAccountName;

/// The claims of a service account token, as kube-apiserver v1.36 signs them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// The audiences that accept the token.
    #[serde(deserialize_with = "one_or_many")]
    pub aud: Vec<String>,
    /// Expiration time, in seconds since 1970.
    pub exp: i64,
    /// Issue time, in seconds since 1970.
    pub iat: i64,
    /// The issuer of the token.
    pub iss: String,
    /// Token ID. Audit records contain this ID.
    pub jti: String,
    /// The private claim `kubernetes.io`.
    #[serde(rename = "kubernetes.io")]
    pub subject: Subject,
    /// Start of validity, in seconds since 1970.
    pub nbf: i64,
    /// The user name of the service account.
    pub sub: String,
}

/// The service account and the bound object of a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// The namespace of the service account.
    pub namespace: String,
    /// The node of the bound pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NameAndUid>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pod: Option<NameAndUid>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    secret: Option<NameAndUid>,
    /// Name and UID of the service account.
    pub serviceaccount: NameAndUid,
    /// Time in seconds since 1970. A client that uses the token after this time has not renewed the
    /// token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warnafter: Option<i64>,
}

/// The name and UID of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameAndUid {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`. Empty for a node that no longer exists.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
}

/// The object that the token is bound to. The token becomes invalid when this object or the service
/// account is deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoundTo {
    /// The token is bound only to its service account.
    Nothing,
    /// The token is bound to a pod. The second value is the pod's node.
    Pod(NameAndUid, Option<NameAndUid>),
    /// The token is bound to a Secret.
    Secret(NameAndUid),
    /// The token is bound to a Node.
    Node(NameAndUid),
}

impl Subject {
    /// Creates the subject of a token for a service account.
    pub fn new(namespace: String, account: NameAndUid, bound: BoundTo) -> Self {
        let (pod, node, secret) = match bound {
            BoundTo::Nothing => (None, None, None),
            BoundTo::Pod(pod, node) => (Some(pod), node, None),
            BoundTo::Secret(secret) => (None, None, Some(secret)),
            BoundTo::Node(node) => (None, Some(node), None),
        };
        Self {
            namespace,
            node,
            pod,
            secret,
            serviceaccount: account,
            warnafter: None,
        }
    }

    pub(crate) fn pod(&self) -> Option<&NameAndUid> {
        self.pod.as_ref()
    }

    pub(crate) fn secret(&self) -> Option<&NameAndUid> {
        self.secret.as_ref()
    }
}

impl Claims {
    /// Creates claims that are valid from `now` on.
    pub fn new(
        issuer: &str,
        audiences: Vec<String>,
        subject: Subject,
        now: Timestamp,
        lifetime_seconds: i64,
    ) -> Self {
        let now = now.as_second();
        let user = ServiceAccountName::new(&subject.namespace, &subject.serviceaccount.name);
        Self {
            aud: audiences,
            exp: now.saturating_add(lifetime_seconds),
            iat: now,
            iss: issuer.to_owned(),
            jti: Uuid::new_v4().to_string(),
            sub: user.to_string(),
            subject,
            nbf: now,
        }
    }

    /// Returns the credential ID in audit records.
    pub fn credential_id(&self) -> String {
        format!("JTI={}", self.jti)
    }

    /// Returns the user of the token. The result does not contain implicit groups.
    pub(crate) fn caller(&self) -> Caller {
        let account = &self.subject.serviceaccount;
        let user = ServiceAccountName::new(&self.subject.namespace, &account.name);
        let mut extra = BTreeMap::new();
        let mut put = |key: &str, value: &str| {
            if !value.is_empty() {
                let key = format!("authentication.kubernetes.io/{key}");
                extra.insert(key, vec![value.to_owned()]);
            }
        };
        if !self.jti.is_empty() {
            put("credential-id", &self.credential_id());
        }
        if let Some(pod) = &self.subject.pod {
            put("pod-name", &pod.name);
            put("pod-uid", &pod.uid);
        }
        if let Some(node) = &self.subject.node {
            put("node-name", &node.name);
            put("node-uid", &node.uid);
        }
        Caller {
            name: user.to_string(),
            uid: account.uid.clone(),
            groups: user.groups(),
            extra,
        }
    }
}

/// Decodes audiences: a list of strings, or a single string (RFC 7519).
fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Audiences {
        One(String),
        Many(Vec<String>),
    }
    Ok(match Audiences::deserialize(deserializer)? {
        Audiences::One(one) => vec![one],
        Audiences::Many(many) => many,
    })
}
