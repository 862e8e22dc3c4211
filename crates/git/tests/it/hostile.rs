//! Hostile repositories. Each fails only its own request.

use std::time::Duration;

use drover_git::{Checkout, GitError, Limits, Reference, Source};
use git2::Oid;

use crate::http_server::{HttpServer, Rules};
use crate::repository::{FILE, FOLDER, LINK, Repositories, TestRepository};
use crate::support::{fetcher_with, limits, paths, text};

/// Writes a packet line.
fn packet(content: &[u8]) -> Vec<u8> {
    let length = format!("{:04x}", content.len() + 4);
    [length.as_bytes(), content].concat()
}

/// Fetches from a server that answers requests for packs with these packets.
async fn fetch_pack(packets: &[&[u8]]) -> GitError {
    let mut pack: Vec<u8> = packets.iter().flat_map(|content| packet(content)).collect();
    pack.extend_from_slice(b"0000");
    let repositories = Repositories::new();
    repositories.create("a").commit_files(&[("x", "1")]);
    let rules = Rules {
        pack: Some(pack),
        ..Rules::default()
    };
    let server = HttpServer::start(repositories.folder.path().to_owned(), rules).await;
    let source = Source::anonymous(format!("{}/a", server.url));
    fetcher_with(limits())
        .fetch(&source, &Reference::Head, &[])
        .await
        .unwrap_err()
}

#[tokio::test]
async fn damaged_packs_are_errors_of_the_server() {
    let header = b"\x01PACK\0\0\0\x02\0\0\0\x01";
    for packets in [
        &[&b"packfile\n"[..]][..],
        &[b"packfile\n", b"\x01PACK"],
        &[b"packfile\n", header],
        &[
            b"packfile\n",
            header,
            b"\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        ],
        &[b"packfile\n", b"\x01not a pack at all"],
        &[b"packfile\n", b"\x09unknown"],
        &[b"shallow-info\n"],
    ] {
        let error = fetch_pack(packets).await;
        assert!(
            matches!(error, GitError::Protocol { .. }),
            "{packets:?} {error:?}"
        );
    }
    let error = fetch_pack(&[b"packfile\n", b"\x03fatal:\x1b[31m no\n"]).await;
    let GitError::Server { message, .. } = error else {
        panic!("{error:?}");
    };
    assert_eq!(message, "fatal: [31m no");
    let too_many = fetch_pack(&[b"packfile\n", b"\x01PACK\0\0\0\x02\xff\xff\xff\xff"]).await;
    assert!(matches!(too_many, GitError::Limit { .. }), "{too_many:?}");
}

/// Fetches a repository whose root folder `build` writes.
async fn fetch(
    limits: Limits,
    selected: &[&str],
    build: impl Fn(&TestRepository) -> Oid,
) -> Result<Checkout, GitError> {
    let repositories = Repositories::new();
    let repository = repositories.create("a");
    repository.commit("main", build(&repository));
    let server = HttpServer::start(repositories.folder.path().to_owned(), Rules::default()).await;
    let source = Source::anonymous(format!("{}/a", server.url));
    let selected: Vec<String> = selected.iter().map(|path| (*path).to_owned()).collect();
    fetcher_with(limits)
        .fetch(&source, &Reference::Head, &selected)
        .await
}

fn assert_limit(result: &Result<Checkout, GitError>, expected: &str) {
    assert!(
        matches!(result, Err(GitError::Limit { unit, .. }) if unit == expected),
        "{:?}",
        result.as_ref().map(|checkout| checkout.files.len())
    );
}

#[tokio::test]
async fn links_within_the_repository_are_replaced_with_their_files() {
    let checkout = fetch(limits(), &[], |repository| {
        repository.files(&[
            ("base/values.yaml", "v"),
            ("app/direct", "->../base/values.yaml"),
            ("app/chain", "->./direct"),
            ("app/through", "->../folder/values.yaml"),
            ("folder", "->base"),
        ])
    })
    .await
    .unwrap();
    for path in ["app/direct", "app/chain", "app/through"] {
        assert_eq!(text(&checkout, path), "v");
    }
    let rejected: Vec<&str> = checkout.rejected.keys().map(String::as_str).collect();
    assert_eq!(rejected, ["folder"]);
}

#[tokio::test]
async fn links_out_of_the_repository_are_rejected() {
    let links = [
        ("absolute", "->/etc/passwd"),
        ("above", "->../../etc/passwd"),
        ("a/b/above", "->../../../x"),
        ("missing", "->none"),
        ("loop-a", "->loop-b"),
        ("loop-b", "->loop-a"),
        ("chain", "->above"),
        ("through-file", "->good/x"),
        ("good", "text"),
    ];
    let checkout = fetch(limits(), &[], |repository| repository.files(&links))
        .await
        .unwrap();
    assert_eq!(paths(&checkout), ["good"]);
    assert_eq!(checkout.rejected.len(), links.len() - 1);
    let GitError::SymbolicLink { reason, .. } = &checkout.rejected["a/b/above"] else {
        panic!("{checkout:?}");
    };
    assert_eq!(reason, "leads out of the repository");
}

#[tokio::test]
async fn unsafe_names_of_files_are_rejected() {
    for name in [
        &b".."[..],
        b".",
        b".git",
        b".GiT",
        b"a\\b",
        b"a\nb",
        b"\xff\xfe",
    ] {
        let result = fetch(limits(), &[], |repository| {
            let inner = repository.folder(&[(FILE, name, repository.blob(b"x"))]);
            repository.folder(&[(FOLDER, b"dir", inner)])
        })
        .await;
        assert!(
            matches!(result, Err(GitError::UnsafePath { .. })),
            "{name:?} {result:?}"
        );
    }
}

#[tokio::test]
async fn large_file_is_left_out_and_other_files_are_returned() {
    let mut limits = limits();
    limits.file_bytes = 1000;
    let checkout = fetch(limits, &[], |repository| {
        repository.files(&[("large", &"x".repeat(1001)), ("small", "x")])
    })
    .await
    .unwrap();
    assert_eq!(paths(&checkout), ["small"]);
    assert!(matches!(checkout.rejected["large"], GitError::Limit { .. }));
}

#[tokio::test]
async fn limits_of_files_bytes_depth_and_path_length_are_enforced() {
    let files = |repository: &TestRepository| {
        repository.files(&[("a", "12345"), ("b/c/d/e", "12345"), ("f", "12345")])
    };
    let few = Limits {
        files: 2,
        ..limits()
    };
    assert_limit(&fetch(few, &[], files).await, "files");
    let small = Limits {
        total_bytes: 14,
        ..limits()
    };
    assert_limit(&fetch(small, &[], files).await, "bytes of all files");
    let flat = Limits {
        tree_depth: 2,
        ..limits()
    };
    assert_limit(&fetch(flat.clone(), &[], files).await, "nested folders");
    assert!(fetch(flat, &["a"], files).await.is_ok());
    let short = Limits {
        path_bytes: 5,
        ..limits()
    };
    assert_limit(&fetch(short, &[], files).await, "bytes of a path");
    let pack = Limits {
        pack_bytes: 100,
        ..limits()
    };
    assert_limit(&fetch(pack, &[], files).await, "bytes of a pack");
    let objects = Limits {
        pack_objects: 5,
        ..limits()
    };
    assert_limit(&fetch(objects, &[], files).await, "objects in a pack");
}

#[tokio::test]
async fn repository_with_100000_files_ends_at_the_limit() {
    let build = |repository: &TestRepository| {
        let blob = repository.blob(b"x");
        let names: Vec<String> = (0..100_000).map(|number| format!("{number:06}")).collect();
        let entries: Vec<_> = names
            .iter()
            .map(|name| (FILE, name.as_bytes(), blob))
            .collect();
        let large = repository.folder(&entries);
        repository.folder(&[(FOLDER, b"large", large), (FILE, b"small", blob)])
    };
    assert_limit(&fetch(limits(), &[], build).await, "files");
    let checkout = fetch(limits(), &["small"], build).await.unwrap();
    assert_eq!(paths(&checkout), ["small"]);
}

/// Writes 40 small objects with 2^40 paths and no file.
fn multiplying_folders(repository: &TestRepository) -> Oid {
    let mut folder = repository.folder(&[]);
    for _ in 0..40 {
        folder = repository.folder(&[(FOLDER, b"a", folder), (FOLDER, b"b", folder)]);
    }
    folder
}

#[tokio::test]
async fn folders_that_multiply_at_each_level_end_at_the_limit() {
    let result = fetch(limits(), &[], multiplying_folders).await;
    assert_limit(&result, "files and folders");
}

#[tokio::test]
async fn deep_folders_end_at_the_limit() {
    let result = fetch(limits(), &[], |repository| {
        let mut folder = repository.files(&[("x", "x")]);
        for _ in 0..1000 {
            folder = repository.folder(&[(FOLDER, b"a", folder)]);
        }
        folder
    })
    .await;
    assert_limit(&result, "nested folders");
}

#[tokio::test]
async fn link_with_a_huge_target_is_rejected() {
    let checkout = fetch(limits(), &[], |repository| {
        let target = repository.blob(&b"a/../".repeat(100_000));
        let long = repository.blob(&b"a/../".repeat(800));
        repository.folder(&[
            (LINK, b"huge", target),
            (LINK, b"long", long),
            (FOLDER, b"a", repository.files(&[("x", "x")])),
        ])
    })
    .await
    .unwrap();
    assert_eq!(checkout.rejected.len(), 2, "{checkout:?}");
}

#[tokio::test]
async fn small_pack_with_a_huge_file_is_left_out() {
    // 32 KiB of pack contain 32 MiB.
    let checkout = fetch(limits(), &[], |repository| {
        let large = repository.blob(&vec![0; 32 << 20]);
        repository.folder(&[
            (FILE, b"large", large),
            (FILE, b"small", repository.blob(b"x")),
        ])
    })
    .await
    .unwrap();
    assert!(checkout.received_bytes < 1 << 20);
    assert_eq!(paths(&checkout), ["small"]);
}

#[tokio::test]
async fn repository_that_needs_too_much_memory_fails_only_its_request() {
    let limits = Limits {
        file_bytes: 1 << 30,
        total_bytes: 1 << 30,
        address_space: 96 << 20,
        ..limits()
    };
    let result = fetch(limits, &[], |repository| {
        repository.folder(&[(FILE, b"large", repository.blob(&vec![0; 96 << 20]))])
    })
    .await;
    assert!(
        matches!(
            result,
            Err(GitError::Worker { .. } | GitError::Cache { .. })
        ),
        "{:?}",
        result.map(|checkout| checkout.received_bytes)
    );
}

#[tokio::test]
async fn repository_that_needs_too_much_cpu_time_ends_the_worker() {
    let limits = Limits {
        cpu_time: Duration::from_secs(1),
        // Without a limit of CPU time, the test fails after this time.
        wall_time: Duration::from_secs(30),
        tree_entries: u64::MAX,
        ..limits()
    };
    let error = fetch(limits, &[], multiplying_folders).await.unwrap_err();
    assert!(error.to_string().contains("CPU time limit"), "{error}");
}
