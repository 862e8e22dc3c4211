//! Tests which values the charts accept and reject. Validates the objects of the charts with a real
//! API server.

mod values;

use std::path::{Path, PathBuf};

use drover_e2e::{CommandLine, ControlPlane, SharedControlPlane, Tool};
use serde_json::{Value, json};

const SERVER: &str = "drover";
const AGENT: &str = "drover-agent";

fn chart(name: &str) -> String {
    let charts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../charts");
    charts.join(name).display().to_string()
}

struct Helm {
    helm: CommandLine,
    values: PathBuf,
}

impl Helm {
    fn words(&self, first: &[&str], name: &str, values: &Value) -> Vec<String> {
        std::fs::write(&self.values, values.to_string()).unwrap();
        let namespace = if name == SERVER {
            "drover-system"
        } else {
            "drover-agent"
        };
        let file = self.values.display().to_string();
        let chart = chart(name);
        let rest = [
            chart.as_str(),
            "--kube-version=1.36.3",
            "--namespace",
            namespace,
            "--values",
            &file,
        ];
        first
            .iter()
            .copied()
            .chain(rest)
            .map(str::to_owned)
            .collect()
    }
}

/// The CustomResourceDefinition of cert-manager's Certificate. Contains only the fields that the
/// chart uses.
const CERTIFICATES: &str = r#"{
  "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
  "metadata": { "name": "certificates.cert-manager.io" },
  "spec": {
    "group": "cert-manager.io", "scope": "Namespaced",
    "names": { "kind": "Certificate", "listKind": "CertificateList", "plural": "certificates", "singular": "certificate" },
    "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
      "type": "object", "x-kubernetes-preserve-unknown-fields": true
    } } }]
  }
}"#;

#[tokio::test]
async fn api_server_accepts_the_charts_with_valid_values() {
    let cluster = SharedControlPlane::lease("cluster").await.unwrap();
    let helm = Helm {
        helm: cluster.helm().await.unwrap(),
        values: cluster.folder().join("values.json"),
    };
    let kubectl = cluster.command_line();
    let kind = kubectl.clone().with_stdin(CERTIFICATES);
    kind.run(["apply", "-f", "-"]).await.unwrap();
    let established = "--for=condition=Established";
    let words = ["wait", established, "crd/certificates.cert-manager.io"];
    kubectl.run(words).await.unwrap();
    // A dry run of the chart creates no namespace.
    kubectl
        .run(["create", "namespace", "drover-node-agent", "--save-config"])
        .await
        .unwrap();
    for namespace in ["drover-system", "drover-agent"] {
        kubectl
            .run(["create", "namespace", namespace])
            .await
            .unwrap();
        let restricted = "pod-security.kubernetes.io/warn=restricted";
        kubectl
            .run(["label", "namespace", namespace, restricted])
            .await
            .unwrap();
    }
    for (name, values) in values::good() {
        helm.helm
            .run(helm.words(&["lint", "--strict"], name, &values))
            .await
            .unwrap();
        let created = helm
            .helm
            .run(helm.words(&["template", name], name, &values))
            .await
            .unwrap();
        let apply = kubectl.clone().with_stdin(created.stdout);
        let words = ["apply", "--dry-run=server", "--validate=strict", "-f", "-"];
        let reported = apply.run(words).await.unwrap();
        // A Deployment whose pods are not restricted causes a warning.
        assert_eq!(reported.stderr, "", "{values}");
    }
}

/// Returns a Helm command that connects to no cluster.
async fn alone(folder: &Path) -> Helm {
    let program = Tool::Helm.locate().await.unwrap();
    Helm {
        helm: CommandLine::new(&program, Path::new("/dev/null"), folder),
        values: folder.join("values.json"),
    }
}

#[tokio::test]
async fn error_of_invalid_chart_values_names_the_field() {
    let folder = tempfile::tempdir().unwrap();
    let helm = alone(folder.path()).await;
    for ((name, values), field) in values::bad() {
        let refused = helm
            .helm
            .output(helm.words(&["template", name], name, &values))
            .await
            .unwrap();
        assert!(!refused.status.success(), "{name} took {values}");
        assert!(
            refused.stderr.contains(field),
            "{values}: {}",
            refused.stderr
        );
    }
}

#[tokio::test]
async fn certificate_contains_all_names_of_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let helm = alone(folder.path()).await;
    let service = "drover.drover-system.svc";
    for (url, webhook, names, addresses) in [
        (
            "https://drover.example:444",
            "",
            json!([service, "drover.example"]),
            Value::Null,
        ),
        (
            "https://192.0.2.7",
            "",
            json!([service]),
            json!(["192.0.2.7"]),
        ),
        (
            "https://drover.example",
            "https://inside.example:8443",
            json!([service, "drover.example", "inside.example"]),
            Value::Null,
        ),
        (
            "https://drover.example",
            "edge/way-in:8443",
            json!([service, "drover.example", "way-in.edge.svc"]),
            Value::Null,
        ),
        (
            "https://192.0.2.7",
            "https://[2001:db8::7]:8443",
            json!([service]),
            json!(["192.0.2.7", "2001:db8::7"]),
        ),
        (
            "https://192.0.2.7:8443",
            "https://192.0.2.7",
            json!([service]),
            json!(["192.0.2.7"]),
        ),
    ] {
        let values = values::certified(url, webhook);
        let only = ["template", SERVER, "--show-only=templates/certificate.yaml"];
        let created = helm.helm.run(helm.words(&only, SERVER, &values)).await;
        let created: Value = serde_saphyr::from_str(&created.unwrap().stdout).unwrap();
        assert_eq!(created["spec"]["dnsNames"], names, "{values}");
        assert_eq!(created["spec"]["ipAddresses"], addresses, "{values}");
    }
}

/// Installs the agent's chart into the given namespace. Returns the notes that Helm prints.
async fn notes(cluster: &ControlPlane, namespace: &str) -> String {
    let helm = Helm {
        helm: cluster.helm().await.unwrap(),
        values: cluster.folder().join("values.json"),
    };
    let (_, values) = values::good()
        .into_iter()
        .rfind(|(name, _)| *name == AGENT)
        .unwrap();
    std::fs::write(&helm.values, values.to_string()).unwrap();
    let (chart, file) = (chart(AGENT), helm.values.display().to_string());
    let install = [
        "install",
        "the-agent",
        &chart,
        "--dry-run=server",
        "--values",
        &file,
    ];
    let place = ["--namespace", namespace];
    let reported = helm
        .helm
        .run(install.into_iter().chain(place))
        .await
        .unwrap();
    let (_, notes) = reported.stdout.split_once("NOTES:").unwrap();
    notes.to_owned()
}

#[tokio::test]
async fn notes_of_the_agent_chart_contain_commands_for_the_release_namespace() {
    let cluster = SharedControlPlane::lease("cluster").await.unwrap();
    let label =
        "kubectl label namespace drover-agent pod-security.kubernetes.io/enforce=restricted";
    // Deleting the cluster at the server also deletes the namespace and the Helm release in it.
    let uninstall = "helm uninstall the-agent";
    let notes_there = notes(&cluster, "drover-agent").await;
    assert!(notes_there.contains(label), "{notes_there}");
    assert!(!notes_there.contains(uninstall), "{notes_there}");
    let notes_elsewhere = notes(&cluster, "default").await;
    assert!(!notes_elsewhere.contains(label), "{notes_elsewhere}");
    assert!(notes_elsewhere.contains(uninstall), "{notes_elsewhere}");
}

#[tokio::test]
async fn server_chart_is_rejected_outside_namespace_drover_system() {
    let cluster = SharedControlPlane::lease("cluster").await.unwrap();
    let helm = cluster.helm().await.unwrap();
    let words = ["install", "drover", &chart(SERVER), "--dry-run=server"];
    let refused = helm.output(words).await.unwrap();
    assert!(!refused.status.success());
    let reported = "--namespace drover-system --create-namespace";
    assert!(refused.stderr.contains(reported), "{}", refused.stderr);
}
