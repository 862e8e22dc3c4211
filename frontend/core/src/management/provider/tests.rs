use drover_api::kinds::{AuthProviderSpec, TokenPurpose};
use serde_json::json;

use super::*;

fn field(protocol: Protocol, path: &str) -> &'static Field {
    let mut fields = protocol.fields().iter();
    fields.find(|field| field.path == path).unwrap()
}

fn typed(protocol: Protocol, values: &[(&str, &str)]) -> Draft {
    let mut draft = Draft::new(protocol);
    for (path, value) in values {
        draft.set(field(protocol, path), (*value).to_owned());
    }
    draft
}

/// Adds the secret reference to the spec, as the server does, and parses the spec with the server's
/// type.
fn read(spec: &Value) -> AuthProviderSpec {
    let mut spec = spec.clone();
    for (protocol, name) in [("github", "clientSecret"), ("ldap", "bindPassword")] {
        if let Some(part) = spec.get_mut(protocol) {
            part[name] = json!({ "name": "n", "key": "k" });
        }
    }
    serde_json::from_value(spec).unwrap()
}

#[test]
fn ldap_form_creates_a_spec_with_its_values() {
    let mut draft = typed(
        Protocol::Ldap,
        &[
            ("spec.ldap.schema", "ActiveDirectory"),
            (
                "spec.ldap.servers",
                "ldaps://a.example\n\n ldaps://b.example ",
            ),
            ("spec.ldap.bindDn", "CN=drover"),
            ("spec.ldap.users.base", "OU=People"),
            ("spec.ldap.groups.base", "OU=Groups"),
        ],
    );
    draft.check(field(Protocol::Ldap, "spec.ldap.groups.nested"), true);
    assert!(draft.is_complete());
    let spec = draft.spec(&json!({}));
    let expected = json!({ "ldap": {
        "schema": "ActiveDirectory",
        "servers": ["ldaps://a.example", "ldaps://b.example"],
        "bindDn": "CN=drover",
        "users": { "base": "OU=People" },
        "groups": { "base": "OU=Groups", "nested": true },
    }});
    assert_eq!(spec, expected);
    assert!(read(&spec).ldap.is_some());
    draft.set(
        field(Protocol::Ldap, "spec.ldap.groups.base"),
        String::new(),
    );
    assert_eq!(
        draft.spec(&spec)["ldap"].get("groups"),
        None,
        "without a group base, the spec has no groups"
    );
}

#[test]
fn provider_edit_preserves_unknown_spec_fields() {
    let base = json!({
        "displayName": "Ours",
        "enabled": true,
        "allowed": { "users": ["7"], "groups": ["org:1", "team:2"] },
        "later": 1,
        "oidc": {
            "issuer": "https://id.example", "clientId": "drover", "scopes": ["profile", "groups"],
            "groupsClaim": "groups", "loginClaim": "upn", "new": "thing",
        },
    });
    let mut draft = Draft::of(&base).unwrap();
    assert_eq!(
        draft.spec(&base),
        base,
        "an unchanged draft gives the same spec"
    );
    assert_eq!(draft.groups, "org:1\nteam:2");
    draft.sign_out_there = true;
    assert!(read(&draft.spec(&base)).sign_out_there);
    draft.limited = false;
    draft.display_name = String::new();
    draft.set(field(Protocol::Oidc, "spec.oidc.scopes"), String::new());
    let changed = draft.spec(&base);
    assert!(changed.get("allowed").is_none() && changed.get("displayName").is_none());
    assert_eq!(changed["oidc"]["scopes"], json!([]));
    assert_eq!(
        (&changed["oidc"]["new"], &changed["later"]),
        (&json!("thing"), &json!(1))
    );
    assert!(Draft::of(&json!({ "saml": {} })).is_none());
}

#[test]
fn every_spec_created_by_the_provider_form_parses_as_the_server_type() {
    for protocol in Protocol::ALL {
        let mut draft = Draft::new(protocol);
        assert!(!draft.is_complete(), "{protocol:?}");
        for field in protocol.fields() {
            match field.entry {
                Entry::Flag => draft.check(field, true),
                Entry::OneOf(values) => draft.set(field, values[0].0.to_owned()),
                _ => draft.set(field, "x".to_owned()),
            }
        }
        draft.limited = true;
        draft.users = "7".to_owned();
        assert!(draft.is_complete());
        let spec = draft.spec(&json!({}));
        let known = serde_json::to_value(read(&spec)).unwrap();
        let part = |value: &Value| value[protocol.key()].as_object().unwrap().len();
        let secret = usize::from(protocol.needs_secret());
        assert_eq!(
            part(&known),
            part(&spec) + secret,
            "{protocol:?}: the server type ignores a field"
        );
        assert_eq!(Draft::of(&spec).unwrap(), draft);
    }
}

#[test]
fn id_attributes_of_a_saved_provider_cannot_change() {
    let groups = field(Protocol::Ldap, "spec.ldap.groups.idAttribute");
    let without = Draft::new(Protocol::Ldap);
    assert!(
        !without.stays(groups),
        "without groups, the attribute can change"
    );
    let with = typed(Protocol::Ldap, &[("spec.ldap.groups.base", "OU=Groups")]);
    assert!(with.stays(groups));
    let client = field(Protocol::Github, "spec.github.clientId");
    assert!(!Draft::new(Protocol::Github).stays(client));
}

#[test]
fn each_provider_field_has_a_unique_path() {
    let mut paths = PATHS.to_vec();
    paths.sort_unstable();
    paths.dedup();
    let fields = Protocol::ALL.iter().flat_map(|it| it.fields());
    assert_eq!(paths.len(), fields.count());
    assert!(paths.iter().all(|path| path.starts_with("spec.")));
}

#[test]
fn redirect_uri_contains_the_provider_name() {
    let expected = "https://drover.example/v1/providers/corp/callback";
    assert_eq!(callback("https://drover.example/", "corp"), expected);
    assert!(callback("https://d", "").contains("/NAME/"));
}

#[test]
fn users_with_several_tokens_are_counted_once() {
    let token = |username: &str, provider: Option<&str>, expires: i64| TokenView {
        id: String::new(),
        username: username.to_owned(),
        purpose: TokenPurpose::Browser,
        cluster: None,
        provider: provider.map(str::to_owned),
        description: None,
        created_at: Timestamp::UNIX_EPOCH,
        expires_at: Timestamp::from_second(expires).unwrap(),
        last_used_at: None,
    };
    let tokens = [
        token("ann", Some("corp"), 9),
        token("ann", Some("corp"), 9),
        token("bob", Some("corp"), 9),
        token("eve", Some("corp"), 1),
        token("eve", Some("other"), 9),
        token("dan", None, 9),
    ];
    let now = Timestamp::from_second(5).unwrap();
    assert_eq!(dependents(&tokens, "corp", now), (2, 3));
}

#[test]
fn provider_filter_matches_displayed_values() {
    let view = AuthProviderView {
        name: "corp".to_owned(),
        uid: String::new(),
        spec: json!({ "displayName": "Ours", "enabled": false, "ldap": {} }),
        has_secret: true,
        resource_version: String::new(),
        created_at: Timestamp::UNIX_EPOCH,
        last_answer_at: None,
        conditions: Vec::new(),
    };
    for (words, expected) in [
        ("", true),
        ("OURS ldap", true),
        ("disabled", true),
        ("not checked", true),
        ("github", false),
    ] {
        assert_eq!(passes(&view, words), expected, "{words}");
    }
    assert!(is_enabled(&enabled(&view.spec, true)));
}

#[test]
fn protocol_switch_preserves_entered_values() {
    let issuer = field(Protocol::Oidc, "spec.oidc.issuer");
    let draft = typed(Protocol::Oidc, &[("spec.oidc.issuer", "https://a.example")]);
    let meanwhile = draft.with_protocol(Protocol::Ldap);
    assert_eq!(
        Protocol::of(&meanwhile.spec(&json!({}))),
        Some(Protocol::Ldap)
    );
    let again = meanwhile.with_protocol(Protocol::Oidc);
    assert_eq!(again.value(issuer), "https://a.example");
    let spec = again.spec(&json!({}));
    assert!(spec.get("ldap").is_none() && spec.get("github").is_none());
}
