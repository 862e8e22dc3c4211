use clap::Parser;

use super::*;
use crate::args::{ClientArgs, ClientCommand};

fn args(line: &[&str]) -> CredentialArgs {
    let line = ["drover", "credential"].iter().chain(line);
    match ClientArgs::try_parse_from(line).unwrap().command {
        ClientCommand::Credential(args) => args,
        other => unreachable!("{other:?}"),
    }
}

fn info(version: &str, server: &str) -> String {
    json!({
        "apiVersion": version,
        "kind": "ExecCredential",
        "spec": {"interactive": false, "cluster": {"server": server, "certificate-authority-data": "QQ=="}},
    })
    .to_string()
}

#[test]
fn server_and_cluster_are_read_from_exec_info() {
    let text = info(V1BETA1, "https://d.example:8443/k8s/clusters/berlin");
    let found = token_request(&args(&[]), Some(&text)).unwrap();
    assert_eq!(
        found.server,
        Some("https://d.example:8443".parse().unwrap())
    );
    assert_eq!(
        (found.cluster.as_deref(), found.version),
        (Some("berlin"), V1BETA1)
    );
}

#[test]
fn flags_take_precedence_over_exec_info() {
    let text = info(V1, "https://d.example/k8s/clusters/berlin/");
    let flags = args(&["--server", "https://e.example", "--cluster", "oslo"]);
    let found = token_request(&flags, Some(&text)).unwrap();
    assert_eq!(found.server, Some("https://e.example".parse().unwrap()));
    assert_eq!(found.cluster.as_deref(), Some("oslo"));
}

#[test]
fn credential_error_for_missing_cluster_or_unknown_version_contains_advice() {
    let tables = [
        (None, "use --cluster"),
        (Some("{}".to_owned()), "use --cluster"),
        (Some("nonsense".to_owned()), "kubectl runs"),
        (
            Some(info(
                "client.authentication.k8s.io/v9",
                "https://a/k8s/clusters/b",
            )),
            "new kubeconfig",
        ),
        (
            Some(info(V1, "https://d.example/elsewhere")),
            "use --cluster",
        ),
    ];
    for (text, advice) in tables {
        let failure = token_request(&args(&[]), text.as_deref()).unwrap_err();
        assert_eq!(failure.code(), 2);
        assert!(failure.text().contains(advice), "{}", failure.text());
    }
}

#[test]
fn kubectl_renews_the_token_before_token_expiry() {
    for (created, again) in [
        ("2026-11-21T11:45:00Z", "2026-11-21T11:59:30Z"),
        ("2026-11-21T11:59:00Z", "2026-11-21T11:59:54Z"),
    ] {
        let token: TokenView = serde_json::from_value(json!({"id": "a", "username": "ann",
            "purpose": "Credential", "createdAt": created, "expiresAt": "2026-11-21T12:00:00Z"}))
        .unwrap();
        assert_eq!(renewal(&token).to_string(), again);
    }
}
