//! The selected pods of a log of several clusters, which the URL contains.

use crate::action::ObjectKey;
use crate::kind::Kind;
use crate::kubectl::KubectlObject;
use crate::object::{Related, pods_with_labels, pods_with_name, runs_pods};
use crate::shell::word;
use crate::url::with_query;

use super::{LogRequest, Since};

/// The maximum number of containers that the page reads at the same time, and the maximum number of
/// selected objects.
pub const MAX_STREAMS: usize = 50;
/// The path of the page with the log.
pub const LOGS_SCREEN: &str = "/logs";

/// The selected pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogSelection {
    /// Pods, or all pods of workloads. New pods of a workload are part of the log.
    Objects {
        /// The kind of the objects.
        kind: Kind,
        /// The objects, at most [`MAX_STREAMS`].
        keys: Vec<ObjectKey>,
    },
    /// All pods with labels, also new pods.
    Labels {
        /// The names of the clusters, at most [`MAX_STREAMS`].
        clusters: Vec<String>,
        /// The namespace of the pods.
        namespace: String,
        /// The label selector.
        selector: String,
    },
}

/// The pods of one selected object, or of one cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogTarget {
    /// The cluster, and the object if the selection names the object, for errors.
    pub label: String,
    /// The name of the cluster.
    pub cluster: String,
    /// The pods.
    pub pods: TargetPods,
}

/// The query for the pods of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetPods {
    /// The query is known.
    Query(Related),
    /// The workload contains the query.
    Of(KubectlObject),
}

impl LogSelection {
    /// Reads the selection from the query of a URL. Returns `None` for an incomplete selection.
    pub fn of_query(query: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let list = |name| {
            let text = query(name).unwrap_or_default();
            let items = text.split(',').map(str::trim).filter(|it| !it.is_empty());
            let items = items.map(str::to_owned).take(MAX_STREAMS);
            items.collect::<Vec<_>>()
        };
        if let Some(plural) = query("kind") {
            let kind = Kind::of_plural(&plural).filter(|kind| runs_pods(*kind))?;
            let keys = list("objects").into_iter();
            let keys: Vec<_> = keys.filter_map(|it| ObjectKey::parse(&it)).collect();
            return (!keys.is_empty()).then_some(Self::Objects { kind, keys });
        }
        let selector = query("selector").unwrap_or_default().trim().to_owned();
        let (clusters, namespace) = (list("clusters"), query("namespace").unwrap_or_default());
        let is_complete = !clusters.is_empty() && !namespace.is_empty() && !selector.is_empty();
        is_complete.then_some(Self::Labels {
            clusters,
            namespace,
            selector,
        })
    }

    /// Returns the parameters of the URL.
    pub fn query(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Objects { kind, keys } => {
                let keys: Vec<_> = keys.iter().map(ToString::to_string).collect();
                vec![
                    ("kind", kind.plural.to_owned()),
                    ("objects", keys.join(",")),
                ]
            }
            Self::Labels {
                clusters,
                namespace,
                selector,
            } => vec![
                ("clusters", clusters.join(",")),
                ("namespace", namespace.clone()),
                ("selector", selector.clone()),
            ],
        }
    }

    /// Returns the URL of the log.
    pub fn screen(&self) -> String {
        with_query(LOGS_SCREEN, &self.query())
    }

    /// Returns the queries for the pods.
    pub fn targets(&self) -> Vec<LogTarget> {
        match self {
            Self::Objects { kind, keys } => keys.iter().map(|key| target(*kind, key)).collect(),
            Self::Labels {
                clusters,
                namespace,
                selector,
            } => {
                let target = |cluster: &String| LogTarget {
                    label: cluster.clone(),
                    cluster: cluster.clone(),
                    pods: TargetPods::Query(pods_with_labels(namespace, selector)),
                };
                clusters.iter().map(target).collect()
            }
        }
    }

    /// Reports whether the selection contains pods of several namespaces.
    pub fn has_several_namespaces(&self) -> bool {
        match self {
            Self::Objects { keys, .. } => {
                let mut namespaces = keys.iter().map(|key| &key.namespace);
                let first = namespaces.next();
                namespaces.any(|namespace| Some(namespace) != first)
            }
            Self::Labels { .. } => false,
        }
    }

    /// Returns the equivalent commands, one in each line.
    pub fn command(&self, request: &LogRequest, with_times: bool) -> String {
        let options = options(request, with_times);
        let of = |clusters: &[&str]| {
            let clusters = clusters
                .iter()
                .map(|name| format!(" --cluster {}", word(name)));
            clusters.collect::<String>()
        };
        match self {
            Self::Objects { kind, keys } => {
                let mut groups: Vec<(&ObjectKey, Vec<&str>)> = Vec::new();
                for key in keys {
                    let same = |(known, _): &&mut (&ObjectKey, Vec<&str>)| {
                        (&known.namespace, &known.name) == (&key.namespace, &key.name)
                    };
                    match groups.iter_mut().find(same) {
                        Some((_, clusters)) => clusters.push(&key.cluster),
                        None => groups.push((key, vec![&key.cluster])),
                    }
                }
                let line = |(key, clusters): &(&ObjectKey, Vec<&str>)| {
                    let name = match *kind {
                        Kind::PODS => key.name.clone(),
                        kind => format!("{}/{}", kind.name.to_lowercase(), key.name),
                    };
                    let namespace = key.namespace.as_deref().unwrap_or_default();
                    let (name, namespace) = (word(&name), word(namespace));
                    let clusters = of(clusters);
                    format!("drover logs {name} -n {namespace}{clusters}{options}")
                };
                let lines: Vec<_> = groups.iter().map(line).collect();
                lines.join("\n")
            }
            Self::Labels {
                clusters,
                namespace,
                selector,
            } => {
                let clusters: Vec<&str> = clusters.iter().map(String::as_str).collect();
                format!(
                    "drover logs -l {} -n {}{}{options}",
                    word(selector),
                    word(namespace),
                    of(&clusters)
                )
            }
        }
    }
}

fn target(kind: Kind, key: &ObjectKey) -> LogTarget {
    let pods = if kind == Kind::PODS {
        TargetPods::Query(pods_with_name(key.namespace.clone(), &key.name))
    } else {
        TargetPods::Of(key.target(kind))
    };
    LogTarget {
        label: key.words(),
        cluster: key.cluster.clone(),
        pods,
    }
}

/// Returns the options of `drover logs`.
fn options(request: &LogRequest, with_times: bool) -> String {
    let container = match request.container.as_str() {
        "" => "--all-containers".to_owned(),
        name => format!("-c {}", word(name)),
    };
    let mut options = format!(" {container}");
    let mut add = |is: bool, option: &str| {
        if is {
            options.push(' ');
            options.push_str(option);
        }
    };
    add(request.follows(), "-f");
    add(request.previous, "-p");
    let since = format!("--since {}", request.since.key());
    add(request.since != Since::Begin, &since);
    add(true, &format!("--tail {}", request.tail));
    add(with_times, "--timestamps");
    options
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::LogOptions;

    fn of(query: &[(&str, &str)]) -> Option<LogSelection> {
        LogSelection::of_query(|name| {
            let mut query = query.iter();
            let (_, value) = query.find(|(known, _)| *known == name)?;
            Some((*value).to_owned())
        })
    }

    fn request() -> LogRequest {
        let none = LogOptions::of_query(|_| None);
        none.request_of_all("", "", "")
    }

    #[test]
    fn selection_of_a_url_is_written_to_the_same_url() {
        for query in [
            &[
                ("kind", "pods"),
                ("objects", "east/shop/web-1,west/shop/web-2"),
            ][..],
            &[("kind", "deployments"), ("objects", "east/shop/web")],
            &[
                ("clusters", "east,west"),
                ("namespace", "shop"),
                ("selector", "app=web,tier in (a,b)"),
            ],
        ] {
            let selection = of(query).unwrap();
            let written = selection.query();
            let written: Vec<_> = written
                .iter()
                .map(|(key, it)| (*key, it.as_str()))
                .collect();
            assert_eq!(written, query);
        }
    }

    #[test]
    fn incomplete_selection_is_no_selection() {
        for query in [
            &[][..],
            &[("kind", "pods")],
            &[("kind", "pods"), ("objects", "east")],
            &[("kind", "secrets"), ("objects", "east/shop/web")],
            &[("kind", "cronjobs"), ("objects", "east/shop/web")],
            &[("clusters", "east"), ("selector", "a=b")],
            &[
                ("clusters", " , "),
                ("namespace", "shop"),
                ("selector", "a"),
            ],
        ] {
            assert_eq!(of(query), None, "{query:?}");
        }
    }

    #[test]
    fn selection_has_at_most_as_many_objects_as_streams() {
        let many = vec!["east/shop/web"; 80].join(",");
        let selection = of(&[("kind", "pods"), ("objects", &many)]).unwrap();
        assert_eq!(selection.targets().len(), MAX_STREAMS);
    }

    #[test]
    fn target_names_its_cluster_and_object() {
        let selection = of(&[
            ("kind", "pods"),
            ("objects", "east/shop/web-1,west/blog/web-2"),
        ]);
        let selection = selection.unwrap();
        assert!(selection.has_several_namespaces());
        let [_, second] = selection.targets().try_into().unwrap();
        assert_eq!(second.label, "west / blog / web-2");
        let TargetPods::Query(related) = second.pods else {
            panic!("a pod has a query");
        };
        assert_eq!(related.query, "fieldSelector=metadata.name%3Dweb-2");
        assert_eq!(related.namespace.as_deref(), Some("blog"));
        let workload = of(&[("kind", "deployments"), ("objects", "east/shop/web")]).unwrap();
        let [target] = workload.targets().try_into().unwrap();
        assert!(matches!(target.pods, TargetPods::Of(named) if named.name == "web"));
        let labels = of(&[
            ("clusters", "east,west"),
            ("namespace", "shop"),
            ("selector", "app=web"),
        ]);
        let [east, _] = labels.unwrap().targets().try_into().unwrap();
        assert_eq!(
            (east.label.as_str(), east.cluster.as_str()),
            ("east", "east")
        );
    }

    #[test]
    fn selection_has_equivalent_commands() {
        let pods = of(&[
            ("kind", "pods"),
            ("objects", "east/shop/web-1,west/shop/web-1,west/blog/b 2"),
        ]);
        assert_eq!(
            pods.unwrap().command(&request(), false),
            "drover logs web-1 -n shop --cluster east --cluster west --all-containers -f --tail 1000\n\
             drover logs 'b 2' -n blog --cluster west --all-containers -f --tail 1000"
        );
        let workload = of(&[("kind", "deployments"), ("objects", "east/shop/web")]).unwrap();
        let request = LogRequest {
            container: "app".to_owned(),
            previous: true,
            since: Since::Minutes(60),
            tail: 100,
            ..request()
        };
        assert_eq!(
            workload.command(&request, true),
            "drover logs deployment/web -n shop --cluster east -c app -p --since 1h --tail 100 \
             --timestamps"
        );
        let labels = LogSelection::Labels {
            clusters: vec!["east".to_owned()],
            namespace: "shop".to_owned(),
            selector: "app in (a)".to_owned(),
        };
        assert!(
            labels
                .command(&request, false)
                .starts_with("drover logs -l 'app in (a)' -n shop --cluster east -c app")
        );
    }
}
