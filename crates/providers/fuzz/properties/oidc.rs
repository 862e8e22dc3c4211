//! Properties for arbitrary bytes. The fuzzer checks the properties, and `cargo test` checks the
//! properties on the corpus.

use drover_providers::oidc::Pending;
use drover_providers::oidc::claims::{ClaimMapping, ClaimPath};
use drover_providers::oidc::id_token::{Expected, verify};
use drover_providers::oidc::issuer::Issuer;
use drover_providers::oidc::keys::KeySet;
use drover_providers::oidc::metadata::Metadata;
use drover_providers::oidc::pending::Callback;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

const ISSUER: &str = "https://id.example.com";
/// Public keys. The corresponding private keys were discarded.
const KEYS: &str = include_str!("keys.json");

/// Checks that a callback returns no code if its issuer is wrong, or if the callback does not
/// contain exactly one matching state.
pub(crate) fn callback(data: &[u8]) {
    let Ok(query) = std::str::from_utf8(data) else {
        return;
    };
    let pending = json!({
        "issuer": ISSUER, "state": "a-state", "nonce": "n", "verifier": "v",
        "redirectUri": "https://drover.example.com/", "issuedAt": Timestamp::UNIX_EPOCH,
    });
    let pending: Pending = serde_json::from_value(pending).expect("the JSON is a pending sign-in");
    let values = |wanted: &str| -> Vec<String> {
        url::form_urlencoded::parse(data)
            .filter(|(name, _)| name == wanted)
            .map(|(_, value)| value.into_owned())
            .collect()
    };
    for sends_iss in [false, true] {
        let read = Callback::read(query, &pending, ISSUER, sends_iss, Timestamp::UNIX_EPOCH);
        if read.is_err() {
            continue;
        }
        assert_eq!(values("state"), ["a-state"]);
        let issuers = values("iss");
        assert!(issuers == [ISSUER] || (issuers.is_empty() && !sends_iss));
        assert_ne!(values("code").len(), values("error").len());
    }
}

/// Checks that every ID token is rejected, because the fuzzer has no private key.
pub(crate) fn id_token(data: &[u8]) {
    let Ok(token) = std::str::from_utf8(data) else {
        return;
    };
    let keys = KeySet::parse(KEYS.as_bytes()).expect("the file is a key set");
    assert_eq!(keys.len(), 3);
    let expected = Expected {
        issuer: ISSUER,
        client_id: "drover",
        nonce: None,
        access_token: "",
    };
    assert!(verify(token, &keys, &expected, Timestamp::UNIX_EPOCH).is_err());
}

/// Checks that an accepted discovery document is for the requested issuer, and that all its URLs
/// use TLS.
pub(crate) fn metadata(data: &[u8]) {
    let issuer = Issuer::parse(ISSUER).expect("the constant is an issuer");
    let Ok(metadata) = Metadata::parse(&issuer, data) else {
        return;
    };
    // Unknown members need not be strings.
    if let Ok(document) = serde_json::from_slice::<Value>(data) {
        assert_eq!(document["issuer"], ISSUER);
    }
    assert!(!metadata.algorithms.is_empty());
    let all = [&metadata.authorization, &metadata.token, &metadata.jwks];
    let more = metadata.userinfo.iter().chain(&metadata.end_session);
    for url in all.into_iter().chain(more) {
        assert_eq!(url.scheme(), "https");
        assert!(url.username().is_empty() && url.password().is_none());
    }
}

/// Checks that a parsed key set has no symmetric keys and at most 100 keys.
pub(crate) fn keys(data: &[u8]) {
    let Some(keys) = KeySet::parse(data) else {
        return;
    };
    assert!(keys.len() <= 100);
    let Ok(document) = serde_json::from_slice::<Value>(data) else {
        return;
    };
    let published = document["keys"]
        .as_array()
        .expect("the parsed document has keys");
    let public = published.iter().filter(|key| key["kty"] != "oct").count();
    assert!(keys.len() <= public);
}

/// Checks that the user always has the subject of the token, and that each group ID is short enough
/// for a group name.
pub(crate) fn claims(data: &[u8]) {
    let Ok(claims) = serde_json::from_slice::<Map<String, Value>>(data) else {
        return;
    };
    for groups in ["groups", "realm_access.roles"] {
        let path = |field, text| ClaimPath::parse(field, text).expect("the text is a claim path");
        let meaning = ClaimMapping {
            groups: path("oidc.groupsClaim", groups),
            login: path("oidc.loginClaim", "preferred_username"),
        };
        let Ok(person) = meaning.person("ann-1", &claims, &Map::new()) else {
            continue;
        };
        assert_eq!(person.id, "ann-1");
        assert!(!person.login.is_empty() && !person.login.contains(char::is_control));
        assert!(person.groups.len() <= 1000);
        assert!(person.groups.is_sorted_by(|one, next| one.id < next.id));
        for group in person.groups {
            assert!((1..=253).contains(&group.id.len()) && !group.name.is_empty());
            assert!(group.id.bytes().all(|byte| byte.is_ascii_graphic()));
        }
    }
}
