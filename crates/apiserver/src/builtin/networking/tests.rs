use super::*;

fn messages(check: impl FnOnce(&mut Findings)) -> Vec<String> {
    let mut found = Findings::default();
    check(&mut found);
    found
        .0
        .iter()
        .map(|one| format!("{}: {}", one.path, one.detail))
        .collect()
}

#[test]
fn ingress_without_rules_and_default_backend_is_rejected_and_paths_are_validated() {
    let path = |path: Value| json!({"spec": {"rules": [{"host": "a.example", "http": {"paths": [path]}}]}});
    let backend = json!({"service": {"name": "web", "port": {"number": 80}}});
    let good = path(json!({"path": "/", "pathType": "Prefix", "backend": backend}));
    assert_eq!(messages(|found| ingress(&good, found)), [""; 0]);
    for (value, expected) in [
        (
            json!({"spec": {}}),
            "spec: either `defaultBackend` or `rules` must be specified",
        ),
        (
            path(json!({"path": "/", "backend": backend})),
            "spec.rules[0].http.paths[0].pathType: pathType must be specified",
        ),
        (
            path(json!({"path": "a", "pathType": "Exact", "backend": backend})),
            "spec.rules[0].http.paths[0].path: must be an absolute path",
        ),
        (
            path(json!({"path": "/", "pathType": "Prefix", "backend": {}})),
            "spec.rules[0].http.paths[0].backend: resource or service backend is required",
        ),
    ] {
        assert_eq!(messages(|found| ingress(&value, found)), [expected]);
    }
}

#[test]
fn network_policy_is_defaulted_and_its_ranges_are_validated() {
    let mut value = json!({"spec": {"egress": [{"ports": [{"port": 53}],
        "to": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16", "11.0.0.0/16"]}}]}]}});
    fill("NetworkPolicy", &mut value);
    assert_eq!(value["spec"]["policyTypes"], json!(["Ingress", "Egress"]));
    assert_eq!(value["spec"]["egress"][0]["ports"][0]["protocol"], "TCP");
    let found = messages(|found| policy(&value["spec"], found));
    assert_eq!(
        found,
        ["spec.egress[0].to[0].ipBlock.except[1]: must be a strict subset of `cidr`"]
    );
}

#[test]
fn ingress_class_controller_name_requires_a_domain_prefix() {
    let class = |controller: &str| json!({"controller": controller});
    assert_eq!(
        messages(|found| ingress_class(&class("a.io/x"), found)),
        [""; 0]
    );
    for wrong in ["", "x", "a.io/"] {
        assert_eq!(
            messages(|found| ingress_class(&class(wrong), found)).len(),
            1
        );
    }
}
