//! Control planes that the tests of one process use one after another.
//!
//! The start of an API server takes several seconds of CPU time. Most tests change only objects.
//! Therefore a later test gets the control plane of an earlier test, after all objects and files
//! have been restored to their state after the start.

use std::fs;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::store::{Objects, Store};
use super::{ControlPlane, Options, StartError, launch};
use crate::wait::eventually;

/// The time after the end of a test in which requests of the test can still arrive.
const QUIET: Duration = Duration::from_secs(2);
/// Timeout of the restoration of the objects.
const RESTORED: Duration = Duration::from_secs(20);

/// The control planes that no test uses.
static IDLE: Mutex<Vec<Idle>> = Mutex::new(Vec::new());

struct Idle {
    started: Started,
    since: Instant,
}

/// A control plane with its state after the start.
struct Started {
    cluster: ControlPlane,
    objects: Objects,
    groups: Vec<String>,
    files: Vec<PathBuf>,
}

/// A control plane that a test uses alone. A later test of the same process uses it again, unless a
/// test has failed or has changed the programs of the control plane.
///
/// The test process stops the control plane at its end. The next test process removes the folder.
pub struct SharedControlPlane {
    started: Option<Started>,
    is_reusable: bool,
}

impl std::fmt::Debug for SharedControlPlane {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(formatter)
    }
}

impl SharedControlPlane {
    /// Returns a control plane without objects of other tests. `name` is the cluster's name in
    /// kubeconfigs.
    pub async fn lease(name: &str) -> Result<Self, StartError> {
        while let Some(idle) = take(name) {
            tokio::time::sleep(QUIET.saturating_sub(idle.since.elapsed())).await;
            let mut started = idle.started;
            // A control plane that cannot be restored stops here.
            if Box::pin(started.restore()).await.is_ok() && started.cluster.check().is_ok() {
                return Ok(Self::from(started));
            }
        }
        let options = Options {
            name: name.to_owned(),
            ..Options::default()
        };
        // Boxed, because the futures of the callers would be large.
        Ok(Self::from(Box::pin(Started::new(options)).await?))
    }
}

impl From<Started> for SharedControlPlane {
    fn from(started: Started) -> Self {
        Self {
            started: Some(started),
            is_reusable: true,
        }
    }
}

impl Deref for SharedControlPlane {
    type Target = ControlPlane;

    fn deref(&self) -> &ControlPlane {
        let started = self.started.as_ref();
        &started.expect("only drop takes the control plane").cluster
    }
}

impl DerefMut for SharedControlPlane {
    /// The methods with `&mut self` stop and start programs, so a later test gets another control
    /// plane.
    fn deref_mut(&mut self) -> &mut ControlPlane {
        self.is_reusable = false;
        let started = self.started.as_mut();
        &mut started.expect("only drop takes the control plane").cluster
    }
}

impl Drop for SharedControlPlane {
    fn drop(&mut self) {
        if let Some(started) = self.started.take()
            && self.is_reusable
            && !std::thread::panicking()
            && let Ok(mut idle) = IDLE.lock()
        {
            idle.push(Idle {
                started,
                since: Instant::now(),
            });
        }
    }
}

/// Takes the control plane with this name that has been idle for the longest time.
fn take(name: &str) -> Option<Idle> {
    let mut idle = IDLE.lock().ok()?;
    let position = idle
        .iter()
        .position(|idle| idle.started.cluster.name() == name)?;
    Some(idle.remove(position))
}

impl Started {
    async fn new(options: Options) -> Result<Self, StartError> {
        let cluster = ControlPlane::start(options).await?;
        let store = Store::new(cluster.ports.etcd.port())?;
        // Controllers create objects for a moment after the start.
        let mut objects = store.objects().await?;
        let objects = eventually(
            "the first objects of the controllers",
            RESTORED,
            async || {
                tokio::time::sleep(Duration::from_millis(500)).await;
                let now = store.objects().await.map_err(|error| error.to_string())?;
                let is_complete = now.len() == objects.len();
                objects = now;
                if is_complete {
                    Ok(objects.clone())
                } else {
                    Err("controllers create objects".to_owned())
                }
            },
        )
        .await
        .map_err(StartError::Restore)?;
        let groups = groups(&cluster).await.map_err(StartError::Client)?;
        let files = files(&cluster);
        Ok(Self {
            cluster,
            objects,
            groups,
            files,
        })
    }

    /// Restores the objects and files, and waits until the API server serves only the API groups
    /// that it served after the start.
    async fn restore(&mut self) -> Result<(), StartError> {
        // A client works only in the runtime of the test that created the client.
        self.cluster.client = launch::client(self.cluster.kubeconfig_path()).await?;
        let store = Store::new(self.cluster.ports.etcd.port())?;
        eventually("the restored objects", RESTORED, async || {
            match store.restore(&self.objects).await {
                Ok(true) => Ok(()),
                Ok(false) => Err("objects have changed".to_owned()),
                Err(error) => Err(error.to_string()),
            }
        })
        .await
        .map_err(StartError::Restore)?;
        eventually("the first API groups", RESTORED, async || {
            match groups(&self.cluster).await {
                Ok(groups) if groups == self.groups => Ok(()),
                Ok(groups) => Err(format!("the API server serves {groups:?}")),
                Err(error) => Err(error.to_string()),
            }
        })
        .await
        .map_err(StartError::Restore)?;
        for file in files(&self.cluster) {
            if !self.files.contains(&file) {
                remove(&file);
            }
        }
        // kubectl caches the API of the server here.
        for entry in entries(&self.cluster.folder.home()) {
            remove(&entry);
        }
        Ok(())
    }
}

async fn groups(cluster: &ControlPlane) -> Result<Vec<String>, kube::Error> {
    let listed = cluster.client.list_api_groups().await?;
    let mut names: Vec<String> = listed.groups.into_iter().map(|group| group.name).collect();
    names.sort();
    Ok(names)
}

/// Returns the files and folders of a control plane, without the content of most folders.
fn files(cluster: &ControlPlane) -> Vec<PathBuf> {
    let mut files = entries(cluster.folder());
    files.extend(entries(&cluster.logs()));
    files
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// Removes a file or a folder. A later test creates a file with the same name again, so ignore
/// errors.
fn remove(path: &Path) {
    let _ = if path.is_dir() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    };
}
