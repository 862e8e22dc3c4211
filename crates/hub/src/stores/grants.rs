//! Computes the grants (the roles of each subject) from the stores.
//!
//! A task recomputes the grants after each change of a role, a binding, a project or a provider.
//! The task also recomputes the grants when a user is created, deleted, enabled or disabled.
//! Frequent status changes of clusters and users do not trigger the task. The last computed grants
//! may not include the latest write. Callers therefore use [`LiveGrants::fresh`] before they reject
//! a request.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use drover_access::grants::{Facts, Grants, ProjectFacts, ProviderFacts, RoleFacts, UserFacts};
use drover_access::names::GroupName;
use drover_api::ids::{ClusterUid, ProjectUid, ProviderUid, UserUid};
use drover_api::kinds::{
    AuthProvider, Cluster, ClusterRoleTemplateBinding, GlobalRole, GlobalRoleBinding, Project,
    ProjectRoleTemplateBinding, RoleTemplate, User,
};
use jiff::Timestamp;
use kube::Resource;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::store::Changed;
use crate::stores::Stores;
use crate::stores::groups::groups_of;

/// The minimum pause after a computation of the grants. The pause merges bursts of changes into one
/// computation.
const MIN_PAUSE: Duration = Duration::from_millis(20);
/// The maximum time between two computations of the grants, because group memberships expire.
const MAX_INTERVAL: Duration = Duration::from_mins(1);

/// The last computed grants. Cloning is cheap.
#[derive(Clone, Debug, Default)]
pub struct LiveGrants(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    gathered: ArcSwap<ComputedGrants>,
    /// The lock that serializes computations.
    gathering: Mutex<()>,
    changed: Changed,
}

#[derive(Debug, Default)]
struct ComputedGrants {
    grants: Arc<Grants>,
    /// The change counters of the stores from which the grants were computed.
    versions: StoreVersions,
    /// The digest of the relevant fields of users and clusters.
    people: u64,
    /// The time when the grants were computed.
    computed_at: Option<Instant>,
}

/// The change counters of the stores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct StoreVersions {
    /// Change counters of roles, bindings, projects and providers. The server recomputes the grants
    /// after every change of these objects.
    roles: [u64; 7],
    /// Change counters of users, clusters and settings. The server recomputes the grants only after
    /// some changes of these objects.
    people: [u64; 3],
}

impl LiveGrants {
    /// Returns the last computed grants.
    pub fn current(&self) -> Arc<Grants> {
        Arc::clone(&self.0.gathered.load().grants)
    }

    /// Returns the grants of the current stores. Computes the grants if the stores have changed.
    pub fn fresh(&self, stores: &Stores) -> Arc<Grants> {
        let versions = self.0.gathered.load().versions;
        if versions != StoreVersions::of(stores) {
            self.gather(stores, versions);
        }
        self.current()
    }

    /// Returns a receiver that is notified after each change of the grants.
    pub fn changed(&self) -> watch::Receiver<u64> {
        self.0.changed.subscribe()
    }

    /// Recomputes the grants after each relevant change, until `stop`.
    pub(super) async fn follow(self, stores: Stores, stop: CancellationToken) {
        let following = async {
            let mut changed = stores.changed();
            loop {
                // The `stores` own the sender, so only the timeout can fail.
                let notified = tokio::time::timeout(MAX_INTERVAL, changed.changed()).await;
                let began = Instant::now();
                let (grants, from) = (self.clone(), stores.clone());
                // The computation takes tens of milliseconds with many thousands of bindings.
                let gathering = tokio::task::spawn_blocking(move || {
                    let last = grants.0.gathered.load_full();
                    let old = last
                        .computed_at
                        .is_none_or(|at| at.elapsed() >= MAX_INTERVAL);
                    if notified.is_err() || old {
                        grants.gather(&from, last.versions);
                    } else {
                        drop(grants.fresh(&from));
                    }
                });
                if let Err(error) = gathering.await {
                    tracing::error!(%error, "failed to compute the permissions of users");
                }
                tokio::time::sleep(MIN_PAUSE.max(2 * began.elapsed())).await;
            }
        };
        stop.run_until_cancelled(following).await;
    }

    /// Computes the grants, unless a concurrent caller has computed the grants since `before`.
    fn gather(&self, stores: &Stores, before: StoreVersions) {
        let _gathering = self.0.gathering.lock();
        let last = self.0.gathered.load_full();
        // The counters are read before the objects, so the next run sees concurrent changes.
        let versions = StoreVersions::of(stores);
        if last.versions != before && last.versions == versions {
            return;
        }
        let users = users(stores);
        let people = people(&users, stores);
        let same = last.versions.roles == versions.roles && last.people == people;
        let grants = if same {
            Arc::clone(&last.grants)
        } else {
            Arc::new(Grants::gather(&Objects::with(users, stores).facts()))
        };
        let gathered = ComputedGrants {
            grants,
            versions,
            people,
            computed_at: Some(Instant::now()),
        };
        self.0.gathered.store(Arc::new(gathered));
        if !same {
            self.0.changed.tick();
        }
    }
}

impl StoreVersions {
    fn of(stores: &Stores) -> Self {
        Self {
            roles: [
                stores.auth_providers.changes(),
                stores.role_templates.changes(),
                stores.global_roles.changes(),
                stores.global_role_bindings.changes(),
                stores.cluster_role_template_bindings.changes(),
                stores.project_role_template_bindings.changes(),
                stores.projects.changes(),
            ],
            people: [
                stores.users.changes(),
                stores.clusters.changes(),
                stores.settings.changes(),
            ],
        }
    }
}

/// Returns a digest of the relevant fields of users and clusters.
fn people(users: &[Grouped], stores: &Stores) -> u64 {
    let mut hasher = DefaultHasher::new();
    for (user, groups) in users {
        let spec = &user.spec;
        (named(&**user), spec.enabled, spec.administrator, groups).hash(&mut hasher);
    }
    for cluster in stores.clusters.all() {
        named(&*cluster).hash(&mut hasher);
    }
    hasher.finish()
}

/// A user with current groups.
type Grouped = (Arc<User>, Vec<GroupName>);

/// Returns all users with their current groups.
fn users(stores: &Stores) -> Vec<Grouped> {
    let (now, users) = (Timestamp::now(), stores.users.all().into_iter());
    let with_groups = users.map(|user| {
        let groups = groups_of(&user, stores, now);
        (user, groups)
    });
    with_groups.collect()
}

fn user_facts((user, groups): &Grouped) -> Option<(&str, UserFacts)> {
    let (name, uid) = named(&**user)?;
    let facts = UserFacts {
        uid: UserUid::new(uid),
        enabled: user.spec.enabled,
        administrator: user.spec.administrator,
        groups: groups.clone(),
    };
    Some((name, facts))
}

/// Returns the name and the UID of an object. Returns `None` for an object that is being deleted.
fn named<K: Resource>(object: &K) -> Option<(&str, &str)> {
    let meta = object.meta();
    if meta.deletion_timestamp.is_some() {
        return None;
    }
    Some((meta.name.as_deref()?, meta.uid.as_deref()?))
}

/// A snapshot of the objects from which grants are computed.
#[derive(Debug)]
pub struct Objects {
    users: Vec<Grouped>,
    clusters: Vec<Arc<Cluster>>,
    providers: Vec<Arc<AuthProvider>>,
    role_templates: Vec<Arc<RoleTemplate>>,
    global_roles: Vec<Arc<GlobalRole>>,
    global_bindings: Vec<Arc<GlobalRoleBinding>>,
    cluster_bindings: Vec<Arc<ClusterRoleTemplateBinding>>,
    project_bindings: Vec<Arc<ProjectRoleTemplateBinding>>,
    projects: Vec<Arc<Project>>,
}

impl Objects {
    /// Reads the current objects from the stores.
    pub fn of(stores: &Stores) -> Self {
        Self::with(users(stores), stores)
    }

    fn with(users: Vec<Grouped>, stores: &Stores) -> Self {
        Self {
            users,
            clusters: stores.clusters.all(),
            providers: stores.auth_providers.all(),
            role_templates: stores.role_templates.all(),
            global_roles: stores.global_roles.all(),
            global_bindings: stores.global_role_bindings.all(),
            cluster_bindings: stores.cluster_role_template_bindings.all(),
            project_bindings: stores.project_role_template_bindings.all(),
            projects: stores.projects.all(),
        }
    }

    /// Returns the inputs of the grant computation.
    pub fn facts(&self) -> Facts<'_> {
        let clusters = by_name(&self.clusters, |_, uid| ClusterUid::new(uid));
        let projects = self.projects.iter().filter_map(|project| {
            let (name, uid) = named(&**project)?;
            let facts = project_facts(project, uid, &clusters)?;
            Some((name, facts))
        });
        Facts {
            role_templates: by_name(&self.role_templates, |role, uid| RoleFacts {
                uid,
                spec: &role.spec,
            }),
            global_roles: by_name(&self.global_roles, |role, uid| RoleFacts {
                uid,
                spec: &role.spec,
            }),
            global_bindings: specs(&self.global_bindings, |binding| &binding.spec),
            cluster_bindings: specs(&self.cluster_bindings, |binding| &binding.spec),
            project_bindings: specs(&self.project_bindings, |binding| &binding.spec),
            projects: projects.collect(),
            users: self.users.iter().filter_map(user_facts).collect(),
            providers: by_name(&self.providers, |provider, uid| ProviderFacts {
                uid: ProviderUid::new(uid),
                enabled: provider.spec.enabled,
            }),
            clusters,
        }
    }
}

/// Returns the facts about a project: the namespaces in its status, and the cluster UID in its
/// spec. The namespaces in the spec can include namespaces that the project does not own.
fn project_facts(
    project: &Project,
    uid: &str,
    clusters: &HashMap<&str, ClusterUid>,
) -> Option<ProjectFacts> {
    let cluster = project.spec.cluster.uid.as_ref()?;
    let there = clusters.get(project.spec.cluster.name.as_str());
    let own = project.status.iter().flat_map(|status| &status.namespaces);
    (there == Some(cluster)).then(|| ProjectFacts {
        uid: ProjectUid::new(uid),
        cluster: cluster.clone(),
        namespaces: own.map(|namespace| namespace.name.clone()).collect(),
    })
}

fn by_name<'a, K: Resource, F>(
    objects: &'a [Arc<K>],
    facts: impl Fn(&'a K, &'a str) -> F,
) -> HashMap<&'a str, F> {
    let there = objects.iter().filter_map(|object| {
        let (name, uid) = named(&**object)?;
        Some((name, facts(object, uid)))
    });
    there.collect()
}

fn specs<'a, K: Resource, S>(
    objects: &'a [Arc<K>],
    spec: impl Fn(&'a K) -> &'a S,
) -> Vec<(&'a str, &'a S)> {
    let there = objects.iter().filter_map(|object| {
        let (name, _) = named(&**object)?;
        Some((name, spec(object)))
    });
    there.collect()
}
