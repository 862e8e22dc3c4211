//! What a service account's token says.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use uuid::Uuid;

use crate::access::Caller;
use crate::access::identity::ServiceAccountName;

/// The claims of a service account's token, in the form that kube-apiserver v1.36 signs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// Whom it is meant for.
    #[serde(deserialize_with = "one_or_many")]
    pub aud: Vec<String>,
    /// End, in seconds since 1970.
    pub exp: i64,
    /// Issued, in seconds since 1970.
    pub iat: i64,
    /// Who issued it.
    pub iss: String,
    /// Its own name, in audit records.
    pub jti: String,
    /// Whose it is.
    #[serde(rename = "kubernetes.io")]
    pub subject: Subject,
    /// Start, in seconds since 1970.
    pub nbf: i64,
    /// The user's name.
    pub sub: String,
}

/// The service account, and the object that the token ends with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// The service account's.
    pub namespace: String,
    /// For a token bound to a pod: where that runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NameAndUid>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pod: Option<NameAndUid>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    secret: Option<NameAndUid>,
    /// Whose token it is.
    pub serviceaccount: NameAndUid,
    /// When its holder should have asked for another one, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warnafter: Option<i64>,
}

/// An object's name and UID.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameAndUid {
    /// Its name.
    pub name: String,
    /// Empty for a node that is not there any more.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
}

/// The object that a token ends with, beside its service account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoundTo {
    /// None.
    Nothing,
    /// A pod, and the node that it runs on.
    Pod(NameAndUid, Option<NameAndUid>),
    /// A secret.
    Secret(NameAndUid),
    /// A node.
    Node(NameAndUid),
}

impl Subject {
    /// A service account's token, bound to an object or not.
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
    /// Claims that hold from now on.
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

    /// The name of the token itself, in audit records.
    pub fn credential_id(&self) -> String {
        format!("JTI={}", self.jti)
    }

    /// Who holds the token, without the standing groups.
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

/// RFC 7519 allows one audience to stand without a list.
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
