//! Implements `drover top`.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use drover_rows::table::Key;
use drover_rows::usage::Resource;
use drover_rows::{Amounts, Include, usage};
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use crate::args::{TopArgs, TopKind, TopOrder};
use crate::client::{CallError, Refusal};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::kubernetes::{ClusterApi, ClusterFailures, JSON, RowPages, in_order, selected_clusters};
use crate::table::{DASH, Table};
use crate::terminal::{notice, print};

/// Maximum number of objects in the output.
const MAX_OBJECTS: usize = 100_000;

/// The requested usage.
struct Request {
    kind: TopKind,
    /// The namespace; `None` for all namespaces and for nodes.
    namespace: Option<String>,
    labels: Option<String>,
}

/// The usage of an object.
#[derive(Debug, PartialEq, Eq)]
struct ObjectUsage {
    cluster: String,
    key: Key,
    used: Amounts,
    /// The allocatable amounts of a node.
    allocatable: Amounts,
}

type Message = Result<Vec<ObjectUsage>, CallError>;

/// Runs `drover top`.
pub(crate) async fn run(args: &TopArgs, environment: &Environment) -> Result<(), Failure> {
    let client = environment.client(&args.connection)?;
    let clusters = selected_clusters(&client, &args.selection).await?;
    let is_of_pods = args.kind == TopKind::Pods;
    let request = Arc::new(Request {
        kind: args.kind,
        namespace: (is_of_pods && !args.all_namespaces).then(|| args.namespace.clone()),
        labels: args.labels.clone(),
    });
    let mut failures = ClusterFailures::new(clusters.len());
    let mut found = Vec::new();
    let start = |api, sender| send(api, Arc::clone(&request), sender);
    in_order(&clusters, start, |cluster, message: Message| {
        match message {
            Ok(objects) => found.extend(objects),
            Err(error) => failures.add(cluster.name(), error),
        }
        if found.len() > MAX_OBJECTS {
            return Err(Failure::Other(format!(
                "more than {MAX_OBJECTS} objects; select fewer objects with -l, -n or --clusters"
            )));
        }
        Ok(())
    })
    .await?;
    sort(&mut found, args.sort_by);
    if found.is_empty() {
        notice("No usage found.");
    } else {
        print(&table(args.kind, &found).render())?;
    }
    failures.finish()
}

async fn send(api: ClusterApi, request: Arc<Request>, sender: mpsc::Sender<Message>) {
    let message = read(&api, &request).await.map_err(with_advice);
    let _unread = sender.send(message).await;
}

async fn read(api: &ClusterApi, request: &Request) -> Message {
    let (path, labels) = (metrics_path(request), request.labels.as_deref());
    let query: Vec<_> = labels
        .map(|labels| ("labelSelector", labels.to_owned()))
        .into_iter()
        .collect();
    let body: Box<RawValue> = api.get(&path, &query, JSON).await?;
    let used = usage::read(body.get().as_bytes());
    let used = used.map_err(|error| api.unreadable(&error.to_string()))?;
    let mut allocatable = match request.kind {
        TopKind::Nodes => allocatable(api, labels).await?,
        TopKind::Pods => HashMap::new(),
    };
    let objects = used.into_iter().map(|(key, used)| ObjectUsage {
        cluster: api.name().to_owned(),
        allocatable: allocatable.remove(&key).unwrap_or_default(),
        key,
        used,
    });
    Ok(objects.collect())
}

/// Returns the allocatable amounts of the nodes of a cluster.
async fn allocatable(
    api: &ClusterApi,
    labels: Option<&str>,
) -> Result<HashMap<Key, Amounts>, CallError> {
    let path = ["api", "v1", "nodes"].map(str::to_owned).into();
    let mut pages = RowPages::new(api, path, Include::Nodes, labels);
    let mut nodes = HashMap::new();
    while let Some(rows) = pages.next().await? {
        nodes.extend(rows.iter().map(|row| {
            let key: Key = ("".into(), row.name().into());
            (key, row.reserved)
        }));
    }
    Ok(nodes)
}

fn metrics_path(request: &Request) -> Vec<String> {
    let root = ["apis", "metrics.k8s.io", "v1beta1"];
    let namespace = request.namespace.as_deref();
    let place = namespace.into_iter().flat_map(|it| ["namespaces", it]);
    let plural = match request.kind {
        TopKind::Pods => "pods",
        TopKind::Nodes => "nodes",
    };
    let path = root.into_iter().chain(place).chain([plural]);
    path.map(str::to_owned).collect()
}

/// Adds the program to install to the error of a cluster without the API.
fn with_advice(error: CallError) -> CallError {
    if !error.is_unknown_api() {
        return error;
    }
    CallError::Refused(Refusal {
        code: 404,
        reason: "NotFound".to_owned(),
        message: "the cluster has no API metrics.k8s.io".to_owned(),
        advice: Some("Install metrics-server in the cluster.".to_owned()),
    })
}

fn sort(objects: &mut [ObjectUsage], order: Option<TopOrder>) {
    objects.sort_by(|a, b| (&a.cluster, &a.key).cmp(&(&b.cluster, &b.key)));
    let resource = match order {
        None => return,
        Some(TopOrder::Cpu) => Resource::Cpu,
        Some(TopOrder::Memory) => Resource::Memory,
    };
    objects.sort_by_key(|object| Reverse(object.used.of(resource)));
}

fn table(kind: TopKind, objects: &[ObjectUsage]) -> Table {
    let mut table = Table::new(match kind {
        TopKind::Pods => &[
            "CLUSTER",
            "NAMESPACE",
            "NAME",
            "CPU(cores)",
            "MEMORY(bytes)",
        ],
        TopKind::Nodes => &[
            "CLUSTER",
            "NAME",
            "CPU(cores)",
            "CPU%",
            "MEMORY(bytes)",
            "MEMORY%",
        ],
    });
    for object in objects {
        let (cluster, name) = (object.cluster.clone(), object.key.1.to_string());
        let cpu = format!("{}m", object.used.cpu);
        let memory = format!("{}Mi", object.used.memory >> 20);
        table.row(&match kind {
            TopKind::Pods => vec![cluster, object.key.0.to_string(), name, cpu, memory],
            TopKind::Nodes => {
                let share = |resource| percent(object.used, object.allocatable, resource);
                let (of_cpu, of_memory) = (share(Resource::Cpu), share(Resource::Memory));
                vec![cluster, name, cpu, of_cpu, memory, of_memory]
            }
        });
    }
    table
}

/// Returns the share of the allocatable amount, which can exceed 100 %.
fn percent(used: Amounts, allocatable: Amounts, resource: Resource) -> String {
    match allocatable.of(resource) {
        0 => DASH.to_owned(),
        whole => {
            let share = u128::from(used.of(resource)) * 100 / u128::from(whole);
            format!("{share}%")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(cluster: &str, name: &str, cpu: u64, memory: u64) -> ObjectUsage {
        ObjectUsage {
            cluster: cluster.to_owned(),
            key: ("shop".into(), name.into()),
            used: Amounts {
                cpu,
                memory: memory << 20,
            },
            allocatable: Amounts {
                cpu: 1_000,
                memory: 0,
            },
        }
    }

    #[test]
    fn usage_is_sorted_by_place_or_by_amount() {
        let mut objects = [
            object("b", "x", 1, 9),
            object("a", "y", 5, 2),
            object("a", "x", 3, 4),
        ];
        let mut names = |order| {
            sort(&mut objects, order);
            let names = objects
                .iter()
                .map(|it| format!("{}/{}", it.cluster, it.key.1));
            names.collect::<Vec<_>>()
        };
        assert_eq!(names(None), ["a/x", "a/y", "b/x"]);
        assert_eq!(names(Some(TopOrder::Cpu)), ["a/y", "a/x", "b/x"]);
        assert_eq!(names(Some(TopOrder::Memory)), ["b/x", "a/x", "a/y"]);
    }

    #[test]
    fn cluster_without_metrics_names_the_program_to_install() {
        let error = |code| CallError::NotDrover {
            server: "berlin".to_owned(),
            code,
        };
        let shown = |code| with_advice(error(code)).to_string();
        assert!(shown(404).contains("Install metrics-server"));
        assert!(!shown(500).contains("metrics-server"));
    }

    #[test]
    fn table_of_nodes_contains_percentages_above_100() {
        let text = table(TopKind::Nodes, &[object("a", "\x1b[2Jx", 1_500, 3)]).render();
        let line = text.lines().nth(1).unwrap_or_default();
        let cells: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(cells, ["a", "\u{fffd}[2Jx", "1500m", "150%", "3Mi", "-"]);
        let pods = table(TopKind::Pods, &[object("a", "web", 1, 3)]).render();
        assert!(pods.contains("shop"), "{pods}");
    }
}
