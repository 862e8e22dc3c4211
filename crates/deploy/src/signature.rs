//! Signatures of release records.
//!
//! A release record is a Secret in the namespace of its release. Each user who may write Secrets there
//! can write a record. The agent therefore signs its records with a key that only the agent's
//! namespace contains, and runs hooks and applies objects only of records with a valid signature.
//!
//! The signature is an annotation of the chart in the record: Helm keeps the chart when it changes the
//! state of a record, but not the labels of the Secret. The signature covers the release's name,
//! namespace and revision, the annotations of the chart, the manifest and the hooks. It does not cover
//! the state.

use std::collections::BTreeMap;
use std::sync::Arc;

use aws_lc_rs::{hmac, rand};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drover_api::group::RELEASE_KEY_SECRET;
use drover_apply::{ApplyError, call, is_conflict};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::{Api, ObjectMeta, PostParams};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::record::Release;

/// Annotation of the chart in a release record: the signature.
const SIGNATURE: &str = "management.drover.dev/signature";
/// Annotation of the chart in a release record: the bundle deployment.
const DEPLOYMENT: &str = "fleet.cattle.io/bundle-id";
/// Entry of the Secret with the key.
const ENTRY: &str = "key";
/// Size of the key, in bytes.
const KEY_BYTES: usize = 32;
/// Begin of each signed message. Another use of the key must have another begin.
const PURPOSE: &str = "drover release record v1";

/// The reason why the key of the signatures is not available.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// A call failed.
    #[error(transparent)]
    Call(#[from] ApplyError),
    /// The Secret has no key.
    #[error(
        "cannot use the Secret {RELEASE_KEY_SECRET} in the agent's namespace: it has no key of {KEY_BYTES} \
         bytes; delete the Secret, and restart the agent"
    )]
    Invalid,
    /// The operating system has no random numbers.
    #[error("cannot create the key of the release records: no random numbers")]
    Random,
}

/// Reads the key from the agent's namespace, and creates the key at the first use.
pub struct SigningKeys {
    secrets: Api<Secret>,
    key: OnceCell<SigningKey>,
}

impl std::fmt::Debug for SigningKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SigningKeys")
    }
}

impl SigningKeys {
    /// Creates access to the key. The client needs the permission to read and create the Secret.
    pub fn new(client: Client, agent_namespace: &str) -> Self {
        Self {
            secrets: Api::namespaced(client, agent_namespace),
            key: OnceCell::new(),
        }
    }

    /// Returns the key. If replicas create the key concurrently, the first replica creates the Secret
    /// and the other replicas read it.
    pub async fn get(&self) -> Result<SigningKey, KeyError> {
        let key = self.key.get_or_try_init(|| self.read_or_create()).await?;
        Ok(key.clone())
    }

    async fn read_or_create(&self) -> Result<SigningKey, KeyError> {
        if let Some(secret) = self.read().await? {
            return parse(secret);
        }
        let mut bytes = [0; KEY_BYTES];
        rand::fill(&mut bytes).map_err(|_| KeyError::Random)?;
        let secret = Secret {
            metadata: ObjectMeta {
                name: Some(RELEASE_KEY_SECRET.to_owned()),
                ..ObjectMeta::default()
            },
            data: Some(BTreeMap::from([(
                ENTRY.to_owned(),
                ByteString(bytes.to_vec()),
            )])),
            ..Secret::default()
        };
        let params = PostParams::default();
        let created = self.secrets.create(&params, &secret);
        match call(format!("create the Secret {RELEASE_KEY_SECRET}"), created).await {
            Ok(created) => parse(created),
            Err(ApplyError::Call { source, .. }) if is_conflict(&source) => {
                parse(self.read().await?.ok_or(KeyError::Invalid)?)
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn read(&self) -> Result<Option<Secret>, ApplyError> {
        let found = self.secrets.get_opt(RELEASE_KEY_SECRET);
        call(format!("read the Secret {RELEASE_KEY_SECRET}"), found).await
    }
}

fn parse(secret: Secret) -> Result<SigningKey, KeyError> {
    let bytes = secret.data.and_then(|mut data| data.remove(ENTRY));
    let bytes = bytes.filter(|bytes| bytes.0.len() == KEY_BYTES);
    Ok(SigningKey::new(&bytes.ok_or(KeyError::Invalid)?.0))
}

/// The key of the signatures.
#[derive(Clone)]
pub struct SigningKey(Arc<hmac::Key>);

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SigningKey")
    }
}

impl SigningKey {
    fn new(bytes: &[u8]) -> Self {
        Self(Arc::new(hmac::Key::new(hmac::HMAC_SHA256, bytes)))
    }

    /// Writes the signature into a release.
    pub fn sign(&self, release: &mut Release) {
        let signature = hmac::sign(&self.0, &message(release));
        let signature = STANDARD.encode(signature);
        if let Some(chart) = release.chart.as_object_mut()
            && let Some(metadata) = chart
                .entry("metadata")
                .or_insert_with(|| json!({}))
                .as_object_mut()
            && let Some(annotations) = metadata
                .entry("annotations")
                .or_insert_with(|| json!({}))
                .as_object_mut()
        {
            annotations.insert(SIGNATURE.to_owned(), signature.into());
        }
    }

    /// Returns the bundle deployment that the agent deployed with this release, if the signature is
    /// valid.
    pub fn deployment(&self, release: &Release) -> Option<String> {
        let signature = STANDARD.decode(annotation(release, SIGNATURE)?).ok()?;
        hmac::verify(&self.0, &message(release), &signature).ok()?;
        Some(annotation(release, DEPLOYMENT)?.to_owned())
    }
}

/// Returns an annotation of the chart in a release.
pub(crate) fn annotation<'a>(release: &'a Release, name: &str) -> Option<&'a str> {
    let annotations = release.chart.get("metadata")?.get("annotations")?;
    annotations.get(name)?.as_str()
}

/// Returns the bundle deployment that a release names, also without a signature.
pub(crate) fn named_deployment(release: &Release) -> Option<&str> {
    annotation(release, DEPLOYMENT).filter(|name| !name.is_empty())
}

/// Returns the signed bytes. JSON separates the fields, and its maps are sorted.
fn message(release: &Release) -> Vec<u8> {
    let annotations = release.chart.pointer("/metadata/annotations");
    let annotations: BTreeMap<&str, &Value> = annotations
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.as_str(), value))
        .filter(|(name, _)| *name != SIGNATURE)
        .collect();
    let hooks: Vec<Value> = release
        .hooks
        .iter()
        .map(|hook| {
            json!([
                hook.name,
                hook.kind,
                hook.path,
                hook.manifest,
                hook.events,
                hook.weight,
                hook.delete_policies
            ])
        })
        .collect();
    let message = json!([
        PURPOSE,
        release.namespace,
        release.name,
        release.version,
        annotations,
        release.manifest,
        hooks
    ]);
    message.to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Hook, Status, decode, encode};

    fn release() -> Release {
        Release {
            name: "web".to_owned(),
            namespace: "shop".to_owned(),
            version: 2,
            chart: json!({"metadata": {"name": "web", "annotations": {DEPLOYMENT: "bundle-web", "a": "b"}}}),
            manifest: "---\n{}".to_owned(),
            hooks: vec![Hook {
                name: "migrate".to_owned(),
                manifest: "{}".to_owned(),
                events: vec!["pre-delete".to_owned()],
                ..Hook::default()
            }],
            ..Release::default()
        }
    }

    fn signed(key: &SigningKey) -> Release {
        let mut release = release();
        key.sign(&mut release);
        release
    }

    #[test]
    fn signature_stays_valid_after_a_change_of_the_state() {
        let key = SigningKey::new(&[1; KEY_BYTES]);
        let mut release = signed(&key);
        release.info.status = Status::Superseded;
        release.hooks[0].last_run.phase = "Succeeded".to_owned();
        let release = decode(encode(&release).unwrap().as_bytes()).unwrap();
        assert_eq!(key.deployment(&release).as_deref(), Some("bundle-web"));
        let mut again = release.clone();
        key.sign(&mut again);
        assert_eq!(again, release);
    }

    #[test]
    fn each_change_of_the_content_makes_the_signature_invalid() {
        type Change = fn(&mut Release);
        let key = SigningKey::new(&[1; KEY_BYTES]);
        let changes: [(&str, Change); 9] = [
            ("name", |release| release.name.push('x')),
            ("namespace", |release| release.namespace.push('x')),
            ("version", |release| release.version += 1),
            ("manifest", |release| release.manifest.push('\n')),
            ("hook", |release| release.hooks[0].manifest.push(' ')),
            ("event", |release| release.hooks[0].events.clear()),
            ("hooks", |release| release.hooks.clear()),
            ("annotation", |release| {
                release.chart["metadata"]["annotations"]["a"] = "c".into();
            }),
            ("signature", |release| {
                release.chart["metadata"]["annotations"][SIGNATURE] = "AAAA".into();
            }),
        ];
        for (name, change) in changes {
            let mut release = signed(&key);
            change(&mut release);
            assert_eq!(key.deployment(&release), None, "{name}");
        }
        let other = SigningKey::new(&[2; KEY_BYTES]);
        assert_eq!(other.deployment(&signed(&key)), None);
        assert_eq!(key.deployment(&release()), None);
    }
}
