//! Assigns the namespaces of a cluster to projects, and applies labels, quotas and defaults.
//!
//! The controller decides about all projects of a cluster together ([`decide`]), so that a
//! namespace belongs to at most one project. The project's status on the hub records its namespaces
//! by UID. The controller does not rely on labels in the cluster, because any user with permission
//! to label namespaces can change the labels. The controller then changes the cluster ([`act`]): it
//! labels the recorded namespaces, sets their quotas and limits, and removes Drover's labels from
//! all other namespaces. The next reconciliation completes interrupted work.
//!
//! When a project loses a namespace, the controller removes the namespace from the status before
//! any other change, because users' access depends on the status. When a project gains a namespace,
//! the controller adds the namespace to the status last, after the namespace has its labels. Before
//! the server creates a namespace, the status announces the creation: see
//! [`NamespaceInCreation`](drover_api::kinds::NamespaceInCreation). The controller never deletes a
//! namespace.

pub(crate) mod act;
pub(crate) mod decide;
mod limits;
pub(super) mod reconciler;
pub(super) mod status;

use std::sync::Arc;

use drover_api::ids::ClusterUid;
use drover_api::kinds::Project;

use drover_hub::Stores;

/// Annotation with the project's name, for display.
const NAME_ANNOTATION: &str = "management.drover.dev/project-name";
/// Annotation with the secret value of a namespace that the server created.
const CREATED_WITH_ANNOTATION: &str = "management.drover.dev/made-with";
/// Annotation with the Pod Security level that Drover set. Drover removes a level only if this
/// annotation contains the level.
const LEVEL_ANNOTATION: &str = "management.drover.dev/pod-security";

/// Returns the projects whose spec contains the cluster's UID.
pub(super) fn of_cluster(stores: &Stores, cluster: &ClusterUid) -> Vec<Arc<Project>> {
    let pinned = |project: &Project| project.spec.cluster.uid.as_ref() == Some(cluster);
    stores.projects.page(None, usize::MAX, pinned).0
}
