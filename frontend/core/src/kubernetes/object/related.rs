//! Finds related objects: pods of a workload, jobs of a cron job, pods of a node.

use serde_json::Value;

use super::{Object, read};
use crate::kind::Kind;
use crate::source::Source;
use crate::url::segment;

/// The query for related objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Related {
    /// The kind of the related objects.
    pub kind: Kind,
    /// The namespace; `None` for all namespaces.
    pub namespace: Option<String>,
    /// The label or field selector, encoded for a URL.
    pub query: String,
    /// The UID of the owner, if a selector is not sufficient.
    pub owner: Option<String>,
    /// The option for `kubectl get`, such as `--selector app=web`.
    pub option: String,
}

impl Related {
    /// Returns the list source for the related objects.
    pub fn source(&self, cluster: &str) -> Source {
        let path = self.kind.list_path(cluster, self.namespace.as_deref());
        Source::objects(path).choosing(&self.query)
    }
}

/// Returns the query for the related objects of an object.
pub fn related(kind: Kind, object: &Object) -> Option<Related> {
    let namespace = object.namespace().map(str::to_owned);
    match kind.name {
        "Node" => {
            let field = format!("spec.nodeName={}", object.name());
            Some(Related {
                kind: Kind::PODS,
                namespace: None,
                query: format!("fieldSelector={}", segment(&field)),
                owner: None,
                option: format!("--all-namespaces --field-selector {field}"),
            })
        }
        "CronJob" => Some(Related {
            kind: Kind::named("batch/v1", "Job")?,
            namespace,
            query: String::new(),
            owner: Some(object.uid().to_owned()),
            option: String::new(),
        }),
        // The selector of a claim selects volumes.
        "Pod" | "PersistentVolumeClaim" => None,
        "NetworkPolicy" => {
            let selector = terms(read::at(object.value(), "/spec/podSelector"));
            Some(selected_pods(namespace, selector))
        }
        "Service" => {
            let terms = read::assignments(object.value(), "/spec/selector");
            (!terms.is_empty()).then(|| selected_pods(namespace, Some(terms.join(","))))
        }
        _ => {
            let selector = selector(object.value())?;
            Some(selected_pods(namespace, Some(selector)))
        }
    }
}

/// Returns the query for the pods of a namespace with labels.
pub fn pods_with_labels(namespace: &str, selector: &str) -> Related {
    selected_pods(Some(namespace.to_owned()), Some(selector.to_owned()))
}

/// Returns the query for a pod.
pub fn pods_with_name(namespace: Option<String>, name: &str) -> Related {
    let field = format!("metadata.name={name}");
    Related {
        kind: Kind::PODS,
        namespace,
        query: format!("fieldSelector={}", segment(&field)),
        owner: None,
        option: format!("--field-selector {field}"),
    }
}

/// Returns the query for pods. Without a selector, the query selects all pods of the namespace.
fn selected_pods(namespace: Option<String>, selector: Option<String>) -> Related {
    let query = selector
        .as_ref()
        .map(|selector| format!("labelSelector={}", segment(selector)));
    let option = selector.map(|selector| format!("--selector '{selector}'"));
    Related {
        kind: Kind::PODS,
        namespace,
        query: query.unwrap_or_default(),
        owner: None,
        option: option.unwrap_or_default(),
    }
}

/// Formats a label selector for `kubectl get --selector`. Returns `None` if the selector selects no
/// object.
pub(crate) fn selector(object: &Value) -> Option<String> {
    terms(read::at(object, "/spec/selector"))
}

/// Formats a label selector for `kubectl get --selector`. Returns `None` if the selector has no
/// terms.
pub(crate) fn terms(selector: &Value) -> Option<String> {
    let mut terms = read::assignments(selector, "/matchLabels");
    let expressions = read::list(selector, "/matchExpressions").iter();
    terms.extend(expressions.filter_map(expression));
    (!terms.is_empty()).then(|| terms.join(","))
}

fn expression(one: &Value) -> Option<String> {
    let key = read::text(one, "/key")?;
    let values = read::list(one, "/values").iter().filter_map(Value::as_str);
    let values = values.collect::<Vec<_>>().join(",");
    match read::text(one, "/operator")? {
        "In" => Some(format!("{key} in ({values})")),
        "NotIn" => Some(format!("{key} notin ({values})")),
        "Exists" => Some(key.to_owned()),
        "DoesNotExist" => Some(format!("!{key}")),
        _ => None,
    }
}
