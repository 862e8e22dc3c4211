//! The end of an import: the agent has registered, or the import stops.

use std::sync::Arc;
use std::time::Duration;

use drover_api::fleet::{FleetCluster, FleetClusterRegistrationToken};
use drover_hub::{HubError, call};
use drover_reconcile::Action;
use jiff::Timestamp;
use kube::{Api, ResourceExt as _};
use serde_json::json;

use super::error::ImportError;
use super::state::{Progress, condition, is_registered, token_name};
use super::{IMPORT_TOKEN, Import, REGISTERED_CHECK, set_imported, tokens};
use crate::mirror::Key;
use crate::registration::GRANTED;
use crate::writes::merge;

/// Interval of the checks of an agent that has not registered in time.
const LATE_CHECK: Duration = Duration::from_mins(5);

impl Import {
    /// Deletes the registration token after the agent has registered. The agent deletes its own copy of the token
    /// then, so an agent in another cluster cannot end the import.
    pub(super) async fn finish(
        &self,
        key: &Key,
        cluster: &FleetCluster,
    ) -> Result<Action, ImportError> {
        let Some(uid) = cluster.annotations().get(IMPORT_TOKEN) else {
            // Fleet has imported the cluster, or the import has ended.
            if condition(cluster).is_none() {
                self.report(key, Progress::Registered).await?;
            }
            return Ok(Action::await_change());
        };
        let token = self.read_token(key).await?;
        let token = token.filter(|token| token.metadata.uid.as_ref() == Some(uid));
        let progress = match &token {
            // The server stopped after it had deleted the token.
            None if is_registered(cluster) => Progress::Registered,
            None => Progress::Expired,
            Some(token) => {
                let secret = self.kubeconfig(key, cluster).await?;
                let target = self.target(cluster, &secret)?;
                let was_granted = cluster.annotations().contains_key(GRANTED);
                // The Secret is also missing if somebody has deleted the agent.
                if was_granted && !target.has_bootstrap().await? {
                    Progress::Registered
                } else {
                    Progress::of(cluster, token, Timestamp::now())
                }
            }
        };
        self.report(key, progress).await?;
        match progress {
            Progress::Waiting => Ok(Action::requeue(REGISTERED_CHECK)),
            Progress::Late => Ok(Action::requeue(LATE_CHECK)),
            Progress::Registered | Progress::Expired => {
                self.stop(key, cluster).await?;
                Ok(Action::await_change())
            }
        }
    }

    /// Deletes the registration token of an import that has ended or stopped. Reports whether the import ran
    /// before.
    pub(super) async fn stop(&self, key: &Key, cluster: &FleetCluster) -> Result<bool, HubError> {
        let was_running = cluster.annotations().contains_key(IMPORT_TOKEN);
        let token = if was_running {
            let token = self.read_token(key).await?;
            token.filter(|token| is_owned(token, cluster)).map(Arc::new)
        } else {
            let name = Key::new(&key.namespace, token_name(&key.name));
            let token = self.world.tokens.get(&name);
            token.filter(|token| is_owned(token, cluster))
        };
        if let Some(token) = token {
            tokens::delete_token(&self.client, &key.namespace, &token).await?;
        }
        if cluster.metadata.deletion_timestamp.is_some() || !was_running {
            return Ok(false);
        }
        let patch = json!({ "metadata": {
            "uid": cluster.uid(), "annotations": { IMPORT_TOKEN: null },
        } });
        let operation = "record the end of the import of a Fleet Cluster";
        let written = merge(operation, &self.clusters(key), &key.name, &patch).await?;
        self.world.clusters.observe(written);
        Ok(true)
    }

    /// Reads the registration token of an import. The cache of tokens can be older than the import.
    async fn read_token(
        &self,
        key: &Key,
    ) -> Result<Option<FleetClusterRegistrationToken>, HubError> {
        let tokens =
            Api::<FleetClusterRegistrationToken>::namespaced(self.client.clone(), &key.namespace);
        let name = token_name(&key.name);
        call("read a ClusterRegistrationToken", tokens.get_opt(&name)).await
    }

    async fn report(&self, key: &Key, progress: Progress) -> Result<(), HubError> {
        let (value, reason, message) = progress.condition();
        self.write(key, |status| set_imported(status, value, reason, message))
            .await
    }
}

fn is_owned(token: &FleetClusterRegistrationToken, cluster: &FleetCluster) -> bool {
    let mut owners = token.owner_references().iter();
    owners.any(|owner| Some(&owner.uid) == cluster.metadata.uid.as_ref())
}
