//! Tests of the parsing of callbacks.

use drover_providers::oidc::pending::{Callback, CallbackError};
use serde_json::json;

use super::{after, now};

const ISSUER: &str = "https://id.example.com";

fn read(query: &str, sends_iss: bool) -> Result<Callback, CallbackError> {
    Callback::read(query, &pending(), ISSUER, sends_iss, now())
}

fn pending() -> drover_providers::oidc::Pending {
    let at = after(-5).to_string();
    serde_json::from_value(json!({
        "issuer": ISSUER, "state": "a-state", "nonce": "n", "verifier": "v",
        "redirectUri": "https://drover.example.com/back", "issuedAt": at,
    }))
    .unwrap()
}

#[test]
fn callback_query_is_form_decoded() {
    for query in [
        "code=a%2Bc+d&state=a-state",
        "state=a%2Dstate&code=a%2Bc%20d",
        "code=a%2Bc+d&state=a-state&session_state=x&session_state=y&scope=openid",
        "iss=https%3A%2F%2Fid.example.com&code=a%2Bc+d&state=a-state",
    ] {
        let read = read(query, false);
        assert!(matches!(&read, Ok(Callback::Code(_))), "{query}: {read:?}");
    }
}

#[test]
fn debug_output_of_a_callback_hides_the_authorization_code() {
    let read = read("code=the-code&state=a-state", false).unwrap();
    assert!(!format!("{read:?}").contains("the-code"));
}

#[test]
fn each_invalid_callback_returns_a_specific_error() {
    for (query, sends_iss, expected) in [
        ("code=c&state=b-state", false, CallbackError::State),
        ("code=c&state=a-state%00", false, CallbackError::State),
        ("code=c&STATE=a-state", false, CallbackError::State),
        ("code=c&state=a-state", true, CallbackError::Issuer),
        (
            "error=access_denied&state=a-state",
            true,
            CallbackError::Issuer,
        ),
        (
            "code=c&state=a-state&iss=https://ID.example.com",
            false,
            CallbackError::Issuer,
        ),
        (
            "code=c&state=a-state&%73tate=a-state",
            false,
            CallbackError::Malformed,
        ),
        (
            "code=c&error=e&state=a-state",
            false,
            CallbackError::Malformed,
        ),
    ] {
        assert_eq!(read(query, sends_iss).err(), Some(expected), "{query}");
    }
}

#[test]
fn callback_is_accepted_for_ten_minutes_from_the_same_issuer() {
    let query = "code=c&state=a-state";
    let at = |seconds| Callback::read(query, &pending(), ISSUER, false, after(seconds)).err();
    assert_eq!(at(595), None);
    assert_eq!(at(596), Some(CallbackError::Expired));
    assert_eq!(at(-65), None);
    assert_eq!(at(-66), Some(CallbackError::Expired));
    let other_issuer = Callback::read(query, &pending(), "https://other", false, now()).err();
    assert_eq!(other_issuer, Some(CallbackError::OtherProvider));
}
