//! What must hold for any bytes; run by the fuzzer and, over the corpus, by `cargo test`.

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
/// Public halves of keys whose private ones were thrown away.
const KEYS: &str = include_str!("keys.json");

/// No code is taken from an answer that does not name this sign-in once, or that names another
/// issuer.
pub(crate) fn callback(data: &[u8]) {
    let Ok(query) = std::str::from_utf8(data) else {
        return;
    };
    let pending = json!({
        "issuer": ISSUER, "state": "a-state", "nonce": "n", "verifier": "v",
        "redirectUri": "https://drover.example.com/", "issuedAt": Timestamp::UNIX_EPOCH,
    });
    let pending: Pending = serde_json::from_value(pending).expect("it is one");
    let values = |wanted: &str| -> Vec<String> {
        url::form_urlencoded::parse(data)
            .filter(|(name, _)| name == wanted)
            .map(|(_, value)| value.into_owned())
            .collect()
    };
    for names_itself in [false, true] {
        let read = Callback::read(query, &pending, ISSUER, names_itself, Timestamp::UNIX_EPOCH);
        if read.is_err() {
            continue;
        }
        assert_eq!(values("state"), ["a-state"]);
        let issuers = values("iss");
        assert!(issuers == [ISSUER] || (issuers.is_empty() && !names_itself));
        assert_ne!(values("code").len(), values("error").len());
    }
}

/// Nobody can make a token that is believed without a private key.
pub(crate) fn id_token(data: &[u8]) {
    let Ok(token) = std::str::from_utf8(data) else {
        return;
    };
    let keys = KeySet::parse(KEYS.as_bytes()).expect("it is one");
    assert_eq!(keys.len(), 3);
    let expected = Expected {
        issuer: ISSUER,
        client_id: "drover",
        nonce: None,
        access_token: "",
    };
    assert!(verify(token, &keys, &expected, Timestamp::UNIX_EPOCH).is_err());
}

/// A document that is believed is the issuer's own, and nothing is sent anywhere without TLS.
pub(crate) fn metadata(data: &[u8]) {
    let issuer = Issuer::parse(ISSUER).expect("it is one");
    let Ok(metadata) = Metadata::parse(&issuer, data) else {
        return;
    };
    // Members that nobody asked for need not be text.
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

/// No set has secrets, or more keys than are kept.
pub(crate) fn keys(data: &[u8]) {
    let Some(keys) = KeySet::parse(data) else {
        return;
    };
    assert!(keys.len() <= 100);
    let Ok(document) = serde_json::from_slice::<Value>(data) else {
        return;
    };
    let published = document["keys"].as_array().expect("it was read");
    let public = published.iter().filter(|key| key["kty"] != "oct").count();
    assert!(keys.len() <= public);
}

/// Whatever claims say, a person is who the token is about, and each group can stand in a name.
pub(crate) fn claims(data: &[u8]) {
    let Ok(claims) = serde_json::from_slice::<Map<String, Value>>(data) else {
        return;
    };
    for groups in ["groups", "realm_access.roles"] {
        let path = |field, text| ClaimPath::parse(field, text).expect("it is one");
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
