//! Projects: which namespaces of a cluster are whose, and what may be used in them.
//!
//! All projects of a cluster are decided together ([`decide`]), so that a namespace is one project's
//! only. Whose it is stands on the hub, in the project's status, by the namespace's UID: a label in the
//! cluster would make everybody who can label a namespace an owner of it. The cluster follows
//! ([`act`]): what the status says is labelled and bounded, and what carries Drover's label and is no
//! project's loses it. So whatever is cut short, the next look ends.
//!
//! A namespace that is lost leaves the status before anything else happens, since people's rights in
//! it go with that; one that is gained enters it last, once it is labelled. A namespace that the
//! server makes is announced first: see [`NamespaceInMaking`](drover_api::kinds::NamespaceInMaking).
//! Nothing here deletes a namespace.

pub(crate) mod act;
pub(crate) mod decide;
mod limits;
pub(super) mod reconciler;
pub(super) mod status;

use std::sync::Arc;

use drover_api::ids::ClusterUid;
use drover_api::kinds::Project;

use drover_hub::Stores;

/// Annotation for people's eyes: the project's name.
const NAME_ANNOTATION: &str = "management.drover.dev/project-name";
/// Annotation of a namespace that the server made: what it was made with.
const MADE_WITH_ANNOTATION: &str = "management.drover.dev/made-with";
/// Annotation: the level of pod security that Drover set, and takes away again.
const LEVEL_ANNOTATION: &str = "management.drover.dev/pod-security";

/// The projects that are pinned to a cluster.
pub(super) fn of_cluster(stores: &Stores, cluster: &ClusterUid) -> Vec<Arc<Project>> {
    let pinned = |project: &Project| project.spec.cluster.uid.as_ref() == Some(cluster);
    stores.projects.page(None, usize::MAX, pinned).0
}
