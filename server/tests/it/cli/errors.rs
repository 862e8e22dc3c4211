use http::StatusCode;

use super::program::Drover;
use super::stub::{SESSION, Stub};

#[tokio::test(flavor = "multi_thread")]
async fn cli_errors_have_specific_exit_codes_and_advice() {
    let (stub, drover) = (Stub::start().await, Drover::new());
    drover
        .run(&["cluster", "list"])
        .await
        .failed(3, "drover login");
    drover
        .run(&["cluster", "lost"])
        .await
        .failed(2, "subcommand");
    drover
        .run(&["login"])
        .await
        .failed(2, "drover login https://HOST:PORT");
    drover.run(&["login", "http://x"]).await.failed(2, "https");
    drover.log_in(&stub).await.ok();
    let created = drover.run_with(&["user", "create", "bob", "--generate-password"], &[], "");
    let created = created.await.failed(4, "only administrators");
    assert_eq!(
        created.out, "",
        "the password of a rejected user must not be printed"
    );
    drover
        .run(&["cluster", "get", "nowhere"])
        .await
        .failed(5, "nothing of that name");
    stub.world.lock().sessions_end = true;
    drover
        .run(&["cluster", "list"])
        .await
        .failed(3, "Log in again");
    drop(stub);
    drover
        .run(&["cluster", "list"])
        .await
        .failed(6, "Check the address");
}

#[tokio::test(flavor = "multi_thread")]
async fn cli_reports_unexpected_server_responses() {
    let (stub, drover) = (Stub::start().await, Drover::new());
    drover.log_in(&stub).await.ok();
    stub.world.lock().instead = Some((StatusCode::BAD_GATEWAY, "", "<html>Bad Gateway</html>"));
    drover.run(&["whoami"]).await.failed(1, "502");
    stub.world.lock().instead = Some((StatusCode::OK, "", "drover_topsecret_x"));
    let ended = drover
        .run(&["whoami"])
        .await
        .failed(1, "compare the versions");
    assert!(!ended.err.contains("topsecret"), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn http_redirects_are_not_followed() {
    let (stub, drover) = (Stub::start().await, Drover::new());
    drover.log_in(&stub).await.ok();
    let before = stub.seen().len();
    stub.world.lock().instead = Some((StatusCode::TEMPORARY_REDIRECT, "/elsewhere", ""));
    drover.run(&["whoami"]).await.failed(1, "307");
    assert_eq!(stub.seen().len(), before + 1, "{:?}", stub.seen());
}

#[tokio::test(flavor = "multi_thread")]
async fn cli_token_is_read_from_environment_variable_or_file() {
    let (stub, drover) = (Stub::start().await, Drover::new());
    let ca = drover.home.path().join("ca.pem");
    std::fs::write(&ca, &stub.authority_pem).unwrap();
    let token = drover.home.path().join("token");
    std::fs::write(&token, format!("{SESSION}\n")).unwrap();
    let at = [
        ("DROVER_SERVER", stub.url.as_str()),
        ("DROVER_CA_FILE", ca.to_str().unwrap()),
    ];
    let list = ["cluster", "list"];
    drover
        .run_with(&list, &at, "")
        .await
        .failed(3, "DROVER_TOKEN");
    let with = [&at[..], &[("DROVER_TOKEN", SESSION)]].concat();
    drover.run_with(&list, &with, "").await.ok();
    let by_file = [&at[..], &[("DROVER_TOKEN_FILE", token.to_str().unwrap())]].concat();
    drover.run_with(&list, &by_file, "").await.ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn version_command_prints_the_commit_of_the_checkout() {
    let ended = Drover::new()
        .run(&["version", "--client", "-o", "json"])
        .await
        .ok();
    let version: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    let commit = version["client"]["commit"].as_str().unwrap();
    let checkout = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../.git");
    if checkout.exists() || option_env!("DROVER_COMMIT").is_some() {
        let hexadecimal = commit.bytes().all(|b| b.is_ascii_hexdigit());
        assert!(hexadecimal && commit.len() >= 40, "{commit}");
    } else {
        assert_eq!(commit, "unknown");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn client_version_is_shown_if_the_server_is_unreachable() {
    let (stub, drover) = (Stub::start().await, Drover::new());
    let ended = drover.run(&["version"]).await.ok();
    assert!(ended.out.contains(env!("CARGO_PKG_VERSION")), "{ended:?}");
    drover.log_in(&stub).await.ok();
    let ended = drover.run(&["version", "-o", "json"]).await.ok();
    let both: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(both["server"]["version"], "9.9.9");
    drop(stub);
    let ended = drover
        .run(&["version"])
        .await
        .failed(6, "Check the address");
    assert!(ended.out.contains(env!("CARGO_PKG_VERSION")), "{ended:?}");
    drover.run(&["version", "--client"]).await.ok();
}
