//! Properties for arbitrary bytes. The fuzzer checks the properties, and `cargo test` checks the
//! properties on the corpus.

use drover_providers::code_flow::Pending;
use drover_providers::github::link;
use jiff::Timestamp;
use secrecy::ExposeSecret as _;
use url::{Url, form_urlencoded};

/// Checks that the URL of the next page is always below the API URL, so that only the API can
/// receive the user's token.
pub(crate) fn link(data: &[u8]) {
    let Ok(value) = std::str::from_utf8(data) else {
        return;
    };
    for api in [
        "https://api.github.com/",
        "https://git.acme.example:8443/api/v3/",
    ] {
        let base = Url::parse(api).expect("the API addresses are URLs");
        if let Ok(Some(next)) = link::next(value, &base) {
            assert!(next.as_str().starts_with(api), "{next}");
            assert!(!next.path().split('/').any(|part| part == ".."));
        }
    }
}

/// Checks that the parser returns only organization IDs that the header contains.
pub(crate) fn withheld(data: &[u8]) {
    let Ok(value) = std::str::from_utf8(data) else {
        return;
    };
    for id in link::withheld(value) {
        assert!(value.contains(&id.to_string()));
    }
}

/// Checks that a callback returns a code only if the callback is for the sign-in and contains
/// exactly one code. Replaces an `S` in the data with the state, because the fuzzer cannot guess
/// the state.
pub(crate) fn callback(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let now = Timestamp::UNIX_EPOCH;
    let pending = Pending::begin("https://drover.test/back", now);
    let issuer = Url::parse("https://github.com").expect("the issuer is a URL");
    let with = |state: &str| pending.code(&text.replace('S', state), &issuer.origin(), now);
    assert!(with("S").is_err(), "without the state");
    let state = pending.state().expose_secret();
    let Ok(code) = with(state) else {
        return;
    };
    let query = text.replace('S', state);
    let values = |wanted: &str| -> Vec<String> {
        form_urlencoded::parse(query.as_bytes())
            .filter(|(name, _)| name == wanted)
            .map(|(_, value)| value.into_owned())
            .collect()
    };
    assert_eq!(values("state"), [state]);
    assert_eq!(values("code"), [code.expose_secret()]);
    assert!(values("error").is_empty());
}
