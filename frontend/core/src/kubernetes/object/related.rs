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

/// Formats a label selector for `kubectl get --selector`. Returns `None` if the selector selects no
/// object.
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
