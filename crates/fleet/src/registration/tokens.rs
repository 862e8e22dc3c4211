//! Creates a service account and the values of the agent's installation for each
//! ClusterRegistrationToken, and deletes expired tokens.
//!
//! The garbage collector of the hub deletes the other objects of a deleted token, because the token owns
//! them.

use std::time::Duration;

use drover_api::fleet::labels::SECRET_TYPE_REGISTRATION_VALUES;
use drover_api::fleet::{self, FleetClusterRegistrationToken, go_duration};
use drover_gitops::ids::safe_concat_name;
use drover_hub::{HubError, call};
use drover_reconcile::{Action, Attempt, Reconciler};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{PolicyRule, Role, RoleBinding};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use kube::api::{DeleteParams, Preconditions};
use kube::{Api, Client, ResourceExt as _};
use secrecy::SecretString;
use serde_json::json;

use super::values::Values;
use super::{
    ACCOUNT_NAME, ACCOUNT_TOKEN, HubAddress, LONG_LIVED, account_name, managed, optional, token_of,
};
use crate::mirror::Key;
use crate::namespaces::REGISTRATION_NAMESPACE;
use crate::rights::{account, role_ref};
use crate::world::World;
use crate::writes::{apply, delete, write_status};

/// Time until the next look at a token Secret that the hub has not filled.
const TOKEN_WAIT: Duration = Duration::from_millis(200);
/// Interval of the checks for a new token in the Secret and for a new URL of the server.
const REFRESH: Duration = Duration::from_mins(30);

/// The controller of registration tokens. The key is the namespace and name of a token.
pub(super) struct Tokens {
    pub(super) client: Client,
    pub(super) world: World,
    pub(super) address: HubAddress,
}

impl Tokens {
    /// Writes the service account with its role, and the Secret for its token.
    async fn write_account(
        &self,
        namespace: &str,
        token: &FleetClusterRegistrationToken,
    ) -> Result<(), HubError> {
        let name = account_name(token);
        let accounts = Api::namespaced(self.client.clone(), namespace);
        let object = ServiceAccount {
            metadata: owned(token, &name),
            ..ServiceAccount::default()
        };
        apply("write an account for registrations", &accounts, &object).await?;
        let role_name = safe_concat_name(&[&name, "role"]);
        let role = Role {
            metadata: owned(token, &role_name),
            rules: Some(vec![PolicyRule {
                api_groups: Some(vec![fleet::GROUP.to_owned()]),
                resources: Some(vec!["clusterregistrations".to_owned()]),
                verbs: vec!["create".to_owned()],
                ..PolicyRule::default()
            }]),
        };
        let roles = Api::namespaced(self.client.clone(), namespace);
        apply("write a role for registrations", &roles, &role).await?;
        let binding = RoleBinding {
            metadata: owned(token, &safe_concat_name(&[&name, "to", "role"])),
            role_ref: role_ref("Role", &role_name),
            subjects: Some(vec![account(namespace, &name)]),
        };
        let bindings = Api::namespaced(self.client.clone(), namespace);
        apply("bind a role for registrations", &bindings, &binding).await?;
        let mut metadata = owned(token, &secret_name(token));
        let annotations = [(ACCOUNT_NAME, &*name), (LONG_LIVED, "true")];
        let owned = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
        metadata.annotations = Some(annotations.into_iter().map(owned).collect());
        let secret = Secret {
            metadata,
            type_: Some(ACCOUNT_TOKEN.to_owned()),
            ..Secret::default()
        };
        let operation = "write the Secret with a token for registrations";
        apply(operation, &self.secrets(namespace), &secret).await?;
        Ok(())
    }

    /// Writes the values of the agent's installation. Returns false if a Secret of another owner has
    /// the name.
    async fn write_values(
        &self,
        namespace: &str,
        token: &FleetClusterRegistrationToken,
        bearer: &SecretString,
    ) -> Result<bool, HubError> {
        let (name, secrets) = (token.name_any(), self.secrets(namespace));
        let operation = "read the Secret with the values of an agent";
        let present = optional(call(operation, secrets.get(&name)).await)?;
        let is_own = |secret: &Secret| {
            let mut owners = secret.owner_references().iter();
            owners.any(|owner| Some(&owner.uid) == token.metadata.uid.as_ref())
        };
        if present.is_some_and(|present| !is_own(&present)) {
            return Ok(false);
        }
        let values = Values {
            namespace,
            api_server_url: &self.address.url(),
            api_server_ca: self.address.trust.as_deref().unwrap_or_default(),
            token: bearer,
            system_namespace: REGISTRATION_NAMESPACE,
            token_name: &name,
        };
        let yaml = ByteString(values.to_yaml().into_bytes());
        let secret = Secret {
            metadata: owned(token, &name),
            type_: Some(SECRET_TYPE_REGISTRATION_VALUES.to_owned()),
            data: Some([("values".to_owned(), yaml)].into()),
            ..Secret::default()
        };
        let operation = "write the Secret with the values of an agent";
        apply(operation, &secrets, &secret).await?;
        Ok(true)
    }

    async fn write(
        &self,
        key: &Key,
        token: &FleetClusterRegistrationToken,
        expires: Option<Timestamp>,
    ) -> Result<Action, HubError> {
        self.write_account(&key.namespace, token).await?;
        let Some(bearer) = bearer(&self.client, &key.namespace, token).await? else {
            return Ok(Action::requeue(TOKEN_WAIT));
        };
        let is_written = self.write_values(&key.namespace, token, &bearer).await?;
        if !is_written {
            tracing::warn!(
                token = %key,
                "the Secret {key} exists and does not belong to the ClusterRegistrationToken {key}; delete \
                 the Secret, or create a token with another name"
            );
        }
        let mut status = token.status.clone().unwrap_or_default();
        status.expires = expires.map(Time);
        status.secret_name = if is_written {
            key.name.clone()
        } else {
            String::new()
        };
        let tokens = self.api(&key.namespace);
        let operation = "write the status of a registration token";
        let before = json!(token.status.clone().unwrap_or_default());
        write_status(operation, &tokens, &key.name, Some(&before), &json!(status)).await?;
        let left = expires.map(|expires| until(expires, Timestamp::now()));
        Ok(Action::requeue(left.unwrap_or(REFRESH).min(REFRESH)))
    }

    fn api(&self, namespace: &str) -> Api<FleetClusterRegistrationToken> {
        Api::namespaced(self.client.clone(), namespace)
    }

    fn secrets(&self, namespace: &str) -> Api<Secret> {
        Api::namespaced(self.client.clone(), namespace)
    }
}

impl Reconciler for Tokens {
    type Key = Key;
    type Error = HubError;

    async fn reconcile(&self, key: &Key, _: &Attempt) -> Result<Action, HubError> {
        let Some(token) = self.world.tokens.get(key) else {
            return Ok(Action::await_change());
        };
        if token.metadata.deletion_timestamp.is_some() {
            return Ok(Action::await_change());
        }
        let expires = expires(&token);
        if expires.is_some_and(|expires| expires <= Timestamp::now()) {
            delete_token(&self.client, &key.namespace, &token).await?;
            return Ok(Action::await_change());
        }
        self.write(key, &token, expires).await
    }

    fn is_expected(&self, error: &HubError) -> bool {
        error.is_conflict()
    }
}

/// Returns the bearer token of a registration token. `None` while the hub has not written it.
pub(super) async fn bearer(
    client: &Client,
    namespace: &str,
    token: &FleetClusterRegistrationToken,
) -> Result<Option<SecretString>, HubError> {
    let secrets = Api::<Secret>::namespaced(client.clone(), namespace);
    let operation = "read the Secret with a token for registrations";
    let name = secret_name(token);
    let Some(secret) = optional(call(operation, secrets.get(&name)).await)? else {
        return Ok(None);
    };
    let bearer = token_of(&secret).and_then(|bearer| std::str::from_utf8(bearer).ok());
    Ok(bearer.map(SecretString::from))
}

/// Deletes a registration token and its service account.
pub(super) async fn delete_token(
    client: &Client,
    namespace: &str,
    token: &FleetClusterRegistrationToken,
) -> Result<(), HubError> {
    // The garbage collector of a Kubernetes hub can need minutes, and the account's token must end now.
    let accounts = Api::<ServiceAccount>::namespaced(client.clone(), namespace);
    let operation = "delete the account of a registration token";
    delete(operation, &accounts, &account_name(token)).await?;
    let params = DeleteParams {
        preconditions: Some(Preconditions {
            uid: token.uid(),
            resource_version: None,
        }),
        ..DeleteParams::background()
    };
    let tokens = Api::<FleetClusterRegistrationToken>::namespaced(client.clone(), namespace);
    let name = token.name_any();
    let deleted = tokens.delete(&name, &params);
    optional(call("delete a registration token", deleted).await)?;
    Ok(())
}

/// Reports whether a token exists and has not expired.
pub(super) fn is_valid(token: &FleetClusterRegistrationToken, now: Timestamp) -> bool {
    let is_deleted = token.metadata.deletion_timestamp.is_some();
    !is_deleted && expires(token).is_none_or(|expires| expires > now)
}

/// Returns the time of a token's expiry. A token without a positive TTL does not expire.
fn expires(token: &FleetClusterRegistrationToken) -> Option<Timestamp> {
    let ttl = token.spec.ttl.as_deref().and_then(go_duration::parse)?;
    let created = token.metadata.creation_timestamp.as_ref()?.0;
    if ttl.is_zero() {
        return None;
    }
    let ttl = SignedDuration::try_from(ttl).unwrap_or(SignedDuration::MAX);
    Some(created.checked_add(ttl).unwrap_or(Timestamp::MAX))
}

/// Returns the time from `now` until just after `time`.
fn until(time: Timestamp, now: Timestamp) -> Duration {
    let left = Duration::try_from(time.duration_since(now)).unwrap_or_default();
    left + Duration::from_millis(10)
}

/// Returns the name of the Secret with the token of the service account.
fn secret_name(token: &FleetClusterRegistrationToken) -> String {
    safe_concat_name(&[&account_name(token), "token"])
}

/// Returns the metadata of an object that the hub deletes with the token.
fn owned(token: &FleetClusterRegistrationToken, name: &str) -> ObjectMeta {
    ObjectMeta {
        owner_references: Some(vec![OwnerReference {
            api_version: fleet::API_VERSION.to_owned(),
            kind: "ClusterRegistrationToken".to_owned(),
            name: token.name_any(),
            uid: token.uid().unwrap_or_default(),
            controller: Some(true),
            block_owner_deletion: None,
        }]),
        ..managed(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_expires_after_its_ttl_and_a_token_without_ttl_does_not_expire() {
        let created = Timestamp::from_second(1000).unwrap();
        let expiry = |ttl: Option<&str>| {
            let mut token = FleetClusterRegistrationToken::default();
            token.metadata.creation_timestamp = Some(Time(created));
            token.spec.ttl = ttl.map(str::to_owned);
            expires(&token).map(Timestamp::as_second)
        };
        assert_eq!(expiry(None), None);
        assert_eq!(expiry(Some("0")), None);
        assert_eq!(expiry(Some("1h30m")), Some(1000 + 5400));
        let last = Timestamp::MAX.as_second();
        assert_eq!(expiry(Some("1000000000000s")), Some(last));
    }
}
