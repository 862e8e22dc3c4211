//! Requests to the server for candidates.

use std::collections::BTreeSet;
use std::time::Duration;

use drover_api::fleet::{GROUP, VERSION};
use drover_api::gitops::FLEET_NAMESPACE;
use drover_api::group::LOCAL_CLUSTER;
use drover_api::rest::ClusterView;
use futures::StreamExt as _;
use tokio::time::timeout;

use super::words::Words;
use crate::args::{ClusterSelection, Connection, DurationArg, ServerUrl};
use crate::client::Client;
use crate::environment::Environment;
use crate::kubernetes::{CONCURRENCY, ClusterApi, Discovery, Query, list_pages, selected_clusters};

/// Time limit of all requests for one completion.
const TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum number of objects of each cluster.
const MAX_OBJECTS: u32 = 500;
/// Accepts lists of metadata.
const METADATA: &str =
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json";
/// Kinds with pods, as `drover logs` accepts them.
const WORKLOADS: [&str; 6] = [
    "cronjob",
    "daemonset",
    "deployment",
    "job",
    "service",
    "statefulset",
];

/// Requests candidates for a command line.
pub(super) struct Lookup<'a> {
    words: &'a Words,
    client: Client,
}

impl<'a> Lookup<'a> {
    /// Creates a client for the server that the command line selects.
    pub(super) fn new(words: &'a Words) -> Option<Self> {
        let value = |name: &str, variable: &str| {
            let typed = words.value(&[name]);
            typed.or_else(|| std::env::var(variable).ok().filter(|text| !text.is_empty()))
        };
        let server = value("--server", "DROVER_SERVER");
        let connection = Connection {
            context: value("--context", "DROVER_CONTEXT"),
            server: match server {
                Some(server) => Some(server.parse::<ServerUrl>().ok()?),
                None => None,
            },
            token_file: value("--token-file", "DROVER_TOKEN_FILE").map(Into::into),
            ca_file: value("--ca-file", "DROVER_CA_FILE").map(Into::into),
            config: value("--config", "DROVER_CONFIG").map(Into::into),
            request_timeout: DurationArg(TIMEOUT),
        };
        let client = Environment::read().client(&connection).ok()?;
        Some(Self { words, client })
    }

    /// Returns the names of all clusters.
    pub(super) async fn clusters(&self) -> Option<Vec<String>> {
        let list = self.client.list::<ClusterView>(&["v1", "clusters"]);
        let clusters = timeout(TIMEOUT, list).await.ok()?.ok()?;
        let names = clusters.into_iter().map(|cluster| cluster.name);
        Some(names.chain(["local".to_owned()]).collect())
    }

    /// Returns the names of the namespaces in the selected clusters.
    pub(super) async fn namespaces(&self) -> Option<Vec<String>> {
        self.names("namespaces", None).await
    }

    /// Returns kinds, or names of objects after a kind.
    pub(super) async fn objects(&self, current: &str) -> Option<Vec<String>> {
        let namespace = self.namespace();
        if let Some((kind, _)) = current.split_once('/') {
            return self.prefixed(kind, &namespace).await;
        }
        match self.words.positional().first() {
            None => self.kinds().await,
            Some(kind) if kind.contains('/') => None,
            Some(kind) => self.names(kind, Some(&namespace)).await,
        }
    }

    /// Returns names of pods, or names of objects after a kind.
    pub(super) async fn pods(&self, current: &str) -> Option<Vec<String>> {
        let namespace = self.namespace();
        if let Some((kind, _)) = current.split_once('/') {
            return self.prefixed(kind, &namespace).await;
        }
        let kinds = WORKLOADS.iter().map(|kind| format!("{kind}/"));
        let mut names = self.names("pods", Some(&namespace)).await?;
        names.extend(kinds);
        Some(names)
    }

    /// Returns the names of the objects of one of Fleet's kinds on the hub.
    pub(super) async fn fleet(&self, plural: &str) -> Option<Vec<String>> {
        let namespace = self.words.value(&["-n", "--namespace"]);
        let namespace = namespace.unwrap_or_else(|| FLEET_NAMESPACE.to_owned());
        let hub = ClusterApi::new(&self.client, LOCAL_CLUSTER);
        let path = ["apis", GROUP, VERSION, "namespaces", &namespace, plural];
        let path = path.map(str::to_owned);
        let names = names_of(&hub, &path);
        timeout(TIMEOUT, names).await.ok()?
    }

    fn namespace(&self) -> String {
        let namespace = self.words.value(&["-n", "--namespace"]);
        namespace.unwrap_or_else(|| "default".to_owned())
    }

    async fn prefixed(&self, kind: &str, namespace: &str) -> Option<Vec<String>> {
        let names = self.names(kind, Some(namespace)).await?;
        let names = names.into_iter().map(|name| format!("{kind}/{name}"));
        Some(names.collect())
    }

    async fn kinds(&self) -> Option<Vec<String>> {
        let kinds = self.collect(async |api| {
            let discovery = Discovery::of(api).await.ok()?;
            Some(discovery.names("list"))
        });
        kinds.await
    }

    async fn names(&self, kind: &str, namespace: Option<&str>) -> Option<Vec<String>> {
        let names = self.collect(async |api| {
            let discovery = Discovery::of(api).await.ok()?;
            let resource = (*discovery.find(kind, "list").first()?).clone();
            names_of(api, &resource.path(namespace, None)).await
        });
        names.await
    }

    /// Requests values from all selected clusters. The result contains the values of the clusters
    /// that respond before the timeout.
    async fn collect(
        &self,
        request: impl AsyncFn(&ClusterApi) -> Option<Vec<String>>,
    ) -> Option<Vec<String>> {
        let selection = ClusterSelection {
            clusters: self.words.values(&["--cluster"]),
            selector: self.words.value(&["--clusters"]),
        };
        let mut found = BTreeSet::new();
        let collect = async {
            let clusters = selected_clusters(&self.client, &selection).await.ok()?;
            let requests = futures::stream::iter(&clusters).map(|api| request(api));
            let mut responses = std::pin::pin!(requests.buffer_unordered(CONCURRENCY));
            while let Some(response) = responses.next().await {
                found.extend(response.unwrap_or_default());
            }
            Some(())
        };
        let _incomplete = timeout(TIMEOUT, collect).await;
        Some(found.into_iter().collect())
    }
}

async fn names_of(api: &ClusterApi, path: &[String]) -> Option<Vec<String>> {
    let query = Query {
        chunk_size: MAX_OBJECTS,
        ..Query::default()
    };
    let page = list_pages(api, path, &query, METADATA)
        .next()
        .await
        .ok()??;
    let items = page["items"].as_array()?;
    let names = items
        .iter()
        .filter_map(|item| item["metadata"]["name"].as_str());
    let names: Vec<String> = names.map(str::to_owned).collect();
    Some(names)
}
