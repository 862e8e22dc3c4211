//! Stores the tokens of identity providers. Each user has one Secret with encrypted tokens. The
//! User object owns the Secret.

use std::fmt;

use drover_api::ids::ProviderUid;
use drover_api::kinds::User;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::{Resource as _, ResourceExt as _};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use drover_entropy::NoRandomness;
use drover_hub::secret::{Data, entry, secret};
use drover_hub::{Hub, HubError, call};

/// The maximum number of attempts to change a Secret while a different client changes the same
/// Secret.
const MAX_ATTEMPTS: usize = 5;

/// The error of reading or writing provider tokens.
#[derive(Debug, Error)]
pub enum ProviderTokensError {
    /// A call to the hub failed.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// The random generator failed.
    #[error(transparent)]
    Random(#[from] NoRandomness),
}

/// The tokens of one provider for one user.
#[derive(Clone, Default)]
pub struct ProviderTokens {
    /// OpenID Connect's refresh token, or GitHub's access token.
    pub refresh_token: Option<SecretString>,
    /// The ID token. At logout, the provider identifies the user by this token.
    pub id_token: Option<SecretString>,
}

impl fmt::Debug for ProviderTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kept(hidden)")
    }
}

impl ProviderTokens {
    /// Fills each missing token with the token of `before`, because many providers issue a token
    /// only at the first login.
    #[must_use]
    pub fn or(self, before: Self) -> Self {
        Self {
            refresh_token: self.refresh_token.or(before.refresh_token),
            id_token: self.id_token.or(before.id_token),
        }
    }

    /// Reports whether both tokens are missing.
    pub fn is_empty(&self) -> bool {
        self.refresh_token.is_none() && self.id_token.is_none()
    }
}

/// The JSON that is encrypted and stored. Stored tokens are unreadable after a field is renamed.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Plain {
    #[serde(rename = "renews")]
    refresh_token: Option<String>,
    id_token: Option<String>,
}

impl Plain {
    fn json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("two strings can be serialized as JSON")
    }
}

/// Reads the tokens. Returns an empty value if the encryption key has changed.
pub async fn read(
    hub: &Hub,
    user: &User,
    provider: &ProviderUid,
) -> Result<ProviderTokens, ProviderTokensError> {
    let name = secret_name(user);
    let found = call("read provider tokens", hub.secrets().get_opt(&name)).await?;
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

/// Writes the tokens of this provider.
pub async fn write(
    hub: &Hub,
    user: &User,
    provider: &ProviderUid,
    tokens: &ProviderTokens,
) -> Result<(), ProviderTokensError> {
    let text =
        |secret: &Option<SecretString>| secret.as_ref().map(|s| s.expose_secret().to_owned());
    let plain = Plain {
        refresh_token: text(&tokens.refresh_token),
        id_token: text(&tokens.id_token),
    };
    let sealed = hub
        .keys()
        .provider_tokens()
        .close(&of(user, provider), &plain.json())?;
    change(hub, user, provider, Some(sealed)).await?;
    Ok(())
}

/// Deletes the tokens of this provider.
pub async fn forget(
    hub: &Hub,
    user: &User,
    provider: &ProviderUid,
) -> Result<(), ProviderTokensError> {
    change(hub, user, provider, None).await?;
    Ok(())
}

/// Replaces or removes the entry of a provider. Removes the entries of deleted providers. Does not
/// change the entries of other providers.
async fn change(
    hub: &Hub,
    user: &User,
    provider: &ProviderUid,
    sealed: Option<Vec<u8>>,
) -> Result<(), HubError> {
    let (api, writer) = (hub.secrets(), hub.secret_writer());
    let (name, action) = (secret_name(user), "store provider tokens");
    let key = provider.to_string();
    let mut tries = 1;
    loop {
        let changed = match (call(action, api.get_opt(&name)).await?, &sealed) {
            (None, None) => return Ok(()),
            (None, Some(sealed)) => {
                let new = new_secret(user, Data::from([(key.clone(), sealed.clone())]));
                writer.create(action, &new).await
            }
            (Some(mut there), sealed) => {
                let entries = there.data.get_or_insert_default();
                let stores = hub.stores();
                if stores.health().is_trusted() {
                    // Removes entries of deleted providers.
                    entries.retain(|uid, _| stores.auth_providers.by_uid(uid).is_some());
                }
                match sealed {
                    Some(sealed) => drop(entries.insert(key.clone(), ByteString(sealed.clone()))),
                    None => drop(entries.remove(&key)),
                }
                writer.replace(action, &there).await
            }
        };
        match changed {
            Err(error) if error.is_conflict() && tries < MAX_ATTEMPTS => tries += 1,
            answer => return answer.map(|_| ()),
        }
    }
}

/// Returns a Secret with an owner reference to the user. The hub's garbage collector deletes the
/// Secret together with the user.
fn new_secret(user: &User, data: Data) -> Secret {
    let mut made = secret(&secret_name(user), "Opaque", data);
    made.metadata.owner_references = user.owner_ref(&()).map(|owner| vec![owner]);
    made
}

fn secret_name(user: &User) -> String {
    format!("identity-{}", user.uid().unwrap_or_default())
}

/// Returns the additional authenticated data of an encrypted entry: user and provider. With this
/// data, an entry that is copied to a different user or provider cannot be decrypted.
fn of(user: &User, provider: &ProviderUid) -> String {
    format!("{} at {provider}", user.uid().unwrap_or_default())
}
