//! Tests of writes to Drover's custom resources.

use http::Method;
use serde_json::{Value, json};

use super::{JANE, OURS, PERSON, Row, row};

fn patch(writer: &'static str, path: &str, body: Value, refused: &'static str) -> Row {
    row(
        writer,
        Method::PATCH,
        format!("{OURS}/{path}"),
        body,
        refused,
    )
}

pub(super) fn users() -> Vec<Row> {
    let new = |name: &str, administrator: bool| {
        json!({
            "apiVersion": "management.drover.dev/v1alpha1", "kind": "User",
            "metadata": { "name": name }, "spec": { "administrator": administrator },
        })
    };
    let path = || format!("{OURS}/users");
    let administrator = || json!({ "spec": { "administrator": true } });
    let waived = json!({ "spec": { "mustChangePassword": false } });
    let note = |key: &str| json!({ "metadata": { "annotations": { key: "x" } } });
    let untold = note("management.drover.dev/first-password-untold");
    let seen = json!({ "status": { "lastLoginAt": "2026-01-01T00:00:00Z" } });
    vec![
        row(
            PERSON,
            Method::POST,
            path(),
            new("zoe", true),
            "administrators",
        ),
        row(PERSON, Method::POST, path(), new("zoe", false), ""),
        patch(PERSON, "users/ann", administrator(), "administrators"),
        patch(JANE, "users/ann", administrator(), "administrators"),
        patch(
            PERSON,
            "users/ann",
            json!({ "spec": { "displayName": "Ann" } }),
            "",
        ),
        patch(
            PERSON,
            "users/ann",
            json!({ "spec": { "enabled": false } }),
            "",
        ),
        patch(PERSON, "users/ann", owned(), "only administrators"),
        row(PERSON, Method::DELETE, at("ann"), json!({}), ""),
        patch(PERSON, "users/ann", waived, "mustChangePassword"),
        patch(JANE, "users/ann/status", seen, "only Drover's server"),
        patch(JANE, "users/ann", untold, "annotations with the prefix"),
        patch(JANE, "users/ann", note("example.com/mine"), ""),
    ]
}

/// Returns writes to the User object of the only administrator, such as a write that removes the
/// administrator permission.
pub(super) fn administrators() -> Vec<Row> {
    let change = |spec: Value| json!({ "spec": spec });
    let unmade = || change(json!({ "administrator": false }));
    let disabled = || change(json!({ "enabled": false }));
    let named = || change(json!({ "displayName": "Boss" }));
    let above = "only administrators";
    let mut rows = vec![
        patch(JANE, "users/admin", named(), ""),
        patch(PERSON, "users/admin", named(), above),
    ];
    for (writer, refused) in [(PERSON, above), (JANE, "")] {
        rows.extend([
            patch(writer, "users/admin", unmade(), "administrators"),
            patch(writer, "users/admin", disabled(), "drover user disable"),
            patch(writer, "users/admin", owned(), "ownerReferences"),
            row(
                writer,
                Method::DELETE,
                at("admin"),
                json!({}),
                "drover user delete",
            ),
            // A `deletecollection` request.
            row(
                writer,
                Method::DELETE,
                format!("{OURS}/users"),
                json!({}),
                "drover user delete",
            ),
            // Enables the administrator again.
            patch(
                writer,
                "users/eve",
                change(json!({ "enabled": true })),
                "drover user enable",
            ),
            row(writer, Method::DELETE, at("eve"), json!({}), refused),
        ]);
    }
    rows
}

/// Returns an owner reference. The garbage collector deletes an object together with its owner.
fn owned() -> Value {
    json!({ "metadata": { "ownerReferences": [{
        "apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "1",
    }] } })
}

/// Returns a finalizer. The finalizer delays the deletion of an object until a client removes the
/// finalizer.
fn held() -> Value {
    json!({ "metadata": { "finalizers": ["example.com/stay"] } })
}

fn at(user: &str) -> String {
    format!("{OURS}/users/{user}")
}

pub(super) fn tokens(id: &str) -> Vec<Row> {
    let new = json!({
        "apiVersion": "management.drover.dev/v1alpha1", "kind": "Token",
        "metadata": { "name": "bcdfghjkmnpq" },
        "spec": {
            "userName": "admin", "userUid": "1", "purpose": "Api",
            "hash": format!("sha256:{}", "0".repeat(64)), "expiresAt": "2100-01-01T00:00:00Z",
        },
    });
    let owner = json!({ "metadata": { "ownerReferences": [] } });
    let label = json!({ "metadata": { "labels": { "mine": "yes" } } });
    let finalizer = json!({ "metadata": { "finalizers": ["example.com/stay"] } });
    let it = format!("tokens/{id}");
    vec![
        row(
            JANE,
            Method::POST,
            format!("{OURS}/tokens"),
            new,
            "drover token create",
        ),
        patch(PERSON, &it, label, ""),
        patch(PERSON, &it, finalizer, "finalizers"),
        patch(PERSON, &it, owner, "ownerReferences"),
        row(
            PERSON,
            Method::DELETE,
            format!("{OURS}/{it}"),
            json!({}),
            "",
        ),
    ]
}

pub(super) fn clusters_and_settings() -> Vec<Row> {
    let key = json!({ "status": { "registration": {
        "publicKey": "AAAA", "boundAt": "2026-01-01T00:00:00Z", "tokenId": "x",
    } } });
    let value = |text: &str| json!({ "spec": { "value": text } });
    let mut new = key.clone();
    new["apiVersion"] = "management.drover.dev/v1alpha1".into();
    new["kind"] = "Cluster".into();
    new["metadata"] = json!({ "name": "new" });
    new["spec"] = json!({});
    vec![
        patch(
            PERSON,
            "clusters/shop/status",
            key.clone(),
            "only Drover's server",
        ),
        // The definition drops unknown fields of this write, so the rules accept it.
        patch(PERSON, "clusters/shop", key, ""),
        row(PERSON, Method::POST, format!("{OURS}/clusters"), new, ""),
        patch(
            PERSON,
            "clusters/shop",
            json!({ "spec": { "description": "x" } }),
            "",
        ),
        patch(PERSON, "settings/session-ttl", value("soon"), "session-ttl"),
        patch(PERSON, "settings/token-default-ttl", value("2h"), ""),
    ]
}

/// Returns writes of a view and of preferences of the user `ann`, whose UID is `uid`.
pub(super) fn views(uid: &str) -> Vec<Row> {
    let owner = json!({
        "apiVersion": "management.drover.dev/v1alpha1", "kind": "User", "name": "ann", "uid": uid,
    });
    let view = |path: &str, owners: &[Value]| {
        json!({
            "apiVersion": "management.drover.dev/v1alpha1", "kind": "SavedView",
            "metadata": { "name": format!("{uid}-0"), "ownerReferences": owners },
            "spec": { "userName": "ann", "userUid": uid, "displayName": "Pods", "path": path },
        })
    };
    let preferences = json!({
        "apiVersion": "management.drover.dev/v1alpha1", "kind": "UserPreferences",
        "metadata": { "name": uid, "ownerReferences": [owner] },
        "spec": { "userName": "ann", "userUid": uid, "theme": "Dark" },
    });
    let post = |writer, kind: &str, body, refused| {
        let path = format!("{OURS}/{kind}");
        row(writer, Method::POST, path, body, refused)
    };
    let (owners, valid) = ([owner], "/objects/pods");
    vec![
        post(JANE, "savedviews", view(valid, &owners), ""),
        post(JANE, "savedviews", view(valid, &[]), "ownerReferences"),
        post(
            JANE,
            "savedviews",
            view("/v1/session", &owners),
            "spec.path",
        ),
        post(PERSON, "savedviews", view(valid, &owners), "only the owner"),
        post(JANE, "userpreferences", preferences.clone(), ""),
        post(PERSON, "userpreferences", preferences, "only the owner"),
    ]
}

/// Returns writes that require an administrator of Drover, or a user with all permissions on the
/// hub.
pub(super) fn administered() -> Vec<Row> {
    let provider = |secret: &str| {
        json!({
            "apiVersion": "management.drover.dev/v1alpha1", "kind": "AuthProvider",
            "metadata": { "name": "corporate" },
            "spec": { "oidc": {
                "issuer": "https://sign-in.example", "clientId": "drover",
                "clientSecret": { "name": secret, "key": "secret" },
            } },
        })
    };
    let image = json!({ "spec": { "agent": { "image": "registry.example/agent" } } });
    let url = json!({ "spec": { "value": "https://drover.example" } });
    let registry = json!({ "spec": { "value": "registry.example" } });
    let longer = |value: &str| json!({ "spec": { "value": value } });
    let refused = "only administrators";
    let mut rows = vec![row(
        JANE,
        Method::POST,
        format!("{OURS}/authproviders"),
        provider("server-ca"),
        "spec.oidc.clientSecret.name",
    )];
    for (writer, refused) in [(PERSON, refused), (JANE, "")] {
        rows.extend([
            row(
                writer,
                Method::POST,
                format!("{OURS}/authproviders"),
                provider("corporate"),
                refused,
            ),
            patch(writer, "clusters/shop", image.clone(), refused),
            patch(writer, "settings/server-url", url.clone(), refused),
            patch(
                writer,
                "settings/agent-image-registry",
                registry.clone(),
                refused,
            ),
        ]);
        for (setting, value) in [
            ("token-max-ttl", "365d"),
            ("session-ttl", "365d"),
            ("session-idle-ttl", "365d"),
            ("provider-grace", "30d"),
            ("groups-refresh", "6h"),
            ("log-filter", "off"),
            ("agent-image-pull-policy", "Never"),
        ] {
            let path = format!("settings/{setting}");
            rows.push(patch(writer, &path, longer(value), refused));
            let path = format!("{OURS}/settings/{setting}");
            rows.push(row(writer, Method::DELETE, path, json!({}), refused));
        }
        for path in ["clusters/shop", "settings/token-default-ttl"] {
            rows.extend([
                patch(writer, path, owned(), refused),
                patch(writer, path, held(), refused),
            ]);
        }
    }
    rows
}
