//! Smart HTTP: references, packs, credentials, certificates and errors.

use std::time::{Duration, Instant};

use drover_git::{Auth, GitError, Reference, Source};

use crate::http_server::{HttpServer, Rules};
use crate::repository::Repositories;
use crate::support::{fetcher, fetcher_with, incompressible, limits, paths, text};

pub(crate) fn main_branch() -> Reference {
    Reference::Branch("main".to_owned())
}

fn basic(username: &str, password: &str) -> Auth {
    Auth::Basic {
        username: username.to_owned(),
        password: password.into(),
    }
}

pub(crate) struct World {
    pub(crate) repositories: Repositories,
    pub(crate) server: HttpServer,
    pub(crate) source: Source,
}

/// Starts a server with the repository `a`, which has one commit.
pub(crate) async fn world(rules: Rules) -> (World, String) {
    let repositories = Repositories::new();
    let repository = repositories.create("a");
    let commit = repository.commit_files(&[("apps/web.yaml", "web"), ("readme", "text")]);
    let server = HttpServer::start(repositories.folder.path().to_owned(), rules).await;
    let source = Source::anonymous(format!("{}/a", server.url));
    let world = World {
        repositories,
        server,
        source,
    };
    (world, commit)
}

#[tokio::test]
async fn branch_is_fetched_with_all_files() {
    let (world, commit) = world(Rules::default()).await;
    let checkout = fetcher()
        .fetch(&world.source, &main_branch(), &[])
        .await
        .unwrap();
    assert_eq!(checkout.commit, commit);
    assert_eq!(paths(&checkout), ["apps/web.yaml", "readme"]);
    assert_eq!(text(&checkout, "apps/web.yaml"), "web");
    assert!(checkout.received_bytes > 0);
}

#[tokio::test]
async fn only_selected_paths_are_returned() {
    let (world, _) = world(Rules::default()).await;
    let selected = ["ap*/".to_owned()];
    let checkout = fetcher()
        .fetch(&world.source, &main_branch(), &selected)
        .await
        .unwrap();
    assert_eq!(paths(&checkout), ["apps/web.yaml"]);
}

#[tokio::test]
async fn references_of_one_repository_are_resolved_with_one_request() {
    let (world, commit) = world(Rules::default()).await;
    let repository = world.repositories.create("b");
    let first = repository.commit_files(&[("x", "1")]);
    repository.tag("v1", &first);
    let second = repository.commit_files(&[("x", "2")]);
    let source = Source::anonymous(format!("{}/b", world.server.url));
    let references = [
        main_branch(),
        Reference::revision("v1"),
        Reference::Head,
        Reference::revision(&commit),
        Reference::Branch("mai".to_owned()),
        Reference::Branch("invalid name".to_owned()),
    ];
    let commits = fetcher().resolve(&source, &references).await.unwrap();
    assert_eq!(commits[0].as_ref().unwrap(), &second);
    assert_eq!(commits[1].as_ref().unwrap(), &first);
    assert_eq!(commits[2].as_ref().unwrap(), &second);
    assert_eq!(commits[3].as_ref().unwrap(), &commit);
    assert!(matches!(&commits[4], Err(GitError::ReferenceNotFound { name, .. }) if name == "mai"));
    assert!(matches!(&commits[5], Err(GitError::InvalidRequest { .. })));
    assert_eq!(world.server.requests().len(), 1);
    assert_eq!(world.server.requests()[0].method, "POST");
}

#[tokio::test]
async fn second_commit_transfers_only_changed_objects() {
    let (world, _) = world(Rules::default()).await;
    let repository = world.repositories.create("b");
    let large = incompressible(200_000);
    repository.commit_files(&[("large", &large), ("small", "1")]);
    let source = Source::anonymous(format!("{}/b", world.server.url));
    let fetcher = fetcher();
    let first = fetcher.fetch(&source, &main_branch(), &[]).await.unwrap();
    assert!(first.received_bytes > 500_000, "{}", first.received_bytes);
    repository.commit_files(&[("large", &large), ("small", "2")]);
    let second = fetcher.fetch(&source, &main_branch(), &[]).await.unwrap();
    assert!(second.received_bytes < 2000, "{}", second.received_bytes);
    assert_eq!(text(&second, "small"), "2");
    assert_eq!(text(&second, "large"), large);
    let third = fetcher.fetch(&source, &main_branch(), &[]).await.unwrap();
    assert_eq!(third.received_bytes, 0);
    assert_eq!(third.files, second.files);
}

#[tokio::test]
async fn history_is_not_transferred() {
    let (world, _) = world(Rules::default()).await;
    let repository = world.repositories.create("b");
    let old = incompressible(200_000);
    let first = repository.commit_files(&[("old", &old)]);
    repository.commit_files(&[("new", "1")]);
    let source = Source::anonymous(format!("{}/b", world.server.url));
    let fetcher = fetcher();
    let checkout = fetcher.fetch(&source, &main_branch(), &[]).await.unwrap();
    assert!(
        checkout.received_bytes < 2000,
        "{}",
        checkout.received_bytes
    );
    let by_commit = fetcher
        .fetch(&source, &Reference::revision(&first), &[])
        .await
        .unwrap();
    assert_eq!(paths(&by_commit), ["old"]);
}

#[tokio::test]
async fn server_with_only_version_0_of_the_protocol_works() {
    let rules = Rules {
        only_version_0: true,
        ..Rules::default()
    };
    let (world, commit) = world(rules).await;
    let repository = world.repositories.create("b");
    let tagged = repository.commit_files(&[("x", "1")]);
    repository.tag("v1", &tagged);
    let fetcher = fetcher();
    let checkout = fetcher
        .fetch(&world.source, &main_branch(), &[])
        .await
        .unwrap();
    assert_eq!(checkout.commit, commit);
    let source = Source::anonymous(format!("{}/b", world.server.url));
    let checkout = fetcher
        .fetch(&source, &Reference::revision("v1"), &[])
        .await
        .unwrap();
    assert_eq!(checkout.commit, tagged);
    let changed = repository.commit_files(&[("x", "2"), ("y", "3")]);
    let checkout = fetcher.fetch(&source, &main_branch(), &[]).await.unwrap();
    assert_eq!(checkout.commit, changed);
    assert_eq!(text(&checkout, "x"), "2");
}

#[tokio::test]
async fn credentials_are_sent_as_basic_or_bearer() {
    for (auth, header) in [
        (basic("me", "secret\n"), "Basic bWU6c2VjcmV0"),
        (
            Auth::Bearer {
                token: "tok".into(),
            },
            "Bearer tok",
        ),
    ] {
        let (mut world, commit) = world(Rules {
            authorization: Some(header.to_owned()),
            ..Rules::default()
        })
        .await;
        let fetcher = fetcher();
        let denied = fetcher.fetch(&world.source, &main_branch(), &[]).await;
        assert!(
            matches!(denied, Err(GitError::AuthenticationFailed { .. })),
            "{denied:?}"
        );
        world.source.auth = auth;
        let checkout = fetcher
            .fetch(&world.source, &main_branch(), &[])
            .await
            .unwrap();
        assert_eq!(checkout.commit, commit);
    }
}

#[tokio::test]
async fn cached_commit_needs_valid_credentials() {
    let (mut world, commit) = world(Rules {
        authorization: Some("Bearer tok".to_owned()),
        ..Rules::default()
    })
    .await;
    let fetcher = fetcher();
    world.source.auth = Auth::Bearer {
        token: "tok".into(),
    };
    fetcher
        .fetch(&world.source, &main_branch(), &[])
        .await
        .unwrap();
    world.source.auth = Auth::None;
    for reference in [main_branch(), Reference::revision(&commit)] {
        let denied = fetcher.fetch(&world.source, &reference, &[]).await;
        assert!(
            matches!(denied, Err(GitError::AuthenticationFailed { .. })),
            "{denied:?}"
        );
    }
}

#[tokio::test]
async fn redirect_to_another_server_gets_no_credentials() {
    let (other, commit) = world(Rules::default()).await;
    let (mut first, _) = world(Rules {
        redirect: Some(other.server.url.clone()),
        ..Rules::default()
    })
    .await;
    first.source.auth = basic("me", "secret");
    let checkout = fetcher()
        .fetch(&first.source, &main_branch(), &[])
        .await
        .unwrap();
    assert_eq!(checkout.commit, commit);
    assert!(first.server.requests()[0].authorization.is_some());
    let seen = other.server.requests();
    assert!(
        !seen.is_empty() && seen.iter().all(|one| one.authorization.is_none()),
        "{seen:?}"
    );
}

#[tokio::test]
async fn url_without_dot_git_follows_the_redirect_of_the_advertisement() {
    let (world, _) = world(Rules {
        only_dot_git: true,
        authorization: Some("Bearer tok".to_owned()),
        ..Rules::default()
    })
    .await;
    let commit = world
        .repositories
        .create("b.git")
        .commit_files(&[("x", "1")]);
    let mut source = Source::anonymous(format!("{}/b", world.server.url));
    source.auth = Auth::Bearer {
        token: "tok".into(),
    };
    let fetcher = fetcher();
    let checkout = fetcher.fetch(&source, &main_branch(), &[]).await.unwrap();
    assert_eq!(checkout.commit, commit);
    for expected in [4, 3] {
        let before = world.server.requests().len();
        fetcher.resolve(&source, &[main_branch()]).await.unwrap();
        // The worker remembers that the first request is useless.
        assert_eq!(world.server.requests().len() - before, expected);
    }
}

#[tokio::test]
async fn unknown_certificate_is_rejected_without_ca_bundle() {
    let repositories = Repositories::new();
    let commit = repositories.create("a").commit_files(&[("x", "1")]);
    let server =
        HttpServer::start_tls(repositories.folder.path().to_owned(), Rules::default()).await;
    let mut source = Source::anonymous(format!("{}/a", server.url));
    let fetcher = fetcher();
    let error = fetcher
        .fetch(&source, &main_branch(), &[])
        .await
        .unwrap_err();
    assert!(
        matches!(error, GitError::CertificateUnknown { .. }),
        "{error:?}"
    );
    assert!(error.to_string().contains("spec.caBundle"), "{error}");
    assert!(server.requests().is_empty());
    source.ca_bundle = Some(server.certificate.clone());
    assert_eq!(
        fetcher
            .fetch(&source, &main_branch(), &[])
            .await
            .unwrap()
            .commit,
        commit
    );
    source.ca_bundle = None;
    source.insecure_skip_tls_verify = true;
    assert_eq!(
        fetcher
            .fetch(&source, &main_branch(), &[])
            .await
            .unwrap()
            .commit,
        commit
    );
    source.insecure_skip_tls_verify = false;
    source.ca_bundle = Some("no certificate".to_owned());
    let error = fetcher
        .fetch(&source, &main_branch(), &[])
        .await
        .unwrap_err();
    assert!(
        matches!(error, GitError::InvalidCaBundle { .. }),
        "{error:?}"
    );
}

#[tokio::test]
async fn rate_limit_has_a_retry_time() {
    let (world, _) = world(Rules {
        status: Some((429, vec![("retry-after", "120".to_owned())])),
        ..Rules::default()
    })
    .await;
    let error = fetcher()
        .resolve(&world.source, &[main_branch()])
        .await
        .unwrap_err();
    assert!(
        matches!(error, GitError::RateLimited { status: 429, .. }),
        "{error:?}"
    );
    assert_eq!(error.retry_after(), Some(Duration::from_mins(2)));
    assert_eq!(world.server.requests().len(), 1);
}

#[tokio::test]
async fn missing_repository_branch_and_server_have_different_errors() {
    let (world, _) = world(Rules::default()).await;
    let fetcher = fetcher();
    let source = Source::anonymous(format!("{}/none", world.server.url));
    let error = fetcher
        .fetch(&source, &main_branch(), &[])
        .await
        .unwrap_err();
    assert!(
        matches!(error, GitError::RepositoryNotFound { .. }),
        "{error:?}"
    );
    let error = fetcher
        .fetch(&world.source, &Reference::Branch("none".to_owned()), &[])
        .await
        .unwrap_err();
    assert!(
        matches!(error, GitError::ReferenceNotFound { .. }),
        "{error:?}"
    );
    let missing = Reference::revision("0123456789012345678901234567890123456789");
    let error = fetcher
        .fetch(&world.source, &missing, &[])
        .await
        .unwrap_err();
    assert!(
        matches!(error, GitError::CommitNotFound { .. }),
        "{error:?}"
    );
    let error = fetcher
        .resolve(&Source::anonymous("http://localhost:1/a"), &[main_branch()])
        .await
        .unwrap_err();
    assert!(matches!(error, GitError::Connection { .. }), "{error:?}");
}

#[tokio::test]
async fn web_page_is_not_a_repository() {
    let (world, _) = world(Rules {
        body: Some(b"<html>".to_vec()),
        ..Rules::default()
    })
    .await;
    let error = fetcher()
        .fetch(&world.source, &main_branch(), &[])
        .await
        .unwrap_err();
    assert!(matches!(error, GitError::Protocol { .. }), "{error:?}");
}

#[tokio::test]
async fn server_that_does_not_answer_ends_with_a_timeout() {
    let (world, _) = world(Rules {
        hangs: true,
        ..Rules::default()
    })
    .await;
    let mut limits = limits();
    limits.wall_time = Duration::from_secs(1);
    let start = Instant::now();
    let error = fetcher_with(limits)
        .fetch(&world.source, &main_branch(), &[])
        .await
        .unwrap_err();
    assert_eq!(error, GitError::Timeout { seconds: 1 });
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn errors_and_debug_output_contain_no_credentials() {
    let (world, _) = world(Rules {
        authorization: Some("x".to_owned()),
        ..Rules::default()
    })
    .await;
    let mut source = world.source.clone();
    source.url = source.url.replace("http://", "http://me:hidden@");
    let error = fetcher()
        .fetch(&source, &main_branch(), &[])
        .await
        .unwrap_err();
    assert!(!format!("{error} {error:?}").contains("hidden"), "{error}");
    source.auth = basic("me", "hidden");
    source.url.clear();
    assert!(!format!("{source:?}").contains("hidden"));
    let seen = world.server.requests();
    assert!(
        seen.iter().all(|one| !one.path.contains("hidden")),
        "{seen:?}"
    );
}

#[tokio::test]
async fn metadata_service_gets_no_request_also_after_a_redirect() {
    let rules = Rules {
        redirect: Some("http://169.254.169.254".to_owned()),
        ..Rules::default()
    };
    let (redirecting, _) = world(rules).await;
    for source in [
        Source::anonymous("http://169.254.169.254/latest"),
        redirecting.source.clone(),
    ] {
        let found = fetcher().resolve(&source, &[Reference::Head]).await;
        let Err(GitError::Connection { host, reason }) = found else {
            panic!("{found:?}");
        };
        assert_eq!(host, "169.254.169.254");
        assert!(reason.contains("link-local"), "{reason}");
    }
}

#[tokio::test]
async fn other_host_on_this_machine_gets_no_request_after_a_redirect() {
    let (other, _) = world(Rules::default()).await;
    let rules = Rules {
        redirect: Some(other.server.url.replace("localhost", "127.0.0.1")),
        ..Rules::default()
    };
    let (redirecting, _) = world(rules).await;
    let found = fetcher()
        .resolve(&redirecting.source, &[Reference::Head])
        .await;
    let Err(GitError::Connection { reason, .. }) = found else {
        panic!("{found:?}");
    };
    assert!(reason.contains("loopback"), "{reason}");
    assert!(other.server.requests().is_empty());
}

#[tokio::test]
async fn name_of_a_branch_has_priority_over_the_name_of_a_tag() {
    let (world, first) = world(Rules::default()).await;
    let repository = world.repositories.create("b");
    let tagged = repository.commit_files(&[("x", "1")]);
    repository.tag("v1", &tagged);
    repository.tag("main", &tagged);
    let newest = repository.commit_files(&[("x", "2")]);
    let source = Source::anonymous(format!("{}/b", world.server.url));
    let references = ["", "main", "v1", &first, "no"].map(Reference::named);
    let found = fetcher().resolve(&source, &references).await.unwrap();
    let found: Vec<_> = found.iter().map(|it| it.as_deref().ok()).collect();
    let expected = [&newest, &newest, &tagged, &first].map(|it| Some(it.as_str()));
    assert_eq!(found[..4], expected);
    assert_eq!(found[4], None);
}
