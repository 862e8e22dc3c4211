//! Creates a registration token and the manifest that contains it.

use drover_access::setting::Setting;
use drover_access::token::{ForRegistration, RegistrationToken, issue};
use drover_api::kinds::{Cluster, ClusterRegistrationToken, ClusterRegistrationTokenSpec};
use drover_api::rest::{Import, ImportRequest, Secret};
use drover_api::shell::quoted;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
use kube::{Resource as _, ResourceExt as _};
use secrecy::{ExposeSecret as _, SecretString};

use super::RegistrationState;
use super::decide::{Refusal, TokenState};
use super::manifest::Manifest;
use super::register::{current_cluster, refusal, token_state};
use drover_entropy::random;
use drover_http_edge::status::Status;
use drover_hub::settings::Settings;

/// Default lifetime of a token, in seconds.
const DAY: u64 = 86_400;
/// Allowed lifetimes of a token, in seconds.
const LIFETIME: std::ops::RangeInclusive<u64> = 60..=604_800;

/// Returns the agent image of a cluster: the image in the Cluster's spec, else the image in the
/// server's settings, else the default image.
pub fn agent_image(settings: &Settings, cluster: &Cluster) -> String {
    let chosen = cluster.spec.agent.image.clone();
    chosen.unwrap_or_else(|| {
        default_image(
            &settings.in_effect(Setting::AgentImage),
            &settings.in_effect(Setting::AgentImageRegistry),
        )
    })
}

/// Returns the default image of this server version.
pub fn default_image(whole: &str, registry: &str) -> String {
    let tagged = format!("drover-agent:{}", env!("CARGO_PKG_VERSION"));
    match (whole, registry.trim_end_matches('/')) {
        ("", "") => tagged,
        ("", registry) => format!("{registry}/{tagged}"),
        (whole, _) => whole.to_owned(),
    }
}

/// Issues a registration token for a Cluster and writes its manifest.
pub async fn import(
    state: &RegistrationState,
    cluster: &Cluster,
    request: &ImportRequest,
) -> Result<Import, Status> {
    let seconds = request.ttl_seconds.unwrap_or(DAY);
    if !LIFETIME.contains(&seconds) {
        return Err(Status::invalid("ttlSeconds", "must be from 60 to 604800"));
    }
    if cluster.metadata.deletion_timestamp.is_some() {
        return Err(refusal(&Refusal::ClusterDeleted));
    }
    let life = SignedDuration::from_secs(seconds.try_into().unwrap_or(i64::MAX));
    let expires_at = Timestamp::now() + life;
    // Run all steps that can fail before creating the token.
    let curl = curl(state)?;
    manifest(state, cluster, SecretString::from("unissued"))?;
    let token = issue_token(state, cluster, expires_at).await?;
    let yaml = manifest(state, cluster, token.clone())?;
    Ok(Import {
        registration_token: Secret::new(token.expose_secret()),
        expires_at,
        manifest: Secret::new(yaml.expose_secret()),
        curl,
    })
}

/// Returns the manifest that contains the registration token of the request.
pub async fn manifest_for(
    state: &RegistrationState,
    token: Option<RegistrationToken>,
    presented: &SecretString,
) -> Result<SecretString, Status> {
    let token = token.ok_or_else(|| refusal(&Refusal::TokenRequired))?;
    let known = state.hub.stores().registration_tokens.by_name(token.id());
    let known = known.ok_or_else(|| refusal(&Refusal::TokenInvalid))?;
    let uid = &known.spec.cluster_uid;
    match token_state(&state.hub, Some(&token), uid).await? {
        TokenState::Valid { .. } => {}
        TokenState::Expired => return Err(refusal(&Refusal::TokenExpired)),
        _ => return Err(refusal(&Refusal::TokenInvalid)),
    }
    let cluster = current_cluster(&state.hub, uid).await?;
    let cluster = cluster.ok_or_else(|| refusal(&Refusal::NoSuchCluster))?;
    manifest(state, &cluster, presented.clone())
}

async fn issue_token(
    state: &RegistrationState,
    cluster: &Cluster,
    expires_at: Timestamp,
) -> Result<SecretString, Status> {
    let entropy = random().map_err(|error| Status::internal(error.to_string()))?;
    let issued = issue::<ForRegistration>(&entropy);
    let spec = ClusterRegistrationTokenSpec {
        cluster_name: cluster.name_any(),
        cluster_uid: drover_api::ids::ClusterUid::new(cluster.uid().unwrap_or_default()),
        hash: issued.hash.as_str().to_owned(),
        expires_at: Time(expires_at),
    };
    let mut object = ClusterRegistrationToken::new(&issued.id, spec);
    // The hub's garbage collector deletes the token with the Cluster even if the controller fails
    // to.
    object.metadata.owner_references = owner(cluster).map(|owner| vec![owner]);
    let writer = state.hub.writer();
    writer
        .create("create a registration token", &object)
        .await?;
    Ok(issued.token)
}

fn owner(cluster: &Cluster) -> Option<OwnerReference> {
    cluster.owner_ref(&())
}

fn manifest(
    state: &RegistrationState,
    cluster: &Cluster,
    token: SecretString,
) -> Result<SecretString, Status> {
    let server_ca = state.trust.as_deref().ok_or_else(|| {
        Status::conflict(
            "cannot create the manifest: the server's certificate file contains no CA certificate \
             for the agents; set --tls-ca to the file of the CA certificate",
        )
    })?;
    let manifest = Manifest {
        server_url: state.settings.server_url(),
        server_ca: server_ca.to_owned(),
        cluster_uid: drover_api::ids::ClusterUid::new(cluster.uid().unwrap_or_default()),
        cluster_name: cluster.name_any(),
        token,
        plan_keys: state.hub.keys().plan_public_keys(),
        image: agent_image(&state.settings, cluster),
        image_pull_policy: state.settings.in_effect(Setting::AgentImagePullPolicy),
        gitops_only: cluster.spec.agent.gitops_only,
    };
    manifest
        .write()
        .map_err(|error| Status::internal(error.to_string()))
}

/// Returns a shell command that downloads and applies the manifest. The command pins the server's
/// public key. The command reads the token from an environment variable, so that process lists do
/// not show the token.
fn curl(state: &RegistrationState) -> Result<String, Status> {
    let pin = (state.pin)()
        .ok_or_else(|| Status::internal("cannot read the certificate of this server"))?;
    Ok(curl_line(&state.settings.server_url(), &pin))
}

fn curl_line(url: &str, pin: &str) -> String {
    let pin = quoted(&format!("sha256//{pin}"));
    let url = quoted(&format!("{url}/v1/import/manifest"));
    format!(
        "printf 'Authorization: Bearer %s' \"$DROVER_IMPORT_TOKEN\" | curl --fail --silent --show-error --insecure --pinnedpubkey {pin} --header @- {url} | kubectl apply -f -"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_image_is_read_from_setting_or_derived_from_registry() {
        let version = env!("CARGO_PKG_VERSION");
        for (whole, registry, expected) in [
            ("", "", format!("drover-agent:{version}")),
            (
                "",
                "r.example/x",
                format!("r.example/x/drover-agent:{version}"),
            ),
            (
                "",
                "r.example/x/",
                format!("r.example/x/drover-agent:{version}"),
            ),
            (
                "r.example/agent@sha256:00",
                "r.example/x",
                "r.example/agent@sha256:00".to_owned(),
            ),
        ] {
            assert_eq!(default_image(whole, registry), expected);
        }
    }

    #[test]
    fn curl_command_contains_server_key_hash_and_no_token() {
        let line = curl_line("https://d:8443", "AAAA=");
        assert!(line.contains("--pinnedpubkey 'sha256//AAAA='"), "{line}");
        assert!(
            line.contains("$DROVER_IMPORT_TOKEN") && !line.contains("droverimport_"),
            "{line}"
        );
        assert!(!line.contains('?'), "{line}");
    }

    #[test]
    fn import_url_is_shell_quoted_in_the_curl_command() {
        let line = curl_line("https://a:';id;'", "AAAA=");
        let url = r"--header @- 'https://a:'\'';id;'\''/v1/import/manifest' |";
        assert!(line.contains(url), "{line}");
        let plain = curl_line("https://d:8443", "AAAA=");
        assert!(
            plain.contains("--header @- 'https://d:8443/v1/import/manifest' |"),
            "{plain}"
        );
    }
}
