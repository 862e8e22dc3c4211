//! Checks that dependencies point in one direction: programs → tunnel → access → api.

use crate::{members, read, run};

/// The crates and their allowed dependencies. Add a new crate to this list.
const CRATES: &[(&str, &[&str])] = &[
    ("drover-api", &[]),
    ("drover-quantity", &[]),
    ("drover-gotemplate", &[]),
    ("drover-rbac", &[]),
    ("drover-reconcile", &[]),
    ("drover-webhooks", &[]),
    (
        "drover-access",
        &["drover-api", "drover-quantity", "drover-rbac"],
    ),
    (
        "drover-apiserver",
        &["drover-quantity", "drover-rbac", "drover-reconcile"],
    ),
    ("drover-charts", &["drover-gitops", "drover-render-process"]),
    ("drover-entropy", &[]),
    ("drover-render-process", &[]),
    ("drover-fuzz-corpus", &[]),
    ("drover-addresses", &[]),
    ("drover-git", &["drover-addresses"]),
    ("drover-gitops", &["drover-api", "drover-gotemplate"]),
    ("drover-kubeconfig", &["drover-addresses"]),
    ("drover-tls", &[]),
    ("drover-telemetry", &["drover-access", "drover-tls"]),
    (
        "drover-http-edge",
        &[
            "drover-api",
            "drover-entropy",
            "drover-tls",
            "drover-tunnel",
        ],
    ),
    (
        "drover-hub",
        &[
            "drover-access",
            "drover-api",
            "drover-apiserver",
            "drover-entropy",
            "drover-http-edge",
            "drover-rbac",
            "drover-reconcile",
            "drover-telemetry",
            "drover-tls",
        ],
    ),
    (
        "drover-apply",
        &["drover-access", "drover-api", "drover-quantity"],
    ),
    (
        "drover-deploy",
        &[
            "drover-api",
            "drover-apply",
            "drover-gitops",
            "drover-quantity",
            "drover-render-process",
        ],
    ),
    (
        "drover-audit",
        &[
            "drover-access",
            "drover-api",
            "drover-http-edge",
            "drover-telemetry",
        ],
    ),
    (
        "drover-identity",
        &[
            "drover-access",
            "drover-api",
            "drover-audit",
            "drover-entropy",
            "drover-http-edge",
            "drover-hub",
            "drover-providers",
            "drover-reconcile",
        ],
    ),
    (
        "drover-agent-gateway",
        &[
            "drover-access",
            "drover-api",
            "drover-audit",
            "drover-entropy",
            "drover-gitops",
            "drover-http-edge",
            "drover-hub",
            "drover-identity",
            "drover-telemetry",
            "drover-tunnel",
        ],
    ),
    (
        "drover-proxy",
        &[
            "drover-access",
            "drover-agent-gateway",
            "drover-api",
            "drover-audit",
            "drover-http-edge",
            "drover-hub",
            "drover-identity",
            "drover-telemetry",
            "drover-tunnel",
            "drover-reconcile",
        ],
    ),
    (
        "drover-git-hosting",
        &[
            "drover-access",
            "drover-api",
            "drover-audit",
            "drover-http-edge",
            "drover-hub",
            "drover-identity",
        ],
    ),
    ("drover-rows", &["drover-quantity"]),
    (
        "drover-history",
        &[
            "drover-access",
            "drover-api",
            "drover-http-edge",
            "drover-identity",
            "drover-proxy",
        ],
    ),
    (
        "drover-row-service",
        &[
            "drover-access",
            "drover-api",
            "drover-history",
            "drover-http-edge",
            "drover-identity",
            "drover-proxy",
            "drover-rows",
        ],
    ),
    (
        "drover-terminals",
        &[
            "drover-access",
            "drover-api",
            "drover-audit",
            "drover-entropy",
            "drover-http-edge",
            "drover-identity",
            "drover-proxy",
        ],
    ),
    (
        "drover-port-forwards",
        &[
            "drover-access",
            "drover-api",
            "drover-audit",
            "drover-entropy",
            "drover-http-edge",
            "drover-identity",
            "drover-proxy",
        ],
    ),
    (
        "drover-rest",
        &[
            "drover-access",
            "drover-agent-gateway",
            "drover-api",
            "drover-apply",
            "drover-audit",
            "drover-entropy",
            "drover-history",
            "drover-http-edge",
            "drover-hub",
            "drover-identity",
            "drover-port-forwards",
            "drover-rbac",
            "drover-row-service",
            "drover-telemetry",
            "drover-terminals",
        ],
    ),
    (
        "drover-controllers",
        &[
            "drover-access",
            "drover-agent-gateway",
            "drover-api",
            "drover-apply",
            "drover-hub",
            "drover-identity",
            "drover-reconcile",
        ],
    ),
    ("drover-providers", &["drover-api"]),
    (
        "drover-simulate",
        &["drover-apiserver", "drover-quantity", "drover-reconcile"],
    ),
    (
        "drover-cli",
        &[
            "drover-api",
            "drover-charts",
            "drover-deploy",
            "drover-entropy",
            "drover-gitops",
            "drover-rows",
            "drover-tls",
        ],
    ),
    ("drover-tunnel", &["drover-access", "drover-api"]),
    (
        "drover-testkit",
        &["drover-tunnel", "drover-access", "drover-api"],
    ),
    (
        "drover-agent-link",
        &["drover-tunnel", "drover-access", "drover-api"],
    ),
    (
        "drover-agent-report",
        &[
            "drover-agent-link",
            "drover-apply",
            "drover-tunnel",
            "drover-quantity",
            "drover-api",
        ],
    ),
    (
        "drover-fleet",
        &[
            "drover-api",
            "drover-charts",
            "drover-entropy",
            "drover-git",
            "drover-gitops",
            "drover-http-edge",
            "drover-hub",
            "drover-kubeconfig",
            "drover-reconcile",
            "drover-webhooks",
        ],
    ),
    (
        "drover-agent",
        &[
            "drover-agent-report",
            "drover-agent-link",
            "drover-charts",
            "drover-deploy",
            "drover-entropy",
            "drover-gitops",
            "drover-kubeconfig",
            "drover-reconcile",
            "drover-tunnel",
            "drover-api",
        ],
    ),
    (
        "drover-node-agent",
        &[
            "drover-agent-report",
            "drover-agent-link",
            "drover-access",
            "drover-api",
            "drover-tls",
        ],
    ),
    (
        "drover-server",
        &[
            // The option `--demo-clusters` needs this dependency: simulated clusters connect with
            // the real agent's code.
            "drover-agent",
            "drover-agent-link",
            "drover-node-agent",
            "drover-agent-gateway",
            "drover-access",
            "drover-api",
            "drover-apiserver",
            "drover-audit",
            "drover-charts",
            "drover-cli",
            "drover-controllers",
            "drover-entropy",
            "drover-fleet",
            "drover-git",
            "drover-git-hosting",
            "drover-history",
            "drover-http-edge",
            "drover-hub",
            "drover-identity",
            "drover-port-forwards",
            "drover-proxy",
            "drover-reconcile",
            "drover-rest",
            "drover-row-service",
            "drover-simulate",
            "drover-telemetry",
            "drover-terminals",
            "drover-tls",
            "drover-tunnel",
        ],
    ),
    (
        "drover-ui-core",
        &["drover-api", "drover-quantity", "drover-rows"],
    ),
    ("drover-e2e", &["drover-api"]),
    (
        "drover-bench",
        &[
            "drover-agent",
            "drover-agent-link",
            "drover-agent-report",
            "drover-apiserver",
            "drover-deploy",
            "drover-e2e",
            "drover-gitops",
            "drover-node-agent",
            "drover-simulate",
            "drover-tunnel",
            "drover-access",
            "drover-api",
        ],
    ),
    ("drover-ci", &[]),
    (
        "drover-instructions",
        &[
            "drover-access",
            "drover-api",
            "drover-apiserver",
            "drover-tunnel",
        ],
    ),
    ("xtask", &["drover-e2e"]),
];

/// Crates that only tests use. The programs do not depend on these crates.
const ONLY_TESTS: &[&str] = &[
    "fault-vfs",
    "drover-fuzz-corpus",
    "drover-testkit",
    "proptest",
    "insta",
    "turmoil",
    "tower-test",
];

/// External crates, each with the workspace crates that may depend on it.
const RESERVED: &[(&str, &[&str])] = &[
    (
        "axum",
        &[
            "drover-apiserver",
            "drover-agent-gateway",
            "drover-audit",
            "drover-fleet",
            "drover-git-hosting",
            "drover-history",
            "drover-http-edge",
            "drover-hub",
            "drover-identity",
            "drover-port-forwards",
            "drover-proxy",
            "drover-rest",
            "drover-row-service",
            "drover-server",
            "drover-simulate",
            "drover-terminals",
        ],
    ),
    (
        "utoipa-axum",
        &[
            "drover-agent-gateway",
            "drover-history",
            "drover-http-edge",
            "drover-port-forwards",
            "drover-rest",
            "drover-row-service",
            "drover-terminals",
        ],
    ),
    ("argon2", &["drover-identity"]),
    ("drover-e2e", &["drover-bench", "xtask"]),
];

/// Dependencies that pure crates must not have: a runtime, a kube client, the network, the disk.
const IMPURE: &[&str] = &[
    "tokio",
    "kube",
    "kube-client",
    "hyper",
    "reqwest",
    "axum",
    "rustls",
    "socket2",
    "mio",
    "tempfile",
];

/// Crates that provide TLS or cryptography and are forbidden, because Drover uses aws-lc-rs.
const OTHER_PROVIDERS: &[&str] = &["ring", "openssl", "openssl-sys", "native-tls", "rsa"];

/// Returns the dependency graph of `package` with its default features.
fn graph(package: &str) -> Vec<String> {
    let tree = run(
        env!("CARGO"),
        &[
            "tree",
            "--locked",
            "--edges=normal",
            "--prefix=none",
            "--format={p}",
            "--package",
            package,
        ],
    );
    let mut names: Vec<String> = tree
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .map(str::to_owned)
        .collect();
    names.sort();
    names.dedup();
    assert!(names.iter().any(|name| name == package), "{tree}");
    names
}

fn assert_absent(package: &str, forbidden: &[&str]) {
    let graph = graph(package);
    for name in forbidden {
        assert!(
            !graph.iter().any(|present| present == name),
            "{package} depends on {name}: `cargo tree -p {package} -e normal -i {name}` shows the path"
        );
    }
}

#[test]
fn crates_depend_in_one_direction() {
    for member in members() {
        let (_, allowed) = CRATES
            .iter()
            .find(|(name, _)| *name == member.name)
            .unwrap_or_else(|| panic!("{} is not in CRATES", member.name));
        for (dependency, kind) in &member.dependencies {
            let is_ours = CRATES.iter().any(|(name, _)| name == dependency);
            assert!(
                kind == "dev" || !is_ours || allowed.contains(&dependency.as_str()),
                "{} may not depend on {dependency}",
                member.name
            );
        }
    }
}

#[test]
fn release_programs_do_not_depend_on_test_crates() {
    for member in members() {
        for (dependency, kind) in &member.dependencies {
            assert!(
                kind == "dev"
                    || member.name == "drover-testkit"
                    || !ONLY_TESTS.contains(&dependency.as_str()),
                "{}: move {dependency} to [dev-dependencies]",
                member.name
            );
        }
    }
}

#[test]
fn external_crates_are_used_only_where_allowed() {
    for member in members() {
        for (dependency, kind) in &member.dependencies {
            let reserved = RESERVED.iter().find(|(name, _)| name == dependency);
            assert!(
                kind == "dev"
                    || reserved.is_none_or(|(_, crates)| crates.contains(&member.name.as_str())),
                "{} may not depend on {dependency}",
                member.name
            );
        }
    }
}

#[test]
fn pure_crates_do_not_depend_on_runtime_client_or_file_system_crates() {
    assert_absent("drover-addresses", IMPURE);
    assert_absent("drover-api", IMPURE);
    assert_absent("drover-access", IMPURE);
    assert_absent("drover-gotemplate", IMPURE);
    assert_absent("drover-gitops", IMPURE);
    assert_absent("drover-kubeconfig", IMPURE);
    assert_absent("drover-quantity", IMPURE);
    assert_absent("drover-rows", IMPURE);
    assert_absent("drover-rbac", IMPURE);
    assert_absent("drover-ui-core", IMPURE);
    assert_absent("drover-webhooks", IMPURE);
}

#[test]
fn pure_crates_read_no_clock_or_file() {
    for file in crate::files(".rs") {
        let pure = [
            "crates/api/src/",
            "crates/access/src/",
            "crates/gotemplate/src/",
            "crates/gitops/src/",
            "crates/quantity/src/",
            "crates/rbac/src/",
            "crates/webhooks/src/",
            "frontend/core/src/",
        ];
        if !pure.iter().any(|folder| file.starts_with(folder)) {
            continue;
        }
        let text = read(&file);
        for reader in [
            "Instant::now",
            "SystemTime::now",
            "Timestamp::now",
            "Zoned::now",
            "std::fs",
            "std::net",
            "std::env",
            "std::process",
            "std::thread",
        ] {
            assert!(
                !text.contains(reader),
                "{file} uses {reader}; take the value as an argument"
            );
        }
    }
}

#[test]
fn aws_lc_is_the_only_provider_of_cryptography() {
    for program in ["drover-server", "drover-agent", "drover-e2e", "xtask"] {
        assert_absent(program, OTHER_PROVIDERS);
    }
}

#[test]
fn every_crate_has_the_lints_of_the_workspace() {
    for member in members() {
        let manifest = read(&format!("{}/Cargo.toml", member.folder));
        assert!(
            manifest.contains("[lints]\nworkspace = true\n"),
            "{}/Cargo.toml lacks `[lints] workspace = true`",
            member.folder
        );
    }
}

/// Returns all crates of the workspace's dependency graph, each with its features.
fn features(edges: &str) -> std::collections::BTreeSet<String> {
    let edges = format!("--edges={edges}");
    let arguments = [
        "tree",
        "--locked",
        "--workspace",
        "--prefix=none",
        "--format={p} {f}",
        &edges,
    ];
    let tree = run(env!("CARGO"), &arguments);
    tree.lines()
        .map(|line| line.trim_end_matches(" (*)").to_owned())
        .collect()
}

#[test]
fn programs_and_tests_share_one_build_of_each_crate() {
    let tests = features("normal,build,dev");
    for line in features("normal,build") {
        assert!(
            tests.contains(&line),
            "tests and programs use different features of {line}; enable them in crates/testkit too"
        );
    }
}
