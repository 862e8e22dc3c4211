//! Log-in with a password, and changing one.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use drover_access::identity::Identity;
use drover_access::setting::Setting;
use drover_api::ids::UserUid;
use drover_api::kinds::{Token, TokenPurpose, User};
use jiff::Timestamp;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use secrecy::SecretString;
use serde_json::json;
use thiserror::Error;

use super::limits::{LoginLimits, RetryAfter};
use super::passwords::{
    PasswordError, PasswordVersion, Passwords, check_rules, read_hash, write_hash,
};
use super::tokens::{self, NewToken, RevokeError, TokenError};
use drover_http_edge::status::Status;
use drover_hub::settings::Settings;
use drover_hub::{Hub, HubError, Writer, call};

/// Life of a token that is good for nothing but setting a new password.
const PASSWORD_CHANGE_TTL: Duration = Duration::from_mins(15);
/// UID that no user has: its password is looked for when a name is unknown, to take as long.
const NO_UID: &str = "00000000-0000-0000-0000-000000000000";

/// Why somebody did not get in.
#[derive(Debug, Error)]
pub enum LoginError {
    /// Too many attempts.
    #[error("too many attempts to log in; wait {} s and try again", .0.seconds())]
    TooMany(RetryAfter),
    /// Wrong password, or no such user: deliberately one case.
    #[error("wrong user name or password")]
    Wrong,
    /// A user who changes their password gave another one as their current password.
    #[error("the current password is wrong")]
    WrongCurrent,
    /// The password was right, but the user may not use Drover.
    #[error("this user is disabled: ask an administrator")]
    Disabled,
    /// The password was changed while it was being checked.
    #[error("the password was changed at this moment; log in with the new one")]
    Superseded,
    /// The present password was given as the new one.
    #[error("the new password must differ from the present one")]
    Unchanged,
    /// The user may have tokens still.
    #[error(transparent)]
    Revoke(#[from] RevokeError),
    /// The password could not be checked or kept.
    #[error(transparent)]
    Password(#[from] PasswordError),
    /// No token could be made.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The hub failed.
    #[error(transparent)]
    Hub(#[from] HubError),
}

impl From<LoginError> for Status {
    fn from(error: LoginError) -> Self {
        match error {
            LoginError::TooMany(after) => {
                Self::too_many_requests(error.to_string(), after.seconds())
            }
            LoginError::Wrong | LoginError::WrongCurrent | LoginError::Superseded => {
                Self::unauthorized(error.to_string())
            }
            LoginError::Revoke(error) => error.into(),
            LoginError::Disabled => Self::forbidden(error.to_string()),
            LoginError::Unchanged => Self::invalid("new", error.to_string()),
            LoginError::Password(error) => error.into_status("new"),
            LoginError::Token(error) => error.into(),
            LoginError::Hub(error) => error.into(),
        }
    }
}

/// Where a log-in's token will be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginClient {
    /// With a program of the user's, which sends it as a bearer token.
    Program,
    /// In a browser's cookie.
    Browser,
}

/// Log-in of local users; cheap to clone.
#[derive(Clone, Debug)]
pub struct PasswordLogins {
    hub: Hub,
    settings: Settings,
    passwords: Passwords,
    limits: LoginLimits,
}

impl PasswordLogins {
    /// Log-in against the hub's users.
    pub fn new(hub: Hub, settings: Settings, passwords: Passwords) -> Self {
        Self {
            hub,
            settings,
            passwords,
            limits: LoginLimits::default(),
        }
    }

    /// How often somebody may try a password.
    pub fn limits(&self) -> &LoginLimits {
        &self.limits
    }

    /// Checks a password and makes a session, or what must come before one.
    pub async fn login(
        &self,
        name: &str,
        password: SecretString,
        address: IpAddr,
        by: LoginClient,
    ) -> Result<(SecretString, Token), LoginError> {
        self.limits
            .check(name, address)
            .map_err(LoginError::TooMany)?;
        let user = self.hub.stores().users.by_name(name);
        let (user, version) = self.verify(user, password).await?;
        if !user.spec.enabled || user.metadata.deletion_timestamp.is_some() {
            return Err(LoginError::Disabled);
        }
        self.limits.succeeded(name, address);
        let wish = self.wish(&user, by);
        let (secret, token) = tokens::create(&self.hub, &user, wish).await?;
        if let Err(error) = self.is_login_valid(&user, &version).await {
            tokens::delete(&self.hub, &token).await?;
            return Err(error);
        }
        self.record_login(&user).await;
        Ok((secret, token))
    }

    fn wish(&self, user: &User, by: LoginClient) -> NewToken {
        let longest = self.settings.ttl(Setting::SessionTtl);
        let idle = self.settings.ttl(Setting::SessionIdleTtl);
        let (purpose, ttl, idle) = match by {
            _ if user.spec.must_change_password => {
                (TokenPurpose::PasswordChange, PASSWORD_CHANGE_TTL, None)
            }
            LoginClient::Program => (TokenPurpose::Session, longest, None),
            LoginClient::Browser => (TokenPurpose::Browser, longest, Some(idle)),
        };
        NewToken {
            purpose,
            cluster: None,
            provider: None,
            description: None,
            expires_at: Timestamp::now() + ttl,
            idle,
        }
    }

    /// Refuses when the password that was checked is not the user's any more.
    ///
    /// Whoever changes a password deletes the tokens that stand on it; one that was made just then
    /// could be missed.
    async fn is_login_valid(
        &self,
        user: &User,
        version: &PasswordVersion,
    ) -> Result<(), LoginError> {
        let uid = user.uid().unwrap_or_default();
        if read_hash(&self.hub, &uid).await?.version == *version {
            Ok(())
        } else {
            Err(LoginError::Superseded)
        }
    }

    /// Changes the caller's own password; their other log-ins end.
    pub async fn change_password(
        &self,
        caller: &Identity,
        current: SecretString,
        new: SecretString,
        address: IpAddr,
    ) -> Result<(), LoginError> {
        use secrecy::ExposeSecret as _;
        check_rules(new.expose_secret())?;
        if current.expose_secret() == new.expose_secret() {
            return Err(LoginError::Unchanged);
        }
        self.limits
            .check(&caller.user_name, address)
            .map_err(LoginError::TooMany)?;
        let user = self.hub.stores().users.by_uid(caller.user_uid.as_str());
        let verified = self.verify(user, current).await;
        let (user, _) = verified.map_err(|error| match error {
            LoginError::Wrong => LoginError::WrongCurrent,
            other => other,
        })?;
        self.set_password(&user, new, false).await?;
        // A token that was good for the change only is spent; a session goes on.
        let goes_on = matches!(
            caller.token.purpose,
            TokenPurpose::Session | TokenPurpose::Browser
        );
        let keep = goes_on.then_some(&*caller.token.id);
        tokens::revoke_sessions(&self.hub, &caller.user_uid, keep).await?;
        Ok(())
    }

    /// Sets another's password, to be changed at their next login; their log-ins end, and API and
    /// kubeconfig tokens stay.
    pub async fn reset_password(&self, user: &User, new: SecretString) -> Result<(), LoginError> {
        self.set_password(user, new, true).await?;
        let uid = UserUid::new(user.uid().unwrap_or_default());
        tokens::revoke_sessions(&self.hub, &uid, None).await?;
        Ok(())
    }

    /// The same, and revokes all their tokens, API and kubeconfig tokens included: the password is
    /// reset because others may hold a credential of theirs, or may hold an old token of somebody
    /// who is about to have more rights.
    pub async fn reset_password_and_revoke_tokens(
        &self,
        user: &User,
        new: SecretString,
    ) -> Result<(), LoginError> {
        self.set_password(user, new, true).await?;
        let uid = UserUid::new(user.uid().unwrap_or_default());
        Ok(tokens::revoke_all(&self.hub, &uid).await?)
    }

    /// Keeps the first password of a new user.
    pub async fn set_first_password(&self, user: &User, phc: &str) -> Result<(), HubError> {
        write_hash(&self.hub, user, phc).await
    }

    /// Hashes a password that keeps the rules.
    pub async fn hash(&self, password: SecretString) -> Result<String, PasswordError> {
        self.passwords.hash(password).await
    }

    /// The user, if the password is theirs; as slow when there is no such user.
    async fn verify(
        &self,
        user: Option<Arc<User>>,
        password: SecretString,
    ) -> Result<(Arc<User>, PasswordVersion), LoginError> {
        let uid = user.as_ref().and_then(|user| user.uid());
        let stored = read_hash(&self.hub, uid.as_deref().unwrap_or(NO_UID)).await?;
        let right = self.passwords.verify(password, stored.phc).await?;
        let user = user.filter(|_| right).ok_or(LoginError::Wrong)?;
        Ok((user, stored.version))
    }

    async fn set_password(
        &self,
        user: &User,
        new: SecretString,
        must_change: bool,
    ) -> Result<(), LoginError> {
        let phc = self.passwords.hash(new).await?;
        write_hash(&self.hub, user, &phc).await?;
        if user.spec.must_change_password != must_change {
            let patch = json!({
                "metadata": { "uid": user.uid() },
                "spec": { "mustChangePassword": must_change },
            });
            let writer = Writer::new(self.hub.users(), &self.hub.stores().users);
            writer
                .patch("change a user", &user.name_any(), &patch)
                .await?;
        }
        Ok(())
    }

    /// For people's eyes only, so that a failure is no reason to keep anybody out.
    async fn record_login(&self, user: &User) {
        let patch = Patch::Merge(json!({ "status": { "lastLoginAt": Timestamp::now() } }));
        let (api, params) = (self.hub.users(), PatchParams::default());
        let name = user.name_any();
        let patching = api.patch_status(&name, &params, &patch);
        if let Err(error) = call("record a login", patching).await {
            tracing::debug!(
                error = &error as &dyn std::error::Error,
                "login not recorded"
            );
        }
    }
}

#[cfg(test)]
mod tests;
