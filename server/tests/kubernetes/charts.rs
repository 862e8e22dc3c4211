//! Tests that the chart drover-agent and the import manifest create the same objects.

use std::collections::BTreeMap;
use std::path::Path;

use drover_access::proof::PublicKey;
use drover_agent_gateway::registration::manifest::{FleetManifest, Manifest, PodOptions};
use drover_api::ids::ClusterUid;
use drover_e2e::{CommandLine, Tool};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

type Objects = BTreeMap<(String, String), Value>;

fn manifest(keys: &[u8], image: &str, pull: &str) -> Manifest {
    let keys = keys.iter().map(|&byte| PublicKey::from_bytes([byte; 32]));
    Manifest {
        server_url: "https://drover.example:8443".into(),
        server_ca: "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n".into(),
        cluster_uid: ClusterUid::new("5a1d"),
        cluster_name: "shop".into(),
        token: "droverimport_bbbbbbbbbbbb_secretsecretsecret".into(),
        plan_keys: keys.collect(),
        image: image.into(),
        image_pull_policy: pull.into(),
        gitops_only: false,
    }
}

/// Returns the values that `drover cluster import --values` prints for this manifest. The test
/// `chart_values_contain_all_variable_fields_of_the_manifest` checks the format.
fn values(of: &Manifest) -> Value {
    let keys: Vec<_> = of.plan_keys.iter().map(PublicKey::encode).collect();
    json!({
        "cluster": { "name": of.cluster_name, "uid": of.cluster_uid },
        "server": { "url": of.server_url, "ca": of.server_ca },
        "planKeys": keys,
        "registration": { "token": of.token.expose_secret() },
        "image": { "name": of.image, "pullPolicy": of.image_pull_policy },
        "tunnel": { "enabled": !of.gitops_only },
    })
}

fn objects(yaml: &str) -> Objects {
    let objects: Vec<Value> = serde_saphyr::from_multiple(yaml).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let objects = objects.into_iter().filter(|object| !object.is_null());
    objects
        .map(|object| {
            let key = (text(&object["kind"]), text(&object["metadata"]["name"]));
            (key, object)
        })
        .collect()
}

async fn rendered(values: &Value, namespace: &str) -> Objects {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("values.json");
    std::fs::write(&file, values.to_string()).unwrap();
    let helm = Tool::Helm.locate().await.unwrap();
    let chart = Path::new(env!("CARGO_MANIFEST_DIR")).join("../charts/drover-agent");
    let (chart, file) = (chart.to_str().unwrap(), file.to_str().unwrap());
    let words = [
        "template",
        "drover-agent",
        chart,
        "--kube-version=1.36.3",
        "--namespace",
        namespace,
        "--values",
        file,
    ];
    let helm = CommandLine::new(&helm, Path::new("/dev/null"), home.path());
    objects(&helm.run(words).await.unwrap().stdout)
}

#[tokio::test]
async fn agent_chart_renders_the_objects_of_the_manifest() {
    let digest = "registry.example:5000/a/drover-agent@sha256:00";
    for (keys, image, pull) in [
        (&[1][..], "drover-agent:0.1.0", "IfNotPresent"),
        (&[1, 2], digest, "Always"),
    ] {
        let manifest = manifest(keys, image, pull);
        let expected = objects(manifest.write().unwrap().expose_secret());
        let found = rendered(&values(&manifest), "default").await;
        let names = |of: &Objects| of.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&found), names(&expected));
        for (name, expected) in &expected {
            assert_eq!(&found[name], expected, "{name:?}");
        }
    }
}

#[tokio::test]
async fn agent_chart_omits_objects_created_by_helm_or_a_user() {
    let manifest = manifest(&[1], "drover-agent:0.1.0", "Never");
    let mut values = values(&manifest);
    let whole = rendered(&values, "default").await;
    let lacks = |found: &Objects| {
        let missing = whole.keys().filter(|name| !found.contains_key(*name));
        missing.map(|(kind, _)| kind.clone()).collect::<Vec<_>>()
    };
    let in_own_namespace = rendered(&values, "drover-agent").await;
    assert_eq!(lacks(&in_own_namespace), ["Namespace"]);
    values["registration"]["token"] = "".into();
    let without_token = rendered(&values, "default").await;
    assert_eq!(lacks(&without_token), ["Secret"]);
}

#[tokio::test]
async fn agent_chart_can_omit_node_agents_and_their_priority_class() {
    let manifest = manifest(&[1], "drover-agent:0.1.0", "Never");
    let mut values = values(&manifest);
    let daemon_sets = |found: &Objects| {
        let found = found.iter().filter(|((kind, _), _)| kind == "DaemonSet");
        let pods = found.map(|(_, object)| object["spec"]["template"]["spec"].clone());
        pods.collect::<Vec<_>>()
    };
    values["nodeAgent"] = json!({ "priorityClassName": "" });
    let found = daemon_sets(&rendered(&values, "default").await);
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|pod| pod["priorityClassName"].is_null()));
    values["nodeAgent"] = json!({ "enabled": false });
    assert_eq!(
        daemon_sets(&rendered(&values, "default").await),
        [Value::Null; 0]
    );
}

#[tokio::test]
async fn agent_chart_with_fleets_registration_renders_the_objects_of_the_imported_manifest() {
    let values = json!({
        "apiServerURL": "https://hub.example/k8s/clusters/local", "apiServerCA": "-----BEGIN\nMAA=\n",
        "clusterNamespace": "fleet-default", "token": "secretsecret", "tokenName": "edge",
        "systemRegistrationNamespace": "cattle-fleet-clusters-system",
        "fleet": { "enabled": true, "clientID": "c1", "labels": { "env": "prod" } },
        "image": { "name": "drover-agent:0.1.0", "pullPolicy": "IfNotPresent" },
    });
    let entry = |key: &str| (key.to_owned(), values[key].as_str().unwrap().to_owned());
    let entries = [
        "apiServerURL",
        "apiServerCA",
        "clusterNamespace",
        "tokenName",
        "systemRegistrationNamespace",
    ];
    let manifest = FleetManifest {
        image: "drover-agent:0.1.0".to_owned(),
        image_pull_policy: "IfNotPresent".to_owned(),
        pod: PodOptions::default(),
        client_id: "c1".to_owned(),
        labels: [("env".to_owned(), "prod".to_owned())].into(),
        bootstrap: entries.map(entry).into(),
        token: "secretsecret".into(),
    };
    let key = |object: &Value| {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        (text(&object["kind"]), text(&object["metadata"]["name"]))
    };
    let objects = manifest.objects().unwrap().into_iter();
    let expected: Objects = objects.map(|object| (key(&object), object)).collect();
    assert_eq!(rendered(&values, "default").await, expected);
}
