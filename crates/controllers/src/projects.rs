//! The projects of clusters: assigns namespaces to projects, and applies labels, quotas and
//! defaults.
//!
//! The controller decides about all projects of a cluster together ([`decide`]), so that a
//! namespace belongs to at most one project. The project's status on the hub records its namespaces
//! by UID. A label in the cluster would not be safe, because any user with permission to label
//! namespaces could add a namespace to a project. The controller then changes the cluster
//! ([`act`]): it labels the recorded namespaces, sets their quotas and limits, and removes Drover's
//! labels from all others. The next reconciliation completes interrupted work.
//!
//! The controller removes a lost namespace from the status before any other change, because users'
//! access depends on the status. The controller adds a gained namespace to the status last, after
//! the namespace has its labels. Before the server creates a namespace, the status announces the
//! creation: see [`NamespaceInCreation`](drover_api::kinds::NamespaceInCreation). The controller
//! never deletes a namespace.

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
/// Annotation of a namespace that the server created, with its secret value.
const CREATED_WITH_ANNOTATION: &str = "management.drover.dev/made-with";
/// Annotation with the Pod Security level that Drover set. Drover removes a level only if this
/// annotation contains the level.
const LEVEL_ANNOTATION: &str = "management.drover.dev/pod-security";

/// Returns the projects whose spec contains the cluster's UID.
pub(super) fn of_cluster(stores: &Stores, cluster: &ClusterUid) -> Vec<Arc<Project>> {
    let pinned = |project: &Project| project.spec.cluster.uid.as_ref() == Some(cluster);
    stores.projects.page(None, usize::MAX, pinned).0
}
