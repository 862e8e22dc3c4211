//! Tests of writes to objects that Drover depends on: the server's namespace and the custom
//! resource definitions.

use http::Method;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::{ObjectMeta, PostParams};
use serde_json::{Value, json};

use super::{JANE, PERSON, Row, row};
use crate::server::Server;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Creates a namespace that Drover does not use. Returns writes to this namespace and to the
/// server's namespace.
pub(super) async fn namespaces(server: &Server) -> Vec<Row> {
    let team = Namespace {
        metadata: ObjectMeta {
            name: Some("team".to_owned()),
            ..ObjectMeta::default()
        },
        ..Namespace::default()
    };
    let all: Api<Namespace> = Api::all(server.hub.client());
    all.create(&PostParams::default(), &team).await.unwrap();
    let at = |name: &str| format!("/api/v1/namespaces/{name}");
    let label = || json!({ "metadata": { "labels": { "mine": "yes" } } });
    let owner = || {
        json!({ "metadata": { "ownerReferences": [{
            "apiVersion": "v1", "kind": "Node", "name": "gone", "uid": "1",
        }] } })
    };
    let own = || at("drover-system");
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "map-" },
    });
    let maps = format!("{}/configmaps", own());
    let mut rows = vec![
        row(PERSON, Method::PATCH, own(), label(), ""),
        row(JANE, Method::POST, maps, map, ""),
    ];
    for writer in [PERSON, JANE] {
        rows.extend([
            row(writer, Method::DELETE, own(), json!({}), "is protected"),
            row(writer, Method::PATCH, own(), owner(), "is protected"),
            row(writer, Method::DELETE, at("team"), json!({}), ""),
        ]);
    }
    rows
}

fn definition(plural: &str, group: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{group}") },
        "spec": {
            "group": group, "scope": "Cluster",
            "names": { "plural": plural, "kind": "Thing" },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object" } },
            }],
        },
    })
}

pub(super) fn definitions() -> Vec<Row> {
    let users = || format!("{DEFINITIONS}/users.management.drover.dev");
    let all = || DEFINITIONS.to_owned();
    let label = || json!({ "metadata": { "labels": { "mine": "yes" } } });
    let new = |group: &str| definition("things", group);
    let mut rows = Vec::new();
    for writer in [PERSON, JANE] {
        rows.extend([
            row(
                writer,
                Method::DELETE,
                users(),
                json!({}),
                "CustomResourceDefinitions",
            ),
            row(
                writer,
                Method::PATCH,
                users(),
                label(),
                "CustomResourceDefinitions",
            ),
            row(
                writer,
                Method::DELETE,
                all(),
                json!({}),
                "CustomResourceDefinitions",
            ),
            row(
                writer,
                Method::POST,
                all(),
                new("management.drover.dev"),
                "CustomResourceDefinitions",
            ),
            row(writer, Method::POST, all(), new("example.com"), ""),
        ]);
    }
    rows
}
