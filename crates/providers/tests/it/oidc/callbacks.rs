//! What the browser brings back, read alone.

use drover_providers::oidc::pending::{Callback, CallbackError};
use serde_json::json;

use super::{after, now};

const ISSUER: &str = "https://id.example.com";

fn read(query: &str, names_itself: bool) -> Result<Callback, CallbackError> {
    Callback::read(query, &pending(), ISSUER, names_itself, now())
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
fn an_answer_is_read_as_forms_are_encoded() {
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
fn a_code_is_not_shown() {
    let read = read("code=the-code&state=a-state", false).unwrap();
    assert!(!format!("{read:?}").contains("the-code"));
}

#[test]
fn an_answer_is_refused_for_its_own_reason() {
    for (query, names_itself, wanted) in [
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
        assert_eq!(read(query, names_itself).err(), Some(wanted), "{query}");
    }
}

#[test]
fn a_sign_in_ends_within_ten_minutes_where_it_was_begun() {
    let query = "code=c&state=a-state";
    let at = |seconds| Callback::read(query, &pending(), ISSUER, false, after(seconds)).err();
    assert_eq!(at(595), None);
    assert_eq!(at(596), Some(CallbackError::Late));
    assert_eq!(at(-65), None);
    assert_eq!(at(-66), Some(CallbackError::Late));
    let elsewhere = Callback::read(query, &pending(), "https://other", false, now()).err();
    assert_eq!(elsewhere, Some(CallbackError::OtherProvider));
}
