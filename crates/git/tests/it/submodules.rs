//! Submodules.

use drover_git::{Auth, GitError, Reference, Source};
use git2::Oid;

use crate::http_server::{HttpServer, Rules};
use crate::repository::{FILE, FOLDER, Repositories, SUBMODULE, TestRepository};
use crate::support::{fetcher, paths, text};

/// Commits a file, `.gitmodules` with one submodule at `libs/NAME`, and the submodule.
fn commit_with_submodule(repository: &TestRepository, url: &str, commit: &str) -> String {
    let modules = format!("[submodule \"lib\"]\n\tpath = libs/lib\n\turl = {url}\n");
    let link = Oid::from_str(commit).unwrap();
    let libs = repository.folder(&[(SUBMODULE, b"lib", link)]);
    let root = repository.folder(&[
        (FILE, b".gitmodules", repository.blob(modules.as_bytes())),
        (FILE, b"own", repository.blob(b"own")),
        (FOLDER, b"libs", libs),
    ]);
    repository.commit("main", root)
}

#[tokio::test]
async fn nested_submodules_are_read_at_their_commits() {
    let repositories = Repositories::new();
    let inner = repositories.create("inner");
    let pinned = inner.commit_files(&[("x", "pinned")]);
    inner.commit_files(&[("x", "newer")]);
    let lib = repositories.create("lib");
    let lib_commit = commit_with_submodule(&lib, "../inner", &pinned);
    let main = repositories.create("main");
    commit_with_submodule(&main, "../lib", &lib_commit);
    let server = HttpServer::start(repositories.folder.path().to_owned(), Rules::default()).await;
    let source = Source::anonymous(format!("{}/main", server.url));
    let checkout = fetcher()
        .fetch(&source, &Reference::Head, &[])
        .await
        .unwrap();
    assert_eq!(
        paths(&checkout),
        [
            ".gitmodules",
            "libs/lib/.gitmodules",
            "libs/lib/libs/lib/x",
            "libs/lib/own",
            "own"
        ]
    );
    assert_eq!(text(&checkout, "libs/lib/libs/lib/x"), "pinned");
    let selected = ["own".to_owned()];
    let before = server.requests().len();
    fetcher()
        .fetch(&source, &Reference::Head, &selected)
        .await
        .unwrap();
    let seen = server.requests();
    assert!(
        seen[before..]
            .iter()
            .all(|one| one.path.starts_with("/main/")),
        "{seen:?}"
    );
}

#[tokio::test]
async fn submodule_on_another_server_gets_no_credentials() {
    let others = Repositories::new();
    let lib_commit = others.create("lib").commit_files(&[("x", "1")]);
    let other = HttpServer::start(others.folder.path().to_owned(), Rules::default()).await;
    let repositories = Repositories::new();
    let main = repositories.create("main");
    commit_with_submodule(&main, &format!("{}/lib", other.url), &lib_commit);
    let server = HttpServer::start(repositories.folder.path().to_owned(), Rules::default()).await;
    let mut source = Source::anonymous(format!("{}/main", server.url));
    source.auth = Auth::Bearer {
        token: "tok".into(),
    };
    let checkout = fetcher()
        .fetch(&source, &Reference::Head, &[])
        .await
        .unwrap();
    assert_eq!(text(&checkout, "libs/lib/x"), "1");
    assert!(
        server
            .requests()
            .iter()
            .all(|one| one.authorization.is_some())
    );
    assert!(
        other
            .requests()
            .iter()
            .all(|one| one.authorization.is_none())
    );
}

#[tokio::test]
async fn submodule_gets_no_credentials_that_are_limited_to_the_repository() {
    let repositories = Repositories::new();
    let lib_commit = repositories.create("lib").commit_files(&[("x", "1")]);
    let main = repositories.create("main");
    commit_with_submodule(&main, "../lib", &lib_commit);
    let server = HttpServer::start(repositories.folder.path().to_owned(), Rules::default()).await;
    for is_auth_limited in [false, true] {
        let mut source = Source::anonymous(format!("{}/main", server.url));
        source.is_auth_limited = is_auth_limited;
        source.auth = Auth::Bearer {
            token: "tok".into(),
        };
        let before = server.requests().len();
        let checkout = fetcher().fetch(&source, &Reference::Head, &[]).await;
        assert_eq!(text(&checkout.unwrap(), "libs/lib/x"), "1");
        let seen = server.requests().split_off(before);
        assert!(seen.iter().any(|one| one.path.starts_with("/lib/")));
        for one in seen {
            let is_sent = one.path.starts_with("/main/") || !is_auth_limited;
            assert_eq!(one.authorization.is_some(), is_sent, "{one:?}");
        }
    }
}

#[tokio::test]
async fn submodule_with_a_local_path_is_an_error_with_its_path() {
    let repositories = Repositories::new();
    let main = repositories.create("main");
    let commit = main.commit_files(&[("x", "1")]);
    commit_with_submodule(&main, "/etc", &commit);
    let server = HttpServer::start(repositories.folder.path().to_owned(), Rules::default()).await;
    let source = Source::anonymous(format!("{}/main", server.url));
    let error = fetcher()
        .fetch(&source, &Reference::Head, &[])
        .await
        .unwrap_err();
    let GitError::Submodule { path, source } = error else {
        panic!("{error:?}");
    };
    assert_eq!(path, "libs/lib");
    assert!(matches!(*source, GitError::InvalidUrl { .. }), "{source:?}");
}

#[tokio::test]
async fn submodule_of_itself_ends_at_the_limit_of_nested_submodules() {
    let repositories = Repositories::new();
    let first = repositories.create("first");
    let mut commit = first.commit_files(&[("x", "1")]);
    for _ in 0..12 {
        commit = commit_with_submodule(&first, "../first", &commit);
    }
    let server = HttpServer::start(repositories.folder.path().to_owned(), Rules::default()).await;
    let source = Source::anonymous(format!("{}/first", server.url));
    let mut error = fetcher()
        .fetch(&source, &Reference::Head, &[])
        .await
        .unwrap_err();
    while let GitError::Submodule { source, .. } = error {
        error = *source;
    }
    assert!(matches!(error, GitError::Limit { .. }), "{error:?}");
}
