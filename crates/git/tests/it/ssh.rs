//! Git over SSH with a real `sshd`.

use drover_git::{Auth, GitError, Reference, Source};

use crate::repository::{Repositories, TestRepository};
use crate::ssh_server::{SshServer, generate_key};
use crate::support::{fetcher, incompressible, text};

struct World {
    repositories: Repositories,
    repository: TestRepository,
    server: SshServer,
    source: Source,
    commit: String,
}

/// Starts a server with the repository `a` and further lines of its configuration.
async fn world(host_key: &str, user_key: &[&str], lines: &str) -> World {
    let repositories = Repositories::new();
    let repository = repositories.create("a b");
    let commit = repository.commit_files(&[("x", "1")]);
    let server = SshServer::start(host_key, user_key, lines).await;
    let mut source = Source::anonymous(format!(
        "ssh://{}@127.0.0.1:{}{}/a%20b",
        server.user,
        server.port,
        repositories.folder.path().display()
    ));
    source.auth = Auth::Ssh {
        private_key: server.private_key.clone().into(),
    };
    source.known_hosts.clone_from(&server.known_hosts);
    World {
        repositories,
        repository,
        server,
        source,
        commit,
    }
}

/// The line that permits version 2 of git's protocol.
const VERSION_2: &str = "AcceptEnv GIT_PROTOCOL\n";

async fn fetch(source: &Source) -> Result<drover_git::Checkout, GitError> {
    fetcher().fetch(source, &Reference::Head, &[]).await
}

#[tokio::test]
async fn repository_is_fetched_and_updated_with_each_kind_of_key() {
    for (host_key, user_key) in [
        ("ed25519", &["-t", "ed25519"][..]),
        ("rsa", &["-t", "rsa", "-b", "2048"]),
        ("ecdsa", &["-t", "ecdsa", "-b", "521"]),
        ("ecdsa", &["-t", "rsa", "-b", "2048", "-m", "PEM"]),
        ("rsa", &["-t", "ecdsa", "-b", "256", "-m", "PKCS8"]),
        ("ed25519", &["-t", "ecdsa", "-b", "384", "-m", "PEM"]),
    ] {
        let world = world(host_key, user_key, VERSION_2).await;
        let fetcher = fetcher();
        let checkout = fetcher.fetch(&world.source, &Reference::Head, &[]).await;
        let checkout = checkout.unwrap_or_else(|error| panic!("{host_key} {user_key:?}: {error}"));
        assert_eq!(checkout.commit, world.commit);
        let again = fetcher
            .resolve(&world.source, &[Reference::Branch("main".to_owned())])
            .await
            .unwrap();
        assert_eq!(again[0].as_ref().unwrap(), &world.commit);
    }
}

#[tokio::test]
async fn each_supported_cipher_works() {
    for (cipher, code) in [
        ("aes256-gcm@openssh.com", "hmac-sha1"),
        ("aes128-gcm@openssh.com", "hmac-sha1"),
        ("aes256-ctr", "hmac-sha2-256-etm@openssh.com"),
        ("aes128-ctr", "hmac-sha2-512-etm@openssh.com"),
        ("aes256-ctr", "hmac-sha2-256"),
        ("aes128-ctr", "hmac-sha2-512"),
    ] {
        let lines = format!("Ciphers {cipher}\nMACs {code}\nKexAlgorithms ecdh-sha2-nistp256\n");
        let world = world("ed25519", &["-t", "ed25519"], &lines).await;
        let checkout = fetch(&world.source).await;
        let checkout = checkout.unwrap_or_else(|error| panic!("{cipher} {code}: {error}"));
        assert_eq!(checkout.commit, world.commit);
    }
}

#[tokio::test]
async fn server_without_the_variable_of_the_protocol_speaks_version_0() {
    let world = world("ed25519", &["-t", "ed25519"], "").await;
    let fetcher = fetcher();
    let first = fetcher.fetch(&world.source, &Reference::Head, &[]).await;
    assert_eq!(first.unwrap().commit, world.commit);
    let commit = world.repository.commit_files(&[("x", "2"), ("y", "3")]);
    let second = fetcher
        .fetch(&world.source, &Reference::Head, &[])
        .await
        .unwrap();
    assert_eq!(second.commit, commit);
    assert_eq!(text(&second, "x"), "2");
}

#[tokio::test]
async fn pack_larger_than_the_window_is_received() {
    let world = world("ed25519", &["-t", "ed25519"], VERSION_2).await;
    let repository = world.repositories.create("large");
    let large = incompressible(600_000);
    repository.commit_files(&[("large", &large)]);
    let mut source = world.source.clone();
    source.url = source.url.replace("a%20b", "large");
    let checkout = fetch(&source).await.unwrap();
    assert!(
        checkout.received_bytes > 4 << 20,
        "{}",
        checkout.received_bytes
    );
    assert_eq!(text(&checkout, "large"), large);
}

#[tokio::test]
async fn unknown_host_key_is_rejected_with_its_fingerprint() {
    let mut world = world("ed25519", &["-t", "ed25519"], VERSION_2).await;
    world.source.known_hosts.clear();
    let error = fetch(&world.source).await.unwrap_err();
    let GitError::HostKeyUnknown { fingerprint, .. } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(*fingerprint, world.server.fingerprint);
    let (_, other, _) = generate_key(&["-t", "ed25519"]);
    world.source.known_hosts = format!("[127.0.0.1]:{} {other}", world.server.port);
    let error = fetch(&world.source).await.unwrap_err();
    assert!(
        matches!(error, GitError::HostKeyChanged { .. }),
        "{error:?}"
    );
    world.source.insecure_skip_host_key_check = true;
    assert_eq!(fetch(&world.source).await.unwrap().commit, world.commit);
}

#[tokio::test]
async fn wrong_key_missing_key_and_missing_repository_have_different_errors() {
    let mut world = world("ed25519", &["-t", "ed25519"], VERSION_2).await;
    let valid = world.source.auth.clone();
    let (private, _, _) = generate_key(&["-t", "ed25519"]);
    world.source.auth = Auth::Ssh {
        private_key: private.into(),
    };
    let error = fetch(&world.source).await.unwrap_err();
    assert!(
        matches!(error, GitError::AuthenticationFailed { .. }),
        "{error:?}"
    );
    world.source.auth = Auth::None;
    let error = fetch(&world.source).await.unwrap_err();
    assert!(
        matches!(error, GitError::AuthenticationFailed { .. }),
        "{error:?}"
    );
    let (private, _, _) = generate_key(&["-t", "ed25519", "-N", "passphrase"]);
    world.source.auth = Auth::Ssh {
        private_key: private.into(),
    };
    let error = fetch(&world.source).await.unwrap_err();
    assert!(error.to_string().contains("passphrase"), "{error}");
    world.source.auth = valid;
    world.source.url = world.source.url.replace("a%20b", "it's; touch none");
    world.source.url = world.source.url.replace(' ', "%20");
    let error = fetch(&world.source).await.unwrap_err();
    assert!(
        matches!(error, GitError::RepositoryNotFound { .. }),
        "{error:?}"
    );
}

#[tokio::test]
async fn server_that_is_not_ssh_is_an_error() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (private_key, _, _) = generate_key(&["-t", "ed25519"]);
    let mut source = Source::anonymous(format!("ssh://git@127.0.0.1:{port}/a"));
    source.auth = Auth::Ssh {
        private_key: private_key.into(),
    };
    let serve = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let answer = b"HTTP/1.1 400 Bad Request\r\n".repeat(100);
        let _ = tokio::io::AsyncWriteExt::write_all(&mut stream, &answer).await;
        stream
    };
    let (result, _stream) = tokio::join!(fetch(&source), serve);
    assert!(
        matches!(result, Err(GitError::Protocol { .. })),
        "{result:?}"
    );
}
