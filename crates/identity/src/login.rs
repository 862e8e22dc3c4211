//! Password logins and password changes.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use drover_access::identity::Identity;
use drover_access::setting::Setting;
use drover_api::ids::UserUid;
use drover_api::kinds::{Token, TokenPurpose, User};
use jiff::Timestamp;
use kube::ResourceExt;
use secrecy::SecretString;
use serde_json::json;
use thiserror::Error;

use super::last_login::record_login;
use super::limits::{LoginLimits, RetryAfter};
use super::passwords::{
    PasswordError, PasswordVersion, Passwords, check_rules, read_hash, write_hash,
};
use super::tokens::{self, NewToken, RevokeError, TokenError};
use drover_http_edge::status::Status;
use drover_hub::settings::Settings;
use drover_hub::{Hub, HubError};

/// The lifetime of a token that only allows a password change.
const PASSWORD_CHANGE_TTL: Duration = Duration::from_mins(15);
/// A UID that no user has. For an unknown user name, the login reads the password of this UID. The
/// response therefore takes the same time as for an existing user.
const NO_UID: &str = "00000000-0000-0000-0000-000000000000";

/// The error of a password login or a password change.
#[derive(Debug, Error)]
pub enum LoginError {
    /// The client or the user exceeded a rate limit for login attempts.
    #[error("too many login attempts; wait {seconds} s and try again", seconds = .0.seconds())]
    TooMany(RetryAfter),
    /// The password is wrong or the user does not exist. Both cases have the same error, so that a
    /// client cannot detect existing user names.
    #[error("wrong user name or password")]
    Wrong,
    /// The current password in the request is wrong.
    #[error("the current password is wrong")]
    WrongCurrent,
    /// The password is correct, but the user is disabled.
    #[error("this user is disabled: ask an administrator")]
    Disabled,
    /// A different request changed the password during the check.
    #[error("the password was changed during the login; log in with the new password")]
    Superseded,
    /// The new password equals the current password.
    #[error("the new password must differ from the current password")]
    Unchanged,
    /// The server failed to revoke all tokens of the user.
    #[error(transparent)]
    Revoke(#[from] RevokeError),
    /// The server cannot check or store the password.
    #[error(transparent)]
    Password(#[from] PasswordError),
    /// The server cannot create the token.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// A call to the hub failed.
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

/// The type of client that receives the token of a login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginClient {
    /// A program. A program sends the token in the Authorization header.
    Program,
    /// A browser. A browser sends the token in a cookie.
    Browser,
}

/// Password logins of local users. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct PasswordLogins {
    hub: Hub,
    settings: Settings,
    passwords: Passwords,
    limits: LoginLimits,
}

impl PasswordLogins {
    /// Creates the login service. The rate limits begin without recorded attempts.
    pub fn new(hub: Hub, settings: Settings, passwords: Passwords) -> Self {
        Self {
            hub,
            settings,
            passwords,
            limits: LoginLimits::default(),
        }
    }

    /// Returns the rate limits of login attempts.
    pub fn limits(&self) -> &LoginLimits {
        &self.limits
    }

    /// Checks a password and creates a session. If the user must change the password, creates a
    /// token for the password change.
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
        let new_token = self.new_token(&user, by);
        let (secret, token) = tokens::create(&self.hub, &user, new_token).await?;
        if let Err(error) = self.is_login_valid(&user, &version).await {
            tokens::delete(&self.hub, &token).await?;
            return Err(error);
        }
        record_login(&self.hub, &user).await;
        Ok((secret, token))
    }

    fn new_token(&self, user: &User, by: LoginClient) -> NewToken {
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

    /// Returns an error if the password has changed since the check. A password change revokes all
    /// session tokens of the user, but not the token of a concurrent login.
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

    /// Changes the caller's password and revokes the caller's other sessions.
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
        // A password change token is used up; a session continues.
        let goes_on = matches!(
            caller.token.purpose,
            TokenPurpose::Session | TokenPurpose::Browser
        );
        let keep = goes_on.then_some(&*caller.token.id);
        tokens::revoke_sessions(&self.hub, &caller.user_uid, keep).await?;
        Ok(())
    }

    /// Sets a user's password and revokes the user's sessions. The user must change the password at
    /// the next login. API and kubeconfig tokens stay valid.
    pub async fn reset_password(&self, user: &User, new: SecretString) -> Result<(), LoginError> {
        self.set_password(user, new, true).await?;
        let uid = UserUid::new(user.uid().unwrap_or_default());
        tokens::revoke_sessions(&self.hub, &uid, None).await?;
        Ok(())
    }

    /// Sets a user's password and revokes all tokens, including API and kubeconfig tokens. Use the
    /// function if a different person may have a credential of the user, or before an increase of
    /// the user's permissions.
    pub async fn reset_password_and_revoke_tokens(
        &self,
        user: &User,
        new: SecretString,
    ) -> Result<(), LoginError> {
        self.set_password(user, new, true).await?;
        let uid = UserUid::new(user.uid().unwrap_or_default());
        Ok(tokens::revoke_all(&self.hub, &uid).await?)
    }

    /// Stores the first password of a new user.
    pub async fn set_first_password(&self, user: &User, phc: &str) -> Result<(), HubError> {
        write_hash(&self.hub, user, phc).await
    }

    /// Checks the password rules, and hashes the password.
    pub async fn hash(&self, password: SecretString) -> Result<String, PasswordError> {
        self.passwords.hash(password).await
    }

    /// Returns the user if the password is correct. Takes the same time for an unknown user.
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
            let writer = self.hub.writer::<User>();
            writer
                .patch("change a user", &user.name_any(), &patch)
                .await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
