//! What providers gave for asking them again: sealed, in one Secret for each user, which goes with
//! the User.

use std::fmt;

use drover_api::ids::ProviderUid;
use drover_api::kinds::User;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::PostParams;
use kube::{Resource as _, ResourceExt as _};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use drover_entropy::NoRandomness;
use drover_hub::secret::{Data, entry, secret};
use drover_hub::{Hub, HubError, call};

/// Tries when somebody else changes the same Secret.
const TRIES: usize = 5;

/// Why it could not be kept or read.
#[derive(Debug, Error)]
pub enum ProviderTokensError {
    /// The hub failed.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// The system gave no randomness.
    #[error(transparent)]
    Random(#[from] NoRandomness),
}

/// What one provider gave for one person.
#[derive(Clone, Default)]
pub struct ProviderTokens {
    /// OpenID Connect's refresh token, or GitHub's access token.
    pub refresh_token: Option<SecretString>,
    /// What tells an OpenID provider who signs out.
    pub id_token: Option<SecretString>,
}

impl fmt::Debug for ProviderTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kept(hidden)")
    }
}

impl ProviderTokens {
    /// This, with what it lacks from before: many providers give a thing only once.
    #[must_use]
    pub fn or(self, before: Self) -> Self {
        Self {
            refresh_token: self.refresh_token.or(before.refresh_token),
            id_token: self.id_token.or(before.id_token),
        }
    }

    /// Whether there is nothing to keep.
    pub fn is_empty(&self) -> bool {
        self.refresh_token.is_none() && self.id_token.is_none()
    }
}

/// As it is sealed.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Plain {
    #[serde(rename = "renews")]
    refresh_token: Option<String>,
    id_token: Option<String>,
}

/// What is kept; nothing if it was sealed with a key that is no more.
pub async fn read(
    hub: &Hub,
    user: &User,
    provider: &ProviderUid,
) -> Result<ProviderTokens, ProviderTokensError> {
    let name = secret_name(user);
    let found = call("read what a provider gave", hub.secrets().get_opt(&name)).await?;
    let opened = found.as_ref().and_then(|secret| {
        let sealed = entry(secret, provider.as_str())?;
        let plain = hub
            .keys()
            .provider_tokens()
            .open(&of(user, provider), sealed)?;
        serde_json::from_slice::<Plain>(&plain).ok()
    });
    Ok(
        opened.map_or_else(ProviderTokens::default, |plain| ProviderTokens {
            refresh_token: plain.refresh_token.map(SecretString::from),
            id_token: plain.id_token.map(SecretString::from),
        }),
    )
}

/// Keeps it in place of what there was of this provider.
pub async fn write(
    hub: &Hub,
    user: &User,
    provider: &ProviderUid,
    kept: &ProviderTokens,
) -> Result<(), ProviderTokensError> {
    let text =
        |secret: &Option<SecretString>| secret.as_ref().map(|s| s.expose_secret().to_owned());
    let plain = Plain {
        refresh_token: text(&kept.refresh_token),
        id_token: text(&kept.id_token),
    };
    let plain = serde_json::to_vec(&plain).unwrap_or_default();
    let sealed = hub
        .keys()
        .provider_tokens()
        .close(&of(user, provider), &plain)?;
    change(hub, user, provider, Some(sealed)).await?;
    Ok(())
}

/// Forgets what is kept of this provider.
pub async fn forget(
    hub: &Hub,
    user: &User,
    provider: &ProviderUid,
) -> Result<(), ProviderTokensError> {
    change(hub, user, provider, None).await?;
    Ok(())
}

/// Puts one entry in place of what there was, or takes it away; what is kept of other providers
/// stays.
async fn change(
    hub: &Hub,
    user: &User,
    provider: &ProviderUid,
    sealed: Option<Vec<u8>>,
) -> Result<(), HubError> {
    let (api, params) = (hub.secrets(), PostParams::default());
    let (name, what) = (secret_name(user), "keep what a provider gave");
    let key = provider.to_string();
    let mut tries = 1;
    loop {
        let changed = match (call(what, api.get_opt(&name)).await?, &sealed) {
            (None, None) => return Ok(()),
            (None, Some(sealed)) => {
                let new = new_secret(user, Data::from([(key.clone(), sealed.clone())]));
                call(what, api.create(&params, &new)).await
            }
            (Some(mut there), sealed) => {
                let entries = there.data.get_or_insert_default();
                let stores = hub.stores();
                if stores.health().is_trusted() {
                    // Of a provider that is gone, nobody will ask.
                    entries.retain(|uid, _| stores.auth_providers.by_uid(uid).is_some());
                }
                match sealed {
                    Some(sealed) => drop(entries.insert(key.clone(), ByteString(sealed.clone()))),
                    None => drop(entries.remove(&key)),
                }
                call(what, api.replace(&name, &params, &there)).await
            }
        };
        match changed {
            Err(error) if error.is_conflict() && tries < TRIES => tries += 1,
            answer => return answer.map(|_| ()),
        }
    }
}

/// The Secret goes with its user: the hub's garbage collector sees to it.
fn new_secret(user: &User, data: Data) -> Secret {
    let mut made = secret(&secret_name(user), "Opaque", data);
    made.metadata.owner_references = user.owner_ref(&()).map(|owner| vec![owner]);
    made
}

fn secret_name(user: &User) -> String {
    format!("identity-{}", user.uid().unwrap_or_default())
}

/// What a sealed entry belongs to: moved to another user or provider, it does not open.
fn of(user: &User, provider: &ProviderUid) -> String {
    format!("{} at {provider}", user.uid().unwrap_or_default())
}
