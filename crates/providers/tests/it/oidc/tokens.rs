//! Which ID tokens are believed.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use drover_providers::oidc::id_token::{Claims, Expected, TokenError, verify};
use drover_providers::oidc::keys::{Algorithm, KeySet};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::signer::{Signer, claims, encoded, hmac, set};
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

fn believed(token: &str, keys: &KeySet) -> Result<Claims, TokenError> {
    verify(token, keys, &expected(), now())
}

/// The claims with these members instead; `null` removes one.
fn but(change: &Value) -> Value {
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
fn a_token_is_believed_with_each_algorithm_of_the_list() {
    for algorithm in ALL {
        let signer = Signer::new("one", algorithm);
        let token = signer.sign(&but(&json!({})));
        let claims = believed(&token, &set(&[signer.published()])).unwrap();
        assert_eq!(claims.subject, "ann-1", "{algorithm:?}");
    }
}

#[test]
fn both_names_of_ed25519_are_one() {
    let signer = Signer::new("one", Algorithm::EdDSA);
    for (alg, published) in [
        ("EdDSA", "Ed25519"),
        ("Ed25519", "EdDSA"),
        ("Ed25519", "Ed25519"),
    ] {
        let mut key = signer.published();
        key["alg"] = published.into();
        let header = json!({"alg": alg, "kid": "one"});
        let token = signer.sign_with(&header, &but(&json!({})));
        assert!(believed(&token, &set(&[key])).is_ok(), "{alg} {published}");
    }
}

#[test]
fn a_token_that_says_something_wrong_is_not_believed() {
    let signer = Signer::new("one", Algorithm::ES256);
    let keys = set(&[signer.published()]);
    for (change, wanted) in [
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
        let result = believed(&signer.sign(&but(&change)), &keys);
        assert_eq!(result, Err(wanted), "{change}");
    }
}

#[test]
fn a_token_at_the_edge_of_what_is_right_is_believed() {
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
        let result = believed(&signer.sign(&but(&change)), &keys);
        assert!(result.is_ok(), "{change}: {result:?}");
    }
}

#[test]
fn a_token_belongs_to_the_access_token_whose_hash_it_holds() {
    // The left half of SHA-256, SHA-384 and SHA-512 of "an-access-token".
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
        let token = signer.sign(&but(&json!({"at_hash": half})));
        assert!(believed(&token, &keys).is_ok(), "{algorithm:?}");
        let other = Expected {
            access_token: "another-access-token",
            ..expected()
        };
        let result = verify(&token, &keys, &other, now());
        assert_eq!(result, Err(TokenError::AccessToken), "{algorithm:?}");
    }
}

#[test]
fn a_token_that_nobody_signed_is_not_believed() {
    let rsa = Signer::new("one", Algorithm::RS256);
    let keys = set(&[rsa.published()]);
    let claims = but(&json!({}));
    let good = rsa.sign(&claims);
    let signature = good.rsplit('.').next().unwrap();
    for name in [
        "none", "None", "NONE", "", "HS256", "HS384", "HS512", "rs256", "ES512", "A128KW",
    ] {
        let header = json!({"alg": name, "kid": "one"});
        for signature in ["", signature] {
            let token = format!("{}.{}.{signature}", encoded(&header), encoded(&claims));
            let result = believed(&token, &keys);
            assert_eq!(result, Err(TokenError::Algorithm), "{name:?}");
        }
    }
}

#[test]
fn a_public_key_is_no_shared_secret() {
    let rsa = Signer::new("one", Algorithm::RS256);
    let published = rsa.published();
    let modulus = published["n"].as_str().unwrap();
    let claims = but(&json!({}));
    let secret =
        json!({"kty": "oct", "kid": "two", "k": URL_SAFE_NO_PAD.encode("secret"), "alg": "HS256"});
    let keys = set(&[published.clone(), secret]);
    assert_eq!(keys.len(), 1, "a secret is no key to check with");
    for key in [
        modulus.as_bytes(),
        &URL_SAFE_NO_PAD.decode(modulus).unwrap(),
        published.to_string().as_bytes(),
        b"secret",
        b"",
    ] {
        for id in ["one", "two"] {
            let token = hmac(&json!({"alg": "HS256", "kid": id}), &claims, key);
            assert_eq!(believed(&token, &keys), Err(TokenError::Algorithm));
            // The header lies of what signed it.
            let token = hmac(&json!({"alg": "RS256", "kid": "one"}), &claims, key);
            assert_eq!(believed(&token, &keys), Err(TokenError::Signature));
        }
    }
}

#[test]
fn a_key_signs_only_what_it_is_for() {
    let signer = Signer::new("one", Algorithm::ES256);
    let token = signer.sign(&but(&json!({})));
    let other = Signer::new("one", Algorithm::ES256);
    let change = |name: &str, value: Value| {
        let mut key = signer.published();
        key[name] = value;
        set(&[key])
    };
    for (what, keys, wanted) in [
        (
            "another key of the same id",
            set(&[other.published()]),
            TokenError::Signature,
        ),
        (
            "another id",
            change("kid", "two".into()),
            TokenError::UnknownKey,
        ),
        (
            "for encryption",
            change("use", "enc".into()),
            TokenError::UnknownKey,
        ),
        (
            "for something unknown",
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
            TokenError::UnfitKey,
        ),
        (
            "for an unknown algorithm",
            change("alg", "X".into()),
            TokenError::UnfitKey,
        ),
        (
            "of another curve",
            change("crv", "P-384".into()),
            TokenError::UnfitKey,
        ),
        (
            "of another kind",
            set(&[Signer::new("one", Algorithm::RS256).published()]),
            TokenError::UnfitKey,
        ),
        (
            "no point of the curve",
            change("x", URL_SAFE_NO_PAD.encode([1; 32]).into()),
            TokenError::Signature,
        ),
        ("too short", change("x", "AQ".into()), TokenError::Signature),
        ("none at all", set(&[]), TokenError::UnknownKey),
    ] {
        assert_eq!(believed(&token, &keys), Err(wanted), "{what}");
    }
    let verifies = change("key_ops", json!(["sign", "verify"]));
    assert!(believed(&token, &verifies).is_ok());
}

#[test]
fn a_token_that_names_no_key_is_believed_if_only_one_can_have_signed_it() {
    let (one, two) = (
        Signer::new("one", Algorithm::ES256),
        Signer::new("two", Algorithm::ES256),
    );
    let other = Signer::new("three", Algorithm::EdDSA);
    let token = one.sign_with(&json!({"alg": "ES256"}), &but(&json!({})));
    let keys = set(&[other.published(), one.published()]);
    assert!(believed(&token, &keys).is_ok());
    let keys = set(&[one.published(), two.published()]);
    assert_eq!(believed(&token, &keys), Err(TokenError::AmbiguousKey));
    // They may have been replaced since they were fetched.
    for keys in [set(&[two.published()]), set(&[other.published()])] {
        assert_eq!(believed(&token, &keys), Err(TokenError::UnknownKey));
    }
}

#[test]
fn a_header_brings_no_key_and_no_extension() {
    let signer = Signer::new("one", Algorithm::ES256);
    let forger = Signer::new("one", Algorithm::ES256);
    let keys = set(&[signer.published()]);
    let claims = but(&json!({}));
    let own = json!({"alg": "ES256", "kid": "one", "jwk": forger.published(), "jku": "https://evil.example.com", "x5u": "https://evil.example.com"});
    assert_eq!(
        believed(&forger.sign_with(&own, &claims), &keys),
        Err(TokenError::Signature)
    );
    for (header, wanted) in [
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
    ] {
        assert_eq!(
            believed(&signer.sign_with(&header, &claims), &keys),
            Err(wanted),
            "{header}"
        );
    }
    let named = json!({"alg": "ES256", "kid": "one", "typ": "JWT"});
    assert!(believed(&signer.sign_with(&named, &claims), &keys).is_ok());
}

#[test]
fn a_token_of_another_shape_is_not_believed() {
    let signer = Signer::new("one", Algorithm::ES256);
    let keys = set(&[signer.published()]);
    let good = signer.sign(&but(&json!({})));
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
        let result = believed(&token, &keys);
        assert!(result.is_err(), "{token:.80}");
    }
}

#[test]
fn a_renewed_token_needs_no_nonce() {
    let signer = Signer::new("one", Algorithm::ES256);
    let keys = set(&[signer.published()]);
    let renewed = Expected {
        nonce: None,
        ..expected()
    };
    let token = signer.sign(&but(&json!({"nonce": null})));
    assert!(verify(&token, &keys, &renewed, now()).is_ok());
    assert_eq!(
        verify(&token, &keys, &renewed, after(360)),
        Err(TokenError::Expired)
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_changed_token_is_believed(
        algorithm in prop::sample::select(vec![Algorithm::RS256, Algorithm::PS256, Algorithm::ES256, Algorithm::EdDSA]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<Option<prop::sample::Index>>(),
    ) {
        thread_local! {
            static GOOD: std::cell::RefCell<std::collections::HashMap<Algorithm, (String, KeySet)>> = std::cell::RefCell::default();
        }
        let (good, keys) = GOOD.with_borrow_mut(|made| made.entry(algorithm).or_insert_with(|| {
            let signer = Signer::new("one", algorithm);
            (signer.sign(&but(&json!({}))), set(&[signer.published()]))
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
        prop_assert!(believed(&token, &keys).is_err());
    }
}
