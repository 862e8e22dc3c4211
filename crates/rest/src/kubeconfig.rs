//! Creates kubeconfigs with one context per cluster, and with contexts for direct access.

mod direct;

use std::time::Duration;

use axum::extract::State;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drover_access::identity::Identity;
use drover_access::setting::Setting;
use drover_api::group::LOCAL_CLUSTER;
use drover_api::kinds::{Cluster, Token, TokenPurpose, User};
use drover_api::rest::{KubeconfigCredential, KubeconfigRequest, KubeconfigResponse, Secret};
use http::StatusCode;
use jiff::Timestamp;
use kube::ResourceExt;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Serialize;
use serde_json::{Value, json};

use self::direct::DirectAccess;
use super::RestState;
use crate::accounts::tokens::{expiry, scope};
use drover_http_edge::body::Json;
use drover_http_edge::status::Status;
use drover_hub::visibility::Visibility;
use drover_identity::caller::Caller;
use drover_identity::tokens;
use drover_identity::tokens::NewToken;

/// Maximum number of clusters in a kubeconfig with embedded tokens.
const MAX_CLUSTERS_WITH_TOKENS: usize = 100;

/// Creates a kubeconfig. Each embedded token is valid only for its cluster.
#[utoipa::path(post, path = "/v1/kubeconfig", tag = "clusters", request_body = KubeconfigRequest,
    responses((status = 201, body = KubeconfigResponse)))]
pub(super) async fn create(
    State(state): State<RestState>,
    Caller(caller): Caller,
    Json(request): Json<KubeconfigRequest>,
) -> Result<(StatusCode, axum::Json<KubeconfigResponse>), Status> {
    // Check access to all clusters before the creation of tokens.
    let entries = entries(&state, &caller, &request)?;
    let credentials = match request.credential {
        KubeconfigCredential::Exec if request.direct => {
            return Err(Status::invalid(
                "credential",
                "must be Token for direct access, because kubectl gets exec credentials from the server",
            ));
        }
        KubeconfigCredential::Exec if request.ttl_seconds.is_some() => {
            return Err(Status::invalid(
                "ttlSeconds",
                "applies only to embedded tokens; omit this field with the credential Exec",
            ));
        }
        KubeconfigCredential::Exec => entries.iter().map(|_| None).collect(),
        KubeconfigCredential::Token => {
            let ttl = request.ttl_seconds.map(Duration::from_secs);
            create_tokens(&state, &caller, &entries, ttl).await?
        }
    };
    let url = state.settings.server_url();
    let file = file(
        &url,
        state.trust.as_deref(),
        &caller.user_name,
        &entries,
        &credentials,
    )?;
    Ok((
        StatusCode::CREATED,
        axum::Json(KubeconfigResponse {
            kubeconfig: Secret::new(file),
        }),
    ))
}

/// A cluster in the kubeconfig.
#[derive(Debug)]
struct ClusterEntry {
    name: String,
    /// UID of the Cluster. Absent for the hub, which has no Cluster object.
    uid: Option<String>,
    /// Namespace of the context: the only namespace in which the caller has a role, if any.
    namespace: Option<String>,
    /// The API servers of the cluster for direct access, best first.
    direct: Vec<DirectAccess>,
}

fn entries(
    state: &RestState,
    caller: &Identity,
    request: &KubeconfigRequest,
) -> Result<Vec<ClusterEntry>, Status> {
    let names = &request.clusters;
    let visibility = Visibility::of(state.hub.stores(), caller);
    let all = &state.hub.stores().clusters;
    let direct = |cluster: &Cluster| {
        let is_cluster = |name: &str| all.by_name(name).is_some();
        let access = || direct::access(cluster, is_cluster);
        request.direct.then(access).flatten()
    };
    if names.is_empty() {
        let (clusters, _) = all.page(None, usize::MAX, |cluster| visibility.can_see(cluster));
        let entries = clusters.iter().map(|cluster| ClusterEntry {
            direct: direct(cluster).unwrap_or_default(),
            ..of(&visibility, cluster)
        });
        return Ok(entries.collect());
    }
    let mut entries: Vec<ClusterEntry> = Vec::with_capacity(names.len());
    for name in names {
        if entries.iter().any(|entry| entry.name == *name) {
            return Err(Status::invalid(
                "clusters",
                format!("contains {name:?} more than once"),
            ));
        }
        entries.push(if name == LOCAL_CLUSTER && visibility.can_use_hub() {
            ClusterEntry {
                name: name.clone(),
                uid: None,
                namespace: None,
                direct: Vec::new(),
            }
        } else {
            let cluster = visibility.cluster(name)?;
            let direct = direct(&cluster);
            if request.direct && direct.is_none() {
                return Err(direct::unavailable(name));
            }
            ClusterEntry {
                direct: direct.unwrap_or_default(),
                ..of(&visibility, &cluster)
            }
        });
    }
    Ok(entries)
}

fn of(visibility: &Visibility, cluster: &Cluster) -> ClusterEntry {
    let rights = visibility.cluster_rights(cluster);
    ClusterEntry {
        name: cluster.name_any(),
        uid: cluster.uid(),
        namespace: rights.only_namespace().map(str::to_owned),
        direct: Vec::new(),
    }
}

async fn create_tokens(
    state: &RestState,
    caller: &Identity,
    entries: &[ClusterEntry],
    ttl: Option<Duration>,
) -> Result<Vec<Option<SecretString>>, Status> {
    if entries.len() > MAX_CLUSTERS_WITH_TOKENS {
        return Err(Status::invalid(
            "clusters",
            format!(
                "at most {MAX_CLUSTERS_WITH_TOKENS} clusters with embedded tokens; select fewer, or use the credential Exec"
            ),
        ));
    }
    let user = state.hub.stores().users.by_uid(caller.user_uid.as_str());
    let user = user.ok_or_else(|| Status::not_found("User", &caller.user_name))?;
    let expires_at = expiry(
        Timestamp::now(),
        ttl,
        state.settings.ttl(Setting::KubeconfigTokenTtl),
        state.settings.ttl(Setting::TokenMaxTtl),
        caller,
    )?;
    let scopes = entries
        .iter()
        .map(|entry| scope(state, caller, &entry.name))
        .collect::<Result<Vec<_>, _>>()?;
    let mut made = Vec::with_capacity(entries.len());
    for scope in scopes {
        let new_token = NewToken {
            idle: None,
            purpose: TokenPurpose::Kubeconfig,
            description: Some(format!("kubeconfig for {}", scope.name)),
            cluster: Some(scope),
            provider: caller.token.provider.clone(),
            expires_at,
        };
        match tokens::create(&state.hub, &user, new_token).await {
            Ok(pair) => made.push(pair),
            Err(error) => {
                delete_tokens(state, &user, made).await;
                return Err(error.into());
            }
        }
    }
    Ok(made.into_iter().map(|(secret, _)| Some(secret)).collect())
}

/// Deletes the created tokens after an error, because the caller does not receive the kubeconfig.
async fn delete_tokens(state: &RestState, user: &User, made: Vec<(SecretString, Token)>) {
    for (_, token) in made {
        if let Err(error) = tokens::delete(&state.hub, &token).await {
            tracing::warn!(
                user.name = user.name_any(),
                token.id = token.name_any(),
                error = &error as &dyn std::error::Error,
                "failed to delete an unused token"
            );
        }
    }
}

/// A kubeconfig (`k8s.io/client-go/tools/clientcmd/api/v1`).
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct File {
    #[serde(rename = "apiVersion")]
    api_version: &'static str,
    kind: &'static str,
    current_context: String,
    clusters: Vec<Value>,
    contexts: Vec<Value>,
    users: Vec<Value>,
}

/// Renders the kubeconfig as YAML. The serializer escapes all names.
fn file(
    url: &str,
    trust: Option<&str>,
    user: &str,
    entries: &[ClusterEntry],
    tokens: &[Option<SecretString>],
) -> Result<String, Status> {
    let user_entry = |entry: &ClusterEntry| format!("{user}@{}", entry.name);
    let context = |entry: &ClusterEntry, name: &str| {
        let mut context = json!({ "cluster": name, "user": user_entry(entry) });
        if let Some(namespace) = &entry.namespace {
            context["namespace"] = namespace.as_str().into();
        }
        json!({ "name": name, "context": context })
    };
    let cluster = |name: &str, server: String, trust: Option<&str>| {
        let mut cluster = json!({ "server": server });
        if let Some(trust) = trust {
            cluster["certificate-authority-data"] = STANDARD.encode(trust).into();
        }
        json!({ "name": name, "cluster": cluster })
    };
    let (mut clusters, mut contexts) = (Vec::new(), Vec::new());
    for entry in entries {
        for direct in &entry.direct {
            let name = direct.context.clone();
            let server = format!("https://{}", direct.address);
            let trust = Some(&*direct.certificate_authority);
            clusters.push(cluster(&name, server, trust));
            contexts.push(context(entry, &name));
        }
        let server = format!("{url}/k8s/clusters/{}", entry.name);
        clusters.push(cluster(&entry.name, server, trust));
        contexts.push(context(entry, &entry.name));
    }
    let first = contexts.first().and_then(|first| first["name"].as_str());
    let users = entries.iter().zip(tokens).map(|(entry, token)| {
        let user = match token {
            Some(token) => json!({ "token": token.expose_secret() }),
            None => json!({ "exec": plugin(url, entry) }),
        };
        json!({ "name": user_entry(entry), "user": user })
    });
    let file = File {
        api_version: "v1",
        kind: "Config",
        current_context: first.unwrap_or_default().to_owned(),
        clusters,
        contexts,
        users: users.collect(),
    };
    serde_saphyr::to_string(&file)
        .map_err(|_| Status::internal("cannot serialize the kubeconfig as YAML"))
}

/// Returns the user entry that runs the exec plugin (`client.authentication.k8s.io/v1`).
fn plugin(url: &str, entry: &ClusterEntry) -> Value {
    let mut args = vec!["credential", "--server", url];
    // A token for the hub cannot be limited to the hub.
    if let Some(uid) = &entry.uid {
        args.extend(["--cluster", &entry.name, "--cluster-uid", uid]);
    }
    json!({
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "drover",
        "args": args,
        "interactiveMode": "Never",
        "provideClusterInfo": false,
        "installHint": "Install the program drover in the PATH, then run: drover login",
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entry(name: &str) -> ClusterEntry {
        ClusterEntry {
            name: name.to_owned(),
            uid: Some("uid-1".to_owned()),
            namespace: None,
            direct: Vec::new(),
        }
    }

    fn parse(text: &str) -> Value {
        serde_saphyr::from_str(text).unwrap()
    }

    #[test]
    fn kubeconfig_has_context_token_and_ca_of_each_cluster() {
        let entries = [entry("a"), entry("b")];
        let tokens = [
            Some(SecretString::from("t1")),
            Some(SecretString::from("t2")),
        ];
        let text = file("https://d:1", Some("PEM"), "ann", &entries, &tokens).unwrap();
        let config = parse(&text);
        assert_eq!(config["current-context"], "a");
        assert_eq!(
            config["clusters"][1]["cluster"]["server"],
            "https://d:1/k8s/clusters/b"
        );
        assert_eq!(
            config["clusters"][1]["cluster"]["certificate-authority-data"],
            "UEVN"
        );
        assert_eq!(config["contexts"][1]["context"]["user"], "ann@b");
        assert_eq!(config["users"][1]["user"]["token"], "t2");
    }

    #[test]
    fn direct_contexts_precede_the_context_of_the_proxy_and_use_the_same_token() {
        let access = |context: &str, address: &str| DirectAccess {
            context: context.to_owned(),
            address: address.to_owned(),
            certificate_authority: "CA".to_owned(),
        };
        let nodes = vec![
            access("a-cp-1", "10.0.0.1:6443"),
            access("a-cp-2", "[::1]:6443"),
        ];
        let entries = [ClusterEntry {
            direct: nodes,
            ..entry("a")
        }];
        let tokens = [Some(SecretString::from("t1"))];
        let text = file("https://d:1", Some("PEM"), "ann", &entries, &tokens).unwrap();
        let config = parse(&text);
        assert_eq!(config["current-context"], "a-cp-1");
        let names = ["a-cp-1", "a-cp-2", "a"];
        for (n, name) in names.into_iter().enumerate() {
            assert_eq!(config["contexts"][n]["name"], name);
            assert_eq!(config["contexts"][n]["context"]["cluster"], name);
            assert_eq!(config["contexts"][n]["context"]["user"], "ann@a");
        }
        let direct = &config["clusters"][0]["cluster"];
        assert_eq!(direct["server"], "https://10.0.0.1:6443");
        assert_eq!(direct["certificate-authority-data"], "Q0E=");
        assert_eq!(config["users"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn kubeconfig_context_contains_the_only_namespace_of_the_caller() {
        let member = ClusterEntry {
            namespace: Some("till".to_owned()),
            ..entry("a")
        };
        let entries = [member, entry("b")];
        let text = file("https://d:1", None, "ann", &entries, &[None, None]).unwrap();
        let contexts = &parse(&text)["contexts"];
        assert_eq!(contexts[0]["context"]["namespace"], "till");
        assert!(contexts[1]["context"]["namespace"].is_null());
    }

    #[test]
    fn exec_kubeconfig_contains_no_token() {
        let text = file("https://d:1", None, "ann", &[entry("a")], &[None]).unwrap();
        let config = parse(&text);
        let exec = &config["users"][0]["user"]["exec"];
        assert_eq!(exec["command"], "drover");
        let args = json!([
            "credential",
            "--server",
            "https://d:1",
            "--cluster",
            "a",
            "--cluster-uid",
            "uid-1"
        ]);
        assert_eq!(exec["args"], args);
        assert!(config["users"][0]["user"]["token"].is_null());
        assert!(config["clusters"][0]["cluster"]["certificate-authority-data"].is_null());
    }

    proptest! {
        /// Tests that the serializer escapes special characters in names, although the API also
        /// validates names.
        #[test]
        fn names_are_escaped_in_kubeconfig_yaml(name in "\\PC*|.*\n.*|[\"'{}&*!|>%@`#:,\\[\\]-]*|yes|no|null|1e3|0x1") {
            let text = file("https://d:1", None, &name, &[entry(&name)], &[None]).unwrap();
            let config = parse(&text);
            prop_assert_eq!(&config["clusters"][0]["name"], &Value::from(name.clone()));
            prop_assert_eq!(&config["contexts"][0]["context"]["user"], &Value::from(format!("{name}@{name}")));
            prop_assert_eq!(config["users"].as_array().map(Vec::len), Some(1));
        }
    }
}
