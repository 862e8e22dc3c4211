//! What is known of a provider, kept for a while.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use reqwest::StatusCode;
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::timeout;

use super::issuer::Issuer;
use super::keys::KeySet;
use super::metadata::Metadata;
use super::web::{PATIENCE, Web};
use crate::ProviderError;

/// How long a provider's words about itself, and its keys, are believed; a key that it withdrew is
/// believed no longer.
const KEPT: SignedDuration = SignedDuration::from_hours(1);
/// How often keys are fetched again for signatures of keys that are unknown.
const KEYS_EVERY: SignedDuration = SignedDuration::from_mins(1);

/// One provider's words about itself, and its keys; whoever comes while they are fetched waits.
#[derive(Debug, Default)]
pub(super) struct Known(Mutex<Option<Entry>>);

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

/// A clock that was put back makes nothing young again.
fn is_within(since: Timestamp, age: SignedDuration, now: Timestamp) -> bool {
    (SignedDuration::ZERO..age).contains(&now.duration_since(since))
}

impl Known {
    /// The provider's words about itself.
    pub(super) async fn metadata(
        &self,
        web: &Web,
        issuer: &Issuer,
        now: Timestamp,
    ) -> Result<Arc<Metadata>, ProviderError> {
        let mut entry = self.lock(web).await?;
        if let Some(entry) = &*entry
            && is_within(entry.fetched_at, KEPT, now)
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

    /// The provider's keys.
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

    /// Newer keys than `old`, which do not hold the one that signed something; `None` if they were
    /// fetched within the last minute: whoever makes up key ids causes no more requests than that.
    ///
    /// A fetch that failed does not count, so that nobody waits a minute for a provider that is
    /// there again.
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
            if is_within(keys.fetched_at, KEYS_EVERY, now) {
                return Ok(None);
            }
        }
        fetch_into(&mut entry, web, metadata, now).await.map(Some)
    }

    /// Waits for another's fetch no longer than for one of its own.
    async fn lock(&self, web: &Web) -> Result<MutexGuard<'_, Option<Entry>>, ProviderError> {
        timeout(PATIENCE, self.0.lock())
            .await
            .map_err(|elapsed| web.unavailable("learn what it says of itself", elapsed.into()))
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
    let answer = web.send("fetch its discovery document", request).await?;
    if answer.status != StatusCode::OK {
        return Err(ProviderError::Misconfigured {
            field: "oidc.issuer",
            problem: format!(
                "is no OpenID provider: {} answered {}",
                issuer.discovery(),
                answer.status
            ),
        });
    }
    Metadata::parse(issuer, &answer.body)
}

/// Fetches the keys (RFC 7517 §5).
pub(super) async fn fetch_keys(web: &Web, metadata: &Metadata) -> Result<KeySet, ProviderError> {
    let request = web.client.get(metadata.jwks.clone());
    let answer = web.send("fetch its keys", request).await?;
    let keys = (answer.status == StatusCode::OK)
        .then(|| KeySet::parse(&answer.body))
        .flatten();
    keys.filter(|keys| !keys.is_empty()).ok_or_else(|| {
        web.invalid_response("it does not publish up to 100 keys, one of which Drover could use")
    })
}
