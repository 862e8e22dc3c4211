use k8s_openapi::api::authentication::v1::{
    SelfSubjectReview, TokenRequest, TokenRequestSpec, TokenReview, TokenReviewSpec,
};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod, Secret, ServiceAccount};
use kube::Api;
use kube::api::{ObjectMeta, PostParams};

use super::*;

async fn open(folder: &std::path::Path) -> Embedded {
    Embedded::open(&DataDir::new(folder), HubMemory::default())
        .await
        .unwrap()
}

fn map(name: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    }
}

#[tokio::test]
async fn reopened_hub_contains_objects_of_closed_hub() {
    let folder = tempfile::tempdir().unwrap();
    let hub = open(folder.path()).await;
    // A client that outlives its hub does not keep the file open.
    let client = hub.client();
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    maps.create(&PostParams::default(), &map("kept"))
        .await
        .unwrap();
    hub.close().await;
    let refused = maps.get("kept").await.unwrap_err();
    assert!(format!("{refused:?}").contains("Closed"), "{refused:?}");

    let hub = open(folder.path()).await;
    let maps: Api<ConfigMap> = Api::namespaced(hub.client(), "default");
    maps.get("kept").await.unwrap();
    hub.close().await;
}

#[tokio::test]
async fn embedded_hub_rejects_pods() {
    let folder = tempfile::tempdir().unwrap();
    let hub = open(folder.path()).await;
    let pods: Api<Pod> = Api::namespaced(hub.client(), "default");
    let (options, pod) = (PostParams::default(), Pod::default());
    let refused = pods.create(&options, &pod).await.unwrap_err();
    let kube::Error::Api(status) = &refused else {
        panic!("{refused:?}");
    };
    assert_eq!(status.code, 404, "{refused:?}");
    hub.close().await;
}

#[tokio::test]
async fn second_server_with_the_same_data_folder_fails_with_advice() {
    let folder = tempfile::tempdir().unwrap();
    let hub = open(folder.path()).await;
    let refused = Embedded::open(&DataDir::new(folder.path()), HubMemory::default())
        .await
        .unwrap_err();
    assert!(matches!(refused, EmbeddedError::InUse(_)), "{refused:?}");
    assert!(refused.to_string().contains("--data-dir"), "{refused}");
    hub.close().await;
}

#[tokio::test]
async fn caller_of_embedded_hub_is_changed_only_by_impersonation_headers() {
    let folder = tempfile::tempdir().unwrap();
    let hub = open(folder.path()).await;
    let ask = async |header: Option<(&str, &str)>| {
        let review = serde_json::to_vec(&SelfSubjectReview::default()).unwrap();
        let uri = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
        let mut request = Request::post(uri)
            .header("content-type", "application/json")
            .extension(Caller::user("somebody", []));
        if let Some((name, value)) = header {
            request = request.header(name, value);
        }
        let request = request.body(review).unwrap();
        let answer: SelfSubjectReview = hub.client().request(request).await.unwrap();
        answer.status.unwrap().user_info.unwrap().username.unwrap()
    };
    assert_eq!(ask(None).await, SERVER);
    assert_eq!(ask(Some(("x-remote-user", "eve"))).await, SERVER);
    assert_eq!(ask(Some(("impersonate-user", "eve"))).await, "eve");
    hub.close().await;
}

#[tokio::test]
async fn impersonated_user_without_roles_receives_403() {
    let folder = tempfile::tempdir().unwrap();
    let hub = open(folder.path()).await;
    let request = Request::get("/api/v1/namespaces")
        .header("impersonate-user", "drover:user:1")
        .body(Vec::new())
        .unwrap();
    let refused = hub
        .client()
        .request::<kube::core::ObjectList<Namespace>>(request)
        .await
        .unwrap_err();
    let kube::Error::Api(status) = refused else {
        unreachable!("{refused}")
    };
    assert_eq!(status.code, 403);
    hub.close().await;
}

/// Creates the service account `robot` in `default`.
async fn robot(hub: &Embedded) -> Api<ServiceAccount> {
    let accounts: Api<ServiceAccount> = Api::namespaced(hub.client(), "default");
    let mut account = ServiceAccount::default();
    account.metadata.name = Some("robot".to_owned());
    let created = accounts.create(&PostParams::default(), &account).await;
    created.unwrap();
    accounts
}

#[tokio::test]
async fn token_review_accepts_service_account_token() {
    let folder = tempfile::tempdir().unwrap();
    let hub = open(folder.path()).await;
    let accounts = robot(&hub).await;
    let request = TokenRequest {
        spec: Some(TokenRequestSpec::default()),
        ..TokenRequest::default()
    };
    let created = accounts
        .create_token_request("robot", &PostParams::default(), &request)
        .await
        .unwrap();
    let token = created.status.unwrap().token.unwrap();
    let reviews: Api<TokenReview> = Api::all(hub.client());
    let review = async |token: &str| {
        let review = TokenReview {
            spec: TokenReviewSpec {
                token: token.to_owned(),
                ..TokenReviewSpec::default()
            },
            ..TokenReview::default()
        };
        let review = reviews.create(&PostParams::default(), &review).await;
        review.unwrap().status.unwrap()
    };
    let status = review(&token).await;
    let user = status.user.unwrap().username.unwrap();
    assert_eq!(user, "system:serviceaccount:default:robot");
    assert_ne!(review("a.b.c").await.authenticated, Some(true));
    hub.close().await;
}

#[tokio::test]
async fn requested_service_account_token_expires_after_90_days_at_most() {
    const DAY: i64 = 24 * 60 * 60;
    let folder = tempfile::tempdir().unwrap();
    let hub = open(folder.path()).await;
    let accounts = robot(&hub).await;
    for (requested, granted) in [
        (1 << 32, 90 * DAY),
        (90 * DAY + 1, 90 * DAY),
        (90 * DAY, 90 * DAY),
        (3600, 3600),
    ] {
        let request = TokenRequest {
            spec: Some(TokenRequestSpec {
                expiration_seconds: Some(requested),
                ..TokenRequestSpec::default()
            }),
            ..TokenRequest::default()
        };
        let created = accounts
            .create_token_request("robot", &PostParams::default(), &request)
            .await
            .unwrap();
        // The response contains the granted lifetime and the expiry.
        assert_eq!(created.spec.unwrap().expiration_seconds, Some(granted));
        let ends = created.status.unwrap().expiration_timestamp.unwrap();
        let ends = ends.0.as_second();
        let begins = created.metadata.creation_timestamp.unwrap().0.as_second();
        assert_eq!(ends - begins, granted, "{requested}");
    }
    hub.close().await;
}

#[tokio::test]
async fn service_account_token_in_secret_expires_after_90_days() {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    const DAY: i64 = 24 * 60 * 60;
    let folder = tempfile::tempdir().unwrap();
    let hub = open(folder.path()).await;
    hub.trust("PEM".to_owned());
    robot(&hub).await;
    let secrets: Api<Secret> = Api::namespaced(hub.client(), "default");
    let secret = serde_json::json!({
        "type": "kubernetes.io/service-account-token",
        "metadata": {"name": "lasting",
            "annotations": {"kubernetes.io/service-account.name": "robot"}},
    });
    let secret: Secret = serde_json::from_value(secret).unwrap();
    secrets
        .create(&PostParams::default(), &secret)
        .await
        .unwrap();
    let filled = async {
        loop {
            let data = secrets.get("lasting").await.unwrap().data;
            if let Some(data) = data {
                return data;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let data = tokio::time::timeout(Duration::from_secs(30), filled)
        .await
        .unwrap();
    assert_eq!(data["ca.crt"].0, b"PEM");
    let token = String::from_utf8(data["token"].0.clone()).unwrap();
    let claims = URL_SAFE_NO_PAD
        .decode(token.split('.').nth(1).unwrap())
        .unwrap();
    let claims: serde_json::Value = serde_json::from_slice(&claims).unwrap();
    let (begins, ends) = (claims["iat"].as_i64(), claims["exp"].as_i64());
    assert_eq!(ends.unwrap() - begins.unwrap(), 90 * DAY);
    assert_eq!(claims["kubernetes.io"]["secret"]["name"], "lasting");
    hub.close().await;
}

/// Tests that users cannot change default roles. The hub restores the bindings of these roles
/// without a check.
#[test]
fn users_cannot_change_default_roles() {
    use drover_access::admission::{AdmissionContext, Operation, RBAC, Write, admit};
    use drover_apiserver::access::bootstrap_objects;
    let roles = bootstrap_objects()
        .into_iter()
        .filter(|object| matches!(object.kind.resource(), "roles" | "clusterroles"));
    for role in roles {
        // A role with the name of a default role, but without its label and rules.
        let plain = serde_json::json!({});
        let write = Write {
            writer: "drover:user:1",
            groups: &[],
            operation: Operation::Create,
            group: RBAC,
            resource: role.kind.resource(),
            subresource: "",
            namespace: &role.namespace,
            name: &role.name,
            object: Some(&plain),
            old: None,
        };
        let refused = admit(&write, AdmissionContext::embedded(SERVER), None).unwrap_err();
        assert!(refused.to_string().contains("default role"), "{refused}");
    }
}

/// Tests that the server's copy of Kubernetes' default roles equals the hub's default roles.
#[test]
fn server_copy_of_default_role_rules_matches_the_embedded_hub() {
    use drover_access::roles::known_rules;
    use drover_apiserver::access::{BootstrapObject, bootstrap_objects};
    use drover_rbac::{Rule, missing};

    fn gathered(role: &BootstrapObject, all: &[BootstrapObject]) -> Vec<Rule> {
        let mut rules = Rule::parse_all(&role.object);
        let selectors = role.object["aggregationRule"]["clusterRoleSelectors"].as_array();
        for selector in selectors.into_iter().flatten() {
            let expected = selector["matchLabels"].as_object().unwrap();
            for other in all.iter().filter(|other| other.name != role.name) {
                let labels = &other.object["metadata"]["labels"];
                if expected.iter().all(|(key, value)| labels[key] == *value) {
                    rules.extend(gathered(other, all));
                }
            }
        }
        rules
    }

    let mut all = bootstrap_objects();
    all.retain(|object| object.kind.resource() == "clusterroles");
    for name in ["admin", "cluster-admin", "edit", "view"] {
        let role = all.iter().find(|role| role.name == name).unwrap();
        let (known, created) = (known_rules(name), gathered(role, &all));
        assert_eq!(
            missing(&created, known),
            [],
            "the copy of {name} has extra rules"
        );
        assert_eq!(
            missing(known, &created),
            [],
            "the copy of {name} lacks rules"
        );
    }
    assert_eq!(known_rules("something-else"), []);
}

/// Sends a write as a user with all permissions in the hub's RBAC. Returns the status code and the
/// message.
async fn write_as(
    hub: &Embedded,
    writer: &str,
    method: http::Method,
    path: &str,
    body: &serde_json::Value,
) -> (u16, String) {
    let request = Request::builder()
        .method(method)
        .uri(format!("/apis/management.drover.dev/v1alpha1/{path}"))
        .header("content-type", "application/json")
        .header("impersonate-user", writer)
        .header("impersonate-group", "system:masters")
        .body(serde_json::to_vec(body).unwrap())
        .unwrap();
    match hub.client().request::<serde_json::Value>(request).await {
        Ok(_) => (200, String::new()),
        Err(kube::Error::Api(status)) => (status.code, status.message.clone()),
        Err(other) => panic!("{path}: {other:?}"),
    }
}

#[tokio::test]
async fn kubernetes_api_rejects_binding_of_role_with_permissions_that_the_user_lacks() {
    use drover_api::kinds::User;
    use http::Method;
    use serde_json::json;

    let folder = tempfile::tempdir().unwrap();
    let hub = open(folder.path()).await;
    let client = hub.client();
    crate::definitions::install(&client).await.unwrap();
    let object = |kind: &str, spec: serde_json::Value| {
        json!({
            "apiVersion": "management.drover.dev/v1alpha1", "kind": kind,
            "metadata": { "name": "ann" }, "spec": spec,
        })
    };
    let everything = json!([{ "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] }]);
    let role = object("GlobalRole", json!({ "rules": everything }));
    let binding = object(
        "GlobalRoleBinding",
        json!({ "role": { "name": "ann" }, "subject": { "user": { "name": "ann" } } }),
    );
    let users: Api<User> = Api::all(client.clone());
    let ann = serde_json::from_value(object("User", json!({}))).unwrap();
    let ann = users.create(&PostParams::default(), &ann).await.unwrap();
    let ann = format!("drover:user:{}", ann.metadata.uid.unwrap());

    // Other accounts cannot write before the server enables the checks.
    let (code, message) = write_as(&hub, "jane", Method::POST, "globalroles", &role).await;
    assert_eq!(code, 503, "{message}");

    let (stores, tasks) = (Stores::new(), tokio_util::task::TaskTracker::new());
    let stop = CancellationToken::new();
    stores.run_reflectors(&client, &tasks, &stop);
    hub.enforce_rules(stores.clone());
    assert!(stores.wait_until_synced(CLOSE_TIMEOUT).await);
    // A writer with all permissions on the hub may create the role. A Drover user without the role
    // may not bind it.
    let (code, message) = write_as(&hub, "jane", Method::POST, "globalroles", &role).await;
    assert_eq!(code, 200, "{message}");
    let (code, message) = write_as(&hub, &ann, Method::POST, "globalrolebindings", &binding).await;
    assert!(
        code == 403 && message.contains("on the hub lack"),
        "{code} {message}"
    );
    let (code, message) =
        write_as(&hub, "jane", Method::POST, "globalrolebindings", &binding).await;
    assert_eq!(code, 200, "{message}");
    let path = "globalrolebindings/ann";
    let (code, message) = write_as(&hub, &ann, Method::DELETE, path, &json!({})).await;
    assert!(
        code == 403 && message.contains("on the hub lack"),
        "{code} {message}"
    );

    stop.cancel();
    tasks.close();
    tasks.wait().await;
    hub.close().await;
}
