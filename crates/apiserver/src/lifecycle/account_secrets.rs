//! Secrets of type `kubernetes.io/service-account-token` (kube-controller-manager's
//! `TokensController`). The controller writes the token of the service account into the Secret,
//! renews the token, and deletes the Secret when the account is deleted.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::future::BoxFuture;
use jiff::Timestamp;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;

use super::feed::{Observed, ObservedObject};
use super::run::{Controller, Next, ReconcileError};
use super::{Act, Hub, LifecycleOptions, MANAGER, ObjectPath, Propagation};
use crate::access::{IssueError, NameAndUid, SecretSubject, Tokens};

const TYPE: &str = "kubernetes.io/service-account-token";
const ACCOUNT_NAME: &str = "kubernetes.io/service-account.name";
const ACCOUNT_UID: &str = "kubernetes.io/service-account.uid";
/// Maximum interval between checks of a token's age. The system clock can change between two
/// checks.
const MAX_CHECK_INTERVAL: Duration = Duration::from_hours(1);
/// Minimum interval between checks of a token's age.
const MIN_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The controller of token Secrets.
pub(super) struct AccountSecrets {
    hub: Arc<dyn Hub>,
    tokens: Arc<Tokens>,
    options: LifecycleOptions,
    /// Names of service accounts. The key is the namespace and the name of a token Secret.
    accounts: Mutex<BTreeMap<(String, String), String>>,
}

/// Namespace and name of a token Secret.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    namespace: String,
    name: String,
}

/// The action for a token Secret.
#[derive(Debug, PartialEq)]
enum Decision {
    /// No action is necessary before this time. `None` means that no action is necessary until an
    /// object changes.
    Wait(Option<Timestamp>),
    /// Replace the Secret by this object.
    Update(Value),
    /// Delete the Secret, because its service account does not exist.
    Delete,
}

impl AccountSecrets {
    pub(super) fn new(hub: Arc<dyn Hub>, tokens: Arc<Tokens>, options: LifecycleOptions) -> Self {
        Self {
            hub,
            tokens,
            options,
            accounts: Mutex::default(),
        }
    }

    async fn populate(&self, key: &Key) -> Result<Next, ReconcileError> {
        let path = ObjectPath::new("", "secrets", &key.namespace, &key.name);
        let Some(secret) = self.read(&path).await?.filter(is_token_secret) else {
            return Ok(None);
        };
        let account = annotation(&secret, ACCOUNT_NAME);
        let account = ObjectPath::new("", "serviceaccounts", &key.namespace, account);
        let account = self.read(&account).await?;
        let version = text(&secret["metadata"]["resourceVersion"]).to_owned();
        let uid = text(&secret["metadata"]["uid"]).to_owned();
        let (first, later) = (&self.options.root_ca, &self.options.token_ca);
        let ca = first.as_ref().or_else(|| later.get()).map(String::as_str);
        let decision = decide(&self.tokens, ca, secret, account);
        let act = match decision.map_err(ReconcileError::Issue)? {
            Decision::Wait(at) => return Ok(at.map(|at| self.pause_until(at))),
            Decision::Update(object) => Act::Update {
                object,
                subresource: "",
            },
            Decision::Delete => Act::Delete {
                uid,
                resource_version: Some(version),
                propagation: Propagation::Background,
            },
        };
        // The update triggers another reconciliation, which schedules the renewal.
        let outcome = self.hub.act(MANAGER, &path, act).await;
        outcome.map_err(ReconcileError::write(&path))?;
        Ok(None)
    }

    async fn read(&self, path: &ObjectPath) -> Result<Option<Value>, ReconcileError> {
        self.hub.get(path).await.map_err(ReconcileError::read(path))
    }

    fn pause_until(&self, at: Timestamp) -> Duration {
        let now = (self.tokens.options().clock)();
        let pause = Duration::try_from(at.duration_since(now)).unwrap_or_default();
        pause.clamp(MIN_CHECK_INTERVAL, MAX_CHECK_INTERVAL)
    }

    /// Returns the token Secrets of a deleted service account.
    fn secrets_of(&self, namespace: &str, account: &str) -> Vec<Key> {
        let first = (namespace.to_owned(), String::new());
        let accounts = self.accounts.lock();
        accounts
            .range(first..)
            .take_while(|((own, _), _)| own == namespace)
            .filter(|(_, own)| *own == account)
            .map(|((namespace, name), _)| Key {
                namespace: namespace.clone(),
                name: name.clone(),
            })
            .collect()
    }

    fn secret_changed(&self, seen: &ObservedObject) -> Vec<Key> {
        let path = &seen.path;
        let at = (path.namespace.clone(), path.name.clone());
        let Some(account) = account_of(&seen.value) else {
            self.accounts.lock().remove(&at);
            return Vec::new();
        };
        self.accounts.lock().insert(at, account);
        vec![Key {
            namespace: path.namespace.clone(),
            name: path.name.clone(),
        }]
    }
}

impl Controller for AccountSecrets {
    type Key = Key;

    const NAME: &'static str = "account-secrets";

    fn observe(&self, observed: &Observed) -> Vec<Key> {
        let (seen, gone) = match observed {
            Observed::Put(seen) => (seen, false),
            Observed::Gone(seen) => (seen, true),
            Observed::Restart => {
                self.accounts.lock().clear();
                return Vec::new();
            }
            Observed::Synced => return Vec::new(),
        };
        let path = &seen.path;
        if !path.resource.group.is_empty() {
            return Vec::new();
        }
        match (path.resource.resource.as_str(), gone) {
            ("secrets", false) => self.secret_changed(seen),
            ("secrets", true) => {
                let at = (path.namespace.clone(), path.name.clone());
                self.accounts.lock().remove(&at);
                Vec::new()
            }
            ("serviceaccounts", true) => self.secrets_of(&path.namespace, &path.name),
            _ => Vec::new(),
        }
    }

    fn reconcile<'a>(
        &'a self,
        key: &'a Key,
        _also: &'a (dyn Fn(Key) + Send + Sync),
    ) -> BoxFuture<'a, Result<Next, ReconcileError>> {
        Box::pin(self.populate(key))
    }
}

/// Returns the name of the service account of a stored token Secret, or `None` for other Secrets.
fn account_of(secret: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Secret {
        #[serde(rename = "type", default)]
        kind: String,
        metadata: Metadata,
    }
    #[derive(Deserialize)]
    struct Metadata {
        #[serde(default)]
        annotations: BTreeMap<String, String>,
    }
    let mut secret: Secret = serde_json::from_slice(secret).ok()?;
    let account = secret.metadata.annotations.remove(ACCOUNT_NAME);
    account.filter(|account| secret.kind == TYPE && !account.is_empty())
}

fn is_token_secret(secret: &Value) -> bool {
    secret["type"] == TYPE && !is_deleting(secret) && !annotation(secret, ACCOUNT_NAME).is_empty()
}

fn decide(
    tokens: &Tokens,
    ca: Option<&str>,
    mut secret: Value,
    account: Option<Value>,
) -> Result<Decision, IssueError> {
    let Some(account) = account.filter(|account| is_account_of(&secret, account)) else {
        return Ok(Decision::Delete);
    };
    // An immutable Secret keeps its data, and its token expires.
    if is_deleting(&account) || secret["immutable"] == true {
        return Ok(Decision::Wait(None));
    }
    let subject = SecretSubject {
        namespace: text(&secret["metadata"]["namespace"]).to_owned(),
        account: named(&account),
        secret: named(&secret),
    };
    let mut desired = vec![("namespace", subject.namespace.clone())];
    desired.extend(ca.map(|pem| ("ca.crt", pem.to_owned())));
    let now = (tokens.options().clock)();
    let stored = decoded(&secret["data"]["token"]);
    let renewal = stored.and_then(|token| tokens.renewal_of(&token, &subject));
    if renewal.is_none_or(|at| at <= now) {
        desired.push(("token", tokens.issue_for_secret(&subject)?));
    }
    let before = secret.clone();
    for (key, value) in desired {
        secret["data"][key] = STANDARD.encode(value).into();
    }
    secret["metadata"]["annotations"][ACCOUNT_UID] = subject.account.uid.into();
    Ok(if secret == before {
        Decision::Wait(renewal)
    } else {
        Decision::Update(secret)
    })
}

/// Reports whether the Secret belongs to this account. A recreated account has a different UID.
fn is_account_of(secret: &Value, account: &Value) -> bool {
    let uid = annotation(secret, ACCOUNT_UID);
    uid.is_empty() || uid == text(&account["metadata"]["uid"])
}

fn is_deleting(object: &Value) -> bool {
    object["metadata"].get("deletionTimestamp").is_some()
}

fn annotation<'a>(object: &'a Value, name: &str) -> &'a str {
    text(&object["metadata"]["annotations"][name])
}

fn decoded(value: &Value) -> Option<String> {
    String::from_utf8(STANDARD.decode(value.as_str()?).ok()?).ok()
}

fn named(object: &Value) -> NameAndUid {
    NameAndUid {
        name: text(&object["metadata"]["name"]).to_owned(),
        uid: text(&object["metadata"]["uid"]).to_owned(),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests;
