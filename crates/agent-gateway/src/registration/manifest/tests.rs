use k8s_openapi::api::core::v1::Toleration;
use serde_json::json;

use super::*;

fn manifest() -> Manifest {
    Manifest {
        server_url: "https://drover.example:8443".into(),
        server_ca: "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n".into(),
        cluster_uid: ClusterUid::new("5a1d"),
        cluster_name: "shop".into(),
        token: "droverimport_bbbbbbbbbbbb_secretsecretsecret".into(),
        plan_keys: vec![
            PublicKey::from_bytes([1; 32]),
            PublicKey::from_bytes([2; 32]),
        ],
        image: "drover-agent:0.1.0".into(),
        image_pull_policy: "Never".into(),
        gitops_only: false,
    }
}

/// Returns the objects of the generated manifest.
fn objects() -> Vec<Value> {
    let yaml = manifest().write().unwrap();
    serde_saphyr::from_multiple(yaml.expose_secret()).unwrap()
}

fn named<'a>(objects: &'a [Value], kind: &str, name: &str) -> &'a Value {
    objects
        .iter()
        .find(|o| o["kind"] == kind && o["metadata"]["name"] == name)
        .unwrap_or_else(|| panic!("{kind} {name}"))
}

/// Compares a template of the agent's chart with generated objects. `condition` is a condition of Helm's
/// template language.
fn check_template(
    file: &str,
    condition: &str,
    write: fn(&mut Stream) -> Result<(), ManifestError>,
) {
    let mut stream = Stream::default();
    write(&mut stream).unwrap();
    let generated = format!(
        "{{{{- /* Generated from crates/agent-gateway/src/registration/manifest: DROVER_WRITE_DOCS=1 cargo test -p \
         drover-agent-gateway --lib chart_of_the_agent */ -}}}}\n{{{{- if {condition} }}}}\n{}{{{{- end }}}}\n",
        stream.yaml().unwrap()
    );
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../charts/drover-agent/templates")
        .join(file);
    if std::env::var_os("DROVER_WRITE_DOCS").is_some() {
        std::fs::write(&file, &generated).unwrap();
    }
    let found = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        found == generated,
        "{} is out of date; run DROVER_WRITE_DOCS=1 cargo test -p drover-agent-gateway --lib chart_of_the_agent",
        file.display()
    );
}

/// Checks that the agent's chart contains the generated RBAC objects, so that the chart and the
/// manifest grant the same permissions.
#[test]
fn agent_chart_contains_the_generated_rbac_rules() {
    check_template("rbac.yaml", "not .Values.fleet.enabled", rbac);
    check_template("rbac-fleet.yaml", ".Values.fleet.enabled", fleet::rbac);
}

fn fleet_manifest() -> FleetManifest {
    FleetManifest {
        image: "drover-agent:0.1.0".into(),
        image_pull_policy: "Never".into(),
        pod: PodOptions::default(),
        client_id: "c1".into(),
        labels: [("env".to_owned(), "prod".to_owned())].into(),
        bootstrap: [("tokenName".to_owned(), "import-token-edge".to_owned())].into(),
        token: "secretsecretsecret".into(),
    }
}

#[test]
fn agent_with_fleets_registration_can_use_only_its_own_secrets_and_the_deployer() {
    let objects = fleet_manifest().objects().unwrap();
    let rules = &named(&objects, "Role", AGENT)["rules"];
    let of = |resource: &str| {
        let rules = rules.as_array().unwrap().iter();
        let found = rules.filter(|rule| {
            rule["resources"]
                .as_array()
                .unwrap()
                .contains(&json!(resource))
        });
        found
            .map(|rule| (rule["resourceNames"].clone(), rule["verbs"].clone()))
            .collect::<Vec<_>>()
    };
    let secrets = [
        (Value::Null, json!(["create"])),
        (json!(["fleet-agent-bootstrap"]), json!(["get", "delete"])),
        (json!(["fleet-agent"]), json!(["get", "update"])),
        (json!(["drover-agent-release-key"]), json!(["get"])),
    ];
    assert_eq!(of("secrets"), secrets);
    let accounts = [(json!(["drover-deployer"]), json!(["create"]))];
    assert_eq!(of("serviceaccounts/token"), accounts);
    let mut cluster_wide = objects
        .iter()
        .filter(|object| object["kind"] == "ClusterRole");
    assert!(cluster_wide.next().is_none());
}

#[test]
fn agent_with_fleets_registration_receives_the_values_and_options_of_its_cluster() {
    let mut manifest = fleet_manifest();
    manifest.pod.env = vec![workload::value("HTTPS_PROXY", "http://proxy:3128")];
    manifest.pod.tolerations = vec![Toleration::default()];
    let objects = manifest.objects().unwrap();
    let pod = &named(&objects, "Deployment", AGENT)["spec"]["template"]["spec"];
    let env = pod["containers"][0]["env"].as_array().unwrap();
    assert!(env.contains(&json!({ "name": "DROVER_AGENT_FLEET_HUB", "value": "true" })));
    assert!(env.contains(&json!({ "name": "HTTPS_PROXY", "value": "http://proxy:3128" })));
    assert_eq!(pod["tolerations"].as_array().unwrap().len(), 2);
    let secret = named(&objects, "Secret", "fleet-agent-bootstrap");
    let stored: Secret = serde_json::from_value(secret.clone()).unwrap();
    assert_eq!(stored.data.unwrap()["token"].0, b"secretsecretsecret");
    let config = named(&objects, "ConfigMap", "fleet-agent")["data"]["config"].as_str();
    let config: Value = serde_json::from_str(config.unwrap()).unwrap();
    assert_eq!(
        config,
        json!({ "clientID": "c1", "labels": { "env": "prod" } })
    );
    assert!(!format!("{manifest:?}").contains("secretsecret"));
}

#[test]
fn manifest_starts_with_the_namespace_and_every_object_is_labelled() {
    let objects = objects();
    assert_eq!(objects[0]["kind"], "Namespace");
    for object in &objects {
        assert_eq!(
            object["metadata"]["labels"][MANAGED_BY_LABEL], MANAGED_BY,
            "{object}"
        );
        let clusterwide = [
            "Namespace",
            "ClusterRole",
            "ClusterRoleBinding",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
        ]
        .contains(&object["kind"].as_str().unwrap());
        assert_eq!(
            object["metadata"]["namespace"].is_null(),
            clusterwide,
            "{object}"
        );
    }
}

#[test]
fn agent_pod_satisfies_pod_security_level_restricted() {
    let objects = objects();
    let pod = &named(&objects, "Deployment", AGENT)["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    let security = &container["securityContext"];
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    assert_eq!(
        pod["securityContext"]["seccompProfile"]["type"],
        "RuntimeDefault"
    );
    assert_eq!(security["readOnlyRootFilesystem"], true);
    assert_eq!(security["allowPrivilegeEscalation"], false);
    assert_eq!(security["capabilities"]["drop"][0], "ALL");
    assert_eq!(container["imagePullPolicy"], "Never");
    assert_eq!(
        objects[0]["metadata"]["labels"]["pod-security.kubernetes.io/enforce"],
        "restricted"
    );
}

#[test]
fn roles_of_the_manifest_have_no_wildcards_and_read_only_their_own_secrets() {
    for object in objects() {
        let name = object["metadata"]["name"].clone();
        for rule in object["rules"].as_array().into_iter().flatten() {
            let text = rule.to_string();
            assert!(!text.contains("\"*\""), "{name} {text}");
            let secrets = rule["resources"]
                .as_array()
                .is_some_and(|r| r.iter().any(|r| r == "secrets"));
            let reads = rule["verbs"]
                .as_array()
                .unwrap()
                .iter()
                .any(|v| v != "create");
            if secrets && reads {
                let namespace = object["metadata"]["namespace"].as_str();
                match (namespace, name.as_str().unwrap()) {
                    (Some(AGENT_NAMESPACE), AGENT) => {
                        assert!(rule["resourceNames"].is_array(), "{text}");
                    }
                    // The namespace of the node agents contains only the Secrets of the endpoint.
                    (Some(NODE_AGENT_NAMESPACE), "drover-controller") => {}
                    (Some(NODE_AGENT_NAMESPACE), "drover-node-agent-endpoint") => {
                        assert_eq!(rule["verbs"], json!(["list", "watch"]));
                    }
                    other => panic!("{other:?} reads Secrets: {text}"),
                }
            }
            assert!(!text.contains("impersonate"), "{name} {text}");
        }
    }
}

#[test]
fn config_map_of_the_manifest_contains_each_upgrade_plan_key() {
    let objects = objects();
    let keys = named(&objects, "ConfigMap", "drover-agent-plan-keys")["data"]
        .as_object()
        .unwrap();
    assert_eq!(keys.len(), 2);
    assert_eq!(
        keys["0002.ed25519"],
        PublicKey::from_bytes([2; 32]).encode()
    );
}

#[test]
fn manifest_contains_the_token_only_in_its_secret() {
    let yaml = manifest().write().unwrap();
    let count = |case: &str| yaml.expose_secret().matches(case).count();
    assert_eq!(count("secretsecret"), 0, "only base64 of it");
    let objects = objects();
    let secret = named(&objects, "Secret", "drover-agent-registration");
    let stored: Secret = serde_json::from_value(secret.clone()).unwrap();
    assert_eq!(
        stored.data.unwrap()["token"].0,
        manifest().token.expose_secret().as_bytes()
    );
    assert!(!format!("{:?}", manifest()).contains("secretsecret"));
}
