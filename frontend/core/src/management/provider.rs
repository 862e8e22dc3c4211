//! Identity providers: texts and API paths.

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

/// The protocol of an identity provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// The protocol OpenID Connect.
    Oidc,
    /// The OAuth protocol of GitHub, or of GitHub Enterprise.
    Github,
    /// The protocol LDAP, for example with Active Directory.
    Ldap,
}

impl Protocol {
    /// All protocols, in the order of the form.
    pub const ALL: [Self; 3] = [Self::Oidc, Self::Github, Self::Ldap];

    /// Returns the protocol of a spec. Returns `None` for an unknown protocol.
    pub fn of(spec: &Value) -> Option<Self> {
        let is = |protocol: &Self| spec.get(protocol.key()).is_some_and(|it| !it.is_null());
        Self::ALL.into_iter().find(is)
    }

    /// Returns the key of the protocol's settings in a spec.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Oidc => "oidc",
            Self::Github => "github",
            Self::Ldap => "ldap",
        }
    }

    /// Returns the display name of the protocol.
    pub fn words(self) -> &'static str {
        match self {
            Self::Oidc => t().providers.oidc(),
            Self::Github => "GitHub",
            Self::Ldap => "LDAP",
        }
    }

    /// Returns the label of the secret, such as “Client secret”.
    pub fn secret(self) -> &'static str {
        match self {
            Self::Oidc | Self::Github => t().providers.client_secret(),
            Self::Ldap => t().providers.bind_password(),
        }
    }

    /// Reports whether the protocol requires a secret.
    pub const fn needs_secret(self) -> bool {
        !matches!(self, Self::Oidc)
    }

    /// Reports whether the provider redirects to a registered redirect URI.
    pub const fn comes_back(self) -> bool {
        !matches!(self, Self::Ldap)
    }

    /// Returns the effect of a sign-out at the provider.
    pub fn sign_out_there(self) -> &'static str {
        match self {
            Self::Github => t().providers.sign_out_github(),
            Self::Oidc | Self::Ldap => t().providers.sign_out_elsewhere(),
        }
    }

    /// Returns the settings in the order of the form.
    pub const fn fields(self) -> &'static [Field] {
        field::of(self)
    }
}

/// Returns the label of the provider's sign-in button.
pub fn title(provider: &AuthProviderView) -> &str {
    let shown = provider.spec.get("displayName").and_then(Value::as_str);
    shown.unwrap_or(&provider.name)
}

/// Reports whether sign-ins with the provider are enabled.
pub fn is_enabled(spec: &Value) -> bool {
    spec.get("enabled").and_then(Value::as_bool) == Some(true)
}

/// Returns a copy of the spec with `enabled` set to the argument.
pub fn enabled(spec: &Value, enabled: bool) -> Value {
    let mut spec = spec.clone();
    if let Some(fields) = spec.as_object_mut() {
        fields.insert("enabled".to_owned(), enabled.into());
    }
    spec
}

/// Returns the readiness of a provider.
pub fn readiness(provider: &AuthProviderView) -> Readiness {
    let mut readiness = Readiness::of(&provider.conditions);
    if readiness.status == Status::Coming {
        t().providers.not_checked().clone_into(&mut readiness.words);
    }
    readiness
}

/// Returns the URL path of a provider.
pub fn screen(name: &str) -> String {
    format!("/providers/{}", segment(name))
}

/// Returns the API path of a provider.
pub fn path(name: &str) -> String {
    format!("/v1/auth-providers/{}", segment(name))
}

/// Returns the redirect URI of a provider.
pub fn callback(server_url: &str, name: &str) -> String {
    let name = if name.is_empty() { "NAME" } else { name };
    let server = server_url.trim_end_matches('/');
    format!("{server}/v1/providers/{name}/callback")
}

/// Counts the users and the valid tokens that depend on a provider.
pub fn dependents(tokens: &[TokenView], provider: &str, now: Timestamp) -> (usize, usize) {
    let counts =
        |token: &&TokenView| token.provider.as_deref() == Some(provider) && token.expires_at > now;
    let status = tokens.iter().filter(counts);
    let people: BTreeSet<&str> = status.clone().map(|it| it.username.as_str()).collect();
    (people.len(), status.count())
}

/// Reports whether the shown texts of a provider contain all entered words.
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
