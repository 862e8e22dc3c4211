use drover_api::fleet::{BundleSpec, GitRepoSpec};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::*;

fn object<T: DeserializeOwned>(kind: &str, name: &str, mut fields: Value) -> T {
    fields["apiVersion"] = json!("fleet.cattle.io/v1alpha1");
    fields["kind"] = json!(kind);
    fields["metadata"] = json!({ "name": name, "namespace": "tenant" });
    serde_json::from_value(fields).unwrap()
}

fn restricted(fields: Value) -> Policies {
    Policies::merge([&object("GitRepoRestriction", "r", fields)], [])
}

fn governed(fields: Value) -> Policies {
    Policies::merge([], [&object("Policy", "p", fields)])
}

fn repo(spec: Value) -> GitRepo {
    GitRepo {
        spec: serde_json::from_value::<GitRepoSpec>(spec).unwrap(),
        ..GitRepo::default()
    }
}

fn bundle(spec: Value, is_of_git_repo: bool) -> Bundle {
    let mut bundle = Bundle {
        spec: serde_json::from_value::<BundleSpec>(spec).unwrap(),
        ..Bundle::default()
    };
    if is_of_git_repo {
        let label = (labels::REPO_NAME.to_owned(), "shop".to_owned());
        bundle.metadata.labels = Some([label].into());
    }
    bundle
}

#[test]
fn namespace_without_objects_permits_everything() {
    let policies = Policies::merge([], []);
    let resolved = policies.git_repo(&repo(json!({ "serviceAccount": "any" })));
    assert_eq!(resolved.unwrap().service_account, "any");
    let own = json!({ "serviceAccount": "any", "namespace": "kube-system" });
    policies.bundle(&bundle(own, true)).unwrap();
}

#[test]
fn lists_are_united_and_first_default_by_name_wins() {
    let second = object(
        "GitRepoRestriction",
        "b",
        json!({ "defaultServiceAccount": "two", "allowedServiceAccounts": ["two"] }),
    );
    let first = object(
        "GitRepoRestriction",
        "a",
        json!({ "defaultServiceAccount": "one", "allowedServiceAccounts": ["one"] }),
    );
    let policy = object(
        "Policy",
        "p",
        json!({ "allowedServiceAccounts": ["three"] }),
    );
    let policies = Policies::merge([&second, &first], [&policy]);
    let resolved = policies.git_repo(&repo(json!({}))).unwrap();
    assert_eq!(resolved.service_account, "one");
    for account in ["one", "two", "three"] {
        let repo = repo(json!({ "serviceAccount": account }));
        assert!(policies.git_repo(&repo).is_ok(), "{account}");
    }
    let refusal = policies.git_repo(&repo(json!({ "serviceAccount": "four" })));
    assert_eq!(
        refusal.unwrap_err().to_string(),
        "spec.serviceAccount: \"four\" is not permitted by allowedServiceAccounts of \
         GitRepoRestriction a, GitRepoRestriction b, Policy p; permitted: one, two, three"
    );
}

#[test]
fn secret_of_git_repo_must_be_permitted_or_default() {
    let limits = json!({ "defaultClientSecretName": "git", "allowedClientSecretNames": ["git"] });
    for policies in [
        restricted(limits.clone()),
        governed(json!({ "gitRepo": limits })),
    ] {
        let resolved = policies.git_repo(&repo(json!({}))).unwrap();
        assert_eq!(resolved.secret_name, "git");
        let other = repo(json!({ "clientSecretName": "other" }));
        assert!(policies.git_repo(&other).is_err());
    }
}

#[test]
fn patterns_of_policies_match_the_complete_url_and_patterns_of_restrictions_a_part() {
    let patterns = json!({ "allowedRepoPatterns": ["https://git.example/.*"] });
    let inner = repo(json!({ "repo": "https://evil.example/?https://git.example/a" }));
    let good = repo(json!({ "repo": "https://git.example/a" }));
    let restricted = restricted(patterns.clone());
    assert!(restricted.git_repo(&inner).is_ok());
    let governed = governed(json!({ "gitRepo": patterns }));
    assert!(governed.git_repo(&inner).is_err());
    assert!(governed.git_repo(&good).is_ok());
}

#[test]
fn url_needs_a_match_in_one_of_the_two_lists() {
    let restriction = object(
        "GitRepoRestriction",
        "r",
        json!({ "allowedRepoPatterns": ["//a/"] }),
    );
    let policy = json!({ "gitRepo": { "allowedRepoPatterns": ["https://b/.*"] } });
    let policies = Policies::merge([&restriction], [&object("Policy", "p", policy)]);
    for (url, permitted) in [
        ("https://a/x", true),
        ("https://b/x", true),
        ("https://c/x", false),
    ] {
        let result = policies.git_repo(&repo(json!({ "repo": url })));
        assert_eq!(result.is_ok(), permitted, "{url}");
    }
}

#[test]
fn patterns_of_repositories_apply_to_charts_in_git_repositories() {
    let notations = ["ssh://git@h/o/r", "git::ssh://git@h/o/r", "git@h:o/r"];
    let notations = notations.map(str::to_owned);
    assert_eq!(Policies::default().git_chart(&notations), Ok(()));
    for (pattern, permitted) in [
        ("git@h:o/.*", true),
        ("ssh://.*", true),
        ("git@h:p/.*", false),
    ] {
        let patterns = json!({ "allowedRepoPatterns": [pattern] });
        let policies = governed(json!({ "gitRepo": patterns }));
        let result = policies.git_chart(&notations);
        assert_eq!(result.is_ok(), permitted, "{pattern}");
        let field = result
            .err()
            .map(|error| error.to_string().contains("helm.chart: "));
        assert_eq!(field, (!permitted).then_some(true));
    }
}

#[test]
fn invalid_and_huge_patterns_refuse_and_equal_text_matches() {
    for pattern in ["(", "(a{1000}){1000}"] {
        let policies = restricted(json!({ "allowedRepoPatterns": [pattern] }));
        let result = policies.git_repo(&repo(json!({ "repo": "https://a" })));
        assert!(matches!(result, Err(Refusal::Pattern { .. })), "{pattern}");
        assert!(policies.git_repo(&repo(json!({ "repo": pattern }))).is_ok());
    }
}

#[test]
fn list_and_selector_of_namespaces_require_a_target_namespace() {
    let list = restricted(json!({ "allowedTargetNamespaces": ["shop"] }));
    let selector = json!({ "matchLabels": { "tenant": "a" } });
    let selector = restricted(json!({ "allowedTargetNamespaceSelector": selector }));
    for policies in [&list, &selector] {
        let result = policies.git_repo(&repo(json!({})));
        assert!(matches!(result, Err(Refusal::Missing { .. })));
        let reset = json!({ "namespace": "shop", "targets": [{ "namespace": "-" }] });
        assert!(policies.bundle(&bundle(reset, true)).is_err());
    }
    let other = repo(json!({ "targetNamespace": "kube-system" }));
    assert!(list.git_repo(&other).is_err());
    assert!(selector.git_repo(&other).is_ok());
    assert!(selector.namespace_selector().is_some());
}

#[test]
fn target_of_bundle_cannot_leave_the_limits() {
    let limits = json!({ "requireServiceAccount": true, "allowedServiceAccounts": ["deployer"] });
    let policies = governed(limits);
    for (account, target, permitted) in [
        ("deployer", "", true),
        ("deployer", "deployer", true),
        ("", "deployer", false),
        ("-", "", false),
        ("deployer", "-", false),
        ("deployer", "admin", false),
        ("admin", "", false),
    ] {
        let spec = json!({
            "serviceAccount": account, "targets": [{ "name": "t", "serviceAccount": target }]
        });
        // A Bundle of `fleet apply` has no label of a GitRepo.
        for is_of_git_repo in [true, false] {
            let result = policies.bundle(&bundle(spec.clone(), is_of_git_repo));
            assert_eq!(result.is_ok(), permitted, "{account:?} {target:?}");
        }
    }
}

#[test]
fn restrictions_apply_to_bundles_of_git_repos_and_permit_the_default() {
    let policies = restricted(json!({
        "defaultServiceAccount": "base", "allowedServiceAccounts": ["deployer"],
    }));
    let of = |account: &str, is_of_git_repo| {
        policies.bundle(&bundle(
            json!({ "serviceAccount": account }),
            is_of_git_repo,
        ))
    };
    assert!(of("deployer", true).is_ok());
    assert!(of("base", true).is_ok());
    assert!(of("admin", true).is_err());
    assert!(of("admin", false).is_ok());
}

#[test]
fn helm_op_receives_defaults_before_the_limits_apply() {
    let policies = governed(json!({
        "requireServiceAccount": true,
        "helmOp": {
            "defaultServiceAccount": "helm", "defaultHelmSecretName": "registry",
            "allowedHelmRepoPatterns": ["https://charts\\.example"],
        }
    }));
    let helm_op = |repo: &str| -> HelmOp {
        object(
            "HelmOp",
            "h",
            json!({ "spec": { "helm": { "repo": repo, "chart": "a" } } }),
        )
    };
    let resolved = policies
        .helm_op(&helm_op("https://charts.example"))
        .unwrap();
    assert_eq!(resolved.service_account, "helm");
    assert_eq!(resolved.secret_name, "registry");
    assert!(
        policies
            .helm_op(&helm_op("https://charts.example.evil"))
            .is_err()
    );
    let of_target = json!({ "spec": { "targets": [{ "helm": { "repo": "https://evil" } }] } });
    assert!(policies.helm_op(&object("HelmOp", "h", of_target)).is_err());
}

#[test]
fn limits_of_helm_ops_apply_to_bundles_that_users_create() {
    let policies = governed(json!({ "helmOp": {
        "allowedHelmSecretNames": ["registry"],
        "allowedHelmRepoPatterns": ["https://charts\\.example/.*"],
    } }));
    let spec = |secret: &str, repo: &str| {
        json!({
            "helm": { "chart": "shop", "repo": repo },
            "helmOpOptions": { "helmOpSecretName": secret },
        })
    };
    let decide = |secret, repo| policies.bundle(&bundle(spec(secret, repo), false));
    decide("registry", "https://charts.example/a").unwrap();
    let refusal = decide("git", "https://charts.example/a").unwrap_err();
    assert!(refusal.to_string().starts_with("spec.helmOpOptions."));
    let refusal = decide("registry", "https://elsewhere.example").unwrap_err();
    assert!(refusal.to_string().starts_with("spec.helm.repo"));
}
