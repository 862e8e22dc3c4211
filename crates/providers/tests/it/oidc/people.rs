//! Tests of the mapping of claims to users and groups.

use drover_providers::oidc::claims::{ClaimMapping, ClaimPath};
use drover_providers::{Group, ProviderError, ProviderUser};
use serde_json::{Map, Value, json};

use super::{ResultKind, result_kind};

fn mapping(groups: &str) -> ClaimMapping {
    ClaimMapping {
        groups: ClaimPath::parse("oidc.groupsClaim", groups).unwrap(),
        login: ClaimPath::parse("oidc.loginClaim", "preferred_username").unwrap(),
    }
}

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn person(groups: &str, token: &Value, userinfo: &Value) -> Result<ProviderUser, ProviderError> {
    mapping(groups).person("ann-1", &object(token), &object(userinfo))
}

/// Returns the IDs of a user's groups.
fn groups(claim: &str, token: &Value) -> Vec<String> {
    let person = person(claim, token, &json!({})).unwrap();
    person.groups.into_iter().map(|group| group.id).collect()
}

#[test]
fn claims_of_the_id_token_take_precedence_over_userinfo() {
    let token = json!({"preferred_username": "ann", "groups": ["b", "a", "b"]});
    let userinfo = json!({"preferred_username": "eve", "groups": ["root"], "name": "Ann", "email": "ann@example.com"});
    let group = |id: &str| Group {
        id: id.to_owned(),
        name: id.to_owned(),
    };
    let expected = ProviderUser {
        id: "ann-1".to_owned(),
        login: "ann".to_owned(),
        display_name: Some("Ann".to_owned()),
        email: Some("ann@example.com".to_owned()),
        groups: vec![group("a"), group("b")],
    };
    assert_eq!(person("groups", &token, &userinfo).unwrap(), expected);
}

#[test]
fn user_without_valid_login_claim_has_the_subject_as_login() {
    for token in [
        json!({}),
        json!({"preferred_username": null}),
        json!({"preferred_username": ""}),
        json!({"preferred_username": "  "}),
        json!({"preferred_username": ["ann"]}),
        json!({"preferred_username": "a\u{202e}nna"}),
        json!({"preferred_username": "ann\r\nroot"}),
        json!({"preferred_username": "a".repeat(254)}),
    ] {
        let person = person("groups", &token, &json!({})).unwrap();
        assert_eq!(person.login, "ann-1", "{token}");
    }
}

#[test]
fn unverified_email_address_is_omitted() {
    let with = |verified: Value| json!({"email": "ann@example.com", "email_verified": verified});
    let email = |token: &Value| person("groups", token, &json!({})).unwrap().email;
    assert!(email(&with(true.into())).is_some());
    assert!(email(&json!({"email": "ann@example.com"})).is_some());
    assert!(email(&with(false.into())).is_none());
}

#[test]
fn groups_are_read_from_the_configured_claim_path() {
    for (claim, token, expected) in [
        ("groups", json!({"groups": ["b", "a"]}), vec!["a", "b"]),
        ("groups", json!({"groups": "one"}), vec!["one"]),
        ("groups", json!({"groups": []}), vec![]),
        ("groups", json!({"groups": null}), vec![]),
        ("groups", json!({}), vec![]),
        (
            "realm_access.roles",
            json!({"realm_access": {"roles": ["a"]}}),
            vec!["a"],
        ),
        ("a.b.c", json!({"a": {"b": {"c": "x"}}}), vec!["x"]),
        ("a.b.c", json!({"a": {"b": "x"}}), vec![]),
        ("a.b", json!({"a": ["b"]}), vec![]),
        // A claim name with dots takes precedence over a path.
        (
            "https://example.com/groups",
            json!({"https://example.com/groups": ["a"]}),
            vec!["a"],
        ),
        ("a.b", json!({"a.b": ["x"], "a": {"b": ["y"]}}), vec!["x"]),
    ] {
        assert_eq!(groups(claim, &token), expected, "{claim} in {token}");
    }
}

#[test]
fn encoded_group_ids_are_unique_and_valid_in_group_names() {
    let token = json!({"groups": ["Domain Admins", "Domain%20Admins", "größe", "a:b", "/team/x", "a\nb", "", "x".repeat(253), "x".repeat(254), "ü".repeat(85)]});
    let person = person("groups", &token, &json!({})).unwrap();
    let found: Vec<(&str, &str)> = person
        .groups
        .iter()
        .map(|group| (group.id.as_str(), group.name.as_str()))
        .collect();
    let long = "x".repeat(253);
    let expected = [
        ("/team/x", "/team/x"),
        ("Domain%20Admins", "Domain Admins"),
        ("Domain%2520Admins", "Domain%20Admins"),
        ("a%0Ab", "a%0Ab"),
        ("a:b", "a:b"),
        ("gr%C3%B6%C3%9Fe", "größe"),
        (long.as_str(), long.as_str()),
    ];
    assert_eq!(found, expected);
}

#[test]
fn invalid_groups_claim_returns_an_error() {
    let many: Vec<String> = (0..1001).map(|number| format!("g{number}")).collect();
    let thousand = &many[..1000];
    assert_eq!(groups("groups", &json!({"groups": thousand})).len(), 1000);
    for token in [
        json!({"groups": many}),
        json!({"groups": {"a": true}}),
        json!({"groups": 7}),
        json!({"groups": ["a", 7]}),
        json!({"groups": ["a", ["b"]]}),
        // Entra ID sends this for more than 200 groups.
        json!({"_claim_names": {"groups": "src1"}, "_claim_sources": {"src1": {"endpoint": "https://x"}}}),
    ] {
        let result = person("groups", &token, &json!({}));
        assert_eq!(
            result_kind(&result),
            ResultKind::Misconfigured("oidc.groupsClaim"),
            "{token}"
        );
    }
}

#[test]
fn claim_path_with_an_empty_segment_is_rejected() {
    for text in ["", ".", "a.", ".a", "a..b"] {
        let result = ClaimPath::parse("oidc.groupsClaim", text);
        assert_eq!(
            result_kind(&result),
            ResultKind::Misconfigured("oidc.groupsClaim"),
            "{text:?}"
        );
    }
}
