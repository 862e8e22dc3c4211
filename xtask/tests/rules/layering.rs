//! Dependencies point one way: programs → tunnel → access → api.

use crate::{members, read, run};

/// Which rooms a room's programs and libraries may be built on. A room that is not listed here has
/// no place yet: give it one.
const ROOMS: &[(&str, &[&str])] = &[
    ("drover-api", &[]),
    ("drover-quantity", &[]),
    ("drover-rbac", &[]),
    ("drover-reconcile", &[]),
    (
        "drover-access",
        &["drover-api", "drover-quantity", "drover-rbac"],
    ),
    (
        "drover-apiserver",
        &["drover-quantity", "drover-rbac", "drover-reconcile"],
    ),
    ("drover-entropy", &[]),
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
    ("drover-providers", &["drover-api"]),
    (
        "drover-simulate",
        &["drover-apiserver", "drover-quantity", "drover-reconcile"],
    ),
    (
        "drover-cli",
        &["drover-api", "drover-entropy", "drover-tls"],
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
        "drover-agent",
        &[
            "drover-agent-link",
            "drover-tunnel",
            "drover-quantity",
            "drover-api",
        ],
    ),
    (
        "drover-server",
        &[
            // For `--demo-clusters` only: simulated clusters are joined by the real agent's code.
            "drover-agent",
            "drover-cli",
            "drover-agent-link",
            "drover-simulate",
            "drover-apiserver",
            "drover-entropy",
            "drover-http-edge",
            "drover-hub",
            "drover-providers",
            "drover-telemetry",
            "drover-tls",
            "drover-tunnel",
            "drover-access",
            "drover-rbac",
            "drover-reconcile",
            "drover-api",
            "drover-quantity",
        ],
    ),
    ("drover-ui-core", &["drover-api", "drover-quantity"]),
    ("drover-e2e", &["drover-api"]),
    (
        "drover-bench",
        &[
            "drover-agent",
            "drover-agent-link",
            "drover-apiserver",
            "drover-e2e",
            "drover-access",
            "drover-api",
        ],
    ),
    ("xtask", &["drover-e2e"]),
];

/// What only tests use; a program never contains it.
const ONLY_TESTS: &[&str] = &[
    "fault-vfs",
    "drover-testkit",
    "proptest",
    "insta",
    "turmoil",
    "tower-test",
];

/// Crates that only these rooms may name.
const RESERVED: &[(&str, &[&str])] = &[
    (
        "axum",
        &[
            "drover-apiserver",
            "drover-http-edge",
            "drover-hub",
            "drover-server",
            "drover-simulate",
        ],
    ),
    ("tower-http", &["drover-server"]),
    ("utoipa-axum", &["drover-server"]),
    ("argon2", &["drover-server"]),
    ("drover-e2e", &["drover-bench", "xtask"]),
];

/// What a pure room's graph never contains: a runtime, a kube client, the network, the disk.
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

/// Another provider of TLS or cryptography, in any program.
const OTHER_PROVIDERS: &[&str] = &["ring", "openssl", "openssl-sys", "native-tls", "rsa"];

/// The crates in the graph of what `package` is built from, with its default features.
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
            "{package} is built from {name}: `cargo tree -p {package} -e normal -i {name}` shows by what"
        );
    }
}

#[test]
fn rooms_depend_one_way() {
    for member in members() {
        let (_, allowed) = ROOMS
            .iter()
            .find(|(name, _)| *name == member.name)
            .unwrap_or_else(|| panic!("{} is not in ROOMS", member.name));
        for (dependency, kind) in &member.dependencies {
            let a_room = ROOMS.iter().any(|(name, _)| name == dependency);
            assert!(
                kind == "dev" || !a_room || allowed.contains(&dependency.as_str()),
                "{} may not depend on {dependency}",
                member.name
            );
        }
    }
}

#[test]
fn what_only_tests_use_is_in_no_program() {
    for member in members() {
        for (dependency, kind) in &member.dependencies {
            assert!(
                kind == "dev"
                    || member.name == "drover-testkit"
                    || !ONLY_TESTS.contains(&dependency.as_str()),
                "{}: {dependency} belongs into [dev-dependencies]",
                member.name
            );
        }
    }
}

#[test]
fn reserved_crates_are_named_only_where_they_belong() {
    for member in members() {
        for (dependency, kind) in &member.dependencies {
            let reserved = RESERVED.iter().find(|(name, _)| name == dependency);
            assert!(
                kind == "dev"
                    || reserved.is_none_or(|(_, rooms)| rooms.contains(&member.name.as_str())),
                "{} may not depend on {dependency}",
                member.name
            );
        }
    }
}

#[test]
fn pure_rooms_know_no_runtime_client_or_disk() {
    assert_absent("drover-api", IMPURE);
    assert_absent("drover-access", IMPURE);
    assert_absent("drover-quantity", IMPURE);
    assert_absent("drover-rbac", IMPURE);
    assert_absent("drover-ui-core", IMPURE);
}

#[test]
fn pure_rooms_read_no_clock_and_no_file() {
    for file in crate::files(".rs") {
        let pure = [
            "crates/api/src/",
            "crates/access/src/",
            "crates/quantity/src/",
            "crates/rbac/src/",
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
                "{file} uses {reader}; be handed the value"
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
fn every_room_has_the_lints_of_the_workspace() {
    for member in members() {
        let manifest = read(&format!("{}/Cargo.toml", member.folder));
        assert!(
            manifest.contains("[lints]\nworkspace = true\n"),
            "{}/Cargo.toml lacks `[lints] workspace = true`",
            member.folder
        );
    }
}

/// The crates that the whole workspace is built from, each with its features.
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
            "tests want other features than programs of {line}; make crates/testkit want them too"
        );
    }
}
