//! Decides which cluster the agent of a ClusterRegistration may join.

use std::collections::BTreeMap;
use std::sync::Arc;

use drover_api::fleet::{ClusterRegistration, FleetCluster};
use drover_gitops::ids::cluster_name;
use kube::ResourceExt as _;
use thiserror::Error;

use super::{APPROVE, GRANTED, IMPORT_TOKEN};
use crate::clusters::CLUSTER_UID_LABEL;

/// Maximum length of the client ID and of the client's random text, in bytes.
const MAX_LENGTH: usize = 512;
/// Prefixes of labels that a request cannot set.
const RESERVED_LABELS: [&str; 3] = [
    "management.cattle.io/",
    "fleet.cattle.io/",
    "management.drover.dev/",
];

/// The state on which the decision depends.
#[derive(Clone, Copy)]
pub(super) struct Observed<'a> {
    pub(super) request: &'a ClusterRegistration,
    /// The Fleet Clusters in the namespace of the request that have the client ID of the request.
    pub(super) clusters: &'a [Arc<FleetCluster>],
    /// True if a Fleet Cluster with the name of the new cluster exists.
    pub(super) is_name_taken: bool,
    /// UID of the registration token of the request, if the token exists and is valid.
    pub(super) token: Option<&'a str>,
    /// UID of the Fleet Cluster whose import created the token. The author of the kubeconfig gets this
    /// token.
    pub(super) import_of: Option<&'a str>,
    /// True if the author of the request has proved that it holds the token. The label with the token is no
    /// proof: each holder of a registration token can create requests with any label.
    pub(super) is_proven: bool,
}

/// The cluster that the agent joins.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// A new Fleet Cluster with this name.
    Create(String),
    /// The existing Fleet Cluster with this name.
    Join(String),
}

/// The reason why a request is not granted.
#[derive(Debug, Error, PartialEq, Eq)]
pub(super) enum Refusal {
    #[error(
        "spec.clientID and spec.clientRandom must have between 1 and {MAX_LENGTH} bytes; install the \
         agent again"
    )]
    Invalid,
    #[error(
        "the label fleet.cattle.io/registration-token does not name a valid ClusterRegistrationToken in \
         this namespace; create a ClusterRegistrationToken, and install the agent with its values"
    )]
    UnknownToken,
    #[error(
        "a Fleet Cluster with the name {0:?} and another client ID exists; set another client ID for the \
         agent"
    )]
    NameTaken(String),
    #[error("several Fleet Clusters have the client ID of the agent; delete all but one of them")]
    Ambiguous,
    #[error(
        "the Fleet Cluster {0:?} belongs to a Cluster of Drover, and its agent cannot be replaced; set \
         another client ID for the agent"
    )]
    Managed(String),
    #[error("the Fleet Cluster {0:?} is being deleted; install the agent again after the deletion")]
    Deleting(String),
    #[error(
        "the Fleet Cluster {cluster:?} already has an agent. If the new agent runs in the same cluster, \
         approve the request: kubectl annotate --overwrite clusters.fleet.cattle.io {cluster} -n \
         {namespace} {APPROVE}={request}"
    )]
    NotApproved {
        namespace: String,
        cluster: String,
        request: String,
    },
    #[error(
        "the Secret with the credential belongs to another request; install the agent again with another \
         client ID"
    )]
    SecretTaken,
    #[error(
        "the registration token belongs to the import of another cluster; create a \
         ClusterRegistrationToken, and install the agent with its values"
    )]
    OtherImport,
    #[error(
        "the agent has not proved that it holds the registration token of the import; import the cluster again \
         with an agent of this version of Drover"
    )]
    Unproven,
    #[error("the hub rejects the labels of the cluster: {0}; correct the labels of the agent")]
    Labels(String),
}

impl Refusal {
    /// Returns the reason in CamelCase.
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::Invalid => "InvalidRequest",
            Self::UnknownToken => "UnknownToken",
            Self::NameTaken(_) => "NameTaken",
            Self::Ambiguous => "AmbiguousClientID",
            Self::Managed(_) => "ManagedCluster",
            Self::Deleting(_) => "ClusterDeleted",
            Self::NotApproved { .. } => "ApprovalRequired",
            Self::SecretTaken => "SecretTaken",
            Self::OtherImport => "OtherImport",
            Self::Unproven => "TokenNotProved",
            Self::Labels(_) => "InvalidLabels",
        }
    }
}

/// Returns the cluster that the agent of a request may join.
pub(super) fn decide(observed: Observed<'_>) -> Result<Decision, Refusal> {
    let spec = &observed.request.spec;
    let texts = [&spec.client_id, &spec.client_random];
    if texts
        .iter()
        .any(|text| text.is_empty() || text.len() > MAX_LENGTH)
    {
        return Err(Refusal::Invalid);
    }
    let token = observed.token.ok_or(Refusal::UnknownToken)?;
    if let Some(uid) = observed.import_of {
        let is_imported = |it: &Arc<FleetCluster>| it.metadata.uid.as_deref() == Some(uid);
        if !observed.clusters.iter().all(is_imported) || observed.clusters.is_empty() {
            return Err(Refusal::OtherImport);
        }
        if !observed.is_proven {
            return Err(Refusal::Unproven);
        }
    }
    match observed.clusters {
        [] => {
            let name = cluster_name(&spec.client_id);
            if observed.is_name_taken {
                return Err(Refusal::NameTaken(name));
            }
            Ok(Decision::Create(name))
        }
        [cluster] => {
            admit(observed.request, cluster, token)?;
            Ok(Decision::Join(cluster.name_any()))
        }
        _ => Err(Refusal::Ambiguous),
    }
}

/// Checks that the agent of a request may join an existing cluster. The client ID is no secret, so a
/// cluster with an agent needs the approval of an administrator, or the token of an import by the server.
pub(super) fn admit(
    request: &ClusterRegistration,
    cluster: &FleetCluster,
    token: &str,
) -> Result<(), Refusal> {
    let name = cluster.name_any();
    if cluster.labels().contains_key(CLUSTER_UID_LABEL) {
        return Err(Refusal::Managed(name));
    }
    if cluster.metadata.deletion_timestamp.is_some() {
        return Err(Refusal::Deleting(name));
    }
    if cluster.spec.client_id != request.spec.client_id {
        return Err(Refusal::NameTaken(name));
    }
    let granted = cluster.annotations().get(GRANTED);
    if granted.is_some() && granted == request.metadata.uid.as_ref() {
        return Ok(());
    }
    let status = cluster.status.as_ref();
    let was_seen = status.is_some_and(|status| status.agent.last_seen.is_some());
    let annotations = cluster.annotations();
    let is_approved = annotations.get(APPROVE) == request.metadata.name.as_ref();
    let is_import = annotations
        .get(IMPORT_TOKEN)
        .is_some_and(|uid| uid == token);
    // The agent of a running import has not registered yet.
    let is_reserved = granted.is_some() || was_seen || annotations.contains_key(IMPORT_TOKEN);
    if is_reserved && !is_approved && !is_import {
        return Err(Refusal::NotApproved {
            namespace: request.namespace().unwrap_or_default(),
            cluster: name,
            request: request.name_any(),
        });
    }
    Ok(())
}

/// Returns the labels of a request that a new Fleet Cluster receives.
pub(super) fn labels(request: &ClusterRegistration) -> BTreeMap<String, String> {
    let labels = request.spec.cluster_labels.iter();
    let is_free = |key: &str| {
        let mut reserved = RESERVED_LABELS.iter();
        !reserved.any(|prefix| key.starts_with(prefix))
    };
    labels
        .filter(|(key, _)| is_free(key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

#[cfg(test)]
mod tests;
