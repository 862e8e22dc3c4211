//! Tests of the rights of an agent on the hub, as kubectl lists them.

use std::collections::BTreeSet;
use std::path::Path;

use drover_api::fleet::{Bundle, BundleDeployment};
use drover_api::gitops::FLEET_NAMESPACE;
use drover_e2e::{CommandLine, Tool, eventually};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::{Api, PostParams};
use serde_json::json;

use super::{NAMESPACE, SOON, create, registered_cluster, request_token};
use crate::place::{TestHub, on_both_hubs};
use crate::server::Server;

on_both_hubs!(agents_hub_credential_has_only_the_documented_rights);

/// A service account of the hub without roles.
const OTHER_ACCOUNT: &str = "without-roles";

/// A line of `kubectl auth can-i --list`: the resource, and the other columns.
type Right = (String, String);

/// Writes a kubeconfig for the hub through the server. Returns kubectl with this kubeconfig.
async fn kubectl(server: &Server, folder: &Path, name: &str, token: &str) -> CommandLine {
    let authority = folder.join("server-ca.crt");
    std::fs::write(&authority, &server.trust).unwrap();
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "hub",
        "clusters": [{ "name": "hub", "cluster": {
            "server": format!("{}/k8s/clusters/local", server.url),
            "certificate-authority": authority,
        } }],
        "users": [{ "name": name, "user": { "token": token } }],
        "contexts": [{ "name": "hub", "context": { "cluster": "hub", "user": name } }],
    });
    let file = folder.join(format!("{name}.kubeconfig"));
    std::fs::write(&file, config.to_string()).unwrap();
    let program = Tool::Kubectl.locate().await.unwrap();
    CommandLine::new(&program, &file, folder)
}

/// Returns the rights that kubectl lists for a namespace, or for the default namespace.
async fn listed(kubectl: &CommandLine, namespace: Option<&str>) -> BTreeSet<Right> {
    let mut arguments = vec!["auth", "can-i", "--list", "--no-headers"];
    arguments.extend(namespace.iter().flat_map(|name| ["--namespace", *name]));
    let output = kubectl.run(arguments).await.unwrap().stdout;
    let rights = output.lines().map(|line| {
        let (resource, columns) = line.split_once('[').unwrap();
        let columns: Vec<&str> = columns.split_whitespace().collect();
        (
            resource.trim().to_owned(),
            format!("[{}", columns.join(" ")),
        )
    });
    rights.collect()
}

/// Creates a service account without roles. Returns its token.
async fn token_without_roles(server: &Server) -> String {
    let accounts: Api<ServiceAccount> = Api::namespaced(server.hub.client(), "default");
    create(
        accounts.clone(),
        json!({ "metadata": { "name": OTHER_ACCOUNT } }),
    )
    .await;
    let request = TokenRequest {
        spec: Some(TokenRequestSpec {
            expiration_seconds: Some(3600),
            ..TokenRequestSpec::default()
        }),
        ..TokenRequest::default()
    };
    let params = PostParams::default();
    let issued = accounts.create_token_request(OTHER_ACCOUNT, &params, &request);
    issued.await.unwrap().status.unwrap().token.unwrap()
}

/// Creates a bundle with Helm values for one cluster. Waits for its bundle deployment, and returns the
/// name of its Content.
async fn deployed_content(server: &Server, name: &str, cluster: &str, namespace: &str) -> String {
    let bundle = json!({
        "metadata": { "name": name },
        "spec": {
            "resources": [{ "name": "a.yaml", "content": format!("# {name}\nkind: ConfigMap") }],
            "helm": { "values": { "color": "red" } },
            "targets": [{ "clusterName": cluster }],
        },
    });
    create::<Bundle>(
        Api::namespaced(server.hub.client(), FLEET_NAMESPACE),
        bundle,
    )
    .await;
    let deployments: Api<BundleDeployment> = Api::namespaced(server.hub.client(), namespace);
    let deployment = eventually("the bundle deployment", SOON, async || {
        deployments.get(name).await
    });
    let deployment = deployment.await.unwrap();
    assert!(!deployment.spec.values_hash.is_empty());
    let (content, _) = deployment.spec.deployment_id.split_once(':').unwrap();
    content.to_owned()
}

fn right(resource: &str, columns: &str) -> Right {
    (resource.to_owned(), columns.to_owned())
}

async fn agents_hub_credential_has_only_the_documented_rights(hub: TestHub) {
    let server = Server::start(&hub).await;
    let admin = server.administrator().await;
    let shop = registered_cluster(&server, &admin, "shop").await;
    let _other = registered_cluster(&server, &admin, "other").await;
    let other = drover_gitops::ids::cluster_namespace(FLEET_NAMESPACE, "other");
    deployed_content(&server, "of-other", "other", &other).await;
    let content = deployed_content(&server, "of-shop", "shop", NAMESPACE).await;

    let token = request_token(&server, &shop).await.expect(200);
    let agent = kubectl(
        &server,
        hub.folder(),
        "agent",
        token["token"].as_str().unwrap(),
    )
    .await;
    let token = token_without_roles(&server).await;
    let account = kubectl(&server, hub.folder(), OTHER_ACCOUNT, &token).await;

    let everywhere = right("contents.fleet.cattle.io", &format!("[] [{content}] [get]"));
    let in_own_namespace = [
        everywhere.clone(),
        right(
            "bundledeployments.fleet.cattle.io",
            "[] [] [get list watch]",
        ),
        right(
            "bundledeployments.fleet.cattle.io/status",
            "[] [] [patch update]",
        ),
        right("secrets", "[] [of-shop] [get]"),
    ];
    let of_clusters = [
        everywhere.clone(),
        right("clusters.fleet.cattle.io/status", "[] [shop] [patch]"),
    ];
    for (namespace, expected) in [
        (None, vec![everywhere.clone()]),
        (Some(NAMESPACE), in_own_namespace.to_vec()),
        (Some(FLEET_NAMESPACE), of_clusters.to_vec()),
        (Some("kube-system"), vec![everywhere.clone()]),
        (Some(&*other), vec![everywhere]),
    ] {
        let expected: BTreeSet<Right> = expected.into_iter().collect();
        let all = listed(&account, namespace).await;
        assert!(!all.is_empty());
        // The API server reads new roles with a delay.
        eventually(&format!("the rights in {namespace:?}"), SOON, async || {
            let own: BTreeSet<Right> = listed(&agent, namespace).await;
            let added: BTreeSet<Right> = own.difference(&all).cloned().collect();
            if added == expected && own.is_superset(&all) {
                Ok(())
            } else {
                Err(format!("{added:#?}"))
            }
        })
        .await
        .unwrap();
    }
    server.stop().await;
}
