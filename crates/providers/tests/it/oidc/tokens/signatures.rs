//! Tests of signature validation and key selection.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use drover_providers::oidc::id_token::TokenError;
use drover_providers::oidc::keys::Algorithm;
use serde_json::{Value, json};

use super::super::signer::{Signer, encoded, hmac, set};
use super::{claims_with, validate};

#[test]
fn unsigned_token_is_rejected() {
    let rsa = Signer::new("one", Algorithm::RS256);
    let keys = set(&[rsa.published()]);
    let claims = claims_with(&json!({}));
    let good = rsa.sign(&claims);
    let signature = good.rsplit('.').next().unwrap();
    for name in [
        "none", "None", "NONE", "", "HS256", "HS384", "HS512", "rs256", "ES512", "A128KW",
    ] {
        let header = json!({"alg": name, "kid": "one"});
        for signature in ["", signature] {
            let token = format!("{}.{}.{signature}", encoded(&header), encoded(&claims));
            let result = validate(&token, &keys);
            assert_eq!(result, Err(TokenError::Algorithm), "{name:?}");
        }
    }
}

#[test]
fn token_signed_by_hmac_with_a_public_key_is_rejected() {
    let rsa = Signer::new("one", Algorithm::RS256);
    let published = rsa.published();
    let modulus = published["n"].as_str().unwrap();
    let claims = claims_with(&json!({}));
    let secret =
        json!({"kty": "oct", "kid": "two", "k": URL_SAFE_NO_PAD.encode("secret"), "alg": "HS256"});
    let keys = set(&[published.clone(), secret]);
    assert_eq!(keys.len(), 1, "symmetric keys are ignored");
    for key in [
        modulus.as_bytes(),
        &URL_SAFE_NO_PAD.decode(modulus).unwrap(),
        published.to_string().as_bytes(),
        b"secret",
        b"",
    ] {
        for id in ["one", "two"] {
            let token = hmac(&json!({"alg": "HS256", "kid": id}), &claims, key);
            assert_eq!(validate(&token, &keys), Err(TokenError::Algorithm));
            // The header names another algorithm than the one used.
            let token = hmac(&json!({"alg": "RS256", "kid": "one"}), &claims, key);
            assert_eq!(validate(&token, &keys), Err(TokenError::Signature));
        }
    }
}

#[test]
fn key_verifies_only_signatures_of_its_algorithm_and_use() {
    let signer = Signer::new("one", Algorithm::ES256);
    let token = signer.sign(&claims_with(&json!({})));
    let other = Signer::new("one", Algorithm::ES256);
    let change = |name: &str, value: Value| {
        let mut key = signer.published();
        key[name] = value;
        set(&[key])
    };
    for (case, keys, expected_error) in [
        (
            "another key with the same ID",
            set(&[other.published()]),
            TokenError::Signature,
        ),
        (
            "another ID",
            change("kid", "two".into()),
            TokenError::UnknownKey,
        ),
        (
            "for encryption",
            change("use", "enc".into()),
            TokenError::UnknownKey,
        ),
        (
            "for an unknown use",
            change("use", "x".into()),
            TokenError::UnknownKey,
        ),
        (
            "for wrapping keys",
            change("key_ops", json!(["wrapKey"])),
            TokenError::UnknownKey,
        ),
        (
            "for another algorithm",
            change("alg", "ES384".into()),
            TokenError::UnsuitableKey,
        ),
        (
            "for an unknown algorithm",
            change("alg", "X".into()),
            TokenError::UnsuitableKey,
        ),
        (
            "with another curve",
            change("crv", "P-384".into()),
            TokenError::UnsuitableKey,
        ),
        (
            "with another key type",
            set(&[Signer::new("one", Algorithm::RS256).published()]),
            TokenError::UnsuitableKey,
        ),
        (
            "not on the curve",
            change("x", URL_SAFE_NO_PAD.encode([1; 32]).into()),
            TokenError::Signature,
        ),
        ("too short", change("x", "AQ".into()), TokenError::Signature),
        ("no keys", set(&[]), TokenError::UnknownKey),
    ] {
        assert_eq!(validate(&token, &keys), Err(expected_error), "{case}");
    }
    let verifies = change("key_ops", json!(["sign", "verify"]));
    assert!(validate(&token, &verifies).is_ok());
}

#[test]
fn token_without_key_id_is_accepted_if_one_key_matches() {
    let (one, two) = (
        Signer::new("one", Algorithm::ES256),
        Signer::new("two", Algorithm::ES256),
    );
    let other = Signer::new("three", Algorithm::EdDSA);
    let token = one.sign_with(&json!({"alg": "ES256"}), &claims_with(&json!({})));
    let keys = set(&[other.published(), one.published()]);
    assert!(validate(&token, &keys).is_ok());
    let keys = set(&[one.published(), two.published()]);
    assert_eq!(validate(&token, &keys), Err(TokenError::AmbiguousKey));
    // The provider may have replaced its keys since the fetch.
    for keys in [set(&[two.published()]), set(&[other.published()])] {
        assert_eq!(validate(&token, &keys), Err(TokenError::UnknownKey));
    }
}

#[test]
fn keys_in_the_token_header_are_ignored_and_invalid_headers_are_rejected() {
    let signer = Signer::new("one", Algorithm::ES256);
    let forger = Signer::new("one", Algorithm::ES256);
    let keys = set(&[signer.published()]);
    let claims = claims_with(&json!({}));
    let own = json!({"alg": "ES256", "kid": "one", "jwk": forger.published(), "jku": "https://evil.example.com", "x5u": "https://evil.example.com"});
    assert_eq!(
        validate(&forger.sign_with(&own, &claims), &keys),
        Err(TokenError::Signature)
    );
    for (header, expected_error) in [
        (
            json!({"alg": "ES256", "kid": "one", "crit": ["b64"], "b64": false}),
            TokenError::Critical,
        ),
        (
            json!({"alg": "ES256", "kid": "one", "typ": "at+jwt"}),
            TokenError::Kind,
        ),
        (
            json!({"alg": "ES256", "kid": "one", "typ": "logout+jwt"}),
            TokenError::Kind,
        ),
        (json!({"alg": "ES256", "kid": 7}), TokenError::Shape),
        (json!({"kid": "one"}), TokenError::Shape),
        (json!([]), TokenError::Shape),
        (json!(["ES256", "one", null, null]), TokenError::Shape),
    ] {
        assert_eq!(
            validate(&signer.sign_with(&header, &claims), &keys),
            Err(expected_error),
            "{header}"
        );
    }
    let named = json!({"alg": "ES256", "kid": "one", "typ": "JWT"});
    assert!(validate(&signer.sign_with(&named, &claims), &keys).is_ok());
}
