use serde_json::{Value, json};

use super::*;
use crate::object::{FactTable, Overview, SectionContent};

fn overview(kind: Kind, value: Value) -> Overview {
    Overview::of(kind, &Object::from(value))
}

fn words(value: &FactValue) -> String {
    match value {
        FactValue::Text(text) | FactValue::Long(text) => text.clone(),
        FactValue::Codes(items) | FactValue::Lines(items) => items.join(" | "),
        FactValue::At(at) => at.to_string(),
        FactValue::List(kind) => kind.list_screen("berlin"),
        FactValue::Links(links) => {
            let links = links.iter().map(|link| match &link.target {
                Some(target) => format!("{} -> {}", link.words, target.screen("berlin")),
                None => link.words.clone(),
            });
            links.collect::<Vec<_>>().join(" | ")
        }
    }
}

/// Returns the facts and the rows of all sections as lines.
fn lines(sections: &[Section]) -> Vec<String> {
    let section = |section: &Section| match &section.content {
        SectionContent::Facts(facts) => {
            let facts = facts.iter();
            facts
                .map(|fact| format!("{}: {}", fact.name, words(&fact.worth)))
                .collect::<Vec<_>>()
        }
        SectionContent::Table(FactTable { rows, .. }) => {
            let row = |row: &Vec<FactValue>| row.iter().map(words).collect::<Vec<_>>().join("; ");
            rows.iter().map(row).collect()
        }
    };
    sections.iter().flat_map(section).collect()
}

fn check(kind: Kind, value: Value, expected: &[&str]) {
    assert_eq!(lines(&overview(kind, value).sections), expected, "{kind:?}");
}

fn state(kind: Kind, value: Value) -> Option<(Severity, String)> {
    let state = overview(kind, value).object_state;
    state.map(|state| (state.severity, state.words))
}

#[test]
fn service_shows_addresses_ports_and_selector() {
    let service = json!({
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"type": "LoadBalancer", "clusterIPs": ["10.0.0.1"], "selector": {"app": "web"},
            "ports": [{"name": "http", "port": 80, "targetPort": "web", "nodePort": 30080},
                {"port": 53, "protocol": "UDP"}]},
    });
    check(
        Kind::SERVICES,
        service.clone(),
        &[
            "Type: LoadBalancer",
            "Cluster IP: 10.0.0.1",
            "Selector: app=web",
            "http; 80; web; 30080; TCP",
            "; 53; 53; ; UDP",
        ],
    );
    let waiting = (Severity::Progressing, "waiting for an address".to_owned());
    assert_eq!(state(Kind::SERVICES, service.clone()), Some(waiting));
    let mut assigned = service;
    assigned["status"] = json!({"loadBalancer": {"ingress": [{"hostname": "lb.example.com"}]}});
    assert_eq!(state(Kind::SERVICES, assigned), None);
}

#[test]
fn endpoints_are_counted_by_their_state() {
    let service = Object::from(json!({"metadata": {"name": "web", "namespace": "shop"}}));
    let lists = listed_sections(Kind::SERVICES, &service);
    let [list] = lists.as_slice() else {
        panic!("a service has one list: {lists:?}");
    };
    assert_eq!(
        list.source("berlin").url(&crate::feed::NextRequest::List),
        "/k8s/clusters/berlin/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices?limit=100\
         &labelSelector=kubernetes.io%2Fservice-name%3Dweb"
    );
    let slice = Object::from(json!({
        "metadata": {"name": "web-1", "namespace": "shop"},
        "endpoints": [
            {"addresses": ["10.1.0.1"], "conditions": {"ready": true}, "nodeName": "n1",
                "targetRef": {"kind": "Pod", "name": "web-a"}},
            {"addresses": ["10.1.0.2"], "conditions": {"ready": false}},
            {"addresses": ["10.1.0.3"], "conditions": {"ready": false, "serving": true, "terminating": true}},
            {"addresses": ["10.1.0.4"]},
        ],
    }));
    assert_eq!(
        lines(&list.sections(&[slice])),
        [
            "Ready: 2",
            "Not ready: 1",
            "Terminating: 1",
            "10.1.0.1; web-a -> /clusters/berlin/pods/shop/web-a; n1 -> /clusters/berlin/nodes/-/n1; ready",
            "10.1.0.2; ; ; not ready",
            "10.1.0.3; ; ; terminating, still serving",
            "10.1.0.4; ; ; ready",
        ]
    );
}

#[test]
fn quotas_and_limits_are_sections_of_the_namespace() {
    let namespace = Object::from(json!({"metadata": {"name": "shop"}}));
    let lists = listed_sections(Kind::NAMESPACES, &namespace);
    let quota = json!({"metadata": {"name": "q", "namespace": "shop"},
        "spec": {"hard": {"pods": "10"}}, "status": {"used": {"pods": "3"}}});
    let limits = json!({"metadata": {"name": "l", "namespace": "shop"},
        "spec": {"limits": [{"type": "Container", "default": {"cpu": "1"}, "max": {"memory": "1Gi"}}]}});
    assert_eq!(
        lines(&lists[0].sections(&[quota.into()])),
        ["q -> /clusters/berlin/resourcequotas/shop/q; pods; 3; 10"]
    );
    assert_eq!(
        lines(&lists[1].sections(&[limits.into()])),
        [
            "l -> /clusters/berlin/limitranges/shop/l; Container cpu; ; ; 1; ",
            "l -> /clusters/berlin/limitranges/shop/l; Container memory; ; 1Gi; ; ",
        ]
    );
}

#[test]
fn ingress_shows_hosts_paths_backends_and_secrets() {
    let ingress = json!({
        "metadata": {"namespace": "shop"},
        "spec": {
            "ingressClassName": "nginx",
            "rules": [{"host": "shop.example.com", "http": {"paths": [{"path": "/api",
                "pathType": "Prefix", "backend": {"service": {"name": "api", "port": {"number": 80}}}}]}}],
            "tls": [{"hosts": ["shop.example.com"], "secretName": "shop-tls"}],
        },
    });
    check(
        Kind::INGRESSES,
        ingress,
        &[
            "Class: nginx -> /clusters/berlin/ingressclasses/-/nginx",
            "shop.example.com; /api; Prefix; api:80 -> /clusters/berlin/services/shop/api",
            "shop.example.com; shop-tls -> /clusters/berlin/secrets/shop/shop-tls",
        ],
    );
}

#[test]
fn config_map_shows_values_and_marks_binary_data() {
    check(
        Kind::CONFIG_MAPS,
        json!({"data": {"a": "x=1"}, "binaryData": {"b": "AP8="}, "immutable": true}),
        &[
            "Immutable: yes",
            "a; 3 bytes; x=1",
            "b; 2 bytes; binary data",
        ],
    );
}

#[test]
fn tables_have_a_maximum_number_of_rows() {
    let data: serde_json::Map<_, _> = (0..1_000).map(|n| (format!("k{n}"), json!("v"))).collect();
    let overview = overview(Kind::CONFIG_MAPS, json!({"data": data}));
    let SectionContent::Table(table) = &overview.sections[0].content else {
        panic!("the data is a table");
    };
    assert_eq!((table.rows.len(), table.hidden), (300, 700));
}

#[test]
fn network_policy_is_readable_text() {
    let policy = json!({"spec": {
        "podSelector": {"matchLabels": {"app": "db"}},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [
            {"from": [
                {"podSelector": {"matchLabels": {"app": "api"}}},
                {"namespaceSelector": {}, "podSelector": {"matchLabels": {"app": "job"}}},
                {"namespaceSelector": {"matchLabels": {"team": "a"}}},
                {"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}},
            ], "ports": [{"port": 5432}, {"port": 8000, "endPort": 8080, "protocol": "UDP"}]},
            {},
        ],
    }});
    check(
        Kind::NETWORK_POLICIES,
        policy,
        &[
            "Selected pods: pods with app=db",
            "Policy types: Ingress, Egress",
            "Ingress; pods with app=api in this namespace | pods with app=job in all namespaces | \
         all pods in namespaces with team=a | 10.0.0.0/8 except 10.1.0.0/16; 5432/TCP | 8000–8080/UDP",
            "Ingress; all peers; all ports",
            "Egress; no peers: all traffic is denied; ",
        ],
    );
}

#[test]
fn network_policy_without_types_restricts_ingress() {
    check(
        Kind::NETWORK_POLICIES,
        json!({"spec": {"podSelector": {}}}),
        &[
            "Selected pods: all pods",
            "Policy types: Ingress",
            "Ingress; no peers: all traffic is denied; ",
        ],
    );
}

#[test]
fn disruption_budget_has_the_state_of_its_pods() {
    let of = |allowed: i64, expected: i64| {
        let status = json!({"disruptionsAllowed": allowed, "expectedPods": expected});
        state(Kind::DISRUPTION_BUDGETS, json!({"status": status}))
            .unwrap()
            .0
    };
    assert_eq!(of(1, 3), Severity::Healthy);
    assert_eq!(of(0, 3), Severity::Degraded);
    assert_eq!(of(0, 0), Severity::Idle);
}

#[test]
fn autoscaler_shows_current_and_target_metrics() {
    let autoscaler = json!({
        "metadata": {"namespace": "shop"},
        "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": 2, "maxReplicas": 5, "metrics": [
                {"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 80}}},
                {"type": "ContainerResource", "containerResource": {"name": "memory", "container": "web",
                    "target": {"averageValue": "100Mi"}}},
            ]},
        "status": {"currentReplicas": 5, "desiredReplicas": 5,
            "currentMetrics": [{"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 95}}}],
            "conditions": [{"type": "ScalingActive", "status": "True"},
                {"type": "ScalingLimited", "status": "True", "message": "too many"}]},
    });
    check(
        Kind::AUTOSCALERS,
        autoscaler.clone(),
        &[
            "Scale target: Deployment web -> /clusters/berlin/deployments/shop/web",
            "Current: 5",
            "Desired: 5",
            "Minimum: 2",
            "Maximum: 5",
            "cpu; 95 %; 80 %",
            "memory of web; unknown; 100Mi on average",
        ],
    );
    let limited = (Severity::Degraded, "at the replica limit".to_owned());
    assert_eq!(state(Kind::AUTOSCALERS, autoscaler), Some(limited));
}

#[test]
fn volumes_claims_and_classes_show_their_binding() {
    check(
        Kind::VOLUME_CLAIMS,
        json!({"spec": {"volumeName": "pv-1", "storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}}}, "status": {"phase": "Bound", "capacity": {"storage": "2Gi"}}}),
        &[
            "Volume: pv-1 -> /clusters/berlin/persistentvolumes/-/pv-1",
            "Class: fast -> /clusters/berlin/storageclasses/-/fast",
            "Requested: 1Gi",
            "Capacity: 2Gi",
            "Access modes: ReadWriteOnce",
        ],
    );
    check(
        Kind::VOLUMES,
        json!({"spec": {"claimRef": {"namespace": "shop", "name": "data"}, "capacity": {"storage": "2Gi"},
            "persistentVolumeReclaimPolicy": "Retain", "csi": {"driver": "ebs", "volumeHandle": "v-1"}}}),
        &[
            "Claim: shop/data -> /clusters/berlin/persistentvolumeclaims/shop/data",
            "Capacity: 2Gi",
            "Reclaim policy: Retain",
            "Source: csi ebs v-1",
        ],
    );
    let lost = state(Kind::VOLUME_CLAIMS, json!({"status": {"phase": "Lost"}}));
    assert_eq!(lost, Some((Severity::Failing, "Lost".to_owned())));
    check(
        Kind::STORAGE_CLASSES,
        json!({"metadata": {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
            "provisioner": "ebs", "volumeBindingMode": "Immediate", "parameters": {"type": "gp3"}}),
        &[
            "Provisioner: ebs",
            "Default class: yes",
            "Reclaim policy: Delete",
            "Volume binding: Immediate",
            "Volume expansion: no",
            "Parameters: type=gp3",
        ],
    );
}

#[test]
fn roles_and_bindings_show_rules_and_subjects() {
    check(
        Kind::CLUSTER_ROLES,
        json!({"rules": [
            {"apiGroups": ["", "apps"], "resources": ["pods"], "verbs": ["get"], "resourceNames": ["a"]},
            {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
        ]}),
        &["pods; core, apps; get; a", "/metrics; ; get; "],
    );
    check(
        Kind::ROLE_BINDINGS,
        json!({"metadata": {"namespace": "shop"},
            "roleRef": {"kind": "ClusterRole", "name": "view"},
            "subjects": [{"kind": "User", "name": "nora"},
                {"kind": "ServiceAccount", "name": "ci", "namespace": "build"}]}),
        &[
            "Role: ClusterRole view -> /clusters/berlin/clusterroles/-/view",
            "User; nora; ",
            "ServiceAccount; ci -> /clusters/berlin/serviceaccounts/build/ci; build",
        ],
    );
    check(
        Kind::SERVICE_ACCOUNTS,
        json!({"metadata": {"namespace": "shop"}, "imagePullSecrets": [{"name": "registry"}]}),
        &[
            "Mounts a token into pods: yes",
            "Image pull Secrets: registry -> /clusters/berlin/secrets/shop/registry",
        ],
    );
}

#[test]
fn lease_shows_its_holder_and_its_renewal() {
    check(
        Kind::LEASES,
        json!({"spec": {"holderIdentity": "node-1", "renewTime": "2026-11-22T00:00:00.000000Z",
            "leaseDurationSeconds": 40}}),
        &[
            "Holder: node-1",
            "Renewed: 2026-11-22T00:00:00Z",
            &format!("Lease duration: {}", t().durations.seconds(40)),
        ],
    );
}

#[test]
fn definition_shows_its_versions_and_links_to_its_list() {
    let definition = json!({
        "spec": {"group": "example.com", "scope": "Namespaced",
            "names": {"kind": "Backup", "plural": "backups", "shortNames": ["bk"]},
            "versions": [{"name": "v1beta1", "served": false, "deprecated": true},
                {"name": "v1", "served": true, "storage": true}]},
        "status": {"conditions": [{"type": "Established", "status": "True"}]},
    });
    check(
        Kind::DEFINITIONS,
        definition.clone(),
        &[
            "Objects: /clusters/berlin/backups.example.com",
            "Kind: Backup",
            "Group: example.com",
            "Scope: Namespaced",
            "Plural: backups",
            "Short names: bk",
            "v1beta1; no; no; yes",
            "v1; yes; yes; no",
        ],
    );
    let established = (Severity::Healthy, "established".to_owned());
    assert_eq!(state(Kind::DEFINITIONS, definition), Some(established));
}

#[test]
fn gateway_and_route_show_the_conditions_of_listeners_and_parents() {
    let gateways = GATEWAYS.kind().unwrap();
    let not_resolved = json!([{"type": "Accepted", "status": "True"},
        {"type": "ResolvedRefs", "status": "False", "reason": "InvalidCertificateRef", "message": "no secret"}]);
    check(
        gateways,
        json!({"spec": {"gatewayClassName": "envoy", "listeners": [
                {"name": "web", "protocol": "HTTPS", "port": 443}, {"name": "new", "protocol": "HTTP", "port": 80}]},
            "status": {"listeners": [{"name": "web", "attachedRoutes": 2, "conditions": not_resolved}]}}),
        &[
            "Class: envoy",
            "web; HTTPS; 443; ; 2; not ResolvedRefs: InvalidCertificateRef",
            "new; HTTP; 80; ; ; unknown",
        ],
    );
    let route = json!({
        "metadata": {"namespace": "shop"},
        "spec": {"hostnames": ["shop.example.com"], "parentRefs": [{"name": "edge", "namespace": "infra"}],
            "rules": [{"matches": [{"method": "GET", "path": {"type": "Exact", "value": "/a"}}],
                "backendRefs": [{"name": "api", "port": 80, "weight": 9}]}, {}]},
        "status": {"parents": [{"parentRef": {"name": "edge", "namespace": "infra"}, "conditions": not_resolved}]},
    });
    let routes = HTTP_ROUTES.kind().unwrap();
    check(
        routes,
        route.clone(),
        &[
            "Hosts: shop.example.com",
            "Gateway edge -> /clusters/berlin/gateways.gateway.networking.k8s.io/infra/edge; ; \
         not ResolvedRefs: InvalidCertificateRef",
            "GET = /a; api:80 (weight 9) -> /clusters/berlin/services/shop/api; ",
            "/; ; ",
        ],
    );
    let failing = (Severity::Failing, "not ResolvedRefs".to_owned());
    assert_eq!(state(routes, route), Some(failing));
}

#[test]
fn custom_resource_has_the_state_of_its_condition_ready() {
    let kind = Kind::discovered("services", "Service", "serving.knative.dev/v1", true).unwrap();
    let of = |status: &str| {
        let conditions = json!([{"type": "Ready", "status": status, "message": "no route"}]);
        state(kind, json!({"status": {"conditions": conditions}}))
    };
    assert_eq!(of("True"), Some((Severity::Healthy, "Ready".to_owned())));
    assert_eq!(
        of("False"),
        Some((Severity::Failing, "not Ready".to_owned()))
    );
    assert_eq!(
        of("Unknown"),
        Some((Severity::Degraded, "unknown".to_owned()))
    );
    assert_eq!(state(kind, json!({"spec": {"replicas": 3}})), None);
}
