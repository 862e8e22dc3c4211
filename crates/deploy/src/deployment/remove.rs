//! Removes a release: hooks, objects and records.

use std::collections::BTreeSet;

use drover_api::fleet::BundleDeploymentOptions;
use drover_apply::call;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, ListParams};

use super::releases::PAGE_SIZE;
use super::{DeployError, Deployer, Outcome, Target, copies, unique};
use crate::cluster::Cluster;
use crate::hooks::{self, Event};
use crate::object::{Object, ObjectKey};
use crate::record::{self, Status};
use crate::release::{History, HistoryError, Stored, decode};

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
        if !options.keep_resources {
            uninstall(&cluster, &history, &target, name, &own, &[]).await?;
            copies::delete_all(&cluster, name, options, &target.namespace, &own).await?;
            // The namespace goes before the records: a repeated call must know that the release existed.
            if options.delete_namespace && own.iter().any(|stored| stored.is_signed()) {
                self.delete_namespace(&cluster, name, &target.namespace)
                    .await?;
            }
        }
        for stored in own {
            history.delete(stored.release.version).await?;
        }
        self.corrections.forget(name);
        Ok(())
    }

    /// Removes the release that the bundle deployment had before its name or namespace changed. Objects of
    /// the new release stay.
    pub async fn remove_replaced(
        &self,
        name: &str,
        options: &BundleDeploymentOptions,
        previous: &str,
        current: &Outcome,
    ) -> Result<(), DeployError> {
        let (Some((target, _)), Some((new, _))) =
            (Target::parse(previous), Target::parse(&current.release))
        else {
            return Ok(());
        };
        if target == new {
            return Ok(());
        }
        let cluster = self.account(options).await?;
        let history = self.history(&cluster, &target, name).await?;
        let stored = history.read().await?;
        let own: Vec<&Stored> = stored.iter().filter(|stored| stored.is_of(name)).collect();
        if !options.keep_resources {
            uninstall(&cluster, &history, &target, name, &own, &current.objects).await?;
            let namespaces = (&*target.namespace, &*new.namespace);
            copies::delete_replaced(&cluster, name, options, namespaces, &own).await?;
        }
        for stored in own {
            history.delete(stored.release.version).await?;
        }
        Ok(())
    }

    /// Deletes the namespace of a removed release, unless it is a namespace of the system or contains
    /// releases of other owners.
    async fn delete_namespace(
        &self,
        cluster: &Cluster,
        deployment: &str,
        name: &str,
    ) -> Result<(), DeployError> {
        if is_protected(name) || name == self.settings.agent_namespace {
            return Ok(());
        }
        if self.has_other_releases(cluster, deployment, name).await? {
            tracing::info!(
                namespace = name,
                deployment,
                "kept the namespace: it contains other releases"
            );
            return Ok(());
        }
        let key = ObjectKey {
            api_version: "v1".to_owned(),
            kind: "Namespace".to_owned(),
            namespace: String::new(),
            name: name.to_owned(),
        };
        self.namespaces.lock().remove(name);
        let Some(live) = cluster.get(&key).await? else {
            return Ok(());
        };
        Ok(crate::apply::delete(cluster, &key, Some(live.uid().to_owned())).await?)
    }

    async fn has_other_releases(
        &self,
        cluster: &Cluster,
        deployment: &str,
        namespace: &str,
    ) -> Result<bool, DeployError> {
        let key = self.keys.get().await.map_err(HistoryError::from)?;
        let secrets = Api::<Secret>::namespaced(cluster.client().clone(), namespace);
        let mut params = ListParams::default().labels("owner=helm").limit(PAGE_SIZE);
        loop {
            let listed = secrets.list(&params);
            let page = call("list the release records".to_owned(), listed).await;
            let page = page.map_err(HistoryError::from)?;
            let is_other = |secret| !decode(secret, &key).is_some_and(|it| it.is_of(deployment));
            if page.items.into_iter().any(is_other) {
                return Ok(true);
            }
            let Some(token) = page.metadata.continue_.filter(|token| !token.is_empty()) else {
                return Ok(false);
            };
            params = params.continue_token(&token);
        }
    }
}

/// Returns true for namespaces of Kubernetes, of Fleet and Rancher, and of Drover.
fn is_protected(namespace: &str) -> bool {
    let prefixes = ["kube-", "cattle-", "drover-"];
    namespace == "default" || prefixes.iter().any(|prefix| namespace.starts_with(prefix))
}

/// Runs the hooks of the newest signed record, and deletes the objects of all records except `kept`.
async fn uninstall(
    cluster: &Cluster,
    history: &History,
    target: &Target,
    name: &str,
    own: &[&Stored],
    kept: &[ObjectKey],
) -> Result<(), DeployError> {
    if own.is_empty() {
        return Ok(());
    }
    let timeout = hooks::DEFAULT_TIMEOUT;
    let last = own.iter().rev().find(|stored| stored.is_signed());
    let last_hooks = last.map_or(Ok(Vec::new()), |last| record::hooks(&last.release.hooks))?;
    if let Some(last) = last
        && last.release.info.status != Status::Uninstalling
    {
        hooks::run(cluster, &last_hooks, Event::PreDelete, timeout).await?;
        history
            .set_status(last, Status::Uninstalling, "Deletion in progress")
            .await?;
    }
    // A record without a signature can only name objects that live objects mark as own.
    delete_objects(cluster, target, name, own, kept).await?;
    Ok(hooks::run(cluster, &last_hooks, Event::PostDelete, timeout).await?)
}

/// Deletes the objects of the records, in the reverse order of their creation.
async fn delete_objects(
    cluster: &Cluster,
    target: &Target,
    deployment: &str,
    stored: &[&Stored],
    kept: &[ObjectKey],
) -> Result<(), DeployError> {
    let mut objects: Vec<Object> = Vec::new();
    for stored in stored {
        if stored.release.info.status != Status::Superseded {
            objects.extend(record::objects(&stored.release.manifest)?);
        }
    }
    let kept: BTreeSet<ObjectKey> = kept.iter().map(ObjectKey::without_version).collect();
    objects.retain(|object| !kept.contains(&object.key().without_version()));
    let owner = target.owner(deployment);
    let changes = crate::apply::Changes {
        owner: &owner,
        desired: &[],
        previous: &unique(objects),
        is_own_release: true,
        take_ownership: false,
        force: false,
    };
    crate::apply::apply(cluster, &changes).await?;
    Ok(())
}
