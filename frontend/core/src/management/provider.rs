//! Identity providers: description and form.

mod draft;
mod field;

use std::collections::BTreeSet;

use drover_api::rest::{AuthProviderView, TokenView};
use jiff::Timestamp;
use serde_json::Value;

pub use self::draft::Draft;
pub use self::field::{Entry, Field, PATHS};
use crate::messages::t;
use crate::readiness::{Readiness, Status};
use crate::search::has_words;
use crate::url::segment;

/// The protocol of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// OpenID Connect.
    Oidc,
    /// GitHub, or GitHub Enterprise.
    Github,
    /// LDAP, or Active Directory.
    Ldap,
}

impl Protocol {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Oidc, Self::Github, Self::Ldap];

    /// The protocol of a spec.
    pub fn of(spec: &Value) -> Option<Self> {
        let is = |protocol: &Self| spec.get(protocol.key()).is_some_and(|it| !it.is_null());
        Self::ALL.into_iter().find(is)
    }

    /// The key of its settings in a spec.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Oidc => "oidc",
            Self::Github => "github",
            Self::Ldap => "ldap",
        }
    }

    /// The display name, or the name.
    pub fn words(self) -> &'static str {
        match self {
            Self::Oidc => t().providers.oidc(),
            Self::Github => "GitHub",
            Self::Ldap => "LDAP",
        }
    }

    /// The label of its secret.
    pub fn secret(self) -> &'static str {
        match self {
            Self::Oidc | Self::Github => t().providers.client_secret(),
            Self::Ldap => t().providers.bind_password(),
        }
    }

    /// Whether a secret is required.
    pub const fn needs_secret(self) -> bool {
        !matches!(self, Self::Oidc)
    }

    /// Whether it redirects back to a registered URI.
    pub const fn comes_back(self) -> bool {
        !matches!(self, Self::Ldap)
    }

    /// The effect of a sign-out at the provider.
    pub fn sign_out_there(self) -> &'static str {
        match self {
            Self::Github => t().providers.sign_out_github(),
            Self::Oidc | Self::Ldap => t().providers.sign_out_elsewhere(),
        }
    }

    /// Its settings in form order.
    pub const fn fields(self) -> &'static [Field] {
        field::of(self)
    }
}

/// The label of its sign-in button.
pub fn title(provider: &AuthProviderView) -> &str {
    let shown = provider.spec.get("displayName").and_then(Value::as_str);
    shown.unwrap_or(&provider.name)
}

/// Whether sign-ins are enabled.
pub fn is_enabled(spec: &Value) -> bool {
    spec.get("enabled").and_then(Value::as_bool) == Some(true)
}

/// Sets `enabled` in a spec.
pub fn enabled(spec: &Value, enabled: bool) -> Value {
    let mut spec = spec.clone();
    if let Some(fields) = spec.as_object_mut() {
        fields.insert("enabled".to_owned(), enabled.into());
    }
    spec
}

/// The readiness of a provider.
pub fn readiness(provider: &AuthProviderView) -> Readiness {
    let mut readiness = Readiness::of(&provider.conditions);
    if readiness.status == Status::Coming {
        t().providers.not_checked().clone_into(&mut readiness.words);
    }
    readiness
}

/// The address of a provider.
pub fn screen(name: &str) -> String {
    format!("/providers/{}", segment(name))
}

/// The API path of a project.
pub fn path(name: &str) -> String {
    format!("/v1/auth-providers/{}", segment(name))
}

/// The redirect URI.
pub fn callback(server_url: &str, name: &str) -> String {
    let name = if name.is_empty() { "NAME" } else { name };
    let server = server_url.trim_end_matches('/');
    format!("{server}/v1/providers/{name}/callback")
}

/// The number of users and tokens that depend on a provider.
pub fn stands_on(tokens: &[TokenView], provider: &str, now: Timestamp) -> (usize, usize) {
    let counts =
        |token: &&TokenView| token.provider.as_deref() == Some(provider) && token.expires_at > now;
    let status = tokens.iter().filter(counts);
    let people: BTreeSet<&str> = status.clone().map(|it| it.username.as_str()).collect();
    (people.len(), status.count())
}

/// Whether the shown texts of a provider contain all typed words.
pub fn passes(provider: &AuthProviderView, typed: &str) -> bool {
    let protocol = Protocol::of(&provider.spec).map_or("", Protocol::words);
    let status = readiness(provider).words;
    let enabled = if is_enabled(&provider.spec) {
        t().users.enabled()
    } else {
        t().users.disabled()
    };
    let shown = [
        provider.name.as_str(),
        title(provider),
        protocol,
        &status,
        enabled,
    ];
    has_words(shown, typed)
}

#[cfg(test)]
mod tests;
