//! ClusterRoles with an `aggregationRule`: collects the rules of selected ClusterRoles.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use super::feed::{ObjectCache, Observed};
use super::run::{Controller, Next, ReconcileError};
use super::{Act, Hub, ObjectPath};
use crate::access::{RbacKind, Rule};
use crate::select::{LabelSelector, SelectorError};

const GROUP: &str = "rbac.authorization.k8s.io";
const MANAGER: &str = "clusterrole-aggregation-controller";

/// The controller of aggregated ClusterRoles.
pub(super) struct Aggregation {
    hub: Arc<dyn Hub>,
    roles: Mutex<ObjectCache<Role>>,
}

/// The parts of a ClusterRole that the controller needs for aggregation.
#[derive(Debug, Clone, Default, PartialEq)]
struct Role {
    labels: Map<String, Value>,
    /// The label selectors of the aggregation rule. `None` without an aggregation rule.
    selects: Option<Vec<Value>>,
    rules: Vec<Rule>,
}

impl Role {
    fn parse(object: &Value) -> Self {
        let labels = object["metadata"]["labels"].as_object();
        let aggregation = object.get("aggregationRule").filter(|rule| !rule.is_null());
        Self {
            labels: labels.cloned().unwrap_or_default(),
            selects: aggregation.map(|rule| {
                let selectors = rule["clusterRoleSelectors"].as_array();
                selectors.cloned().unwrap_or_default()
            }),
            rules: Rule::parse_all(object),
        }
    }
}

impl Aggregation {
    pub(super) fn new(hub: Arc<dyn Hub>) -> Self {
        Self {
            hub,
            roles: Mutex::default(),
        }
    }

    async fn aggregate(&self, name: &str) -> Result<Next, ReconcileError> {
        let decided = {
            let roles = self.roles.lock();
            if !roles.complete {
                // Some selected roles may not have been observed yet; all aggregated roles are
                // reconciled after the initial list.
                return Ok(None);
            }
            gather(name, &roles.all)
        };
        let rules = match decided {
            Ok(Some(rules)) => rules,
            Ok(None) => return Ok(None),
            Err(error) => {
                // Validation rejects such selectors, and a retry cannot succeed.
                tracing::warn!(role = name, %error, "failed to parse an aggregation rule");
                return Ok(None);
            }
        };
        let path = ObjectPath::new(GROUP, RbacKind::ClusterRole.resource(), "", name);
        let act = Act::Apply(json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": "ClusterRole",
            "metadata": { "name": name },
            "rules": rules.iter().map(Rule::to_value).collect::<Vec<_>>(),
        }));
        let outcome = self.hub.act(MANAGER, &path, act).await;
        outcome.map_err(ReconcileError::write(&path))?;
        Ok(None)
    }
}

/// Returns the names of aggregated roles.
fn aggregated(all: &BTreeMap<String, Role>) -> Vec<String> {
    let gathering = all.iter().filter(|(_, role)| role.selects.is_some());
    gathering.map(|(name, _)| name.clone()).collect()
}

/// Collects the rules of an aggregated role. Returns `None` if the role is up to date or not
/// aggregated.
fn gather(name: &str, all: &BTreeMap<String, Role>) -> Result<Option<Vec<Rule>>, SelectorError> {
    let Some((own, selects)) = all
        .get(name)
        .and_then(|own| Some((own, own.selects.as_ref()?)))
    else {
        return Ok(None);
    };
    let mut rules: Vec<Rule> = Vec::new();
    for selector in selects {
        let selector = LabelSelector::from_object(selector)?;
        let selected = all
            .iter()
            .filter(|(other, role)| *other != name && selector.matches(&role.labels));
        for rule in selected.flat_map(|(_, role)| &role.rules) {
            if !rules.contains(rule) {
                rules.push(rule.clone());
            }
        }
    }
    Ok((rules != own.rules).then_some(rules))
}

impl Controller for Aggregation {
    type Key = String;

    const NAME: &'static str = "aggregation";

    fn observe(&self, observed: &Observed) -> Vec<String> {
        let mut roles = self.roles.lock();
        let (seen, gone) = match observed {
            Observed::Restart => {
                *roles = ObjectCache::default();
                return Vec::new();
            }
            Observed::Synced => {
                roles.complete = true;
                return aggregated(&roles.all);
            }
            Observed::Put(seen) => (seen, false),
            Observed::Gone(seen) => (seen, true),
        };
        let resource = &seen.path.resource;
        if RbacKind::of_resource(&resource.group, &resource.resource) != Some(RbacKind::ClusterRole)
        {
            return Vec::new();
        }
        if gone {
            roles.all.remove(&seen.path.name);
        } else {
            let Ok(object) = serde_json::from_slice::<Value>(&seen.value) else {
                return Vec::new();
            };
            let role = Role::parse(&object);
            if roles.all.insert(seen.path.name.clone(), role.clone()) == Some(role) {
                return Vec::new();
            }
        }
        aggregated(&roles.all)
    }

    fn reconcile<'a>(
        &'a self,
        key: &'a String,
        _also: &'a (dyn Fn(String) + Send + Sync),
    ) -> BoxFuture<'a, Result<Next, ReconcileError>> {
        Box::pin(self.aggregate(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(labels: &Value, selects: Option<Value>, verbs: &[&str]) -> Role {
        let mut object = json!({
            "metadata": { "labels": labels },
            "rules": verbs.iter().map(|verb| json!({ "verbs": [verb] })).collect::<Vec<_>>(),
        });
        if let Some(labels) = selects {
            object["aggregationRule"] =
                json!({ "clusterRoleSelectors": [{ "matchLabels": labels }] });
        }
        Role::parse(&object)
    }

    fn verbs(name: &str, all: &BTreeMap<String, Role>) -> Option<Vec<String>> {
        let rules = gather(name, all).unwrap()?;
        Some(rules.into_iter().flat_map(|rule| rule.verbs).collect())
    }

    fn roles(list: &[(&str, Role)]) -> BTreeMap<String, Role> {
        list.iter()
            .map(|(name, role)| ((*name).to_owned(), role.clone()))
            .collect()
    }

    #[test]
    fn aggregated_role_contains_deduplicated_rules_of_selected_roles_in_name_order() {
        let label = json!({"to": "all"});
        let all = roles(&[
            ("all", role(&label, Some(label.clone()), &["own"])),
            ("b", role(&label, None, &["list", "get"])),
            ("a", role(&label, None, &["get"])),
            ("c", role(&json!({}), None, &["delete"])),
        ]);
        assert_eq!(
            verbs("all", &all),
            Some(vec!["get".to_owned(), "list".to_owned()])
        );
        assert_eq!(verbs("a", &all), None);
        assert_eq!(verbs("nobody", &all), None);
    }

    #[test]
    fn up_to_date_aggregated_role_is_unchanged() {
        let label = json!({"to": "all"});
        let all = roles(&[
            ("all", role(&json!({}), Some(label.clone()), &["get"])),
            ("a", role(&label, None, &["get"])),
        ]);
        assert_eq!(verbs("all", &all), None);
    }
}
