//! The objects of all deployments of a GitRepo or HelmOp.

use std::collections::BTreeMap;

use drover_api::fleet::{BundleDeployment, PerClusterState, Resource, labels};

use super::deployment::state_of;
use super::state::State;

/// Maximum number of listed objects. The status of a GitRepo must fit into one object of the hub.
pub const MAX_RESOURCES: usize = 500;
/// Maximum size of the names of clusters in the list, in bytes.
const MAX_CLUSTER_BYTES: usize = 256 * 1024;

/// Kind, API version, namespace and name of an object.
type Key<'a> = (&'a str, &'a str, &'a str, &'a str);

/// Returns the objects of deployments, at most [`MAX_RESOURCES`], with the clusters by state.
///
/// Each call reads all deployments, so callers limit its rate.
#[must_use]
pub fn resources<'a>(deployments: impl IntoIterator<Item = &'a BundleDeployment>) -> Vec<Resource> {
    let mut objects: BTreeMap<Key<'a>, BTreeMap<String, (&'a str, bool)>> = BTreeMap::new();
    for deployment in deployments {
        let cluster = cluster_id(deployment);
        let incomplete = deployment
            .status
            .as_ref()
            .is_some_and(|it| it.incomplete_state);
        for (key, state) in objects_of(deployment) {
            objects
                .entry(key)
                .or_default()
                .insert(cluster.clone(), (state, incomplete));
        }
    }
    let mut bytes = 0;
    objects
        .iter()
        .take(MAX_RESOURCES)
        .map(|(key, clusters)| resource(*key, clusters, &mut bytes))
        .collect()
}

fn cluster_id(deployment: &BundleDeployment) -> String {
    let labels = deployment.metadata.labels.as_ref();
    let label = |key: &str| labels.and_then(|it| it.get(key)).map_or("", String::as_str);
    format!(
        "{}/{}",
        label(labels::CLUSTER_NAMESPACE),
        label(labels::CLUSTER)
    )
}

/// Returns the objects of one deployment with their states.
fn objects_of(deployment: &BundleDeployment) -> BTreeMap<Key<'_>, &str> {
    let Some(status) = &deployment.status else {
        return BTreeMap::new();
    };
    let default = match state_of(deployment, &deployment.spec.deployment_id) {
        State::NotReady | State::Modified if status.incomplete_state => "Unknown",
        State::NotReady | State::Modified => State::Ready.name(),
        state => state.name(),
    };
    let listed = status.resources.iter().map(|it| {
        (
            (
                it.kind.as_str(),
                it.api_version.as_str(),
                it.namespace.as_str(),
                it.name.as_str(),
            ),
            default,
        )
    });
    let non_ready = status.non_ready_status.iter().map(|it| {
        let key = (
            it.kind.as_str(),
            it.api_version.as_str(),
            it.namespace.as_str(),
            it.name.as_str(),
        );
        (key, it.summary.state.as_str())
    });
    let modified = status.modified_status.iter().map(|it| {
        let key = (
            it.kind.as_str(),
            it.api_version.as_str(),
            it.namespace.as_str(),
            it.name.as_str(),
        );
        let state = match (it.delete, it.create) {
            (true, _) => "Orphaned",
            (false, true) => "Missing",
            (false, false) => "Modified",
        };
        (key, state)
    });
    listed.chain(non_ready).chain(modified).collect()
}

fn resource(
    (kind, api_version, namespace, name): Key<'_>,
    clusters: &BTreeMap<String, (&str, bool)>,
    bytes: &mut usize,
) -> Resource {
    let mut resource = Resource {
        kind: kind.to_owned(),
        api_version: api_version.to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        state: State::Ready.name().to_owned(),
        type_: type_of(api_version, kind),
        id: if namespace.is_empty() {
            name.to_owned()
        } else {
            format!("{namespace}/{name}")
        },
        ..Resource::default()
    };
    for (cluster, (state, incomplete)) in clusters {
        resource.incomplete_state |= *incomplete;
        *bytes += cluster.len();
        if *bytes < MAX_CLUSTER_BYTES {
            if let Some(list) = list(&mut resource.per_cluster_state, state) {
                list.push(cluster.clone());
            }
        } else {
            resource.incomplete_state = true;
        }
        if resource.state == State::Ready.name() {
            (*state).clone_into(&mut resource.state);
        }
    }
    resource
}

fn type_of(api_version: &str, kind: &str) -> String {
    let kind = kind.to_lowercase();
    match api_version.split('/').next() {
        None | Some("" | "v1") => kind,
        Some(group) => format!("{group}.{kind}"),
    }
}

fn list<'a>(states: &'a mut PerClusterState, state: &str) -> Option<&'a mut Vec<String>> {
    Some(match state {
        "Ready" => &mut states.ready,
        "WaitApplied" => &mut states.wait_applied,
        "Pending" => &mut states.pending,
        "Modified" => &mut states.modified,
        "Orphaned" => &mut states.orphaned,
        "Missing" => &mut states.missing,
        "Unknown" => &mut states.unknown,
        "NotReady" => &mut states.not_ready,
        _ => return None,
    })
}
