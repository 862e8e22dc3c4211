//! Removes a release: hooks, objects and records.

use drover_api::fleet::BundleDeploymentOptions;

use super::{DeployError, Deployer, Target, copies, unique};
use crate::cluster::Cluster;
use crate::hooks::{self, Event};
use crate::object::{Object, ObjectKey};
use crate::record::{self, Status};
use crate::release::Stored;

/// Namespaces that are never deleted.
const PROTECTED: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

impl Deployer {
    /// Removes a bundle deployment. `release` is the release of the status, `namespace/name:revision`,
    /// or an empty text. A repeated call after an interruption completes the removal.
    pub async fn remove(
        &self,
        name: &str,
        options: &BundleDeploymentOptions,
        release: &str,
    ) -> Result<(), DeployError> {
        let target = Target::parse(release).map_or_else(
            || Target::of(name, options, &self.settings.default_namespace),
            |(target, _)| target,
        );
        let cluster = self.account(options).await?;
        let history = self.history(&cluster, &target, name).await?;
        let stored = history.read().await?;
        let own: Vec<&Stored> = stored.iter().filter(|stored| stored.is_of(name)).collect();
        if !own.is_empty() && !options.keep_resources {
            let timeout = hooks::DEFAULT_TIMEOUT;
            let last = own.iter().rev().find(|stored| stored.is_signed());
            let last_hooks =
                last.map_or(Ok(Vec::new()), |last| record::hooks(&last.release.hooks))?;
            if let Some(last) = last
                && last.release.info.status != Status::Uninstalling
            {
                hooks::run(&cluster, &last_hooks, Event::PreDelete, timeout).await?;
                history
                    .set_status(last, Status::Uninstalling, "Deletion in progress")
                    .await?;
            }
            // A record without a signature can only name objects that live objects mark as own.
            delete_objects(&cluster, &target, name, &own).await?;
            hooks::run(&cluster, &last_hooks, Event::PostDelete, timeout).await?;
        }
        if !options.keep_resources {
            copies::delete_all(&cluster, name, options, &target.namespace, &own).await?;
        }
        for stored in own {
            history.delete(stored.release.version).await?;
        }
        self.corrections.forget(name);
        if options.delete_namespace && !options.keep_resources {
            self.delete_namespace(&cluster, &target.namespace).await?;
        }
        Ok(())
    }

    async fn delete_namespace(&self, cluster: &Cluster, name: &str) -> Result<(), DeployError> {
        if PROTECTED.contains(&name) || name == self.settings.agent_namespace {
            return Ok(());
        }
        let key = ObjectKey {
            api_version: "v1".to_owned(),
            kind: "Namespace".to_owned(),
            namespace: String::new(),
            name: name.to_owned(),
        };
        self.namespaces.lock().remove(name);
        Ok(crate::apply::delete(cluster, &key, None).await?)
    }
}

/// Deletes the objects of the records, in the reverse order of their creation.
async fn delete_objects(
    cluster: &Cluster,
    target: &Target,
    deployment: &str,
    stored: &[&Stored],
) -> Result<(), DeployError> {
    let mut objects: Vec<Object> = Vec::new();
    for stored in stored {
        if stored.release.info.status != Status::Superseded {
            objects.extend(record::objects(&stored.release.manifest)?);
        }
    }
    let owner = target.owner(deployment);
    let changes = crate::apply::Changes {
        owner: &owner,
        desired: &[],
        previous: &unique(objects),
        is_own_release: true,
        take_ownership: false,
        force: false,
    };
    Ok(crate::apply::apply(cluster, &changes).await?)
}
