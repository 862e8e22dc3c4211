use std::os::unix::fs::PermissionsExt;

use super::program::Drover;
use super::stub::{PASSWORD, SESSION, Stub};

#[tokio::test(flavor = "multi_thread")]
async fn login_token_is_stored_in_a_private_file_and_sent_by_later_commands() {
    let (stub, drover) = (Stub::start().await, Drover::new());
    let ended = drover.log_in(&stub).await.ok();
    assert_eq!(ended.out, "");
    let mode = std::fs::metadata(drover.config())
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let user = drover.run(&["whoami"]).await.ok();
    assert!(
        user.out.contains("alice") && user.out.contains(&stub.url),
        "{user:?}"
    );
    assert_eq!(stub.seen().last().unwrap().bearer.as_deref(), Some(SESSION));
    let list = drover.run(&["context", "list"]).await.ok();
    assert!(list.out.contains("logged in"), "{list:?}");
    for ended in [&ended, &user, &list] {
        assert!(!format!("{ended:?}").contains("sessionsecret"), "{ended:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn login_command_changes_the_password_if_the_server_requires_a_change() {
    let (stub, drover) = (Stub::start().await, Drover::new());
    stub.world.lock().must_change = true;
    let mut args = vec![
        "login",
        &stub.url,
        "--username",
        "alice",
        "--password-stdin",
    ];
    args.extend(["--ca-fingerprint", &stub.fingerprint]);
    let input = format!("{PASSWORD}\na much better one\n");
    drover
        .run_with(&args, &[], &input)
        .await
        .failed(2, "--new-password-stdin");
    args.push("--new-password-stdin");
    drover.run_with(&args, &[], &input).await.ok();
    assert_eq!(stub.world.lock().password, "a much better one");
    drover.run(&["whoami"]).await.ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn login_with_a_provider_waits_for_the_confirmation_in_a_browser() {
    let (stub, drover) = (Stub::start().await, Drover::new());
    let mut args = vec!["login", &stub.url, "--ca-fingerprint", &stub.fingerprint];
    let unknown = [&args[..], &["--provider", "nothing"]].concat();
    let ended = drover.run(&unknown).await;
    ended.failed(2, "use one of: corp, ldap");
    args.extend(["--provider", "corp"]);
    let ended = drover.run(&args).await.ok();
    let reported = ["https://drover.example/device", "BCDF-GHJK", "The corp"];
    assert!(
        reported.iter().all(|text| ended.err.contains(text)),
        "{ended:?}"
    );
    assert!(!format!("{ended:?}").contains("devicesecret"), "{ended:?}");
    let user = drover.run(&["whoami"]).await.ok();
    assert!(user.out.contains("alice"), "{user:?}");
    let urls = stub
        .seen()
        .iter()
        .any(|seen| seen.target.contains("devicesecret"));
    assert!(!urls, "the secret device code must not be in a URL");
}

#[tokio::test(flavor = "multi_thread")]
async fn login_command_signs_in_at_an_ldap_provider_with_a_password() {
    let (stub, drover) = (Stub::start().await, Drover::new());
    let mut args = vec!["login", &stub.url, "--ca-fingerprint", &stub.fingerprint];
    args.extend(["--provider", "ldap", "-u", "alice", "--password-stdin"]);
    let input = format!("{PASSWORD}\n");
    drover.run_with(&args, &[], &input).await.ok();
    let seen = stub.seen();
    let sign_in = seen.iter().find(|seen| seen.target.ends_with("/sign-in"));
    assert_eq!(sign_in.unwrap().body["by"], "Program");
    drover.run(&["whoami"]).await.ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_password_shows_the_server_message_and_stores_no_login() {
    let (stub, drover) = (Stub::start().await, Drover::new());
    stub.world.lock().password = "another".to_owned();
    let ended = drover
        .log_in(&stub)
        .await
        .failed(3, "the password is wrong");
    assert!(!ended.err.contains(PASSWORD), "{ended:?}");
    assert!(!drover.config().exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn password_is_not_sent_to_an_untrusted_server() {
    let (stub, drover) = (Stub::start().await, Drover::new());
    let other = Stub::start().await;
    let login = [
        "login",
        &stub.url,
        "--username",
        "alice",
        "--password-stdin",
    ];
    let input = format!("{PASSWORD}\n");

    let unknown = drover.run_with(&login, &[], &input).await;
    unknown.failed(2, "--ca-fingerprint");
    let mut named = login.to_vec();
    named.extend(["--ca-fingerprint", &other.fingerprint]);
    let ended = drover.run_with(&named, &[], &input).await;
    ended.failed(6, &stub.fingerprint);
    let path = drover.home.path().join("other.pem");
    std::fs::write(&path, &other.authority_pem).unwrap();
    let path = path.to_str().unwrap();
    let mut by_file = login.to_vec();
    by_file.extend(["--ca-file", path]);
    let ended = drover.run_with(&by_file, &[], &input).await;
    ended.failed(6, "with the given certificate authority");
    let mut short = login.to_vec();
    short.extend(["--ca-fingerprint", "SHA256:12"]);
    let nonsense = drover.run_with(&short, &[], &input);
    nonsense.await.failed(6, "64 hexadecimal digits");
    assert!(stub.seen().is_empty(), "{:?}", stub.seen());
}

#[tokio::test(flavor = "multi_thread")]
async fn system_authorities_and_ca_file_are_trusted_without_confirmation() {
    let (stub, drover) = (Stub::start().await, Drover::new());
    let path = drover.home.path().join("ca.pem");
    std::fs::write(&path, &stub.authority_pem).unwrap();
    let path = path.to_str().unwrap();
    let input = format!("{PASSWORD}\n");
    let login = [
        "login",
        &stub.url,
        "--username",
        "alice",
        "--password-stdin",
    ];
    let roots = [("SSL_CERT_FILE", path)];
    drover.run_with(&login, &roots, &input).await.ok();
    drover.run_with(&["whoami"], &roots, "").await.ok();
    drover.run(&["whoami"]).await.failed(6, "not trusted");
    let by_file = [&login[..], &["--ca-file", path]].concat();
    drover.run_with(&by_file, &[], &input).await.ok();
    drover.run(&["whoami"]).await.ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn token_is_not_sent_to_a_server_with_a_changed_certificate_authority() {
    let (stub, drover) = (Stub::start().await, Drover::new());
    drover.log_in(&stub).await.ok();
    let address = stub.authority().parse().unwrap();
    drop(stub);
    let stranger = loop {
        // The task of the old listener ends shortly after its handle.
        if std::net::TcpListener::bind(address).is_ok() {
            break Stub::start_at(address).await;
        }
        tokio::task::yield_now().await;
    };
    drover.run(&["whoami"]).await.failed(6, "not trusted");
    let login = [
        "login",
        &stranger.url,
        "--username",
        "alice",
        "--password-stdin",
    ];
    let ended = drover.run_with(&login, &[], &format!("{PASSWORD}\n")).await;
    ended.failed(6, "may be intercepted");
    assert!(stranger.seen().is_empty(), "{:?}", stranger.seen());
}

#[tokio::test(flavor = "multi_thread")]
async fn logout_command_ends_the_session_and_deletes_the_stored_token() {
    let (stub, drover) = (Stub::start().await, Drover::new());
    drover.log_in(&stub).await.ok();
    drover.run(&["logout"]).await.ok();
    let last = stub.seen().pop().unwrap();
    assert_eq!(
        (last.target.as_str(), last.bearer.as_deref()),
        ("/v1/logout", Some(SESSION))
    );
    let kept = std::fs::read_to_string(drover.config()).unwrap();
    assert!(!kept.contains("sessionsecret"), "{kept}");
    drover.run(&["whoami"]).await.failed(3, "drover login");

    drover.log_in(&stub).await.ok();
    drover.run(&["logout", "--everywhere"]).await.ok();
    let last = stub.seen().pop().unwrap();
    assert_eq!(
        (last.method.as_str(), last.target.as_str()),
        ("DELETE", "/v1/sessions")
    );
    // Without a login the command reports that no session was ended.
    drover
        .run(&["logout", "--everywhere"])
        .await
        .failed(3, "drover login");
}

#[tokio::test(flavor = "multi_thread")]
async fn logins_at_several_servers_are_stored_separately() {
    let (one, two, drover) = (Stub::start().await, Stub::start().await, Drover::new());
    drover.log_in(&one).await.ok();
    drover.log_in(&two).await.ok();
    let user = drover.run(&["whoami"]).await.ok();
    assert!(user.out.contains(&two.url), "{user:?}");
    drover.run(&["context", "use", one.authority()]).await.ok();
    let user = drover.run(&["whoami", "-o", "json"]).await.ok();
    let user: serde_json::Value = serde_json::from_str(&user.out).unwrap();
    assert_eq!(
        (&user["server"], &user["username"]),
        (&one.url.as_str().into(), &"alice".into())
    );
    let named = drover
        .run(&["whoami", "--context", two.authority()])
        .await
        .ok();
    assert!(named.out.contains(&two.url), "{named:?}");
    drover
        .run(&["context", "use", "nowhere"])
        .await
        .failed(1, "context list");
}
