//! Tests of ID token validation.

mod signatures;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use drover_providers::oidc::id_token::{Claims, Expected, TokenError, verify};
use drover_providers::oidc::keys::{Algorithm, KeySet};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::signer::{Signer, claims, set};
use super::{CLIENT, NOW, after, now};

const ISSUER: &str = "https://id.example.com";
const NONCE: &str = "a-nonce";
const ALL: [Algorithm; 9] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];

fn expected() -> Expected<'static> {
    Expected {
        issuer: ISSUER,
        client_id: CLIENT,
        nonce: Some(NONCE),
        access_token: "an-access-token",
    }
}

fn validate(token: &str, keys: &KeySet) -> Result<Claims, TokenError> {
    verify(token, keys, &expected(), now())
}

/// Returns the claims of a valid ID token with these changes. A `null` value removes a claim.
fn claims_with(change: &Value) -> Value {
    let mut claims = claims(ISSUER, NONCE);
    for (name, value) in change.as_object().unwrap() {
        match value {
            Value::Null => {
                claims.as_object_mut().unwrap().remove(name);
            }
            value => claims[name] = value.clone(),
        }
    }
    claims
}

#[test]
fn valid_token_is_accepted_with_each_algorithm() {
    for algorithm in ALL {
        let signer = Signer::new("one", algorithm);
        let token = signer.sign(&claims_with(&json!({})));
        let claims = validate(&token, &set(&[signer.published()])).unwrap();
        assert_eq!(claims.subject, "ann-1", "{algorithm:?}");
    }
}

#[test]
fn algorithm_names_eddsa_and_ed25519_are_equivalent() {
    let signer = Signer::new("one", Algorithm::EdDSA);
    for (alg, published) in [
        ("EdDSA", "Ed25519"),
        ("Ed25519", "EdDSA"),
        ("Ed25519", "Ed25519"),
    ] {
        let mut key = signer.published();
        key["alg"] = published.into();
        let header = json!({"alg": alg, "kid": "one"});
        let token = signer.sign_with(&header, &claims_with(&json!({})));
        assert!(validate(&token, &set(&[key])).is_ok(), "{alg} {published}");
    }
}

#[test]
fn token_with_a_wrong_claim_is_rejected() {
    let signer = Signer::new("one", Algorithm::ES256);
    let keys = set(&[signer.published()]);
    for (change, expected_error) in [
        (
            json!({"iss": "https://evil.example.com"}),
            TokenError::Issuer,
        ),
        (
            json!({"iss": "https://id.example.com/"}),
            TokenError::Issuer,
        ),
        (json!({"iss": [ISSUER]}), TokenError::Issuer),
        (json!({"iss": null}), TokenError::Issuer),
        (json!({"aud": "other"}), TokenError::Audience),
        (json!({"aud": "Drover"}), TokenError::Audience),
        (json!({"aud": ["other"]}), TokenError::Audience),
        (json!({"aud": []}), TokenError::Audience),
        (json!({"aud": null}), TokenError::Audience),
        (json!({"aud": ["other", CLIENT]}), TokenError::Audience),
        (
            json!({"aud": ["other", CLIENT], "azp": "other"}),
            TokenError::Audience,
        ),
        (json!({"azp": "other"}), TokenError::Audience),
        (json!({"azp": [CLIENT]}), TokenError::Audience),
        (json!({"exp": NOW - 60}), TokenError::Expired),
        (json!({"exp": "never"}), TokenError::Expired),
        (json!({"exp": 1e300}), TokenError::Expired),
        (json!({"exp": null}), TokenError::Expired),
        (json!({"iat": NOW + 61}), TokenError::Early),
        (json!({"iat": "then"}), TokenError::Early),
        (json!({"iat": null}), TokenError::Early),
        (json!({"nbf": NOW + 61}), TokenError::Early),
        (json!({"nbf": true}), TokenError::Early),
        (json!({"nonce": "another-nonce"}), TokenError::Nonce),
        (json!({"nonce": ""}), TokenError::Nonce),
        (json!({"nonce": [NONCE]}), TokenError::Nonce),
        (json!({"nonce": null}), TokenError::Nonce),
        (
            json!({"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"}),
            TokenError::AccessToken,
        ),
        (json!({"at_hash": 7}), TokenError::AccessToken),
        (json!({"sub": ""}), TokenError::Subject),
        (json!({"sub": "an n"}), TokenError::Subject),
        (json!({"sub": "ann\n"}), TokenError::Subject),
        (json!({"sub": "änn"}), TokenError::Subject),
        (json!({"sub": "a".repeat(254)}), TokenError::Subject),
        (json!({"sub": 7}), TokenError::Subject),
        (json!({"sub": null}), TokenError::Subject),
    ] {
        let result = validate(&signer.sign(&claims_with(&change)), &keys);
        assert_eq!(result, Err(expected_error), "{change}");
    }
}

#[test]
fn token_with_unusual_but_valid_claims_is_accepted() {
    let signer = Signer::new("one", Algorithm::ES256);
    let keys = set(&[signer.published()]);
    for change in [
        json!({"aud": [CLIENT]}),
        json!({"aud": [CLIENT], "azp": CLIENT}),
        json!({"aud": ["other", CLIENT], "azp": CLIENT}),
        json!({"exp": NOW - 59}),
        json!({"exp": 1_700_000_100.5}),
        json!({"iat": NOW + 60, "nbf": NOW + 60}),
        json!({"iat": NOW - 86_400}),
        json!({"sub": "a".repeat(253)}),
        json!({"sub": "auth0|5f7c8ec7c33c6c004bbafe82"}),
    ] {
        let result = validate(&signer.sign(&claims_with(&change)), &keys);
        assert!(result.is_ok(), "{change}: {result:?}");
    }
}

#[test]
fn at_hash_must_match_the_access_token() {
    // Left halves of SHA-256, SHA-384 and SHA-512 of "an-access-token".
    for (algorithm, length) in [
        (Algorithm::ES256, 16),
        (Algorithm::ES384, 24),
        (Algorithm::RS512, 32),
        (Algorithm::EdDSA, 32),
    ] {
        let digest = match length {
            16 => &aws_lc_rs::digest::SHA256,
            24 => &aws_lc_rs::digest::SHA384,
            _ => &aws_lc_rs::digest::SHA512,
        };
        let digest = aws_lc_rs::digest::digest(digest, b"an-access-token");
        let half = URL_SAFE_NO_PAD.encode(&digest.as_ref()[..length]);
        let signer = Signer::new("one", algorithm);
        let keys = set(&[signer.published()]);
        let token = signer.sign(&claims_with(&json!({"at_hash": half})));
        assert!(validate(&token, &keys).is_ok(), "{algorithm:?}");
        let other = Expected {
            access_token: "another-access-token",
            ..expected()
        };
        let result = verify(&token, &keys, &other, now());
        assert_eq!(result, Err(TokenError::AccessToken), "{algorithm:?}");
    }
}

#[test]
fn malformed_token_is_rejected() {
    let signer = Signer::new("one", Algorithm::ES256);
    let keys = set(&[signer.published()]);
    let good = signer.sign(&claims_with(&json!({})));
    let parts: Vec<&str> = good.split('.').collect();
    for token in [
        String::new(),
        ".".to_owned(),
        "..".to_owned(),
        parts[..2].join("."),
        format!("{good}.{}", parts[2]),
        format!("{good}="),
        format!(" {good}"),
        format!("{good}\n"),
        format!("{}.{}", parts[0], good),
        signer.sign(&json!("text")),
        "A".repeat(70_000),
    ] {
        let result = validate(&token, &keys);
        assert!(result.is_err(), "{token:.80}");
    }
}

#[test]
fn id_token_of_a_refresh_is_accepted_without_nonce() {
    let signer = Signer::new("one", Algorithm::ES256);
    let keys = set(&[signer.published()]);
    let renewed = Expected {
        nonce: None,
        ..expected()
    };
    let token = signer.sign(&claims_with(&json!({"nonce": null})));
    assert!(verify(&token, &keys, &renewed, now()).is_ok());
    assert_eq!(
        verify(&token, &keys, &renewed, after(360)),
        Err(TokenError::Expired)
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn modified_token_is_rejected(
        algorithm in prop::sample::select(vec![Algorithm::RS256, Algorithm::PS256, Algorithm::ES256, Algorithm::EdDSA]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<Option<prop::sample::Index>>(),
    ) {
        thread_local! {
            static GOOD: std::cell::RefCell<std::collections::HashMap<Algorithm, (String, KeySet)>> = std::cell::RefCell::default();
        }
        let (good, keys) = GOOD.with_borrow_mut(|created| created.entry(algorithm).or_insert_with(|| {
            let signer = Signer::new("one", algorithm);
            (signer.sign(&claims_with(&json!({}))), set(&[signer.published()]))
        }).clone());
        let mut bytes = good.clone().into_bytes();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let token = String::from_utf8_lossy(&bytes);
        prop_assume!(token != good);
        prop_assert!(validate(&token, &keys).is_err());
    }
}
