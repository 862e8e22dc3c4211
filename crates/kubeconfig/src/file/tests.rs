use secrecy::ExposeSecret as _;
use serde_json::json;

use super::*;

/// Returns a kubeconfig whose cluster and user have these additional fields.
fn kubeconfig(cluster: &Value, user: &Value) -> String {
    let mut file = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "main",
        "contexts": [
            { "name": "other", "context": { "cluster": "other", "user": "other" } },
            { "name": "main", "context": { "cluster": "c", "user": "u", "namespace": "n" } },
        ],
        "clusters": [{ "name": "c", "cluster": { "server": "https://a.example:6443" } }],
        "users": [
            { "name": "other", "user": { "exec": { "command": "sh" } } },
            { "name": "u", "user": { "token": "secret-token" } },
        ],
    });
    let merge = |target: &mut Value, fields: &Value| {
        for (key, value) in fields.as_object().unwrap() {
            target[key] = value.clone();
        }
    };
    merge(&mut file["clusters"][0]["cluster"], cluster);
    merge(&mut file["users"][1]["user"], user);
    file.to_string()
}

fn error(cluster: &Value, user: &Value) -> KubeconfigError {
    parse(kubeconfig(cluster, user).as_bytes()).unwrap_err()
}

fn refused(cluster: &Value, user: &Value) -> &'static str {
    match error(cluster, user) {
        KubeconfigError::Refused { field, .. } => field,
        other => panic!("{other}"),
    }
}

#[test]
fn embedded_token_is_accepted_and_other_contexts_do_not_count() {
    let access = parse(kubeconfig(&json!({}), &json!({})).as_bytes()).unwrap();
    assert_eq!(access.server.to_string(), "https://a.example:6443");
    assert_eq!(access.namespace.as_deref(), Some("n"));
    let Some(Authorization::Token(token)) = &access.authorization else {
        panic!("{access:?}");
    };
    assert_eq!(token.expose_secret(), "secret-token");
    assert!(!format!("{access:?}").contains("secret-token"));
}

#[test]
fn programs_of_a_kubeconfig_are_refused() {
    let none = json!({});
    let exec =
        json!({ "exec": { "command": "sh", "apiVersion": "client.authentication.k8s.io/v1" } });
    assert_eq!(refused(&none, &exec), "exec");
    let provider = json!({ "auth-provider": { "name": "gcp" } });
    assert_eq!(refused(&none, &provider), "auth-provider");
}

#[test]
fn file_paths_of_a_kubeconfig_are_refused() {
    let (none, path) = (json!({}), "/etc/passwd");
    for field in ["tokenFile", "client-certificate", "client-key"] {
        assert_eq!(refused(&none, &json!({ field: path })), field);
    }
    let authority = json!({ "certificate-authority": path });
    assert_eq!(refused(&authority, &none), "certificate-authority");
}

#[test]
fn connections_without_verification_or_through_a_proxy_are_refused() {
    let none = json!({});
    let insecure = json!({ "insecure-skip-tls-verify": true });
    assert_eq!(refused(&insecure, &none), "insecure-skip-tls-verify");
    let text = json!({ "insecure-skip-tls-verify": "true" });
    assert_eq!(refused(&text, &none), "insecure-skip-tls-verify");
    let proxy = json!({ "proxy-url": "socks5://127.0.0.1" });
    assert_eq!(refused(&proxy, &none), "proxy-url");
    assert_eq!(refused(&none, &json!({ "as": "admin" })), "as");
    let plain = json!({ "server": "http://a.example" });
    assert_eq!(error(&plain, &none), HttpsUrlError.into());
}

#[test]
fn zero_values_of_refused_fields_are_accepted() {
    let cluster = json!({ "insecure-skip-tls-verify": false, "proxy-url": "" });
    let user = json!({ "exec": null, "tokenFile": "", "as-groups": [] });
    assert!(parse(kubeconfig(&cluster, &user).as_bytes()).is_ok());
}

#[test]
fn missing_and_invalid_credentials_are_errors_that_name_the_field() {
    let none = json!({});
    let empty = json!({ "token": "" });
    assert_eq!(error(&none, &empty), KubeconfigError::NoCredential);
    let half = json!({ "token": null, "username": "a" });
    assert_eq!(error(&none, &half), KubeconfigError::NoCredential);
    let two = json!({ "username": "a", "password": "secret" });
    assert_eq!(error(&none, &two), KubeconfigError::TwoCredentials);
    for (field, value) in [
        ("certificate-authority-data", "%%%"),
        ("certificate-authority-data", "bm8gcGVt"),
    ] {
        let cluster = json!({ field: value });
        assert_eq!(error(&cluster, &none), KubeconfigError::Pem(field));
    }
    let certificate =
        json!({ "client-certificate-data": "bm8gcGVt", "client-key-data": "bm8gcGVt" });
    let expected = KubeconfigError::Pem("client-certificate-data");
    assert_eq!(error(&none, &certificate), expected);
}

#[test]
fn errors_contain_no_part_of_the_kubeconfig() {
    for text in [
        "current-context: [secret-token",
        "users: secret-token",
        "users: [{name: u, user: {token: [secret-token]}}]",
        "!secret-token",
        "\u{0}secret-token",
    ] {
        let message = parse(text.as_bytes()).unwrap_err().to_string();
        assert!(!message.contains("secret-token"), "{message}");
    }
    let large = vec![b' '; MAX_BYTES + 1];
    assert_eq!(parse(&large).unwrap_err(), KubeconfigError::Size);
}
