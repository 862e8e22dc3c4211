//! Writes the Secrets of the authorized endpoint in a cluster.

use std::collections::BTreeMap;

use drover_api::endpoint::{
    ENDPOINT_LABEL, EndpointState, EndpointToken, STATE, STATE_ENTRY, TLS, TLS_CERTIFICATE,
    TLS_KEY, TOKENS_ENTRY, TOKENS_PREFIX,
};
use drover_api::group::{AGENT_NAMESPACE, NODE_AGENT_NAMESPACE};
use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use kube::{Client, ResourceExt as _};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use secrecy::ExposeSecret as _;
use serde::Serialize;

use super::{EndpointError, certificate};
use crate::managed::EndpointCertificates;
use drover_agent_gateway::registration::manifest::labels;
use drover_apply::{ApplyError, call, combine, unless_gone};

/// Name of the ConfigMap with the certificate authority of the cluster. Kubernetes creates the ConfigMap
/// in each namespace (KEP-1205).
const ROOT_CA: &str = "kube-root-ca.crt";
const ROOT_CA_ENTRY: &str = "ca.crt";

/// Maximum size of certificates of a cluster in bytes.
const MAX_CERTIFICATES: usize = 64 * 1024;

/// The Secrets of a cluster's authorized endpoint.
struct Secrets {
    api: Api<Secret>,
    present: BTreeMap<String, Secret>,
}

/// Writes the tokens, and then confirms them with the current time. Node agents receive the changes in
/// the same order.
pub(super) async fn apply(
    client: &Client,
    tokens: &[EndpointToken],
    offline_seconds: u32,
) -> Result<EndpointCertificates, EndpointError> {
    let mut secrets = Secrets::read(client).await?;
    let certificate_authority = root_ca(client).await?;
    let mut wanted: BTreeMap<String, Vec<&EndpointToken>> = BTreeMap::new();
    for token in tokens {
        wanted.entry(token.secret()).or_default().push(token);
    }
    let is_unused = |name: &&String| name.starts_with(TOKENS_PREFIX) && !wanted.contains_key(*name);
    let unused: Vec<String> = secrets.present.keys().filter(is_unused).cloned().collect();
    // One Secret that cannot be written must not delay the revocation of other tokens.
    let mut failed = Vec::new();
    for name in unused {
        failed.extend(secrets.delete(&name).await.err());
    }
    for (name, tokens) in &wanted {
        failed.extend(secrets.write(name, TOKENS_ENTRY, tokens).await.err());
    }
    combine(failed)?;
    let webhook_certificate = secrets.certificate().await?;
    let state = EndpointState {
        confirmed_at: Timestamp::now(),
        offline_seconds,
    };
    secrets.write(STATE, STATE_ENTRY, &state).await?;
    Ok(EndpointCertificates {
        webhook_certificate,
        certificate_authority,
    })
}

/// Deletes all Secrets of the endpoint. The node agents then refuse all tokens.
pub(super) async fn remove(client: &Client) -> Result<(), ApplyError> {
    let mut secrets = Secrets::read(client).await?;
    let names: Vec<String> = secrets.present.keys().cloned().collect();
    for name in names {
        secrets.delete(&name).await?;
    }
    Ok(())
}

async fn root_ca(client: &Client) -> Result<String, EndpointError> {
    // Node agents can change ConfigMaps in their own namespace.
    let config_maps: Api<ConfigMap> = Api::namespaced(client.clone(), AGENT_NAMESPACE);
    let operation = format!("read ConfigMap {ROOT_CA}");
    let found = call(operation, config_maps.get(ROOT_CA)).await?;
    let entry = found.data.and_then(|mut data| data.remove(ROOT_CA_ENTRY));
    let bundle = entry.filter(|bundle| is_certificates(bundle));
    bundle.ok_or(EndpointError::NoCertificates(ROOT_CA))
}

/// Reports whether a text of the cluster consists of certificates in PEM and has a valid size. The text
/// becomes a part of the Cluster's status and of kubeconfigs.
fn is_certificates(text: &str) -> bool {
    let mut certificates = CertificateDer::pem_slice_iter(text.as_bytes()).peekable();
    text.len() <= MAX_CERTIFICATES
        && certificates.peek().is_some()
        && certificates.all(|one| one.is_ok())
}

impl Secrets {
    async fn read(client: &Client) -> Result<Self, ApplyError> {
        let api: Api<Secret> = Api::namespaced(client.clone(), NODE_AGENT_NAMESPACE);
        let params = ListParams::default().labels(ENDPOINT_LABEL);
        let operation = "list the Secrets of the authorized endpoint".to_owned();
        let listed = call(operation, api.list(&params)).await?;
        let present = listed.items.into_iter();
        Ok(Self {
            api,
            present: present.map(|secret| (secret.name_any(), secret)).collect(),
        })
    }

    /// Writes a Secret with one JSON entry, if the content differs.
    async fn write(
        &mut self,
        name: &str,
        entry: &str,
        content: &impl Serialize,
    ) -> Result<(), ApplyError> {
        let json = serde_json::to_vec(content).expect("the content can be serialized as JSON");
        let data = BTreeMap::from([(entry.to_owned(), ByteString(json))]);
        self.put(name, "Opaque", data).await
    }

    /// Returns the certificate of the webhooks. Creates the certificate if there is none.
    async fn certificate(&mut self) -> Result<String, EndpointError> {
        let present = self
            .present
            .get(TLS)
            .and_then(|secret| secret.data.as_ref());
        let present = present.and_then(|data| {
            let certificate = std::str::from_utf8(&data.get(TLS_CERTIFICATE)?.0).ok()?;
            let key = PrivateKeyDer::from_pem_slice(&data.get(TLS_KEY)?.0);
            (key.is_ok() && is_certificates(certificate)).then(|| certificate.to_owned())
        });
        if let Some(certificate) = present {
            return Ok(certificate);
        }
        let (certificate, key) = certificate::create()?;
        let data = BTreeMap::from([
            (TLS_CERTIFICATE.to_owned(), certificate.clone().into_bytes()),
            (TLS_KEY.to_owned(), key.expose_secret().as_bytes().to_vec()),
        ]);
        let data = data
            .into_iter()
            .map(|(name, bytes)| (name, ByteString(bytes)));
        self.put(TLS, "kubernetes.io/tls", data.collect()).await?;
        Ok(certificate)
    }

    async fn put(
        &mut self,
        name: &str,
        kind: &str,
        data: BTreeMap<String, ByteString>,
    ) -> Result<(), ApplyError> {
        let present = self.present.get(name);
        if present.is_some_and(|secret| secret.data.as_ref() == Some(&data)) {
            return Ok(());
        }
        let mut labels = labels();
        labels.insert(ENDPOINT_LABEL.to_owned(), String::new());
        let secret = Secret {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                labels: Some(labels),
                resource_version: present.and_then(Secret::resource_version),
                ..ObjectMeta::default()
            },
            type_: Some(kind.to_owned()),
            data: Some(data),
            ..Secret::default()
        };
        let params = PostParams::default();
        let operation = format!("write Secret {name}");
        let written = if present.is_some() {
            call(operation, self.api.replace(name, &params, &secret)).await?
        } else {
            call(operation, self.api.create(&params, &secret)).await?
        };
        self.present.insert(name.to_owned(), written);
        Ok(())
    }

    async fn delete(&mut self, name: &str) -> Result<(), ApplyError> {
        let params = DeleteParams::default();
        let operation = format!("delete Secret {name}");
        unless_gone(call(operation, self.api.delete(name, &params)).await)?;
        self.present.remove(name);
        Ok(())
    }
}
