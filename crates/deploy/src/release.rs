//! Reads and writes the release records of one release.

use std::collections::BTreeMap;

use drover_apply::{ApplyError, call, unless_gone};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use serde_json::json;

use crate::cluster::Cluster;
use crate::object::DEPLOYMENT_LABEL;
use crate::record::{self, RecordError, Release, SECRET_TYPE, Status};
use crate::signature::{self, KeyError, SigningKey};

/// Number of records that a release keeps if the bundle does not configure it. Fleet keeps the same
/// number.
pub const DEFAULT_HISTORY: usize = 2;

/// The reason why release records cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// A call failed.
    #[error(transparent)]
    Call(#[from] ApplyError),
    /// A record cannot be encoded.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The key of the signatures is not available.
    #[error(transparent)]
    Key(#[from] KeyError),
}

/// A release record in the cluster.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The release.
    pub release: Release,
    /// The bundle deployment of a record that this agent signed. `None` for records of Helm and Fleet, and
    /// for forged records.
    pub deployment: Option<String>,
}

impl Stored {
    /// Returns true if the agent signed the record. Hooks and objects of other records are data of a user
    /// who may write Secrets, and are neither run nor applied.
    pub const fn is_signed(&self) -> bool {
        self.deployment.is_some()
    }

    /// Returns true if the record belongs to the bundle deployment. A record without a signature only
    /// names its bundle deployment.
    pub fn is_of(&self, deployment: &str) -> bool {
        match &self.deployment {
            Some(signed) => signed == deployment,
            None => signature::named_deployment(&self.release) == Some(deployment),
        }
    }
}

/// The records of one release.
#[derive(Clone)]
pub struct History {
    secrets: Api<Secret>,
    name: String,
    /// Value of the label of the own records.
    deployment: String,
    key: SigningKey,
}

impl std::fmt::Debug for History {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("History")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl History {
    /// Creates access to the records of a release.
    pub fn new(
        cluster: &Cluster,
        key: SigningKey,
        namespace: &str,
        name: &str,
        deployment: &str,
    ) -> Self {
        Self {
            secrets: Api::namespaced(cluster.client().clone(), namespace),
            name: name.to_owned(),
            deployment: deployment.to_owned(),
            key,
        }
    }

    /// Reads the records, the oldest first. Records that are not readable are skipped.
    pub async fn read(&self) -> Result<Vec<Stored>, HistoryError> {
        let params = ListParams::default().labels(&format!("owner=helm,name={}", self.name));
        let listed = call(
            "list the release records".to_owned(),
            self.secrets.list(&params),
        )
        .await?;
        let mut stored: Vec<Stored> = listed
            .items
            .into_iter()
            .filter_map(|secret| decode(secret, &self.key))
            .collect();
        stored.sort_by_key(|stored| stored.release.version);
        Ok(stored)
    }

    /// Reads one record.
    pub async fn get(&self, version: u32) -> Result<Option<Stored>, HistoryError> {
        let name = record::secret_name(&self.name, version);
        let found = call(
            "read the release record".to_owned(),
            self.secrets.get_opt(&name),
        )
        .await?;
        Ok(found.and_then(|secret| decode(secret, &self.key)))
    }

    /// Creates a record.
    pub async fn create(&self, release: &Release) -> Result<(), HistoryError> {
        let secret = self.secret(release)?;
        let params = PostParams::default();
        let created = self.secrets.create(&params, &secret);
        call("create the release record".to_owned(), created).await?;
        Ok(())
    }

    /// Replaces a record.
    pub async fn update(&self, release: &Release) -> Result<(), HistoryError> {
        let secret = self.secret(release)?;
        let name = record::secret_name(&self.name, release.version);
        let params = PostParams::default();
        let replaced = self.secrets.replace(&name, &params, &secret);
        call("update the release record".to_owned(), replaced).await?;
        Ok(())
    }

    /// Changes the state of a record.
    pub async fn set_status(
        &self,
        stored: &Stored,
        status: Status,
        description: &str,
    ) -> Result<(), HistoryError> {
        let mut release = stored.release.clone();
        release.info.status = status;
        description.clone_into(&mut release.info.description);
        let data = record::encode(&release)?;
        // The patch keeps the labels of records that Helm or Fleet wrote.
        let patch = Patch::Merge(json!({
            "metadata": {"labels": {"status": status.label()}},
            "data": {"release": ByteString(data.into_bytes())},
        }));
        let name = record::secret_name(&self.name, release.version);
        let params = PatchParams::default();
        let patched = self.secrets.patch(&name, &params, &patch);
        call("update the release record".to_owned(), patched).await?;
        Ok(())
    }

    /// Deletes the oldest records.
    pub async fn trim(&self, stored: &[Stored], keep: usize) -> Result<(), HistoryError> {
        let surplus = stored.len().saturating_sub(keep);
        for stored in stored.iter().take(surplus) {
            self.delete(stored.release.version).await?;
        }
        Ok(())
    }

    /// Deletes a record.
    pub async fn delete(&self, version: u32) -> Result<(), HistoryError> {
        let name = record::secret_name(&self.name, version);
        let params = DeleteParams::default();
        let deleted = self.secrets.delete(&name, &params);
        unless_gone(call("delete the release record".to_owned(), deleted).await)?;
        Ok(())
    }

    fn secret(&self, release: &Release) -> Result<Secret, RecordError> {
        let mut signed = release.clone();
        self.key.sign(&mut signed);
        let data = record::encode(&signed)?;
        let mut labels = record::labels(release);
        labels.insert(DEPLOYMENT_LABEL.to_owned(), self.deployment.clone());
        Ok(Secret {
            metadata: ObjectMeta {
                name: Some(record::secret_name(&release.name, release.version)),
                labels: Some(labels),
                ..ObjectMeta::default()
            },
            type_: Some(SECRET_TYPE.to_owned()),
            data: Some(BTreeMap::from([(
                "release".to_owned(),
                ByteString(data.into_bytes()),
            )])),
            ..Secret::default()
        })
    }
}

pub(crate) fn decode(secret: Secret, key: &SigningKey) -> Option<Stored> {
    let metadata = secret.metadata;
    let data = secret.data.unwrap_or_default();
    let release = record::decode(&data.get("release")?.0).ok()?;
    // A copy of a record in another Secret is not the signed record.
    let is_in_place = metadata.namespace.as_ref() == Some(&release.namespace)
        && metadata.name == Some(record::secret_name(&release.name, release.version));
    let deployment = key.deployment(&release).filter(|_| is_in_place);
    Some(Stored {
        release,
        deployment,
    })
}
