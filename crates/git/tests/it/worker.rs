//! The worker process and its cache.

use drover_git::GitError;

use crate::http::{main_branch, world};
use crate::http_server::Rules;
use crate::support::{fetcher, fetcher_at, limits};

#[tokio::test]
async fn worker_that_ends_without_an_answer_is_an_error_of_its_request() {
    let (world, _) = world(Rules::default()).await;
    let cache = tempfile::TempDir::new().unwrap();
    for (program, arguments, expected) in [
        ("/bin/sh", &["-c", "kill -9 $$"][..], "signal 9"),
        ("/bin/sh", &["-c", "exit 3"], "exit code 3"),
        ("/nonexistent", &[], "cannot start"),
        (
            "/bin/sh",
            &["-c", "read x; echo nonsense; sleep 10"],
            "unexpected",
        ),
    ] {
        let fetcher = fetcher_at(cache.path(), limits(), program, arguments);
        let error = fetcher
            .fetch(&world.source, &main_branch(), &[])
            .await
            .unwrap_err();
        assert!(matches!(error, GitError::Worker { .. }), "{error:?}");
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[tokio::test]
async fn hostile_worker_cannot_return_unsafe_paths() {
    let (world, _) = world(Rules::default()).await;
    let cache = tempfile::TempDir::new().unwrap();
    let script = r#"read x; echo '{"file":{"path":"../x","size":0}}'; sleep 10"#;
    let fetcher = fetcher_at(cache.path(), limits(), "/bin/sh", &["-c", script]);
    let error = fetcher
        .fetch(&world.source, &main_branch(), &[])
        .await
        .unwrap_err();
    assert!(matches!(error, GitError::UnsafePath { .. }), "{error:?}");
}

#[tokio::test]
async fn garbage_collection_removes_repositories_and_they_are_fetched_again() {
    let (world, commit) = world(Rules::default()).await;
    let fetcher = fetcher();
    fetcher
        .fetch(&world.source, &main_branch(), &[])
        .await
        .unwrap();
    let kept = fetcher.collect_garbage(1 << 30).await.unwrap();
    assert!(kept.removed == 0 && kept.bytes > 0, "{kept:?}");
    let report = fetcher.collect_garbage(0).await.unwrap();
    assert_eq!((report.removed, report.bytes), (1, 0));
    let checkout = fetcher
        .fetch(&world.source, &main_branch(), &[])
        .await
        .unwrap();
    assert_eq!(checkout.commit, commit);
    assert!(checkout.received_bytes > 0);
}

#[tokio::test]
async fn damaged_cache_is_fetched_again_by_the_next_request() {
    let (world, commit) = world(Rules::default()).await;
    let fetcher = fetcher();
    fetcher
        .fetch(&world.source, &main_branch(), &[])
        .await
        .unwrap();
    let stores = std::fs::read_dir(fetcher.cache.path()).unwrap();
    let store = stores
        .map(|entry| entry.unwrap().path())
        .find(|path| path.is_dir())
        .unwrap();
    for entry in std::fs::read_dir(store.join("objects/pack")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().unwrap() == "pack" {
            std::fs::remove_file(path).unwrap();
        }
    }
    let first = fetcher.fetch(&world.source, &main_branch(), &[]).await;
    let second = fetcher
        .fetch(&world.source, &main_branch(), &[])
        .await
        .unwrap();
    assert!(
        first.is_ok() || matches!(first, Err(GitError::Cache { .. })),
        "{first:?}"
    );
    assert_eq!(second.commit, commit);
}

#[tokio::test]
async fn simultaneous_requests_for_one_repository_share_one_transfer() {
    let (world, _) = world(Rules::default()).await;
    let fetcher = fetcher();
    let branch = main_branch();
    let (one, two) = tokio::join!(
        fetcher.fetch(&world.source, &branch, &[]),
        fetcher.fetch(&world.source, &branch, &[])
    );
    let (one, two) = (one.unwrap(), two.unwrap());
    assert_eq!(one.files, two.files);
    assert_eq!(one.received_bytes.min(two.received_bytes), 0);
    assert!(one.received_bytes.max(two.received_bytes) > 0);
}

#[tokio::test]
async fn credentials_are_neither_in_arguments_nor_in_the_environment() {
    let (mut world, _) = world(Rules::default()).await;
    world.source.auth = drover_git::Auth::Bearer {
        token: "hidden".into(),
    };
    let cache = tempfile::TempDir::new().unwrap();
    let shown = cache.path().join("shown");
    let script = format!(
        "read request; env > {0}; tr '\\0' ' ' < /proc/$$/cmdline >> {0}",
        shown.display()
    );
    let fetcher = fetcher_at(cache.path(), limits(), "/bin/sh", &["-c", &script]);
    let result = fetcher.fetch(&world.source, &main_branch(), &[]).await;
    assert!(matches!(result, Err(GitError::Worker { .. })), "{result:?}");
    let shown = std::fs::read_to_string(shown).unwrap();
    assert!(
        !shown.contains("hidden") && !shown.contains("HOME="),
        "{shown}"
    );
}
