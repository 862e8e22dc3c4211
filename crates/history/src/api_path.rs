//! The paths of objects with a history on an API server.

use std::fmt::Write as _;

use drover_access::path::CLUSTER_PATH_PREFIX;
use drover_api::rest::{HistoryKind, history_kind};
use http::uri::PathAndQuery;

/// Maximum length of a name in bytes, as in Kubernetes.
pub(crate) const MAX_NAME: usize = 253;

/// The path of objects with a history.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ApiPath<'a> {
    pub(crate) kind: &'static HistoryKind,
    pub(crate) namespace: &'a str,
    /// The name; `None` for the path of a list.
    pub(crate) name: Option<&'a str>,
    pub(crate) subresource: Option<&'a str>,
}

impl<'a> ApiPath<'a> {
    /// Parses a path of an API server, such as `/apis/apps/v1/namespaces/shop/deployments/web`.
    /// Returns `None` for paths of other kinds.
    pub(crate) fn parse(path: &'a str) -> Option<Self> {
        let rest = path.strip_prefix('/')?;
        let (api_version, rest) = if let Some(rest) = rest.strip_prefix("api/") {
            rest.split_once('/')?
        } else {
            let rest = rest.strip_prefix("apis/")?;
            let slash = rest.match_indices('/').nth(1)?.0;
            (&rest[..slash], &rest[slash + 1..])
        };
        let mut segments = rest.split('/');
        let mut plural = segments.next()?;
        let mut namespace = "";
        if plural == "namespaces" {
            namespace = segments.next()?;
            plural = segments.next()?;
        }
        Some(Self {
            kind: history_kind(api_version, plural)?,
            namespace,
            name: segments.next(),
            subresource: segments.next(),
        })
    }
}

/// Returns the kind of a list's path below `/k8s/clusters/`, if the kind has a history.
pub fn kind_of_list(path: &str) -> Option<&'static HistoryKind> {
    let rest = path.strip_prefix(CLUSTER_PATH_PREFIX)?;
    let slash = rest.find('/')?;
    Some(ApiPath::parse(&rest[slash..])?.kind)
}

/// Returns the path of an object through the proxy. Returns `None` if a name cannot be a segment of
/// the path.
pub(crate) fn object_path(
    cluster: &str,
    kind: &HistoryKind,
    namespace: &str,
    name: &str,
) -> Option<PathAndQuery> {
    let HistoryKind {
        api_version,
        plural,
        ..
    } = kind;
    let root = if api_version.contains('/') {
        "apis"
    } else {
        "api"
    };
    let place = match namespace {
        "" => String::new(),
        namespace => format!("namespaces/{}/", segment(namespace)?),
    };
    let (cluster, name) = (segment(cluster)?, segment(name)?);
    let path =
        format!("{CLUSTER_PATH_PREFIX}{cluster}/{root}/{api_version}/{place}{plural}/{name}");
    path.try_into().ok()
}

/// Encodes a name as one segment of a path. Names of roles can contain a colon.
fn segment(name: &str) -> Option<String> {
    let is_bad = |c: char| matches!(c, '/' | '\\' | '%') || c.is_control();
    if name.is_empty()
        || name.len() > MAX_NAME
        || matches!(name, "." | "..")
        || name.contains(is_bad)
    {
        return None;
    }
    let mut encoded = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_') {
            encoded.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    Some(encoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(path: &str) -> Option<(&'static str, &str, Option<&str>, Option<&str>)> {
        let path = ApiPath::parse(path)?;
        Some((path.kind.kind, path.namespace, path.name, path.subresource))
    }

    #[test]
    fn paths_of_recorded_kinds_are_parsed_and_other_paths_are_ignored() {
        let deployment = "/apis/apps/v1/namespaces/shop/deployments/web";
        let web = ("Deployment", "shop", Some("web"), None);
        assert_eq!(parsed(deployment), Some(web));
        let scale = ("Deployment", "shop", Some("web"), Some("scale"));
        assert_eq!(parsed(&format!("{deployment}/scale")), Some(scale));
        let list = ("ConfigMap", "shop", None, None);
        assert_eq!(parsed("/api/v1/namespaces/shop/configmaps"), Some(list));
        let role = ("ClusterRole", "", Some("view"), None);
        assert_eq!(
            parsed("/apis/rbac.authorization.k8s.io/v1/clusterroles/view"),
            Some(role)
        );
        for other in [
            "/api/v1/namespaces/shop/secrets/token",
            "/api/v1/namespaces/shop",
            "/api/v1/secrets",
            "/apis/apps/v1",
            "/apis/apps",
            "/version",
            "",
        ] {
            assert_eq!(parsed(other), None, "{other}");
        }
    }

    #[test]
    fn list_of_secrets_has_no_kind() {
        let list = "/k8s/clusters/east/apis/apps/v1/deployments";
        assert_eq!(kind_of_list(list).map(|kind| kind.kind), Some("Deployment"));
        assert_eq!(kind_of_list("/k8s/clusters/east/api/v1/secrets"), None);
    }

    #[test]
    fn name_that_leads_to_another_path_is_rejected() {
        let kind = history_kind("v1", "configmaps").unwrap();
        for name in ["", ".", "..", "a/b", "a%2fb", "a\\b", "a\n"] {
            assert_eq!(object_path("east", kind, "shop", name), None, "{name}");
            assert_eq!(
                object_path("east", kind, name, "web").is_some(),
                name.is_empty()
            );
            assert_eq!(object_path(name, kind, "shop", "web"), None, "{name}");
        }
        let role = history_kind("rbac.authorization.k8s.io/v1", "clusterroles").unwrap();
        let path = object_path("east", role, "", "system:node?#").unwrap();
        assert_eq!(
            path.as_str(),
            "/k8s/clusters/east/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode%3F%23"
        );
    }
}
