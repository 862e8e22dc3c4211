use serde_json::{Value, json};

use super::*;
use crate::problem::{Problem, ProblemKind};

fn object(namespace: Option<&str>, name: &str, rest: &Value) -> Object {
    let mut value = json!({"metadata": {"name": name, "uid": format!("uid-{name}")}});
    if let Some(namespace) = namespace {
        value["metadata"]["namespace"] = json!(namespace);
    }
    for (key, part) in rest.as_object().into_iter().flatten() {
        match key.as_str() {
            "labels" | "ownerReferences" => value["metadata"][key] = part.clone(),
            _ => value[key] = part.clone(),
        }
    }
    Object::from(value)
}

fn pod_spec() -> Value {
    json!({
        "serviceAccountName": "runner",
        "nodeName": "n1",
        "imagePullSecrets": [{"name": "registry"}],
        "volumes": [
            {"name": "a", "configMap": {"name": "settings"}},
            {"name": "b", "secret": {"secretName": "tls"}},
            {"name": "c", "persistentVolumeClaim": {"claimName": "data"}},
            {"name": "d", "projected": {"sources": [{"configMap": {"name": "ca"}}, {"secret": {"name": "token"}}]}},
        ],
        "initContainers": [{"envFrom": [{"configMapRef": {"name": "settings"}}]}],
        "containers": [{
            "env": [{"name": "P", "valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}}},
                {"name": "Q", "valueFrom": {"secretKeyRef": {"name": "db", "key": "user"}}}],
        }],
    })
}

fn lines(lines: Vec<RelationLine>) -> Vec<String> {
    let line = |line: RelationLine| format!("{}: {}", line.reference.words, line.relation);
    lines.into_iter().map(line).collect()
}

#[test]
fn pod_names_its_mounts_environment_account_and_node() {
    let owner = json!([{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web"}]);
    let rest = json!({"spec": pod_spec(), "ownerReferences": owner});
    let pod = object(Some("shop"), "web-0", &rest);
    assert_eq!(
        lines(references(Kind::PODS, &pod)),
        [
            "StatefulSet web: owner of this object",
            "ConfigMap settings: mounted as a volume",
            "Secret tls: mounted as a volume",
            "PersistentVolumeClaim data: mounted as a volume",
            "ConfigMap ca: mounted as a volume",
            "Secret token: mounted as a volume",
            "ConfigMap settings: source of environment variables",
            "Secret db: source of environment variables",
            "Secret registry: pull secret for images",
            "ServiceAccount runner: service account of the pods",
            "Node n1: node of this pod",
        ]
    );
}

/// An object, a candidate, and the relation that the page of the object shows.
struct Case {
    of: (Kind, Option<&'static str>, &'static str, Value),
    candidate: (Kind, Option<&'static str>, Value),
    relation: Option<&'static str>,
}

#[test]
#[expect(clippy::too_many_lines, reason = "the function is a table of cases")]
fn candidates_are_related_if_they_name_or_select_the_object() {
    let gateways = GATEWAYS.kind().unwrap();
    let routes = HTTP_ROUTES.kind().unwrap();
    let none = || json!({});
    let shop = Some("shop");
    let case = |of, candidate, relation| Case {
        of,
        candidate,
        relation,
    };
    let pod = || json!({"spec": pod_spec()});
    let template = || json!({"spec": {"template": {"spec": pod_spec()}}});
    let binding = || {
        json!({"roleRef": {"kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "ServiceAccount", "name": "ci", "namespace": "shop"}]})
    };
    let labels = || json!({"labels": {"app": "web", "tier": "front"}});
    let cases = [
        case(
            (Kind::CONFIG_MAPS, shop, "settings", none()),
            (Kind::PODS, shop, pod()),
            Some("mounts this object"),
        ),
        case(
            (Kind::CONFIG_MAPS, Some("other"), "settings", none()),
            (Kind::PODS, shop, pod()),
            None,
        ),
        case(
            (Kind::CONFIG_MAPS, shop, "tls", none()),
            (Kind::PODS, shop, pod()),
            None,
        ),
        case(
            (Kind::SECRETS, shop, "db", none()),
            (Kind::DEPLOYMENTS, shop, template()),
            Some("reads environment variables from this object"),
        ),
        case(
            (Kind::VOLUME_CLAIMS, shop, "data", none()),
            (Kind::PODS, shop, pod()),
            Some("mounts this object"),
        ),
        case(
            (Kind::SERVICE_ACCOUNTS, shop, "runner", none()),
            (Kind::PODS, shop, pod()),
            Some("runs as this service account"),
        ),
        case(
            (Kind::SERVICE_ACCOUNTS, shop, "ci", none()),
            (Kind::CLUSTER_ROLE_BINDINGS, None, binding()),
            Some("grants a role to this account"),
        ),
        case(
            (Kind::CLUSTER_ROLES, None, "view", none()),
            (Kind::ROLE_BINDINGS, shop, binding()),
            Some("grants this role"),
        ),
        case(
            (Kind::ROLES, shop, "view", none()),
            (Kind::ROLE_BINDINGS, shop, binding()),
            None,
        ),
        case(
            (Kind::STORAGE_CLASSES, None, "fast", none()),
            (
                Kind::VOLUME_CLAIMS,
                shop,
                json!({"spec": {"storageClassName": "fast"}}),
            ),
            Some("has this class"),
        ),
        case(
            (Kind::DEPLOYMENTS, shop, "web", none()),
            (
                Kind::AUTOSCALERS,
                shop,
                json!({"spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}}),
            ),
            Some("scales this object"),
        ),
        case(
            (Kind::DEPLOYMENTS, shop, "web", none()),
            (
                Kind::REPLICA_SETS,
                shop,
                json!({"ownerReferences": [{"uid": "uid-web"}]}),
            ),
            Some("owned by this object"),
        ),
        case(
            (Kind::SERVICES, shop, "api", none()),
            (
                Kind::INGRESSES,
                shop,
                json!({"spec": {"defaultBackend":
            {"service": {"name": "api"}}}}),
            ),
            Some("sends requests to this Service"),
        ),
        case(
            (Kind::SERVICES, shop, "api", none()),
            (
                routes,
                shop,
                json!({"spec": {"rules": [{"backendRefs":
            [{"name": "api"}]}]}}),
            ),
            Some("sends requests to this Service"),
        ),
        case(
            (gateways, Some("infra"), "edge", none()),
            (
                routes,
                shop,
                json!({"spec": {"parentRefs":
            [{"name": "edge", "namespace": "infra"}]}}),
            ),
            Some("attached to this object"),
        ),
        case(
            (Kind::PODS, shop, "a", labels()),
            (
                Kind::SERVICES,
                shop,
                json!({"spec": {"selector": {"app": "web"}}}),
            ),
            Some("selects the pods"),
        ),
        case(
            (Kind::PODS, shop, "a", labels()),
            (
                Kind::SERVICES,
                shop,
                json!({"spec": {"selector": {"app": "api"}}}),
            ),
            None,
        ),
        case(
            (Kind::PODS, shop, "a", labels()),
            (Kind::SERVICES, shop, json!({"spec": {}})),
            None,
        ),
        case(
            (Kind::PODS, shop, "a", labels()),
            (
                Kind::NETWORK_POLICIES,
                shop,
                json!({"spec": {"podSelector": {}}}),
            ),
            Some("selects the pods"),
        ),
        case(
            (Kind::PODS, shop, "a", labels()),
            (Kind::DISRUPTION_BUDGETS, shop, json!({"spec": {}})),
            None,
        ),
        case(
            (Kind::PODS, shop, "a", labels()),
            (
                Kind::DISRUPTION_BUDGETS,
                shop,
                json!({"spec": {"selector":
            {"matchExpressions": [{"key": "tier", "operator": "In", "values": ["front", "edge"]},
                {"key": "old", "operator": "DoesNotExist"}]}}}),
            ),
            Some("selects the pods"),
        ),
        case(
            (Kind::PODS, shop, "a", labels()),
            (
                Kind::DISRUPTION_BUDGETS,
                shop,
                json!({"spec": {"selector":
            {"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["front"]}]}}}),
            ),
            None,
        ),
        case(
            (Kind::PODS, shop, "a", labels()),
            (
                Kind::DISRUPTION_BUDGETS,
                shop,
                json!({"spec": {"selector":
            {"matchExpressions": [{"key": "tier", "operator": "Like"}]}}}),
            ),
            None,
        ),
    ];
    for Case {
        of: (kind, namespace, name, rest),
        candidate,
        relation,
    } in cases
    {
        let page = object(namespace, name, &rest);
        let (candidate_kind, candidate_namespace, rest) = candidate;
        let candidate = object(candidate_namespace, "candidate", &rest);
        let lists = candidates(kind, &page).into_iter();
        let mut lists = lists.filter(|list| list.kind.plural == candidate_kind.plural);
        let list = lists.next().unwrap();
        let found = list.lines(&[candidate]).into_iter().next();
        let case = format!("{} {name}, {}: {rest}", kind.name, candidate_kind.name);
        assert_eq!(found.map(|line| line.relation), relation, "{case}");
    }
}

#[test]
fn page_sends_a_bounded_number_of_requests_for_candidates() {
    for kind in Kind::all().chain(GATEWAYS.kind()) {
        let lists = candidates(kind, &object(Some("shop"), "a", &json!({})));
        assert!(lists.len() <= 6, "{kind:?}: {lists:?}");
        for list in lists {
            assert!(list.url("berlin").ends_with("?limit=500"), "{list:?}");
            // A list of Secrets would send the values of all Secrets to the page.
            assert_ne!(list.kind, Kind::SECRETS);
        }
    }
}

#[test]
fn candidate_of_another_namespace_shows_its_namespace() {
    let role = object(None, "view", &json!({}));
    let binding = object(
        Some("shop"),
        "readers",
        &json!({"roleRef": {"kind": "ClusterRole", "name": "view"}}),
    );
    let lists = candidates(Kind::CLUSTER_ROLES, &role);
    assert_eq!(
        lines(lists[0].lines(&[binding])),
        ["RoleBinding readers in shop: grants this role"]
    );
}

#[test]
fn missing_permission_for_candidates_is_named() {
    let problem = |kind| Problem {
        kind,
        message: "broken".to_owned(),
        fields: Vec::new(),
    };
    let map = object(Some("shop"), "settings", &json!({}));
    let pods = &candidates(Kind::CONFIG_MAPS, &map)[0];
    let note = |kind| {
        let (lines, note) = pods.found(Err(problem(kind)));
        assert_eq!(lines, []);
        note
    };
    let denied = note(ProblemKind::Forbidden).unwrap();
    assert!(
        denied.starts_with("Pods: missing permission to list pods in namespace shop."),
        "{denied}"
    );
    assert_eq!(note(ProblemKind::NotFound), None);
    assert_eq!(note(ProblemKind::Failed).unwrap(), "Pods: broken");
    let list = json!({"metadata": {"continue": "x"}, "items": []});
    let (_, note) = pods.found(Ok(serde_json::from_value(list).unwrap()));
    assert_eq!(
        note.unwrap(),
        "Pods: only the first 500 objects were checked."
    );
}
