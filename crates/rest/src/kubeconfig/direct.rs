//! Addresses of the API servers of clusters, for requests without the proxy.

use drover_api::kinds::Cluster;
use kube::ResourceExt as _;

use drover_http_edge::status::Status;

/// Direct access to an API server, or to a load balancer for the API servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DirectAccess {
    /// Name of the context: the name of the cluster, and `fqdn` or the name of the node.
    pub(super) context: String,
    /// Host and port.
    pub(super) address: String,
    /// Certificate authorities in PEM.
    pub(super) certificate_authority: String,
}

/// Returns the addresses for direct access to a cluster: the load balancer if all API servers call the
/// webhook, or the API servers that call the webhook.
pub(super) fn access(
    cluster: &Cluster,
    is_cluster: impl Fn(&str) -> bool,
) -> Option<Vec<DirectAccess>> {
    let spec = &cluster.spec.authorized_endpoint;
    let status = cluster.status.as_ref()?.authorized_endpoint.as_ref()?;
    let servers = &status.api_servers;
    let context = |suffix: &str| {
        let mut name = format!("{}-{suffix}", cluster.name_any());
        // The context of another cluster can have this name.
        while is_cluster(&name) {
            name.push_str("-direct");
        }
        name
    };
    if !spec.enabled {
        return None;
    }
    let Some(fqdn) = &spec.fqdn else {
        let ready = servers.iter().filter(|one| one.calls_webhook);
        let access: Vec<DirectAccess> = ready
            .map(|one| DirectAccess {
                context: context(&one.node),
                address: one.address.clone(),
                certificate_authority: status.certificate_authority.clone(),
            })
            .collect();
        return (!access.is_empty()).then_some(access);
    };
    let bundle = spec.ca_bundle.as_ref();
    let access = DirectAccess {
        context: context("fqdn"),
        address: fqdn.clone(),
        certificate_authority: bundle.unwrap_or(&status.certificate_authority).clone(),
    };
    // The load balancer sends requests to every API server.
    let ready = !servers.is_empty() && servers.iter().all(|one| one.calls_webhook);
    ready.then(|| vec![access])
}

/// Returns the error for a cluster without direct access.
pub(super) fn unavailable(name: &str) -> Status {
    Status::invalid(
        "direct",
        format!(
            "the API servers of the cluster {name:?} do not accept Drover's tokens; see \"drover cluster \
             endpoint get {name}\""
        ),
    )
}

#[cfg(test)]
mod tests {
    use drover_api::kinds::{
        ApiServerAddress, AuthorizedEndpointStatus, ClusterSpec, ClusterStatus,
    };

    use super::*;

    #[test]
    fn direct_access_needs_an_enabled_endpoint_and_an_api_server_that_calls_the_webhook() {
        let server = |node: &str, calls_webhook| ApiServerAddress {
            node: node.to_owned(),
            address: format!("{node}:6443"),
            calls_webhook,
        };
        let found = |enabled, fqdn: Option<&str>, servers: Vec<ApiServerAddress>| {
            let mut cluster = Cluster::new("a", ClusterSpec::default());
            cluster.spec.authorized_endpoint.enabled = enabled;
            cluster.spec.authorized_endpoint.fqdn = fqdn.map(str::to_owned);
            cluster.status = Some(ClusterStatus {
                authorized_endpoint: Some(AuthorizedEndpointStatus {
                    webhook_certificate: String::new(),
                    certificate_authority: String::new(),
                    api_servers: servers,
                }),
                ..ClusterStatus::default()
            });
            let is_cluster = |name: &str| name == "a-cp-3";
            let found = access(&cluster, is_cluster).unwrap_or_default();
            let found = found
                .into_iter()
                .map(|access| (access.context, access.address));
            found.collect::<Vec<_>>()
        };
        let pair = |suffix: &str, address: &str| (suffix.to_owned(), address.to_owned());
        let servers = || vec![server("cp-1", false), server("cp-2", true)];
        assert_eq!(found(true, None, servers()), [pair("a-cp-2", "cp-2:6443")]);
        let all = || vec![server("cp-1", true), server("cp-2", true)];
        assert_eq!(
            found(true, Some("lb:6443"), all()),
            [pair("a-fqdn", "lb:6443")]
        );
        assert_eq!(found(true, Some("lb:6443"), servers()), []);
        let taken = vec![server("cp-3", true)];
        assert_eq!(
            found(true, None, taken),
            [pair("a-cp-3-direct", "cp-3:6443")]
        );
        assert_eq!(found(false, None, servers()), []);
        assert_eq!(found(true, Some("lb"), vec![server("cp-1", false)]), []);
    }
}
