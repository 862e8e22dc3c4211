//! The keys that sign service accounts' tokens, kept in the store where no request can read.

use std::sync::Arc;

use futures::future::BoxFuture;
use secrecy::{ExposeSecret, SecretString};

use crate::access::{Authenticate, AuthenticateError, Authenticated, Keys, LoadKeysError, Tokens};
use crate::store::{Change, CommitError, Store, StoreError};

/// No resource's key begins so.
const KEY: &str = "/.server/service-account-keys";

/// Why there are no keys.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// They cannot be read.
    #[error("the stored keys cannot be read")]
    Read(#[from] StoreError),
    /// They are not what was stored.
    #[error("the stored keys are damaged")]
    Load(#[from] LoadKeysError),
    /// New ones cannot be made.
    #[error("a new key cannot be made")]
    Generate(#[from] crate::access::GenerateKeyError),
    /// New ones cannot be stored.
    #[error("a new key cannot be stored")]
    Store(#[from] CommitError),
    /// What is stored is not text.
    #[error("the stored keys are not text")]
    NotText,
}

/// The keys in the store; new ones on the first start.
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

/// Service accounts' tokens as one of several authenticators.
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
