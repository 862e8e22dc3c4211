//! Deploys a release: record, hooks, objects, hooks, record.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::finished::{finished, taken_over};
use super::observe::Observed;
use super::prepare::{Prepared, Revision};
use super::{DeployError, Deployer, Input, Outcome, Target, copies, unique};
use crate::apply::{self, Changes};
use crate::cluster::Cluster;
use crate::hooks::{self, Event};
use crate::object::Object;
use crate::readiness::{Readiness, readiness};
use crate::record::{self, Info, Release, Status};
use crate::release::{DEFAULT_HISTORY, History, Stored};
use crate::signature::named_deployment;

/// Interval between two reads while waiting for readiness.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// A deployment that runs.
struct Run<'a> {
    cluster: &'a Cluster,
    input: &'a Input<'a>,
    target: &'a Target,
    history: &'a History,
    stored: &'a [Stored],
    prepared: &'a Prepared,
}

impl Deployer {
    /// Deploys a bundle. A repeated call after an interruption completes the deployment. A repeated call
    /// after a complete deployment changes nothing.
    pub async fn deploy(&self, input: &Input<'_>) -> Result<Outcome, DeployError> {
        let options = &input.spec.options;
        let target = Target::of(input.name, options, &self.settings.default_namespace);
        self.check_namespace(options, &target.namespace).await?;
        let cluster = self.account(options).await?;
        let history = self.history(&cluster, &target, input.name).await?;
        let stored = history.read().await?;
        check_owner(input.name, &target, &stored)?;
        if let Some(outcome) = finished(input.spec, &target, &stored)? {
            let last = stored.last();
            if let Some(release) = last.and_then(|last| taken_over(last, input.cluster)) {
                history.update(&release).await?;
            }
            return Ok(outcome);
        }
        let last = stored.last().map_or(0, |stored| stored.release.version);
        let is_upgrade = deployed(&stored).is_some();
        let revision = Revision {
            number: last + 1,
            is_upgrade,
        };
        // A chart can read its copies.
        let has_copies = !input.copies.is_empty();
        if has_copies {
            self.ensure_namespace(&cluster, options, &target.namespace)
                .await?;
            copies::write(&cluster, input, &target.namespace).await?;
        }
        let prepared = self.prepare(&cluster, input, &target, revision).await?;
        if !has_copies {
            self.ensure_namespace(&cluster, options, &target.namespace)
                .await?;
        }

        let run = Run {
            cluster: &cluster,
            input,
            target: &target,
            history: &history,
            stored: &stored,
            prepared: &prepared,
        };
        let mut release = run.release(revision);
        history.create(&release).await?;
        match run.execute(revision).await {
            Ok(live) => {
                copies::delete_others(&cluster, input, &target.namespace, &stored).await?;
                run.finish(&mut release).await?;
                // Objects can change during a wait or a hook.
                let is_current = run.timeout().is_none() && prepared.hooks.is_empty();
                let desired: Vec<Object> = prepared
                    .objects
                    .into_iter()
                    .map(|rendered| rendered.object)
                    .collect();
                let release = format!(
                    "{}/{}:{}",
                    target.namespace, target.release, revision.number
                );
                Ok(Outcome {
                    release,
                    objects: desired.iter().map(Object::key).collect(),
                    applied: is_current
                        .then(|| Observed::applied(target.owner(input.name), desired, live)),
                })
            }
            Err(error) => {
                release.info.status = Status::Failed;
                release.info.description = error.to_string();
                history.update(&release).await?;
                run.roll_back_if_atomic(error).await
            }
        }
    }
}

/// Returns the current release.
fn deployed(stored: &[Stored]) -> Option<&Stored> {
    stored
        .iter()
        .rev()
        .find(|stored| stored.release.info.status == Status::Deployed)
}

/// Returns an error if the release belongs to another bundle deployment.
fn check_owner(deployment: &str, target: &Target, stored: &[Stored]) -> Result<(), DeployError> {
    let Some(last) = stored.last() else {
        return Ok(());
    };
    // Releases of Helm's command line name no deployment, and are adopted, as in Fleet.
    let Some(other) = named_deployment(&last.release).filter(|_| !last.is_of(deployment)) else {
        return Ok(());
    };
    Err(DeployError::OtherOwner {
        namespace: target.namespace.clone(),
        name: target.release.clone(),
        owner: format!("the bundle deployment {other}"),
    })
}

impl Run<'_> {
    fn timeout(&self) -> Option<Duration> {
        let seconds = self
            .input
            .spec
            .options
            .helm
            .as_ref()
            .map_or(0, |helm| helm.timeout_seconds);
        u64::try_from(seconds)
            .ok()
            .filter(|seconds| *seconds > 0)
            .map(Duration::from_secs)
    }

    fn release(&self, revision: Revision) -> Release {
        let now = Timestamp::now().to_string();
        let first = self
            .stored
            .first()
            .map(|stored| stored.release.info.first_deployed.clone());
        let (status, description) = if revision.is_upgrade {
            (Status::PendingUpgrade, "Preparing upgrade")
        } else {
            (Status::PendingInstall, "Initial install underway")
        };
        Release {
            name: self.target.release.clone(),
            info: Info {
                first_deployed: first
                    .filter(|time| !time.is_empty())
                    .unwrap_or_else(|| now.clone()),
                last_deployed: now,
                description: description.to_owned(),
                status,
                notes: self.prepared.notes.clone(),
            },
            chart: self.prepared.chart.clone(),
            config: self.prepared.values.clone(),
            manifest: record::manifest(&self.prepared.objects),
            hooks: self.prepared.hooks.iter().map(record::hook).collect(),
            version: revision.number,
            namespace: self.target.namespace.clone(),
            apply_method: "ssa".to_owned(),
        }
    }

    /// Runs the hooks and writes the objects. Returns the written objects.
    async fn execute(&self, revision: Revision) -> Result<Vec<Object>, DeployError> {
        let (before, after) = if revision.is_upgrade {
            (Event::PreUpgrade, Event::PostUpgrade)
        } else {
            (Event::PreInstall, Event::PostInstall)
        };
        let hook_timeout = self.timeout().unwrap_or(hooks::DEFAULT_TIMEOUT);
        let desired: Vec<Object> = self
            .prepared
            .objects
            .iter()
            .map(|one| one.object.clone())
            .collect();
        if !revision.is_upgrade {
            self.install_definitions().await?;
        }
        hooks::run(self.cluster, &self.prepared.hooks, before, hook_timeout).await?;
        let live = self.apply(&desired, &self.previous()?).await?;
        if let Some(timeout) = self.timeout() {
            self.wait(&desired, timeout).await?;
        }
        hooks::run(self.cluster, &self.prepared.hooks, after, hook_timeout).await?;
        Ok(live)
    }

    /// Creates the objects of the folders `crds/`. Helm does not change or delete them later.
    async fn install_definitions(&self) -> Result<(), DeployError> {
        let mut missing = Vec::new();
        for rendered in &self.prepared.crds {
            if self.cluster.get(&rendered.object.key()).await?.is_none() {
                missing.push(rendered.object.clone());
            }
        }
        self.apply(&missing, &[]).await?;
        Ok(())
    }

    /// Returns the records of the current release, and of releases that did not finish.
    fn unfinished(&self) -> impl Iterator<Item = &Stored> {
        let position = |stored: &Stored| stored.release.info.status == Status::Deployed;
        let first = self.stored.iter().rposition(position).unwrap_or(0);
        self.stored[first..].iter().rev().filter(|stored| {
            let status = stored.release.info.status;
            status == Status::Deployed || status == Status::Failed || status.is_pending()
        })
    }

    /// Returns the objects of the current release, and of releases that did not finish.
    fn previous(&self) -> Result<Vec<Object>, DeployError> {
        let mut all = Vec::new();
        for stored in self.unfinished() {
            all.extend(self.located(record::objects(&stored.release.manifest)?));
        }
        Ok(unique(all))
    }

    /// Sets the namespace of objects in records of Helm, which may have none.
    fn located(&self, mut objects: Vec<Object>) -> Vec<Object> {
        let known = self.prepared.objects.iter();
        let known: BTreeSet<_> = known
            .map(|one| one.object.key().without_version())
            .collect();
        for object in &mut objects {
            let mut key = object.key();
            if key.namespace.is_empty() {
                key.namespace.clone_from(&self.target.namespace);
                if known.contains(&key.without_version()) {
                    object.set_namespace(&self.target.namespace);
                }
            }
        }
        objects
    }

    async fn apply(
        &self,
        desired: &[Object],
        previous: &[Object],
    ) -> Result<Vec<Object>, DeployError> {
        let options = &self.input.spec.options;
        let helm = options.helm.as_ref();
        let force = helm.is_some_and(|helm| helm.force);
        let correct = self
            .input
            .spec
            .correct_drift
            .as_ref()
            .or(options.correct_drift.as_ref());
        let mut records = self.unfinished().peekable();
        let is_first = records.peek().is_none();
        let changes = Changes {
            owner: &self.target.owner(self.input.name),
            desired,
            previous,
            is_own_release: !is_first && records.all(Stored::is_signed),
            // Fleet adopts objects in each upgrade.
            take_ownership: helm.is_some_and(|helm| helm.take_ownership)
                || deployed(self.stored).is_some_and(Stored::is_signed),
            force: force || correct.is_some_and(|correct| correct.force),
        };
        Ok(apply::apply(self.cluster, &changes).await?)
    }

    /// Waits until the objects are ready.
    async fn wait(&self, desired: &[Object], timeout: Duration) -> Result<(), DeployError> {
        let deadline = Instant::now() + timeout;
        let ignored = self.input.spec.options.ignore_options.as_ref();
        let ignored = ignored.map_or(&[][..], |ignore| &ignore.conditions);
        let waits_for_jobs = self
            .input
            .spec
            .options
            .helm
            .as_ref()
            .is_some_and(|helm| helm.wait_for_jobs);
        for object in desired {
            let key = object.key();
            loop {
                let live = self.cluster.get(&key).await?;
                let state = live.as_ref().map_or_else(
                    || Readiness::InProgress("the object does not exist".to_owned()),
                    |live| readiness(live, ignored),
                );
                let is_complete =
                    !waits_for_jobs || key.kind != "Job" || live.as_ref().is_some_and(is_complete);
                match state {
                    Readiness::Current if is_complete => break,
                    Readiness::Failed(reason) => {
                        return Err(DeployError::NotReady(format!("{key}: {reason}")));
                    }
                    _ if Instant::now() >= deadline => {
                        return Err(DeployError::NotReady(format!("{key} is not ready")));
                    }
                    _ => tokio::time::sleep(POLL_INTERVAL).await,
                }
            }
        }
        Ok(())
    }

    /// Completes the record, and removes old records.
    async fn finish(&self, release: &mut Release) -> Result<(), DeployError> {
        let is_first = deployed(self.stored).is_none();
        release.info.status = Status::Deployed;
        let description = if is_first {
            "Install complete"
        } else {
            "Upgrade complete"
        };
        description.clone_into(&mut release.info.description);
        self.history.update(release).await?;
        let options = self.input.spec.options.helm.as_ref();
        let max = options.and_then(|helm| usize::try_from(helm.max_history).ok());
        let max = max.filter(|max| *max > 0).unwrap_or(DEFAULT_HISTORY);
        let (surplus, kept) = self
            .stored
            .split_at(self.stored.len().saturating_sub(max - 1));
        self.history.trim(surplus, 0).await?;
        for stored in kept {
            match stored.release.info.status {
                Status::Deployed => {
                    let version = release.version;
                    let text = format!("Superseded by revision {version}");
                    self.history
                        .set_status(stored, Status::Superseded, &text)
                        .await?;
                }
                // The agent was interrupted. A pending record would block Helm's command line.
                status if status.is_pending() => {
                    self.history
                        .set_status(stored, Status::Failed, "Interrupted")
                        .await?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Applies the previous release again if the bundle requests it.
    async fn roll_back_if_atomic(&self, error: DeployError) -> Result<Outcome, DeployError> {
        let is_atomic = self
            .input
            .spec
            .options
            .helm
            .as_ref()
            .is_some_and(|helm| helm.atomic);
        // A record without a signature can contain objects and hooks of another user.
        let previous = deployed(self.stored).filter(|stored| is_atomic && stored.is_signed());
        let Some(previous) = previous else {
            return Err(error);
        };
        let desired = self.located(record::objects(&previous.release.manifest)?);
        let current: Vec<Object> = self
            .prepared
            .objects
            .iter()
            .map(|one| one.object.clone())
            .collect();
        let timeout = self.timeout().unwrap_or(hooks::DEFAULT_TIMEOUT);
        let hooks_before = record::hooks(&previous.release.hooks)?;
        hooks::run(self.cluster, &hooks_before, Event::PreRollback, timeout).await?;
        self.apply(&desired, &current).await?;
        hooks::run(self.cluster, &hooks_before, Event::PostRollback, timeout).await?;
        Err(DeployError::RolledBack {
            name: self.target.release.clone(),
            source: Box::new(error),
        })
    }
}

fn is_complete(job: &Object) -> bool {
    let conditions = job
        .0
        .pointer("/status/conditions")
        .and_then(serde_json::Value::as_array);
    conditions.into_iter().flatten().any(|condition| {
        condition.get("type").and_then(serde_json::Value::as_str) == Some("Complete")
            && condition.get("status").and_then(serde_json::Value::as_str) == Some("True")
    })
}
