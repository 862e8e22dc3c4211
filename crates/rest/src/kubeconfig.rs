//! Kubeconfigs: one context for each cluster.

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

use super::RestState;
use crate::accounts::tokens::{expiry, scope};
use drover_http_edge::body::Json;
use drover_http_edge::status::Status;
use drover_hub::visibility::Visibility;
use drover_identity::caller::Caller;
use drover_identity::tokens;
use drover_identity::tokens::NewToken;

/// Clusters in one file at most when tokens are made for them.
const TOKENS: usize = 100;

/// Makes a kubeconfig; with tokens inside if so wished, each limited to its cluster.
#[utoipa::path(post, path = "/v1/kubeconfig", tag = "clusters", request_body = KubeconfigRequest,
    responses((status = 201, body = KubeconfigResponse)))]
pub(super) async fn create(
    State(state): State<RestState>,
    Caller(caller): Caller,
    Json(request): Json<KubeconfigRequest>,
) -> Result<(StatusCode, axum::Json<KubeconfigResponse>), Status> {
    // Access to every cluster is checked before any token is made.
    let places = places(&state, &caller, &request.clusters)?;
    let credentials = match request.credential {
        KubeconfigCredential::Exec if request.ttl_seconds.is_some() => {
            return Err(Status::invalid(
                "ttlSeconds",
                "is for tokens in the file; leave it out with the credential Exec",
            ));
        }
        KubeconfigCredential::Exec => places.iter().map(|_| None).collect(),
        KubeconfigCredential::Token => {
            let ttl = request.ttl_seconds.map(Duration::from_secs);
            make_tokens(&state, &caller, &places, ttl).await?
        }
    };
    let url = state.settings.server_url();
    let file = file(
        &url,
        state.trust.as_deref(),
        &caller.user_name,
        &places,
        &credentials,
    )?;
    Ok((
        StatusCode::CREATED,
        axum::Json(KubeconfigResponse {
            kubeconfig: Secret::new(file),
        }),
    ))
}

/// A cluster that the file leads to.
#[derive(Debug)]
struct Place {
    name: String,
    /// Absent for the hub, which has no object.
    uid: Option<String>,
    /// The only namespace in which the caller has a role.
    namespace: Option<String>,
}

fn places(state: &RestState, caller: &Identity, names: &[String]) -> Result<Vec<Place>, Status> {
    let visibility = Visibility::of(state.hub.stores(), caller);
    if names.is_empty() {
        let (clusters, _) = state
            .hub
            .stores()
            .clusters
            .page(None, usize::MAX, |cluster| visibility.can_see(cluster));
        return Ok(clusters
            .iter()
            .map(|cluster| of(&visibility, cluster))
            .collect());
    }
    let mut places: Vec<Place> = Vec::with_capacity(names.len());
    for name in names {
        if places.iter().any(|place| place.name == *name) {
            return Err(Status::invalid(
                "clusters",
                format!("name {name:?} only once"),
            ));
        }
        places.push(if name == LOCAL_CLUSTER && visibility.can_use_hub() {
            Place {
                name: name.clone(),
                uid: None,
                namespace: None,
            }
        } else {
            let cluster = visibility.cluster(name)?;
            of(&visibility, &cluster)
        });
    }
    Ok(places)
}

fn of(visibility: &Visibility, cluster: &Cluster) -> Place {
    let rights = visibility.cluster_rights(cluster);
    Place {
        name: cluster.name_any(),
        uid: cluster.uid(),
        namespace: rights.only_namespace().map(str::to_owned),
    }
}

async fn make_tokens(
    state: &RestState,
    caller: &Identity,
    places: &[Place],
    ttl: Option<Duration>,
) -> Result<Vec<Option<SecretString>>, Status> {
    if places.len() > TOKENS {
        return Err(Status::invalid(
            "clusters",
            format!("at most {TOKENS} with tokens inside; name fewer, or use the credential Exec"),
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
    let scopes = places
        .iter()
        .map(|place| scope(state, caller, &place.name))
        .collect::<Result<Vec<_>, _>>()?;
    let mut made = Vec::with_capacity(places.len());
    for scope in scopes {
        let wish = NewToken {
            idle: None,
            purpose: TokenPurpose::Kubeconfig,
            description: Some(format!("kubeconfig for {}", scope.name)),
            cluster: Some(scope),
            provider: caller.token.provider.clone(),
            expires_at,
        };
        match tokens::create(&state.hub, &user, wish).await {
            Ok(pair) => made.push(pair),
            Err(error) => {
                take_back(state, &user, made).await;
                return Err(error.into());
            }
        }
    }
    Ok(made.into_iter().map(|(secret, _)| Some(secret)).collect())
}

/// Nobody has seen these tokens; they must not lie about.
async fn take_back(state: &RestState, user: &User, made: Vec<(SecretString, Token)>) {
    for (_, token) in made {
        if let Err(error) = tokens::delete(&state.hub, &token).await {
            tracing::warn!(
                user.name = user.name_any(),
                token.id = token.name_any(),
                error = &error as &dyn std::error::Error,
                "an unused token stays until it expires"
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

/// Renders the file; every name goes through the serializer, none into a template.
fn file(
    url: &str,
    trust: Option<&str>,
    user: &str,
    places: &[Place],
    tokens: &[Option<SecretString>],
) -> Result<String, Status> {
    let entry = |place: &Place| format!("{user}@{}", place.name);
    let clusters = places.iter().map(|place| {
        let mut cluster = json!({ "server": format!("{url}/k8s/clusters/{}", place.name) });
        if let Some(trust) = trust {
            cluster["certificate-authority-data"] = STANDARD.encode(trust).into();
        }
        json!({ "name": place.name, "cluster": cluster })
    });
    let contexts = places.iter().map(|place| {
        let mut context = json!({ "cluster": place.name, "user": entry(place) });
        if let Some(namespace) = &place.namespace {
            context["namespace"] = namespace.as_str().into();
        }
        json!({ "name": place.name, "context": context })
    });
    let users = places.iter().zip(tokens).map(|(place, token)| {
        let user = match token {
            Some(token) => json!({ "token": token.expose_secret() }),
            None => json!({ "exec": plugin(url, place) }),
        };
        json!({ "name": entry(place), "user": user })
    });
    let file = File {
        api_version: "v1",
        kind: "Config",
        current_context: places
            .first()
            .map(|place| place.name.clone())
            .unwrap_or_default(),
        clusters: clusters.collect(),
        contexts: contexts.collect(),
        users: users.collect(),
    };
    serde_saphyr::to_string(&file)
        .map_err(|_| Status::internal("the kubeconfig could not be written as YAML"))
}

/// How kubectl gets a token for a place (`client.authentication.k8s.io/v1`).
fn plugin(url: &str, place: &Place) -> Value {
    let mut args = vec!["credential", "--server", url];
    // The hub's token cannot be limited to it.
    if let Some(uid) = &place.uid {
        args.extend(["--cluster", &place.name, "--cluster-uid", uid]);
    }
    json!({
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "drover",
        "args": args,
        "interactiveMode": "Never",
        "provideClusterInfo": false,
        "installHint": "Install the program drover and put it into the PATH; then: drover login",
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn place(name: &str) -> Place {
        Place {
            name: name.to_owned(),
            uid: Some("uid-1".to_owned()),
            namespace: None,
        }
    }

    fn parse(text: &str) -> Value {
        serde_saphyr::from_str(text).unwrap()
    }

    #[test]
    fn each_cluster_has_its_context_its_token_and_the_authority() {
        let places = [place("a"), place("b")];
        let tokens = [
            Some(SecretString::from("t1")),
            Some(SecretString::from("t2")),
        ];
        let text = file("https://d:1", Some("PEM"), "ann", &places, &tokens).unwrap();
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
    fn context_has_the_only_namespace_of_the_caller() {
        let member = Place {
            namespace: Some("till".to_owned()),
            ..place("a")
        };
        let places = [member, place("b")];
        let text = file("https://d:1", None, "ann", &places, &[None, None]).unwrap();
        let contexts = &parse(&text)["contexts"];
        assert_eq!(contexts[0]["context"]["namespace"], "till");
        assert!(contexts[1]["context"]["namespace"].is_null());
    }

    #[test]
    fn with_the_plug_in_no_token_lies_in_the_file() {
        let text = file("https://d:1", None, "ann", &[place("a")], &[None]).unwrap();
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
        /// Names are checked long before, but YAML must not depend on that.
        #[test]
        fn no_name_breaks_out_of_its_place(name in "\\PC*|.*\n.*|[\"'{}&*!|>%@`#:,\\[\\]-]*|yes|no|null|1e3|0x1") {
            let text = file("https://d:1", None, &name, &[place(&name)], &[None]).unwrap();
            let config = parse(&text);
            prop_assert_eq!(&config["clusters"][0]["name"], &Value::from(name.clone()));
            prop_assert_eq!(&config["contexts"][0]["context"]["user"], &Value::from(format!("{name}@{name}")));
            prop_assert_eq!(config["users"].as_array().map(Vec::len), Some(1));
        }
    }
}
