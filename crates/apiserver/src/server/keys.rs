//! Persistence and rotation of the keys that sign service account tokens. Requests cannot read the
//! store's entry with these keys.

use std::sync::Arc;
use std::time::Duration;

use drover_reconcile::{
    Action, Attempt, Backoff, LeaderGate, Metrics, Options, Reconciler, Runtime,
};
use futures::future::BoxFuture;
use secrecy::{ExposeSecret, SecretString};
use tokio_util::sync::CancellationToken;

use crate::access::{Authenticate, AuthenticateError, Authenticated, Keys, LoadKeysError, Tokens};
use crate::store::{Change, CommitError, Store, StoreError};

/// Key of the store entry that contains the signing keys. The keys of objects never start with
/// `/.`.
const KEY: &str = "/.server/service-account-keys";

/// The reason why the server cannot load, create or rotate the signing keys.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// The stored keys cannot be read.
    #[error("cannot read the signing keys from the store")]
    Read(#[from] StoreError),
    /// The stored keys are malformed.
    #[error("cannot parse the stored signing keys; restore a backup of the store")]
    Load(#[from] LoadKeysError),
    /// New keys cannot be generated.
    #[error("cannot generate a signing key")]
    Generate(#[from] crate::access::GenerateKeyError),
    /// New keys cannot be stored.
    #[error("cannot store the new signing key")]
    Store(#[from] CommitError),
    /// The stored keys are not UTF-8.
    #[error("cannot parse the stored signing keys: not UTF-8; restore a backup of the store")]
    NotText,
}

/// Loads the keys, or creates and stores them on the first start.
pub(super) async fn load(store: &Store) -> Result<Keys, KeysError> {
    if let Some(stored) = store.get(KEY).await? {
        let text = std::str::from_utf8(&stored.value).map_err(|_| KeysError::NotText)?;
        return Ok(Keys::from_stored(&SecretString::from(text))?);
    }
    let keys = Keys::generate()?;
    let value = keys.to_stored().expose_secret().as_bytes().to_vec();
    store.commit(Change::create(KEY, value)).await?;
    Ok(keys)
}

/// Interval between two checks of the key's age.
const CHECK_INTERVAL: Duration = Duration::from_hours(1);
/// Timeout of one rotation of the signing key.
const TIMEOUT: Duration = Duration::from_mins(1);
const BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), CHECK_INTERVAL);

/// Rotates the signing key when its age exceeds the limit.
struct Rotation {
    store: Store,
    tokens: Arc<Tokens>,
}

impl Reconciler for Rotation {
    type Key = ();
    type Error = KeysError;

    async fn reconcile(&self, (): &(), _: &Attempt) -> Result<Action, KeysError> {
        if rotate_if_due(&self.store, &self.tokens).await? {
            tracing::info!(key = self.tokens.keys().id(), "rotated token signing key");
        }
        Ok(Action::requeue(CHECK_INTERVAL))
    }
}

/// Runs the controller that rotates the signing key until `stop`.
pub(super) async fn rotate(
    store: Store,
    tokens: Arc<Tokens>,
    metrics: Metrics,
    stop: CancellationToken,
) {
    let options = Options {
        timeout: Some(TIMEOUT),
        backoff: BACKOFF,
        ..Options::new("signing-keys")
    };
    let runtime = Runtime {
        metrics,
        leader: LeaderGate::always_open(),
        stop,
    };
    let rotation = Rotation { store, tokens };
    runtime.run_single(options, rotation, []).await;
}

/// Stores the new key before tokens are signed with it, so that a restart does not invalidate
/// tokens.
async fn rotate_if_due(store: &Store, tokens: &Tokens) -> Result<bool, KeysError> {
    let Some(next) = tokens.renewed_keys()? else {
        return Ok(false);
    };
    let value = next.to_stored().expose_secret().as_bytes().to_vec();
    let change = match store.get(KEY).await? {
        Some(stored) => Change::update(KEY, stored.revision, value),
        None => Change::create(KEY, value),
    };
    store.commit(change).await?;
    tokens.replace_keys(next);
    Ok(true)
}

/// The authenticator of service account tokens.
pub(super) struct ServiceAccounts(pub(super) Arc<Tokens>);

impl Authenticate for ServiceAccounts {
    fn authenticate<'a>(
        &'a self,
        token: &'a str,
        audiences: &'a [String],
    ) -> BoxFuture<'a, Result<Option<Authenticated>, AuthenticateError>> {
        self.0.authenticate(token, audiences)
    }
}

#[cfg(test)]
mod tests {
    use futures::future;
    use serde_json::Value;

    use super::*;
    use crate::access::{Objects, TokensOptions};
    use crate::status::ApiError;
    use crate::store::StoreOptions;

    struct Nothing;

    impl Objects for Nothing {
        fn find<'a>(
            &'a self,
            _group: &'a str,
            _resource: &'a str,
            _namespace: &'a str,
            _name: &'a str,
        ) -> BoxFuture<'a, Result<Option<Value>, ApiError>> {
            Box::pin(future::ready(Ok(None)))
        }
    }

    #[tokio::test]
    async fn rotated_key_is_stored_before_tokens_are_signed_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("hub.db"), StoreOptions::default()).unwrap();
        let first = load(&store).await.unwrap();
        let id = first.id().to_owned();
        let options = |rotate_keys_after_seconds| TokensOptions {
            rotate_keys_after_seconds,
            ..TokensOptions::default()
        };
        let young = Tokens::new(options(3600), first, Arc::new(Nothing));
        assert!(!rotate_if_due(&store, &young).await.unwrap());
        assert_eq!(load(&store).await.unwrap().id(), id);
        let again = load(&store).await.unwrap();
        let old = Tokens::new(options(0), again, Arc::new(Nothing));
        assert!(rotate_if_due(&store, &old).await.unwrap());
        assert_ne!(old.keys().id(), id);
        assert_eq!(load(&store).await.unwrap().jwks(), old.keys().jwks());
    }
}
