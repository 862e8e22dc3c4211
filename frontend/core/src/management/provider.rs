//! Identity providers: what they are in words, and the form in which they are made and changed.

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

/// How Drover speaks with a provider.
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

    /// The protocol that a spec is for.
    pub fn of(spec: &Value) -> Option<Self> {
        let is = |protocol: &Self| spec.get(protocol.key()).is_some_and(|it| !it.is_null());
        Self::ALL.into_iter().find(is)
    }

    /// Where its settings are in a spec.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Oidc => "oidc",
            Self::Github => "github",
            Self::Ldap => "ldap",
        }
    }

    /// What people call it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Oidc => t().providers.oidc(),
            Self::Github => "GitHub",
            Self::Ldap => "LDAP",
        }
    }

    /// What people call its secret.
    pub fn secret(self) -> &'static str {
        match self {
            Self::Oidc | Self::Github => t().providers.client_secret(),
            Self::Ldap => t().providers.bind_password(),
        }
    }

    /// Whether none can be made without a secret.
    pub const fn needs_secret(self) -> bool {
        !matches!(self, Self::Oidc)
    }

    /// Whether it sends browsers back, to an address that has to be registered there.
    pub const fn comes_back(self) -> bool {
        !matches!(self, Self::Ldap)
    }

    /// What signing out of Drover does there as well, if it goes on there.
    pub fn sign_out_there(self) -> &'static str {
        match self {
            Self::Github => t().providers.sign_out_github(),
            Self::Oidc | Self::Ldap => t().providers.sign_out_elsewhere(),
        }
    }

    /// The settings that it has, in the order in which they are asked for.
    pub const fn fields(self) -> &'static [Field] {
        field::of(self)
    }
}

/// What stands on its button.
pub fn title(provider: &AuthProviderView) -> &str {
    let shown = provider.spec.get("displayName").and_then(Value::as_str);
    shown.unwrap_or(&provider.name)
}

/// Whether people can sign in with it.
pub fn is_enabled(spec: &Value) -> bool {
    spec.get("enabled").and_then(Value::as_bool) == Some(true)
}

/// A spec with which people can, or cannot, sign in, and which is the same otherwise.
pub fn enabled(spec: &Value, enabled: bool) -> Value {
    let mut spec = spec.clone();
    if let Some(fields) = spec.as_object_mut() {
        fields.insert("enabled".to_owned(), enabled.into());
    }
    spec
}

/// How it stands; one that nobody has tried yet says that.
pub fn readiness(provider: &AuthProviderView) -> Readiness {
    let mut readiness = Readiness::of(&provider.conditions);
    if readiness.status == Status::Coming {
        t().providers.not_checked().clone_into(&mut readiness.words);
    }
    readiness
}

/// The page's own path of a provider.
pub fn screen(name: &str) -> String {
    format!("/providers/{}", segment(name))
}

/// Where the server keeps one.
pub fn path(name: &str) -> String {
    format!("/v1/auth-providers/{}", segment(name))
}

/// Where the provider sends browsers back to: what is registered there.
pub fn callback(server_url: &str, name: &str) -> String {
    let name = if name.is_empty() { "NAME" } else { name };
    let server = server_url.trim_end_matches('/');
    format!("{server}/v1/providers/{name}/callback")
}

/// Whose tokens stand on a provider, and how many they are: what ends when it does.
pub fn stands_on(tokens: &[TokenView], provider: &str, now: Timestamp) -> (usize, usize) {
    let counts =
        |token: &&TokenView| token.provider.as_deref() == Some(provider) && token.expires_at > now;
    let status = tokens.iter().filter(counts);
    let people: BTreeSet<&str> = status.clone().map(|it| it.username.as_str()).collect();
    (people.len(), status.count())
}

/// Whether a provider has every word that was typed, in what is shown of it.
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
