//! OpenID Connect: what is believed (pure), a hostile issuer, and a certified one.

mod callbacks;
mod certified;
mod documents;
mod hostile;
mod issuer;
mod people;
mod signer;
mod tokens;

use drover_api::kinds::auth_provider::{OidcSpec, SecretKey};
use drover_providers::ProviderError;
use drover_providers::error::Refusal;
use drover_providers::oidc::{Renewed, SignedIn};
use drover_testkit::openid::{CLIENT, SECRET};
use jiff::Timestamp;
use serde_json::json;

/// The time at which a test believes to be.
const NOW: i64 = 1_700_000_000;

fn now() -> Timestamp {
    after(0)
}

fn after(seconds: i64) -> Timestamp {
    Timestamp::from_second(NOW + seconds).unwrap()
}

/// A client with a secret.
fn spec(issuer: &str, ca: &str) -> OidcSpec {
    let spec = json!({"issuer": issuer, "clientId": CLIENT, "caBundle": ca});
    OidcSpec {
        client_secret: Some(SecretKey {
            name: "oidc".to_owned(),
            key: "secret".to_owned(),
        }),
        ..serde_json::from_value(spec).unwrap()
    }
}

/// A renewal as a sign-in, where nothing of it is looked at when it fails.
fn as_sign_in(renewed: Renewed) -> Result<SignedIn, ProviderError> {
    renewed.outcome.map(|person| SignedIn {
        person,
        refresh_token: renewed.refresh_token,
        id_token: renewed.id_token,
    })
}

/// What became of something, in one word, to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Good,
    Refused(Refusal),
    Unavailable,
    Misconfigured(&'static str),
    InvalidResponse,
}

fn verdict<T>(result: &Result<T, ProviderError>) -> Verdict {
    match result {
        Ok(_) => Verdict::Good,
        Err(ProviderError::Refused(refusal)) => Verdict::Refused(*refusal),
        Err(ProviderError::Unavailable { .. }) => Verdict::Unavailable,
        Err(ProviderError::Misconfigured { field, .. }) => Verdict::Misconfigured(field),
        Err(ProviderError::InvalidResponse { .. }) => Verdict::InvalidResponse,
    }
}

/// An error with everything below it, as a log would have it, and its `Debug`.
fn shown<T>(result: Result<T, ProviderError>) -> String {
    let Err(error) = result else {
        return String::new();
    };
    let below = std::iter::successors(Some(&error as &dyn std::error::Error), |e| e.source());
    let below: Vec<String> = below.map(ToString::to_string).collect();
    format!("{}: {error:?}", below.join(": "))
}
