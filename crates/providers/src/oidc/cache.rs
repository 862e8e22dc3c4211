//! Cache of a provider's metadata and keys.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use reqwest::StatusCode;
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::timeout;

use super::issuer::Issuer;
use super::keys::KeySet;
use super::metadata::Metadata;
use super::web::{REQUEST_TIMEOUT, Web};
use crate::ProviderError;

/// Lifetime of cached metadata and keys. Drover trusts a key that the provider has withdrawn for at
/// most this duration.
const METADATA_LIFETIME: SignedDuration = SignedDuration::from_hours(1);
/// Minimum interval between key fetches that unknown key IDs cause.
const MIN_KEY_FETCH_INTERVAL: SignedDuration = SignedDuration::from_mins(1);

/// Cached metadata and keys of one provider. Concurrent callers wait for one fetch.
#[derive(Debug, Default)]
pub(super) struct MetadataCache(Mutex<Option<Entry>>);

#[derive(Debug)]
struct Entry {
    metadata: Arc<Metadata>,
    fetched_at: Timestamp,
    keys: Option<Keys>,
}

#[derive(Debug)]
struct Keys {
    set: Arc<KeySet>,
    fetched_at: Timestamp,
}

/// Reports whether less than `age` has passed since `since`. Returns false if `since` is later than
/// `now`.
fn is_within(since: Timestamp, age: SignedDuration, now: Timestamp) -> bool {
    (SignedDuration::ZERO..age).contains(&now.duration_since(since))
}

impl MetadataCache {
    /// Returns the metadata. Fetches the metadata if the cached metadata is missing or too old.
    pub(super) async fn metadata(
        &self,
        web: &Web,
        issuer: &Issuer,
        now: Timestamp,
    ) -> Result<Arc<Metadata>, ProviderError> {
        let mut entry = self.lock(web).await?;
        if let Some(entry) = &*entry
            && is_within(entry.fetched_at, METADATA_LIFETIME, now)
        {
            return Ok(entry.metadata.clone());
        }
        let metadata = Arc::new(fetch_metadata(web, issuer).await?);
        *entry = Some(Entry {
            metadata: metadata.clone(),
            fetched_at: now,
            keys: None,
        });
        Ok(metadata)
    }

    /// Returns the cached keys. Fetches the keys if the cache contains no keys.
    pub(super) async fn keys(
        &self,
        web: &Web,
        metadata: &Metadata,
        now: Timestamp,
    ) -> Result<Arc<KeySet>, ProviderError> {
        let mut entry = self.lock(web).await?;
        if let Some(keys) = entry.as_ref().and_then(|entry| entry.keys.as_ref()) {
            return Ok(keys.set.clone());
        }
        fetch_into(&mut entry, web, metadata, now).await
    }

    /// Returns keys that were fetched after `old`. The caller needs these keys for a signature with
    /// a key ID that `old` does not contain. Returns `None` if the keys were fetched within the
    /// last minute, so that invented key IDs cause at most one request per minute.
    ///
    /// After a failed fetch, the next call fetches the keys again immediately, so that sign-ins
    /// succeed as soon as the provider recovers.
    pub(super) async fn newer_keys(
        &self,
        web: &Web,
        metadata: &Metadata,
        old: &Arc<KeySet>,
        now: Timestamp,
    ) -> Result<Option<Arc<KeySet>>, ProviderError> {
        let mut entry = self.lock(web).await?;
        if let Some(keys) = entry.as_ref().and_then(|entry| entry.keys.as_ref()) {
            if !Arc::ptr_eq(&keys.set, old) {
                return Ok(Some(keys.set.clone()));
            }
            if is_within(keys.fetched_at, MIN_KEY_FETCH_INTERVAL, now) {
                return Ok(None);
            }
        }
        fetch_into(&mut entry, web, metadata, now).await.map(Some)
    }

    /// Waits for a concurrent fetch, for at most the timeout of one request.
    async fn lock(&self, web: &Web) -> Result<MutexGuard<'_, Option<Entry>>, ProviderError> {
        timeout(REQUEST_TIMEOUT, self.0.lock())
            .await
            .map_err(|elapsed| {
                web.unavailable("fetch the discovery document in time", elapsed.into())
            })
    }
}

async fn fetch_into(
    entry: &mut Option<Entry>,
    web: &Web,
    metadata: &Metadata,
    now: Timestamp,
) -> Result<Arc<KeySet>, ProviderError> {
    let set = Arc::new(fetch_keys(web, metadata).await?);
    if let Some(entry) = entry {
        entry.keys = Some(Keys {
            set: set.clone(),
            fetched_at: now,
        });
    }
    Ok(set)
}

/// Fetches the discovery document (OpenID Connect Discovery 1.0 §4).
pub(super) async fn fetch_metadata(web: &Web, issuer: &Issuer) -> Result<Metadata, ProviderError> {
    let request = web.client.get(issuer.discovery().clone());
    let answer = web.send("fetch the discovery document", request).await?;
    if answer.status != StatusCode::OK {
        return Err(ProviderError::Misconfigured {
            field: "oidc.issuer",
            problem: format!(
                "is not an OpenID provider: {} returned {}",
                issuer.discovery(),
                answer.status
            ),
        });
    }
    Metadata::parse(issuer, &answer.body)
}

/// Fetches the key set (RFC 7517 §5).
pub(super) async fn fetch_keys(web: &Web, metadata: &Metadata) -> Result<KeySet, ProviderError> {
    let request = web.client.get(metadata.jwks.clone());
    let answer = web.send("fetch the signing keys", request).await?;
    let keys = (answer.status == StatusCode::OK)
        .then(|| KeySet::parse(&answer.body))
        .flatten();
    keys.filter(|keys| !keys.is_empty()).ok_or_else(|| {
        web.invalid_response(
            "the key set must have at most 100 keys, and Drover must support at least one key",
        )
    })
}
