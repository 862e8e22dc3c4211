//! The kinds that a cluster serves, and their groups in the navigation.

use serde::Deserialize;

use crate::kind::Kind;
use crate::messages::t;

/// The media type of aggregated discovery (KEP-3352).
pub const AS_DISCOVERY: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// A kind that a cluster serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedKind {
    /// The kind.
    pub kind: Kind,
    /// The verbs of the API.
    pub verbs: Vec<String>,
}

#[derive(Deserialize)]
struct Groups {
    items: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    versions: Vec<Version>,
}

#[derive(Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct Version {
    version: String,
    #[serde(default)]
    resources: Vec<Resource>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resource {
    #[serde(rename = "resource")]
    plural: String,
    response_kind: Option<ResponseKind>,
    #[serde(default)]
    scope: String,
    #[serde(default)]
    verbs: Vec<String>,
}

#[derive(Deserialize)]
struct ResponseKind {
    #[serde(default)]
    kind: String,
}

/// Parses the discovery of a cluster: the responses of `/api` and `/apis`. A kind with several
/// versions has its preferred version, which is the first version.
pub fn served(responses: &[&[u8]]) -> Result<Vec<ServedKind>, serde_json::Error> {
    let mut found: Vec<ServedKind> = Vec::new();
    for response in responses {
        let groups: Groups = serde_json::from_slice(response)?;
        for group in groups.items {
            let name = group.metadata.name;
            for version in group.versions {
                let api_version = match name.as_str() {
                    "" => version.version,
                    name => format!("{name}/{}", version.version),
                };
                let kinds = version.resources.into_iter();
                for served in kinds.filter_map(|resource| kind(resource, &api_version)) {
                    let is_known = |known: &ServedKind| {
                        known.kind.plural == served.kind.plural
                            && known.kind.group() == served.kind.group()
                    };
                    if !found.iter().any(is_known) {
                        found.push(served);
                    }
                }
            }
        }
    }
    Ok(found)
}

fn kind(resource: Resource, api_version: &str) -> Option<ServedKind> {
    let name = resource.response_kind?.kind;
    let kind = Kind::discovered(
        &resource.plural,
        &name,
        api_version,
        resource.scope == "Namespaced",
    )?;
    let is_listed = resource.verbs.iter().any(|verb| verb == "list");
    is_listed.then_some(ServedKind {
        kind,
        verbs: resource.verbs,
    })
}

/// Reports whether a cluster serves a kind. Returns true before the discovery, because the cluster
/// answers each request.
pub fn serves(served: Option<&[ServedKind]>, kind: Kind) -> bool {
    served.is_none_or(|served| served.iter().any(|it| it.kind == kind))
}

/// A group of kinds in the navigation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindGroup {
    /// The heading of the group.
    pub heading: String,
    /// True if the kinds are custom resources.
    pub custom: bool,
    /// The kinds in their order.
    pub kinds: Vec<Kind>,
}

/// The position of a group in the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Workloads,
    Network,
    Configuration,
    Storage,
    Access,
    Cluster,
    Custom,
}

const PLACES: [Place; 6] = [
    Place::Workloads,
    Place::Network,
    Place::Configuration,
    Place::Storage,
    Place::Access,
    Place::Cluster,
];

/// Returns the groups of the navigation. Custom resources have one group per API group.
pub fn navigation(served: &[ServedKind]) -> Vec<KindGroup> {
    let mut kinds: Vec<Kind> = served.iter().map(|served| served.kind).collect();
    let known: Vec<Kind> = Kind::all().collect();
    let rank = |kind: &Kind| known.iter().position(|known| known == kind);
    kinds.sort_by_key(|kind| (rank(kind).unwrap_or(known.len()), kind.heading));
    let mut groups: Vec<KindGroup> = Vec::new();
    for place in PLACES {
        let of_place = kinds.iter().filter(|kind| place_of(**kind) == place);
        let kinds: Vec<Kind> = of_place.copied().collect();
        if !kinds.is_empty() {
            groups.push(KindGroup {
                heading: heading(place).to_owned(),
                custom: false,
                kinds,
            });
        }
    }
    let mut custom: Vec<&str> = kinds
        .iter()
        .filter(|kind| place_of(**kind) == Place::Custom)
        .map(|kind| kind.group())
        .collect();
    custom.sort_unstable();
    custom.dedup();
    groups.extend(custom.into_iter().map(|group| {
        KindGroup {
            heading: group.to_owned(),
            custom: true,
            kinds: kinds
                .iter()
                .filter(|kind| kind.group() == group)
                .copied()
                .collect(),
        }
    }));
    groups
}

fn heading(place: Place) -> &'static str {
    match place {
        Place::Workloads => t().cluster.workloads(),
        Place::Network => t().navigation.network(),
        Place::Configuration => t().navigation.configuration(),
        Place::Storage => t().navigation.storage(),
        Place::Access => t().navigation.access(),
        Place::Cluster | Place::Custom => t().labels.cluster(),
    }
}

fn place_of(kind: Kind) -> Place {
    match (kind.group(), kind.plural) {
        ("apps" | "batch" | "autoscaling" | "policy", _)
        | ("", "pods" | "replicationcontrollers" | "podtemplates") => Place::Workloads,
        ("networking.k8s.io" | "gateway.networking.k8s.io" | "discovery.k8s.io", _)
        | ("", "services" | "endpoints") => Place::Network,
        ("", "configmaps" | "secrets" | "resourcequotas" | "limitranges") => Place::Configuration,
        ("storage.k8s.io" | "snapshot.storage.k8s.io", _)
        | ("", "persistentvolumes" | "persistentvolumeclaims") => Place::Storage,
        ("rbac.authorization.k8s.io", _) | ("", "serviceaccounts") => Place::Access,
        ("", _) => Place::Cluster,
        (group, _) if is_built_in(group) => Place::Cluster,
        _ => Place::Custom,
    }
}

/// Reports whether Kubernetes itself defines a group. The API groups of CRDs of SIGs have more
/// labels (`metrics.k8s.io` belongs to an aggregated API server).
fn is_built_in(group: &str) -> bool {
    let label = group.strip_suffix(".k8s.io").unwrap_or_default();
    !label.is_empty() && !label.contains('.') && label != "metrics"
}

#[cfg(test)]
mod tests {
    use super::*;

    const CORE: &str = r#"{"items":[{"metadata":{},"versions":[{"version":"v1","resources":[
        {"resource":"pods","responseKind":{"kind":"Pod"},"scope":"Namespaced","verbs":["list","watch"]},
        {"resource":"bindings","responseKind":{"kind":"Binding"},"scope":"Namespaced","verbs":["create"]},
        {"resource":"nodes","responseKind":{"kind":"Node"},"scope":"Cluster","verbs":["list"]}]}]}]}"#;
    const GROUPS: &str = r#"{"items":[
        {"metadata":{"name":"shop.example"},"versions":[
          {"version":"v2","resources":[{"resource":"carts","responseKind":{"kind":"Cart"},
            "scope":"Namespaced","verbs":["list"]}]},
          {"version":"v1","resources":[{"resource":"carts","responseKind":{"kind":"Cart"},
            "scope":"Namespaced","verbs":["list"]}]}]},
        {"metadata":{"name":"apps"},"versions":[{"version":"v1","resources":[
          {"resource":"deployments","responseKind":{"kind":"Deployment"},"scope":"Namespaced","verbs":["list"]}]}]}]}"#;

    #[test]
    fn kind_is_served_in_its_version_only() {
        let pods = ServedKind {
            kind: Kind::PODS,
            verbs: Vec::new(),
        };
        assert!(serves(Some(std::slice::from_ref(&pods)), Kind::PODS));
        assert!(!serves(Some(&[pods]), Kind::AUTOSCALERS));
        assert!(serves(None, Kind::AUTOSCALERS));
    }

    #[test]
    fn discovery_lists_the_preferred_version_of_listable_kinds() {
        let served = served(&[CORE.as_bytes(), GROUPS.as_bytes()]).unwrap();
        let found: Vec<_> = served
            .iter()
            .map(|it| (it.kind.api_version, it.kind.plural))
            .collect();
        assert_eq!(
            found,
            [
                ("v1", "pods"),
                ("v1", "nodes"),
                ("shop.example/v2", "carts"),
                ("apps/v1", "deployments"),
            ]
        );
        assert!(!served[1].kind.namespaced && served[2].kind.namespaced);
    }

    #[test]
    fn navigation_groups_kinds_and_lists_custom_resources_by_api_group() {
        let served = served(&[CORE.as_bytes(), GROUPS.as_bytes()]).unwrap();
        let groups = navigation(&served);
        let found: Vec<_> = groups
            .iter()
            .map(|group| {
                let kinds: Vec<_> = group.kinds.iter().map(|kind| kind.heading).collect();
                (group.heading.as_str(), kinds.join(" "), group.custom)
            })
            .collect();
        assert_eq!(
            found,
            [
                ("Workloads", "Pods Deployments".to_owned(), false),
                ("Cluster", "Nodes".to_owned(), false),
                ("shop.example", "Carts".to_owned(), true),
            ]
        );
    }

    #[test]
    fn invalid_discovery_is_an_error() {
        assert!(served(&[b"{"]).is_err());
        // An API server without aggregated discovery responds with a list of groups.
        assert!(served(&[br#"{"kind":"APIGroupList","groups":[]}"#]).is_err());
    }
}
