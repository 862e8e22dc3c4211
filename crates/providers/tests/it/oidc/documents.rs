//! Tests of the parsing of discovery documents and key sets, and of the validation of the
//! configuration.

use drover_providers::ProviderError;
use drover_providers::oidc::Oidc;
use drover_providers::oidc::issuer::Issuer;
use drover_providers::oidc::keys::{Algorithm, KeySet};
use drover_providers::oidc::metadata::{ClientAuthentication, Metadata};
use secrecy::SecretString;
use serde_json::{Value, json};

use super::{ResultKind, SECRET, result_kind, spec};

const ISSUER: &str = "https://id.example.com/realms/a";

fn document(change: &Value) -> Value {
    let mut document = json!({
        "issuer": ISSUER,
        "authorization_endpoint": "https://id.example.com/a",
        "token_endpoint": "https://id.example.com/t",
        "jwks_uri": "https://keys.example.com/k",
    });
    for (name, value) in change.as_object().unwrap() {
        document[name] = value.clone();
    }
    document
}

fn read(document: &Value) -> Result<Metadata, ProviderError> {
    let issuer = Issuer::parse(ISSUER).unwrap();
    Metadata::parse(&issuer, document.to_string().as_bytes())
}

#[test]
fn minimal_discovery_document_is_completed_with_defaults_of_the_specification() {
    let metadata = read(&document(&json!({}))).unwrap();
    assert_eq!(metadata.algorithms, [Algorithm::RS256]);
    let basic = Some(ClientAuthentication::Basic);
    assert_eq!(metadata.authentication, basic);
    assert_eq!(metadata.userinfo, None);
    assert_eq!(metadata.end_session, None);
    assert!(!metadata.sends_iss && !metadata.advertises_pkce);
}

#[test]
fn discovery_document_with_unsupported_values_is_rejected() {
    let issuer = ResultKind::Misconfigured("oidc.issuer");
    for (change, expected) in [
        (json!({"issuer": "https://id.example.com/realms/b"}), issuer),
        (
            json!({"issuer": "https://id.example.com/realms/a/"}),
            issuer,
        ),
        (json!({"issuer": "https://ID.example.com/realms/a"}), issuer),
        (
            json!({"issuer": "https://id.example.com:443/realms/a"}),
            issuer,
        ),
        (json!({"issuer": ""}), issuer),
        (json!({"issuer": null}), ResultKind::InvalidResponse),
        (
            json!({"response_types_supported": ["id_token", "code token"]}),
            issuer,
        ),
        (
            json!({"code_challenge_methods_supported": ["plain"]}),
            issuer,
        ),
        (json!({"code_challenge_methods_supported": []}), issuer),
        (
            json!({"id_token_signing_alg_values_supported": ["none", "HS256"]}),
            issuer,
        ),
        (json!({"id_token_signing_alg_values_supported": []}), issuer),
        (json!({"token_endpoint": null}), ResultKind::InvalidResponse),
        (json!({"jwks_uri": null}), ResultKind::InvalidResponse),
        (
            json!({"authorization_endpoint": null}),
            ResultKind::InvalidResponse,
        ),
        (
            json!({"token_endpoint": "http://id.example.com/t"}),
            ResultKind::InvalidResponse,
        ),
        (
            json!({"jwks_uri": "file:///etc/passwd"}),
            ResultKind::InvalidResponse,
        ),
        (json!({"jwks_uri": "/k"}), ResultKind::InvalidResponse),
        (
            json!({"userinfo_endpoint": "http://id.example.com/u"}),
            ResultKind::InvalidResponse,
        ),
        (
            json!({"end_session_endpoint": "javascript:alert(1)"}),
            ResultKind::InvalidResponse,
        ),
        (
            json!({"authorization_endpoint": "javascript:alert(1)"}),
            ResultKind::InvalidResponse,
        ),
        (
            json!({"authorization_endpoint": "https://u:p@id.example.com/a"}),
            ResultKind::InvalidResponse,
        ),
        (
            json!({"authorization_endpoint": "https://id.example.com/a#b"}),
            ResultKind::InvalidResponse,
        ),
        (json!({"token_endpoint": 7}), ResultKind::InvalidResponse),
    ] {
        assert_eq!(result_kind(&read(&document(&change))), expected, "{change}");
    }
    for text in ["", "[]", "<html>", "{\"issuer\":\"a\",\"issuer\":\"b\"}"] {
        let issuer = Issuer::parse(ISSUER).unwrap();
        let result = Metadata::parse(&issuer, text.as_bytes());
        assert_eq!(result_kind(&result), ResultKind::InvalidResponse, "{text}");
    }
}

#[test]
fn provider_text_in_errors_is_truncated_and_escaped() {
    let name = format!("https://x/\u{1b}[2J\n{}", "y".repeat(5000));
    let text = read(&document(&json!({ "issuer": name })))
        .unwrap_err()
        .to_string();
    assert!(
        text.len() < 400 && !text.contains('\u{1b}') && !text.contains('\n'),
        "{text}"
    );
}

#[test]
fn issuer_must_be_an_https_url_without_user_info_query_or_fragment() {
    for (text, expected) in [
        ("https://id.example.com", true),
        ("https://id.example.com/", true),
        ("https://id.example.com:8443/realms/a", true),
        ("https://127.0.0.1", true),
        ("http://id.example.com", false),
        ("HTTP://id.example.com", false),
        ("id.example.com", false),
        ("https://", false),
        ("https://u@id.example.com", false),
        ("https://u:p@id.example.com", false),
        ("https://:p@id.example.com", false),
        ("https://id.example.com?x=1", false),
        ("https://id.example.com/?", false),
        ("https://id.example.com#x", false),
        ("https://id.example.com/#", false),
        ("file:///etc/passwd", false),
        ("", false),
    ] {
        assert_eq!(Issuer::parse(text).is_ok(), expected, "{text}");
    }
    let long = format!("https://id.example.com/{}", "a".repeat(2048));
    assert!(Issuer::parse(&long).is_err());
}

#[test]
fn discovery_url_ignores_trailing_slashes_of_the_issuer() {
    for (text, expected) in [
        (
            "https://a.example",
            "https://a.example/.well-known/openid-configuration",
        ),
        (
            "https://a.example/",
            "https://a.example/.well-known/openid-configuration",
        ),
        (
            "https://a.example/b/",
            "https://a.example/b/.well-known/openid-configuration",
        ),
    ] {
        let issuer = Issuer::parse(text).unwrap();
        assert_eq!(issuer.discovery().as_str(), expected);
        assert_eq!(issuer.as_str(), text);
    }
}

#[test]
fn invalid_configuration_error_names_the_field() {
    let new = |change: Value, secret: Option<&str>| {
        let mut value = serde_json::to_value(spec(ISSUER, "")).unwrap();
        value.as_object_mut().unwrap().remove("caBundle");
        for (name, member) in change.as_object().unwrap() {
            value[name] = member.clone();
        }
        let spec = serde_json::from_value(value).unwrap();
        result_kind(&Oidc::new(&spec, secret.map(SecretString::from)))
    };
    for (change, secret, field) in [
        (json!({"issuer": "http://x"}), Some(SECRET), "oidc.issuer"),
        (json!({"clientId": ""}), Some(SECRET), "oidc.clientId"),
        (json!({}), Some(""), "oidc.clientSecret"),
        (json!({}), None, "oidc.clientSecret"),
        (
            json!({"clientSecret": null}),
            Some(SECRET),
            "oidc.clientSecret",
        ),
        (json!({"scopes": ["a b"]}), Some(SECRET), "oidc.scopes"),
        (json!({"scopes": [""]}), Some(SECRET), "oidc.scopes"),
        (
            json!({"groupsClaim": "a..b"}),
            Some(SECRET),
            "oidc.groupsClaim",
        ),
        (json!({"loginClaim": "."}), Some(SECRET), "oidc.loginClaim"),
        (json!({"caBundle": ""}), Some(SECRET), "oidc.caBundle"),
        (json!({"caBundle": "no PEM"}), Some(SECRET), "oidc.caBundle"),
        (
            json!({"caBundle": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"}),
            Some(SECRET),
            "oidc.caBundle",
        ),
    ] {
        assert_eq!(
            new(change.clone(), secret),
            ResultKind::Misconfigured(field),
            "{change}"
        );
    }
}

#[test]
fn unsupported_keys_are_dropped_from_a_key_set() {
    let good = super::signer::Signer::new("one", Algorithm::ES256).published();
    let set = json!({"keys": [
        good,
        {"kty": "EC", "crv": "secp256k1", "x": "AA", "y": "AA"},
        {"kty": "oct", "k": "AAAA"},
        {"kty": "OKP", "crv": "X25519", "x": "AA"},
        {"kty": "RSA", "n": "!", "e": "AQAB"},
        {"kty": "new"}, 7, null, {},
    ]});
    let keys = KeySet::parse(set.to_string().as_bytes()).unwrap();
    assert_eq!(keys.len(), 1);
}
