use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drover_apiserver::lifecycle::LifecycleOptions;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::World;

const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";
const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const SECRET: &str = "/api/v1/namespaces/default/secrets/lasting";

fn secret(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
        "metadata": {"name": name,
            "annotations": {"kubernetes.io/service-account.name": "robot"}}})
}

/// Creates a server with the service account `robot`, its Secret `lasting`, and the token in the
/// Secret.
async fn with_secret() -> (World, String) {
    let world = World::with(LifecycleOptions {
        root_ca: Some("PEM".to_owned()),
        ..LifecycleOptions::default()
    })
    .await;
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {"name": "robot"}});
    world.create(ACCOUNTS, &account).await;
    world.create(SECRETS, &secret("lasting")).await;
    let filled = world.until(SECRET, has_token).await;
    let token = data(&filled, "token");
    assert_eq!(data(&filled, "ca.crt"), "PEM");
    assert_eq!(data(&filled, "namespace"), "default");
    (world, token)
}

fn has_token(secret: &Value) -> bool {
    secret["data"]["token"].is_string()
}

fn data(secret: &Value, key: &str) -> String {
    let value = secret["data"][key].as_str().unwrap();
    String::from_utf8(STANDARD.decode(value).unwrap()).unwrap()
}

/// Returns the user of a token, or the error of the token review.
async fn review(world: &World, token: &str) -> Result<String, String> {
    let path = "/apis/authentication.k8s.io/v1/tokenreviews";
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
        "spec": {"token": token}});
    let (code, answer) = world.ask(Method::POST, path, &review).await;
    assert_eq!(code, StatusCode::CREATED, "{answer}");
    let status = &answer["status"];
    match status["authenticated"].as_bool() {
        Some(true) => Ok(status["user"]["username"].as_str().unwrap().to_owned()),
        _ => Err(status["error"].as_str().unwrap_or_default().to_owned()),
    }
}

#[tokio::test]
async fn token_of_a_deleted_secret_is_rejected() {
    let (world, token) = with_secret().await;
    let user = "system:serviceaccount:default:robot".to_owned();
    assert_eq!(review(&world, &token).await, Ok(user));
    world.delete(SECRET, "Background").await;
    let refused = review(&world, &token).await.unwrap_err();
    assert!(refused.contains("invalidated"), "{refused}");
    // A new Secret with the same name has another UID.
    world.create(SECRETS, &secret("lasting")).await;
    world.until(SECRET, has_token).await;
    let refused = review(&world, &token).await.unwrap_err();
    assert!(refused.contains("secret UID"), "{refused}");
    world.stop().await;
}

#[tokio::test]
async fn token_secrets_are_deleted_with_their_account() {
    let (world, token) = with_secret().await;
    world
        .delete(&format!("{ACCOUNTS}/robot"), "Background")
        .await;
    world.until_gone(SECRET).await;
    assert!(review(&world, &token).await.is_err());
    // A Secret of a service account that never existed is also deleted, as by
    // kube-controller-manager.
    world.create(SECRETS, &secret("early")).await;
    world.until_gone(&format!("{SECRETS}/early")).await;
    world.stop().await;
}

#[tokio::test]
async fn changed_token_secret_is_restored() {
    let (world, _) = with_secret().await;
    let emptied = json!({"data": {"token": null, "ca.crt": "eA==", "namespace": null}});
    world.patch(SECRET, &emptied).await;
    let again = world.until(SECRET, has_token).await;
    assert_eq!(data(&again, "ca.crt"), "PEM");
    assert_eq!(data(&again, "namespace"), "default");
    assert!(review(&world, &data(&again, "token")).await.is_ok());
    world.stop().await;
}
