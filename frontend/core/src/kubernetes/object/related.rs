//! The objects that belong to another one: a workload's pods, a cron job's jobs, a node's pods.

use serde_json::Value;

use super::{Object, read};
use crate::kind::Kind;
use crate::source::Source;
use crate::url::segment;

/// What to ask for to find them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Related {
    /// What they are.
    pub kind: Kind,
    /// Where they are; none means in all namespaces.
    pub namespace: Option<String>,
    /// The part of the query that chooses among them, ready for a URL.
    pub query: String,
    /// Only those that this object owns, where a query cannot say so.
    pub owner: Option<String>,
    /// The same for `kubectl get`.
    pub option: String,
}

impl Related {
    /// Where to follow them.
    pub fn source(&self, cluster: &str) -> Source {
        let path = self.kind.list_path(cluster, self.namespace.as_deref());
        Source::objects(path).choosing(&self.query)
    }
}

/// What belongs to an object of a kind.
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
        "Pod" => None,
        _ => {
            let selector = selector(object.value())?;
            Some(Related {
                kind: Kind::PODS,
                namespace,
                query: format!("labelSelector={}", segment(&selector)),
                owner: None,
                option: format!("--selector '{selector}'"),
            })
        }
    }
}

/// A label selector as `kubectl get --selector` takes it; `None` if it chooses nothing.
pub(crate) fn selector(object: &Value) -> Option<String> {
    let mut terms = read::assignments(object, "/spec/selector/matchLabels");
    let expressions = read::list(object, "/spec/selector/matchExpressions").iter();
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
