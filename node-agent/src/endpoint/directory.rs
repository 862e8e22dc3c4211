//! The copy of the endpoint's Secrets in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use drover_access::endpoint::{ContentError, Directory, Tokens, parse_state};
use drover_api::client_error::watch_message;
use drover_api::endpoint::{
    ENDPOINT_LABEL, STATE, STATE_ENTRY, TLS, TLS_CERTIFICATE, TLS_KEY, TOKENS_ENTRY, TOKENS_PREFIX,
};
use drover_api::group::NODE_AGENT_NAMESPACE;
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Secret;
use kube::api::Api;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::sync::watch;
use tracing::{info, warn};

/// The tokens and the certificate at one time.
#[derive(Clone, Debug, Default)]
pub(super) struct Snapshot {
    /// The tokens. `None` until the first list of the Secrets is complete.
    pub(super) directory: Option<Arc<Directory>>,
    /// The TLS configuration of the webhook. `None` if the endpoint is disabled.
    pub(super) tls: Option<Arc<ServerConfig>>,
}

/// The parsed content of one Secret.
enum Content {
    State(drover_api::endpoint::EndpointState),
    Tokens(Tokens),
    Tls(Arc<ServerConfig>),
}

/// Follows the Secrets of the endpoint. If the API server is not reachable, the last copy stays.
pub(super) async fn follow(client: kube::Client, sender: watch::Sender<Snapshot>) {
    let secrets: Api<Secret> = Api::namespaced(client, NODE_AGENT_NAMESPACE);
    let config = watcher::Config::default().labels(ENDPOINT_LABEL);
    let mut events = std::pin::pin!(watcher(secrets, config).default_backoff());
    let mut contents = BTreeMap::new();
    let mut listed = None;
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Init) => listed = Some(BTreeMap::new()),
            Ok(Event::InitApply(secret)) => put(listed.get_or_insert_default(), secret),
            Ok(Event::InitDone) => contents = listed.take().unwrap_or_default(),
            Ok(Event::Apply(secret)) => put(&mut contents, secret),
            Ok(Event::Delete(secret)) => {
                contents.remove(&secret.metadata.name.unwrap_or_default());
            }
            Err(error) => {
                info!(
                    error = watch_message(&error),
                    "cannot watch the tokens of the authorized endpoint; trying again"
                );
                continue;
            }
        }
        if listed.is_none() {
            sender.send_replace(snapshot(&contents));
        }
    }
}

/// Stores the content of a Secret. A Secret with invalid content counts as deleted, so that its
/// previous tokens are not accepted any more.
fn put(contents: &mut BTreeMap<String, Content>, secret: Secret) {
    let name = secret.metadata.name.unwrap_or_default();
    let data = secret.data.unwrap_or_default();
    let entry = |name: &str| data.get(name).map_or(&[][..], |bytes| &bytes.0);
    let parsed = match &*name {
        STATE => parse_state(entry(STATE_ENTRY)).map(Content::State),
        TLS => tls(entry(TLS_CERTIFICATE), entry(TLS_KEY)).map(Content::Tls),
        name if name.starts_with(TOKENS_PREFIX) => {
            Tokens::parse(entry(TOKENS_ENTRY)).map(Content::Tokens)
        }
        _ => return,
    };
    match parsed {
        Ok(content) => {
            contents.insert(name, content);
        }
        Err(error) => {
            warn!(secret = name, %error, "ignoring a Secret of the authorized endpoint");
            contents.remove(&name);
        }
    }
}

fn tls(certificate: &[u8], key: &[u8]) -> Result<Arc<ServerConfig>, ContentError> {
    let malformed = |_| ContentError::Malformed;
    let chain = CertificateDer::pem_slice_iter(certificate);
    let chain = chain.collect::<Result<Vec<_>, _>>().map_err(malformed)?;
    let key = PrivateKeyDer::from_pem_slice(key).map_err(malformed)?;
    let config = ServerConfig::builder().with_no_client_auth();
    let mut config = config
        .with_single_cert(chain, key)
        .map_err(|_| ContentError::Malformed)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn snapshot(contents: &BTreeMap<String, Content>) -> Snapshot {
    let (mut directory, mut found) = (Directory::default(), None);
    for (name, content) in contents {
        match content {
            Content::State(state) => directory.state = Some(state.clone()),
            Content::Tokens(tokens) => {
                directory.tokens.insert(name.clone(), tokens.clone());
            }
            Content::Tls(config) => found = Some(Arc::clone(config)),
        }
    }
    Snapshot {
        directory: Some(Arc::new(directory)),
        tls: found,
    }
}
