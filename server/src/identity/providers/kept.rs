//! What providers gave for asking them again: sealed, in one Secret for each user, which goes with
//! the User.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drover_api::ids::ProviderUid;
use drover_api::kinds::User;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Resource as _, ResourceExt as _};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::json;
use thiserror::Error;

use crate::hub::keys::NoRandomness;
use crate::hub::secret::{Data, entry, secret};
use crate::hub::{Hub, HubError, call};

/// Why it could not be kept or read.
#[derive(Debug, Error)]
pub enum KeptError {
    /// The hub failed.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// The system gave no randomness.
    #[error(transparent)]
    Random(#[from] NoRandomness),
}

/// What one provider gave for one person.
#[derive(Clone, Default)]
pub struct Kept {
    /// OpenID Connect's refresh token, or GitHub's access token.
    pub renews: Option<SecretString>,
    /// What tells an OpenID provider who signs out.
    pub id_token: Option<SecretString>,
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kept(hidden)")
    }
}

impl Kept {
    /// This, with what it lacks from before: many providers give a thing only once.
    #[must_use]
    pub fn or(self, before: Self) -> Self {
        Self {
            renews: self.renews.or(before.renews),
            id_token: self.id_token.or(before.id_token),
        }
    }

    /// Whether there is nothing to keep.
    pub fn is_empty(&self) -> bool {
        self.renews.is_none() && self.id_token.is_none()
    }
}

/// As it is sealed.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Plain {
    renews: Option<String>,
    id_token: Option<String>,
}

/// What is kept; nothing if it was sealed with a key that is no more.
pub async fn read(hub: &Hub, user: &User, provider: &ProviderUid) -> Result<Kept, KeptError> {
    let name = secret_name(user);
    let found = call("read what a provider gave", hub.secrets().get_opt(&name)).await?;
    let opened = found.as_ref().and_then(|secret| {
        let sealed = entry(secret, provider.as_str())?;
        let plain = hub.keys().kept().open(&of(user, provider), sealed)?;
        serde_json::from_slice::<Plain>(&plain).ok()
    });
    Ok(opened.map_or_else(Kept::default, |plain| Kept {
        renews: plain.renews.map(SecretString::from),
        id_token: plain.id_token.map(SecretString::from),
    }))
}

/// Keeps it in place of what there was of this provider.
pub async fn write(
    hub: &Hub,
    user: &User,
    provider: &ProviderUid,
    kept: &Kept,
) -> Result<(), KeptError> {
    let text =
        |secret: &Option<SecretString>| secret.as_ref().map(|s| s.expose_secret().to_owned());
    let plain = Plain {
        renews: text(&kept.renews),
        id_token: text(&kept.id_token),
    };
    let plain = serde_json::to_vec(&plain).unwrap_or_default();
    let sealed = hub.keys().kept().close(&of(user, provider), &plain)?;
    let data = json!({ provider.as_str(): STANDARD.encode(&sealed) });
    if patch(hub, user, &data).await? {
        return Ok(());
    }
    let new = new_secret(user, Data::from([(provider.as_str().to_owned(), sealed)]));
    let (api, params) = (hub.secrets(), PostParams::default());
    match call("keep what a provider gave", api.create(&params, &new)).await {
        Err(error) if error.is_conflict() => {
            patch(hub, user, &data).await?;
            Ok(())
        }
        Err(error) => Err(error.into()),
        Ok(_) => Ok(()),
    }
}

/// Forgets what is kept of this provider.
pub async fn forget(hub: &Hub, user: &User, provider: &ProviderUid) -> Result<(), KeptError> {
    patch(hub, user, &json!({ provider.as_str(): null })).await?;
    Ok(())
}

/// Changes entries; whether there is a Secret to change.
async fn patch(hub: &Hub, user: &User, data: &serde_json::Value) -> Result<bool, HubError> {
    let patch = Patch::Merge(json!({ "data": data }));
    let (api, params) = (hub.secrets(), PatchParams::default());
    let name = secret_name(user);
    match call(
        "keep what a provider gave",
        api.patch(&name, &params, &patch),
    )
    .await
    {
        Err(error) if error.is_not_found() => Ok(false),
        Err(error) => Err(error),
        Ok(_) => Ok(true),
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
