//! The charts: what Helm takes and refuses, and what a real API server says of it.

mod values;

use std::path::{Path, PathBuf};

use drover_e2e::{CommandLine, ControlPlane, Options, Tool};
use serde_json::Value;

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

/// A kind of cert-manager's, as far as the chart uses it.
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
async fn a_real_api_server_takes_what_the_charts_make_of_values_that_make_sense() {
    let cluster = ControlPlane::start(Options::default()).await.unwrap();
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
        let made = helm
            .helm
            .run(helm.words(&["template", name], name, &values))
            .await
            .unwrap();
        let apply = kubectl.clone().with_stdin(made.stdout);
        let words = ["apply", "--dry-run=server", "--validate=strict", "-f", "-"];
        let told = apply.run(words).await.unwrap();
        // A pod that is not restricted is told by a warning about its Deployment.
        assert_eq!(told.stderr, "", "{values}");
    }
}

#[tokio::test]
async fn values_that_make_no_sense_are_refused_with_the_fields_name() {
    let folder = tempfile::tempdir().unwrap();
    let program = Tool::Helm.locate().await.unwrap();
    let helm = Helm {
        helm: CommandLine::new(&program, Path::new("/dev/null"), folder.path()),
        values: folder.path().join("values.json"),
    };
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
async fn the_server_is_installed_where_its_state_lies() {
    let cluster = ControlPlane::start(Options::default()).await.unwrap();
    let helm = cluster.helm().await.unwrap();
    let words = ["install", "drover", &chart(SERVER), "--dry-run=server"];
    let refused = helm.output(words).await.unwrap();
    assert!(!refused.status.success());
    let told = "--namespace drover-system --create-namespace";
    assert!(refused.stderr.contains(told), "{}", refused.stderr);
}
