//! Who has which role where, from the stores as they are now.
//!
//! A task gathers anew when a role, a binding, a project or a provider changes, or when somebody
//! comes, goes, is enabled or disabled; that a cluster was seen or that somebody signed in, which
//! happens all the time, is none of that. Whoever is about to be refused is looked at once more
//! with [`LiveGrants::fresh`]: what was written just now may not have been gathered yet.

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

/// Least pause after gathering; changes often come in bursts.
const PAUSE: Duration = Duration::from_millis(20);
/// Longest time between two looks: what a provider said about groups holds for so long only.
const LOOK_EVERY: Duration = Duration::from_mins(1);

/// The grants as they were gathered last; cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct LiveGrants(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    gathered: ArcSwap<Gathered>,
    /// Held by whoever gathers.
    gathering: Mutex<()>,
    changed: Changed,
}

#[derive(Debug, Default)]
struct Gathered {
    grants: Arc<Grants>,
    /// From which state of the stores.
    seen: Seen,
    /// Of what matters of users and clusters.
    people: u64,
    /// When that was looked at.
    looked: Option<Instant>,
}

/// How often each store had changed by then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Seen {
    /// Roles, bindings, projects and providers: every change of theirs counts.
    roles: [u64; 7],
    /// Users, clusters and settings: few changes of theirs do.
    people: [u64; 3],
}

impl LiveGrants {
    /// As they were gathered last.
    pub fn current(&self) -> Arc<Grants> {
        Arc::clone(&self.0.gathered.load().grants)
    }

    /// As the stores are now.
    pub fn fresh(&self, stores: &Stores) -> Arc<Grants> {
        let seen = self.0.gathered.load().seen;
        if seen != Seen::of(stores) {
            self.gather(stores, seen);
        }
        self.current()
    }

    /// A receiver whose `changed()` resolves after the next change.
    pub fn changed(&self) -> watch::Receiver<u64> {
        self.0.changed.subscribe()
    }

    /// Gathers whenever it matters, until `stop`.
    pub(super) async fn follow(self, stores: Stores, stop: CancellationToken) {
        let following = async {
            let mut changed = stores.changed();
            loop {
                // The sender lives in `stores`, so this fails by time only.
                let told = tokio::time::timeout(LOOK_EVERY, changed.changed()).await;
                let began = Instant::now();
                let (grants, from) = (self.clone(), stores.clone());
                // It takes tens of milliseconds where there are many thousands of bindings.
                let gathering = tokio::task::spawn_blocking(move || {
                    let last = grants.0.gathered.load_full();
                    let old = last
                        .looked
                        .is_none_or(|looked| looked.elapsed() >= LOOK_EVERY);
                    if told.is_err() || old {
                        grants.gather(&from, last.seen);
                    } else {
                        drop(grants.fresh(&from));
                    }
                });
                if let Err(error) = gathering.await {
                    tracing::error!(%error, "roles and bindings could not be gathered");
                }
                tokio::time::sleep(PAUSE.max(2 * began.elapsed())).await;
            }
        };
        stop.run_until_cancelled(following).await;
    }

    /// Gathers, unless somebody else has done it since `before`.
    fn gather(&self, stores: &Stores, before: Seen) {
        let _gathering = self.0.gathering.lock();
        let last = self.0.gathered.load_full();
        // Before the stores are read: what changes meanwhile is seen by the next look.
        let seen = Seen::of(stores);
        if last.seen != before && last.seen == seen {
            return;
        }
        let users = users(stores);
        let people = people(&users, stores);
        let same = last.seen.roles == seen.roles && last.people == people;
        let grants = if same {
            Arc::clone(&last.grants)
        } else {
            Arc::new(Grants::gather(&Objects::with(users, stores).facts()))
        };
        let gathered = Gathered {
            grants,
            seen,
            people,
            looked: Some(Instant::now()),
        };
        self.0.gathered.store(Arc::new(gathered));
        if !same {
            self.0.changed.tick();
        }
    }
}

impl Seen {
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

/// A digest of what matters of users and clusters.
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

/// Somebody, with the groups that they are in now.
type Grouped = (Arc<User>, Vec<GroupName>);

/// Everybody.
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

/// The name and the UID of what is there and stays.
fn named<K: Resource>(object: &K) -> Option<(&str, &str)> {
    let meta = object.meta();
    if meta.deletion_timestamp.is_some() {
        return None;
    }
    Some((meta.name.as_deref()?, meta.uid.as_deref()?))
}

/// The hub's objects that roles and bindings are, held while they are looked at.
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
    /// As the stores have them.
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

    /// What grants are gathered from.
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

/// Its namespaces are those that the server says are its own, in the cluster that it was pinned to:
/// what people write is a wish.
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
