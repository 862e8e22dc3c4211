//! Tests of OpenID Connect: pure validation, a hostile issuer, and a certified provider.

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

/// Current time of the tests, in seconds since 1970.
const NOW: i64 = 1_700_000_000;

fn now() -> Timestamp {
    after(0)
}

fn after(seconds: i64) -> Timestamp {
    Timestamp::from_second(NOW + seconds).unwrap()
}

/// Returns the spec of a client with a secret.
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

/// Converts a refresh result to a sign-in result. Drops the tokens of a failed refresh.
fn as_sign_in(renewed: Renewed) -> Result<SignedIn, ProviderError> {
    renewed.outcome.map(|person| SignedIn {
        person,
        refresh_token: renewed.refresh_token,
        id_token: renewed.id_token,
    })
}

/// Result variant without its data, for comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ResultKind {
    Accepted,
    Refused(Refusal),
    Unavailable,
    Misconfigured(&'static str),
    InvalidResponse,
}

fn result_kind<T>(result: &Result<T, ProviderError>) -> ResultKind {
    match result {
        Ok(_) => ResultKind::Accepted,
        Err(ProviderError::Refused(refusal)) => ResultKind::Refused(*refusal),
        Err(ProviderError::Unavailable { .. }) => ResultKind::Unavailable,
        Err(ProviderError::Misconfigured { field, .. }) => ResultKind::Misconfigured(field),
        Err(ProviderError::InvalidResponse { .. }) => ResultKind::InvalidResponse,
    }
}

/// Formats an error with its sources and its `Debug` output.
fn shown<T>(result: Result<T, ProviderError>) -> String {
    let Err(error) = result else {
        return String::new();
    };
    let messages = std::iter::successors(Some(&error as &dyn std::error::Error), |e| e.source());
    let messages: Vec<String> = messages.map(ToString::to_string).collect();
    format!("{}: {error:?}", messages.join(": "))
}
