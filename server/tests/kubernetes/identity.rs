//! Tests of login, tokens and revocation with HTTP clients.

use drover_server::wire;
use reqwest::Method;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::place::{TestHub, on_both_hubs};
use crate::server::{Answer, PASSWORD, Server, options, token};

on_both_hubs!(
    unprinted_first_password_is_replaced_and_printed,
    first_administrator_changes_the_password_then_creates_and_revokes_tokens,
    disabled_deleted_or_reset_user_loses_access_immediately,
    token_scoped_to_a_cluster_is_rejected_by_the_rest_api,
    browser_signs_in_and_signs_out_of_one_session_or_all_sessions,
    second_sign_in_ends_only_the_previous_session_of_the_same_browser,
    password_guessing_is_rate_limited_and_reveals_no_user_names,
);

/// Sends a request with the headers of the web UI: the cookie, the origin and the optional CSRF
/// token.
async fn page(
    server: &Server,
    method: Method,
    path: &str,
    (cookie, csrf): (&str, &str),
    body: Option<Value>,
) -> Answer {
    let headers = [
        ("cookie", cookie),
        ("origin", &server.url),
        ("x-drover-csrf", csrf),
    ];
    server.call_with(method, path, &headers, body).await
}

/// Signs in with a browser's headers. Returns the cookie and the session.
async fn sign_in(server: &Server, name: &str, password: &str) -> (String, Value) {
    let body = json!({ "username": name, "password": password });
    let headers = [("origin", server.url.as_str())];
    let answer = server
        .call_with(Method::POST, "/v1/session", &headers, Some(body))
        .await;
    let cookie = answer.headers["set-cookie"].to_str().unwrap().to_owned();
    let session = answer.expect(201);
    let (pair, attributes) = cookie.split_once("; ").unwrap();
    for attribute in [
        "Path=/",
        "Secure",
        "HttpOnly",
        "SameSite=Strict",
        "Max-Age=",
    ] {
        assert!(attributes.contains(attribute), "{attributes}");
    }
    let secret = pair.rsplit('_').next().unwrap();
    assert!(
        !session.to_string().contains(secret),
        "only the cookie contains the secret"
    );
    (pair.to_owned(), session)
}

async fn browser_signs_in_and_signs_out_of_one_session_or_all_sessions(hub: TestHub) {
    let server = Server::start(&hub).await;
    let first = server.first_password().await;

    // The first session allows only the change of the password, which ends the session.
    let (cookie, session) = sign_in(&server, "admin", &first).await;
    assert_eq!(session["me"]["mustChangePassword"], true);
    let ours = (cookie.as_str(), session["csrfToken"].as_str().unwrap());
    let (users, here) = ("/v1/users", "/v1/session");
    page(&server, Method::GET, users, ours, None)
        .await
        .expect(403);
    let change = json!({ "current": first, "new": PASSWORD });
    let changed = page(&server, Method::POST, "/v1/me/password", ours, Some(change)).await;
    changed.expect(204);
    page(&server, Method::GET, here, ours, None)
        .await
        .expect(401);

    let (cookie, session) = sign_in(&server, "admin", PASSWORD).await;
    assert_eq!(session["idleSeconds"], 3600);
    let ours = (cookie.as_str(), session["csrfToken"].as_str().unwrap());
    let again = page(&server, Method::GET, here, ours, None)
        .await
        .expect(200);
    assert_eq!(
        again["csrfToken"], session["csrfToken"],
        "a reloaded page gets the same CSRF token"
    );
    let local = "/k8s/clusters/local/apis/management.drover.dev/v1alpha1/users";
    page(&server, Method::GET, local, ours, None)
        .await
        .expect(200);
    let bob = json!({ "name": "bob", "password": "the very first password" });
    let forged = (cookie.as_str(), "nothing");
    page(&server, Method::POST, users, forged, Some(bob.clone()))
        .await
        .expect(403);
    page(&server, Method::POST, users, ours, Some(bob))
        .await
        .expect(201);

    // Signing out ends this session. Signing out everywhere also ends sessions of programs but
    // keeps API tokens.
    let (other, other_session) = sign_in(&server, "admin", PASSWORD).await;
    let other = (other.as_str(), other_session["csrfToken"].as_str().unwrap());
    let gone = page(&server, Method::DELETE, here, other, None).await;
    let cleared = gone.headers["set-cookie"].to_str().unwrap().to_owned();
    assert!(cleared.starts_with("__Host-drover=;") && cleared.ends_with("Max-Age=0"));
    gone.expect(204);
    page(&server, Method::GET, here, other, None)
        .await
        .expect(401);
    let program = server.login("admin", PASSWORD).await;
    let wish = json!({ "purpose": "Api", "ttlSeconds": 3600 });
    let lasting = token(&server.post("/v1/tokens", &program, wish).await.expect(201));
    page(&server, Method::GET, here, ours, None)
        .await
        .expect(200);
    let everywhere = page(&server, Method::DELETE, "/v1/sessions", ours, None).await;
    everywhere.expect(204);
    page(&server, Method::GET, here, ours, None)
        .await
        .expect(401);
    server.get("/v1/me", &program).await.expect(401);
    server.get("/v1/me", &lasting).await.expect(200);
    server.stop().await;
}

async fn second_sign_in_ends_only_the_previous_session_of_the_same_browser(hub: TestHub) {
    let server = Server::start(&hub).await;
    let first = server.first_password().await;
    server.first_login("admin", &first).await;
    let credentials = json!({ "username": "admin", "password": PASSWORD });
    let here = "/v1/session";
    let (former, _) = sign_in(&server, "admin", PASSWORD).await;
    let (other, _) = sign_in(&server, "admin", PASSWORD).await;
    // The ID of a session without its secret does not end the session.
    let (id, secret) = (other.rsplit_once('_'), former.rsplit_once('_'));
    let forged = format!("{}_{}", id.unwrap().0, secret.unwrap().1);
    for (owned, status) in [(&forged, 200), (&other, 401)] {
        let again = Some(credentials.clone());
        let answer = page(&server, Method::POST, here, (owned.as_str(), ""), again).await;
        answer.expect(201);
        let answer = page(&server, Method::GET, here, (&*other, ""), None).await;
        answer.expect(status);
    }
    let answer = page(&server, Method::GET, here, (&*former, ""), None).await;
    answer.expect(200);
    server.stop().await;
}

async fn unprinted_first_password_is_replaced_and_printed(hub: TestHub) {
    // The unwritable password file does not stop the server. The next start writes the file.
    let nowhere = hub.folder().join("no/such/folder/first-password");
    let server = wire::start(options(&hub, Some(nowhere)), CancellationToken::new()).await;
    let ended = server.unwrap().wait().await.unwrap_err();
    assert!(ended.to_string().contains("first-password"), "{ended}");
    let server = Server::start(&hub).await;
    let first = server.first_password().await;
    server.stop().await;

    // Simulates a crash between storing the password and printing it.
    let mark = "management.drover.dev/first-password-untold=true";
    let annotate = ["annotate", "users.management.drover.dev", "admin", mark];
    hub.kubectl(annotate).await.unwrap();
    let server = Server::start(&hub).await;
    let second = server.first_password().await;
    server.try_login("admin", &first).await.expect(401);
    server.first_login("admin", &second).await;
    server.stop().await;

    // After a user has changed the password, the server keeps it whatever the annotation contains.
    hub.kubectl(annotate).await.unwrap();
    let server = Server::start(&hub).await;
    server.login("admin", PASSWORD).await;
    server.stop().await;
}

async fn first_administrator_changes_the_password_then_creates_and_revokes_tokens(hub: TestHub) {
    let server = Server::start(&hub).await;
    let first = server.first_password().await;

    // The first login allows only the change of the password.
    let change = server.login("admin", &first).await;
    let me = server.get("/v1/me", &change).await.expect(200);
    assert_eq!(me["mustChangePassword"], true);
    for path in ["/v1/tokens", "/v1/users", "/v1/clusters", "/v1/settings"] {
        server.get(path, &change).await.expect(403);
    }
    let short = json!({ "current": first, "new": "short" });
    let refused = server
        .post("/v1/me/password", &change, short)
        .await
        .expect(422);
    assert_eq!(refused["details"]["causes"][0]["field"], "new");
    let wrong = json!({ "current": "not the password", "new": PASSWORD });
    let refused = server
        .post("/v1/me/password", &change, wrong)
        .await
        .expect(401);
    assert_eq!(refused["message"], "the current password is wrong");
    let right = json!({ "current": first, "new": PASSWORD });
    server
        .post("/v1/me/password", &change, right)
        .await
        .expect(204);
    server.get("/v1/me", &change).await.expect(401);
    server.try_login("admin", &first).await.expect(401);

    let session = server.login("admin", PASSWORD).await;
    let me = server.get("/v1/me", &session).await.expect(200);
    assert_eq!(me["administrator"], true);
    let uid = server
        .hub
        .users()
        .get("admin")
        .await
        .unwrap()
        .metadata
        .uid
        .unwrap();
    assert_eq!(me["kubernetesUser"], format!("drover:user:{uid}"));

    // A token is valid from its creation until its deletion.
    let wish = json!({ "purpose": "Api", "description": "for a robot", "ttlSeconds": 3600 });
    let created = server.post("/v1/tokens", &session, wish).await.expect(201);
    let api = token(&created);
    let id = created["metadata"]["id"].as_str().unwrap();
    server.get("/v1/me", &api).await.expect(200);
    let stored = server.hub.tokens().get(id).await.unwrap();
    let object = serde_json::to_string(&stored).unwrap();
    assert!(
        !object.contains(api.rsplit('_').next().unwrap()),
        "the hub must store only a hash"
    );
    server
        .delete(&format!("/v1/tokens/{id}"), &session)
        .await
        .expect(204);
    server.get("/v1/me", &api).await.expect(401);
    server
        .delete(&format!("/v1/tokens/{id}"), &session)
        .await
        .expect(404);

    // Logging out revokes only the presented token.
    let other = server.login("admin", PASSWORD).await;
    server
        .post("/v1/logout", &other, json!(null))
        .await
        .expect(204);
    server.get("/v1/me", &other).await.expect(401);
    server.get("/v1/me", &session).await.expect(200);
    server.stop().await;
}

async fn disabled_deleted_or_reset_user_loses_access_immediately(hub: TestHub) {
    let server = Server::start(&hub).await;
    let admin = server.administrator().await;
    let ann = server.user(&admin, "ann").await;
    let wish = json!({ "purpose": "Api" });
    let api = token(
        &server
            .post("/v1/tokens", &ann, wish.clone())
            .await
            .expect(201),
    );

    // Disable and enable the user.
    let path = "/v1/users/ann";
    let flip = |enabled| Some(json!({ "enabled": enabled }));
    server
        .call(Method::PATCH, path, Some(&admin), flip(false))
        .await
        .expect(200);
    server.get("/v1/me", &ann).await.expect(401);
    server.get("/v1/me", &api).await.expect(401);
    server.try_login("ann", PASSWORD).await.expect(403);
    server
        .try_login("ann", "not the password")
        .await
        .expect(401);
    server
        .call(Method::PATCH, path, Some(&admin), flip(true))
        .await
        .expect(200);
    server.get("/v1/me", &api).await.expect(200);

    // A new password revokes logins. It revokes other tokens only with `revokeTokens`.
    let reset = json!({ "new": "a password by the admin", "revokeTokens": false });
    server
        .post("/v1/users/ann/password", &admin, reset)
        .await
        .expect(204);
    server.get("/v1/me", &ann).await.expect(401);
    server.get("/v1/me", &api).await.expect(200);
    server.try_login("ann", PASSWORD).await.expect(401);
    let again = server.first_login("ann", "a password by the admin").await;
    server.get("/v1/me", &again).await.expect(200);

    // By default a new password revokes all tokens. A separate action revokes them, too.
    let reset = json!({ "new": "another password by the admin" });
    server
        .post("/v1/users/ann/password", &admin, reset)
        .await
        .expect(204);
    server.get("/v1/me", &again).await.expect(401);
    server.get("/v1/me", &api).await.expect(401);
    let third = server
        .first_login("ann", "another password by the admin")
        .await;
    let api = token(&server.post("/v1/tokens", &third, wish).await.expect(201));
    server
        .delete("/v1/users/ann/tokens", &admin)
        .await
        .expect(204);
    server.get("/v1/me", &third).await.expect(401);
    server.get("/v1/me", &api).await.expect(401);

    // A new user with the same name inherits no tokens.
    server.delete(path, &admin).await.expect(204);
    server.get("/v1/me", &again).await.expect(401);
    let new = server.user(&admin, "ann").await;
    server.get("/v1/me", &api).await.expect(401);
    server.get("/v1/me", &again).await.expect(401);
    server.get("/v1/me", &new).await.expect(200);
    server.stop().await;
}

async fn token_scoped_to_a_cluster_is_rejected_by_the_rest_api(hub: TestHub) {
    let server = Server::start(&hub).await;
    let admin = server.administrator().await;
    server
        .post("/v1/clusters", &admin, json!({ "name": "shop" }))
        .await
        .expect(201);
    let wish = json!({ "purpose": "Kubeconfig", "cluster": "shop" });
    let created = server.post("/v1/tokens", &admin, wish).await.expect(201);
    let scoped = token(&created);
    let uid = server
        .hub
        .clusters()
        .get("shop")
        .await
        .unwrap()
        .metadata
        .uid
        .unwrap();
    assert_eq!(
        created["metadata"]["cluster"],
        json!({ "name": "shop", "uid": uid })
    );
    for path in [
        "/v1/tokens",
        "/v1/users",
        "/v1/clusters",
        "/v1/clusters/shop",
        "/v1/settings",
    ] {
        server.get(path, &scoped).await.expect(403);
    }
    server
        .post("/v1/tokens", &scoped, json!({ "purpose": "Api" }))
        .await
        .expect(403);
    server.get("/v1/me", &scoped).await.expect(200);
    let wish = json!({ "purpose": "Kubeconfig", "cluster": "nowhere" });
    server.post("/v1/tokens", &admin, wish).await.expect(404);
    server.stop().await;
}

async fn password_guessing_is_rate_limited_and_reveals_no_user_names(hub: TestHub) {
    let server = Server::start(&hub).await;
    server.administrator().await;
    let known = server.try_login("admin", "not the password").await;
    let unknown = server.try_login("nobody", "not the password").await;
    assert_eq!((known.code, &known.body), (unknown.code, &unknown.body));
    assert_eq!(known.code.as_u16(), 401);

    let guesses = (0..30).map(|_| server.try_login("admin", "not the password"));
    let answers = futures::future::join_all(guesses).await;
    let limited = answers
        .into_iter()
        .find(|answer| answer.code.as_u16() == 429);
    let limited = limited.expect("the rate limit rejects one of thirty guesses");
    assert!(limited.headers.contains_key("retry-after"));
    assert_eq!(limited.body["reason"], "TooManyRequests");
    // An unknown user name gets the same responses. The requests run in parallel, because
    // sequential requests on a slow machine stay below the rate limit.
    let guesses = (0..30).map(|_| server.try_login("nobody", "not the password"));
    let answers = futures::future::join_all(guesses).await;
    assert!(answers.iter().any(|answer| answer.code.as_u16() == 429));
    server.stop().await;
}
