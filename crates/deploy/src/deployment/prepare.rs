//! Renders the objects and hooks of a bundle.

use std::collections::BTreeMap;

use drover_api::fleet::{HelmOptions, ValuesKey};
use serde_json::{Map, Value, json};

use super::{DeployError, Deployer, Input, Target, finished};
use crate::cluster::{Cluster, ClusterError};
use crate::object::{Object, ObjectKey, POLICY_ANNOTATION};
use crate::renderer::{
    Lookup, NoLookup, RenderRequest, Rendered, RenderedHook, RenderedObject, Renderer,
};
use crate::source::{self, Files, Overlaid, Style};
use crate::values;

/// Key of values in ConfigMaps and Secrets without a configured key.
const DEFAULT_KEY: &str = "values.yaml";

/// The content that a bundle deploys.
#[derive(Debug, Default)]
pub(super) struct Prepared {
    pub(super) objects: Vec<RenderedObject>,
    pub(super) hooks: Vec<RenderedHook>,
    /// Objects of the folders `crds/`, which only the first deployment creates.
    pub(super) crds: Vec<RenderedObject>,
    pub(super) notes: String,
    pub(super) chart: Value,
    pub(super) values: Value,
}

/// The revision that is rendered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Revision {
    pub(super) number: u32,
    pub(super) is_upgrade: bool,
}

/// The cluster for which a bundle is rendered.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    /// A cluster, whose kinds, objects and values the chart can read.
    Cluster(&'a Cluster),
    /// No cluster. The chart finds no objects, `helm.valuesFrom` does not apply, and objects without a
    /// namespace stay without one.
    Offline {
        /// Version of Kubernetes, for example `v1.34.1`.
        kube_version: &'a str,
    },
}

/// Renders bundles.
#[derive(Clone, Copy)]
pub(super) struct Preparer<'a> {
    pub(super) renderer: &'a Renderer,
    /// Namespace of the agent, for the annotations of the chart.
    pub(super) agent_namespace: &'a str,
    pub(super) place: Place<'a>,
}

impl Deployer {
    /// Renders a bundle, and sets the namespaces of its objects.
    pub(super) async fn prepare(
        &self,
        cluster: &Cluster,
        input: &Input<'_>,
        target: &Target,
        revision: Revision,
    ) -> Result<Prepared, DeployError> {
        let preparer = Preparer {
            renderer: &self.renderer,
            agent_namespace: &self.settings.agent_namespace,
            place: Place::Cluster(cluster),
        };
        preparer.prepare(input, target, revision).await
    }
}

impl Preparer<'_> {
    /// Renders a bundle, and sets the namespaces of its objects.
    pub(super) async fn prepare(
        &self,
        input: &Input<'_>,
        target: &Target,
        revision: Revision,
    ) -> Result<Prepared, DeployError> {
        let options = &input.spec.options;
        let helm = options.helm.clone().unwrap_or_default();
        let values = values(self.place, input, &helm, &target.namespace).await?;
        let mut prepared = self.render(input, target, revision, &helm, values).await?;
        for rendered in &prepared.crds {
            let key = rendered.object.key();
            if !rendered.object.is_crd() {
                return Err(DeployError::NoDefinition(key));
            }
            if !options.target_namespace.is_empty() {
                return Err(DeployError::ClusterScoped(key));
            }
        }
        for rendered in &mut prepared.objects {
            if rendered.object.is_crd() && !options.delete_crd_resources {
                rendered.object.set_annotation(POLICY_ANNOTATION, "keep");
            }
        }
        if let Place::Cluster(cluster) = self.place {
            set_namespaces(cluster, &mut prepared, input, target).await?;
        }
        Ok(prepared)
    }

    async fn render(
        &self,
        input: &Input<'_>,
        target: &Target,
        revision: Revision,
        helm: &HelmOptions,
        values: Map<String, Value>,
    ) -> Result<Prepared, DeployError> {
        let options = &input.spec.options;
        let mut files = source::decode(input.resources)?;
        let style = Style::of(files.keys().map(String::as_str), options);
        let (mut chart, mut plain) = (style.chart.clone(), Vec::new());
        if style.is_plain() {
            let overlays = options.yaml.as_ref().map_or(&[][..], |yaml| &yaml.overlays);
            files = self.overlay(files, overlays).await?;
            plain = source::parse(&files)?;
            files.retain(|name, _| name.starts_with("templates/"));
            chart = (!files.is_empty()).then(|| ".".to_owned());
        }
        let synthetic = chart_metadata(input);
        if chart.is_some() && style.chart.is_none() {
            files.insert("Chart.yaml".to_owned(), synthetic.to_string().into_bytes());
        }
        let mut prepared = Prepared {
            values: Value::Object(values.clone()),
            chart: json!({"metadata": synthetic}),
            ..Prepared::default()
        };
        if chart.is_some() || style.kustomize.is_some() {
            let (kube_version, api_versions) = match self.place {
                Place::Cluster(cluster) => {
                    let kinds = cluster.kinds().await?;
                    (kinds.kube_version.clone(), kinds.api_versions.clone())
                }
                // The program then uses the API versions of its Helm library.
                Place::Offline { kube_version } => (kube_version.to_owned(), Vec::new()),
            };
            let request = RenderRequest {
                files,
                chart,
                kustomize: style.kustomize,
                values,
                release_name: target.release.clone(),
                namespace: target.namespace.clone(),
                revision: revision.number,
                is_upgrade: revision.is_upgrade,
                kube_version,
                api_versions,
                enable_dns: !helm.disable_dns,
                skip_schema_validation: helm.skip_schema_validation,
                chart_annotations: annotations(input, self.agent_namespace),
            };
            let lookup: &dyn Lookup = match self.place {
                Place::Cluster(cluster) => cluster,
                Place::Offline { .. } => &NoLookup,
            };
            let rendered = self.renderer.render(&request, lookup).await?;
            prepared.add(&rendered);
        }
        let plain = plain.into_iter().map(|one| RenderedObject {
            path: one.path,
            object: one.object,
        });
        prepared.objects.extend(plain);
        set_annotations(
            &mut prepared.chart,
            &annotations(input, self.agent_namespace),
        );
        Ok(prepared)
    }

    async fn overlay(&self, files: Files, overlays: &[String]) -> Result<Files, DeployError> {
        let mut overlaid = Overlaid::new(files, overlays);
        while let Some(request) = overlaid.next_patch()? {
            let patched = self.renderer.patch(&request).await?;
            overlaid.patched(request.target, &patched);
        }
        Ok(overlaid.into_files())
    }
}

/// Sets the namespaces of objects without one, and of all objects if the bundle forces a namespace.
async fn set_namespaces(
    cluster: &Cluster,
    prepared: &mut Prepared,
    input: &Input<'_>,
    target: &Target,
) -> Result<(), DeployError> {
    let forces = !input.spec.options.target_namespace.is_empty();
    let scopes = Scopes::new(cluster, prepared);
    let objects = prepared.objects.iter_mut().map(|one| &mut one.object);
    let hooks = prepared.hooks.iter_mut().map(|one| &mut one.object);
    for object in objects.chain(hooks) {
        let is_namespaced = scopes.is_namespaced(object).await?;
        if forces && !is_namespaced {
            return Err(DeployError::ClusterScoped(object.key()));
        }
        if is_namespaced && (object.namespace().is_empty() || forces) {
            object.set_namespace(&target.namespace);
        }
    }
    Ok(())
}

impl Prepared {
    fn add(&mut self, rendered: &Rendered) {
        let expand = |objects: &[RenderedObject]| -> Vec<RenderedObject> {
            let all = objects.iter().flat_map(|one| {
                let items = one.object.clone().expand().into_iter();
                items.map(|object| RenderedObject {
                    path: one.path.clone(),
                    object,
                })
            });
            all.collect()
        };
        self.objects = expand(&rendered.manifests);
        self.crds = expand(&rendered.crds);
        self.hooks.clone_from(&rendered.hooks);
        self.notes.clone_from(&rendered.notes);
        if let Some(chart) = &rendered.chart {
            self.chart = chart.clone();
        }
    }
}

/// Returns the metadata of the chart of a bundle without a chart.
fn chart_metadata(input: &Input<'_>) -> Value {
    let name = input
        .name
        .rsplit_once('/')
        .map_or(input.name, |(_, name)| name);
    let content = input
        .spec
        .deployment_id
        .split(':')
        .next()
        .unwrap_or_default();
    let id = match input.commit.get(..12) {
        Some(commit) if input.commit.len() > 12 => format!("git-{commit}"),
        _ => content.to_owned(),
    };
    json!({"apiVersion": "v2", "name": name, "version": format!("v0.0.0+{id}")})
}

/// Returns the annotations by which Fleet's agent and this agent find their releases.
fn annotations(input: &Input<'_>, agent_namespace: &str) -> BTreeMap<String, String> {
    let options = &input.spec.options;
    let mut annotations = BTreeMap::from([
        (
            "fleet.cattle.io/bundle-id".to_owned(),
            input.name.to_owned(),
        ),
        (
            "fleet.cattle.io/agent-namespace".to_owned(),
            agent_namespace.to_owned(),
        ),
        (
            "fleet.cattle.io/service-account".to_owned(),
            options.service_account.clone(),
        ),
        (
            "fleet.cattle.io/keep-resources".to_owned(),
            options.keep_resources.to_string(),
        ),
        (
            finished::DEPLOYMENT.to_owned(),
            finished::identity(input.spec),
        ),
        (finished::CLUSTER.to_owned(), input.cluster.to_owned()),
    ]);
    annotations.extend(super::copies::annotation(input.copies));
    if !input.commit.is_empty() {
        annotations.insert("fleet.cattle.io/commit".to_owned(), input.commit.to_owned());
    }
    annotations
}

fn set_annotations(chart: &mut Value, annotations: &BTreeMap<String, String>) {
    let metadata = chart.get_mut("metadata").and_then(Value::as_object_mut);
    if let Some(metadata) = metadata {
        metadata
            .entry("annotations")
            .or_insert_with(|| json!(annotations));
    }
}

/// Merges the values of the options with the values in the cluster.
async fn values(
    place: Place<'_>,
    input: &Input<'_>,
    helm: &HelmOptions,
    namespace: &str,
) -> Result<Map<String, Value>, DeployError> {
    let mut merged = match (input.values, &helm.values) {
        (Some(values), _) | (None, Some(Value::Object(values))) => values.clone(),
        _ => Map::new(),
    };
    let Place::Cluster(cluster) = place else {
        return Ok(merged);
    };
    for source in &helm.values_from {
        // A Secret replaces the values of the ConfigMap in the same entry.
        for (kind, key) in [
            ("ConfigMap", &source.config_map_key_ref),
            ("Secret", &source.secret_key_ref),
        ] {
            if let Some(key) = key {
                values::merge(&mut merged, values_of(cluster, kind, key, namespace).await?);
            }
        }
    }
    Ok(merged)
}

async fn values_of(
    cluster: &Cluster,
    kind: &str,
    reference: &ValuesKey,
    namespace: &str,
) -> Result<Map<String, Value>, DeployError> {
    let namespace = if reference.namespace.is_empty() {
        namespace
    } else {
        &reference.namespace
    };
    let key = ObjectKey {
        api_version: "v1".to_owned(),
        kind: kind.to_owned(),
        namespace: namespace.to_owned(),
        name: reference.name.clone(),
    };
    let object = cluster
        .get(&key)
        .await?
        .ok_or_else(|| DeployError::NoValues(key.clone()))?;
    let entry = if reference.key.is_empty() {
        DEFAULT_KEY
    } else {
        &reference.key
    };
    let text = object
        .0
        .get("data")
        .and_then(|data| data.get(entry))
        .and_then(Value::as_str);
    let text = text.and_then(|text| {
        if kind == "Secret" {
            decoded(text)
        } else {
            Some(text.to_owned())
        }
    });
    Ok(values::parse(&key.to_string(), entry, text.as_deref())?)
}

fn decoded(text: &str) -> Option<String> {
    use base64::Engine as _;
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(text)
        .ok()?;
    String::from_utf8(bytes).ok()
}

/// The scopes of kinds, also of the kinds that the bundle itself defines. The scopes of the cluster have
/// priority, so that a definition in the bundle cannot declare a built-in kind as namespaced.
struct Scopes<'a> {
    cluster: &'a Cluster,
    defined: Vec<(String, String, bool)>,
}

impl<'a> Scopes<'a> {
    fn new(cluster: &'a Cluster, prepared: &Prepared) -> Self {
        let definitions = prepared
            .crds
            .iter()
            .chain(&prepared.objects)
            .filter(|one| one.object.is_crd());
        let text = |object: &Object, pointer: &str| {
            object
                .0
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let defined = definitions.map(|one| {
            let scope = text(&one.object, "/spec/scope");
            (
                text(&one.object, "/spec/group"),
                text(&one.object, "/spec/names/kind"),
                scope == "Namespaced",
            )
        });
        Self {
            cluster,
            defined: defined.collect(),
        }
    }

    async fn is_namespaced(&self, object: &Object) -> Result<bool, ClusterError> {
        let served = self.cluster.kind(object.api_version(), object.kind()).await;
        let unknown = match served {
            Ok(kind) => return Ok(kind.namespaced),
            Err(error @ ClusterError::UnknownKind { .. }) => error,
            Err(error) => return Err(error),
        };
        let api_group = crate::object::group(object.api_version());
        let defined = self
            .defined
            .iter()
            .find(|(group, kind, _)| group == api_group && kind == object.kind());
        defined
            .map(|(_, _, is_namespaced)| *is_namespaced)
            .ok_or(unknown)
    }
}
