//! Which signatures are believed, and of which keys.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use drover_providers::oidc::id_token::TokenError;
use drover_providers::oidc::keys::Algorithm;
use serde_json::{Value, json};

use super::super::signer::{Signer, encoded, hmac, set};
use super::{believed, but};

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
            TokenError::UnsuitableKey,
        ),
        (
            "for an unknown algorithm",
            change("alg", "X".into()),
            TokenError::UnsuitableKey,
        ),
        (
            "of another curve",
            change("crv", "P-384".into()),
            TokenError::UnsuitableKey,
        ),
        (
            "of another kind",
            set(&[Signer::new("one", Algorithm::RS256).published()]),
            TokenError::UnsuitableKey,
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
        (json!(["ES256", "one", null, null]), TokenError::Shape),
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
