//! Writes the manifests of the form in YAML.

use serde::Serialize;
use serde_json::{Value, json};

use super::{FormField, WorkloadForm, WorkloadKind};
use crate::action::pairs_of_text;

/// The recommended label with the name of an application.
const NAME_LABEL: &str = "app.kubernetes.io/name";

/// A manifest, with its fields in the usual order.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    api_version: &'static str,
    kind: &'static str,
    metadata: Metadata,
    spec: Value,
}

#[derive(Serialize)]
struct Metadata {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
    labels: Value,
}

impl WorkloadForm {
    /// Returns the manifests in YAML. The caller has checked [`WorkloadForm::errors`].
    pub fn manifests(&self) -> String {
        let workload = match self.kind {
            WorkloadKind::Deployment => ("apps/v1", self.replicated(json!({}))),
            WorkloadKind::StatefulSet => (
                "apps/v1",
                self.replicated(json!({ "serviceName": self.get(FormField::Name) })),
            ),
            WorkloadKind::DaemonSet => ("apps/v1", self.selecting(json!({}))),
            WorkloadKind::Job => ("batch/v1", json!({ "template": self.template() })),
            WorkloadKind::CronJob => (
                "batch/v1",
                json!({
                    "schedule": self.get(FormField::Schedule),
                    "concurrencyPolicy": "Forbid",
                    "jobTemplate": {"spec": {"template": self.template()}},
                }),
            ),
        };
        let (api_version, spec) = workload;
        let mut text = self.manifest(api_version, self.kind.name(), spec);
        if let Some(service) = self.service() {
            text = format!("{text}---\n{}", self.manifest("v1", "Service", service));
        }
        text
    }

    fn manifest(&self, api_version: &'static str, kind: &'static str, spec: Value) -> String {
        let namespace = self.get(FormField::Namespace);
        let manifest = Manifest {
            api_version,
            kind,
            metadata: Metadata {
                name: self.get(FormField::Name).to_owned(),
                namespace: (!namespace.is_empty()).then(|| namespace.to_owned()),
                labels: self.labels(),
            },
            spec,
        };
        serde_saphyr::to_string(&manifest).expect("texts, numbers, lists and maps have a YAML form")
    }

    fn labels(&self) -> Value {
        json!({ NAME_LABEL: self.get(FormField::Name) })
    }

    fn replicated(&self, mut spec: Value) -> Value {
        // The form has checked the number.
        spec["replicas"] = json!(self.get(FormField::Replicas).parse::<u16>().unwrap_or(1));
        self.selecting(spec)
    }

    fn selecting(&self, mut spec: Value) -> Value {
        spec["selector"] = json!({ "matchLabels": self.labels() });
        spec["template"] = self.template();
        spec
    }

    fn template(&self) -> Value {
        let mut container = json!({
            "name": self.get(FormField::Name),
            "image": self.get(FormField::Image),
        });
        let command = self.get(FormField::Command);
        if !command.is_empty() {
            container["command"] = json!(["/bin/sh", "-c", command]);
        }
        if let Some(port) = self.port() {
            container["ports"] = json!([{"name": "main", "containerPort": port}]);
        }
        // The form has checked the variables.
        let variables = pairs_of_text(self.get(FormField::Variables)).unwrap_or_default();
        if !variables.is_empty() {
            let variables = variables.into_iter();
            let variables = variables.map(|(name, value)| json!({"name": name, "value": value}));
            container["env"] = variables.collect();
        }
        let (cpu, memory) = (self.get(FormField::Cpu), self.get(FormField::Memory));
        if !cpu.is_empty() {
            container["resources"]["requests"]["cpu"] = json!(cpu);
        }
        // A limit of CPU would slow the program down although the node has unused CPU.
        if !memory.is_empty() {
            container["resources"]["requests"]["memory"] = json!(memory);
            container["resources"]["limits"]["memory"] = json!(memory);
        }
        let mut spec = json!({ "containers": [container] });
        if self.kind.ends() {
            spec["restartPolicy"] = json!("OnFailure");
        }
        json!({"metadata": {"labels": self.labels()}, "spec": spec})
    }

    fn port(&self) -> Option<u16> {
        let port = self.get(FormField::Port);
        self.kind.has_port().then(|| port.parse().ok()).flatten()
    }

    /// Returns the Service of the port.
    fn service(&self) -> Option<Value> {
        let port = self.port()?;
        let mut spec = json!({
            "selector": self.labels(),
            "ports": [{"name": "main", "port": port, "targetPort": "main"}],
        });
        // The names of the pods of a StatefulSet need a Service without an address.
        if self.kind == WorkloadKind::StatefulSet {
            spec["clusterIP"] = json!("None");
        }
        Some(spec)
    }
}
