//! Previews of deployments: the objects of a bundle, and their changes in a cluster, without a write.

use std::collections::BTreeSet;
use std::sync::Arc;

use drover_apply::ApplyError;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::Value;

use super::prepare::{Place, Prepared, Preparer, Revision};
use super::{DeployError, Input, Target};
use crate::apply::{Owner, dry_run};
use crate::cluster::{Cluster, ClusterError};
use crate::object::{DEPLOYMENT_LABEL, Object, ObjectKey};
use crate::renderer::Renderer;

/// Maximum number of concurrent requests of a preview.
const CONCURRENCY: usize = 8;
/// Annotation in which `kubectl apply` stores the complete object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Part of the API server's message for an object that does not have the form of its schema.
const SCHEMA_ERROR: &str = "failed to create typed patch object";
/// Namespace of releases without a configured namespace, as for the agent.
const DEFAULT_NAMESPACE: &str = "default";

/// The objects of a bundle in a cluster.
#[derive(Debug)]
pub struct Preview {
    /// Name and namespace of the release.
    pub target: Target,
    /// CustomResourceDefinitions in the folders `crds/`, which only the first deployment creates.
    pub definitions: Vec<Object>,
    /// The objects of the release.
    pub objects: Vec<Object>,
    /// Helm's hooks.
    pub hooks: Vec<Object>,
}

/// The effect of a deployment on one object.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// The deployment creates the object.
    Create(Object),
    /// The deployment changes the object.
    Update {
        /// The object in the cluster.
        before: Object,
        /// The object after the deployment.
        after: Object,
    },
    /// The deployment deletes the object.
    Delete(Object),
    /// The deployment does not change the object.
    Unchanged,
    /// The API server rejects the object, for example because of a policy, with this message.
    Rejected(String),
}

/// An object of a deployment with its effect. Values of Secrets are hidden.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The object.
    pub key: ObjectKey,
    /// The effect of the deployment.
    pub effect: Effect,
}

/// Renders bundles and compares them with clusters, without a write.
#[derive(Debug)]
pub struct Previewer {
    renderer: Arc<Renderer>,
    agent_namespace: String,
}

impl Previewer {
    /// Creates a previewer. `agent_namespace` is the namespace of agents in the clusters.
    pub fn new(renderer: Arc<Renderer>, agent_namespace: &str) -> Self {
        Self {
            renderer,
            agent_namespace: agent_namespace.to_owned(),
        }
    }

    /// Renders a bundle. `release` is the present release of a status, `namespace/name:revision`.
    pub async fn render(
        &self,
        place: Place<'_>,
        input: &Input<'_>,
        release: Option<&str>,
    ) -> Result<Preview, DeployError> {
        let target = Target::of(input.name, &input.spec.options, DEFAULT_NAMESPACE);
        let present = release.and_then(Target::parse);
        let present = present.filter(|(present, _)| *present == target);
        let revision = Revision {
            number: present.as_ref().map_or(1, |(_, revision)| revision + 1),
            is_upgrade: present.is_some(),
        };
        let preparer = Preparer {
            renderer: &self.renderer,
            agent_namespace: &self.agent_namespace,
            place,
        };
        let content = preparer.prepare(input, &target, revision).await?;
        Ok(preview(target, content))
    }

    /// Returns the effects of a deployment in a cluster, with server-side dry runs. `present` are the
    /// objects of the present release.
    pub async fn changes(
        &self,
        cluster: &Cluster,
        input: &Input<'_>,
        release: Option<&str>,
        present: &[ObjectKey],
    ) -> Result<Vec<Change>, DeployError> {
        let place = Place::Cluster(cluster);
        let preview = self.render(place, input, release).await?;
        let owner = preview.target.owner(input.name);
        let helm = input.spec.options.helm.as_ref();
        let adopts = release.is_some() || helm.is_some_and(|helm| helm.take_ownership);
        let mut changes = writes(cluster, &preview, &owner, adopts).await?;
        let desired: BTreeSet<ObjectKey> = changes
            .iter()
            .map(|change| change.key.without_version())
            .collect();
        let surplus = present
            .iter()
            .filter(|key| !desired.contains(&key.without_version()));
        for key in surplus {
            if let Some(live) = live(cluster, key).await?
                && live.label(DEPLOYMENT_LABEL) == Some(&owner.label)
                && !live.is_kept()
            {
                changes.push(Change {
                    key: key.clone(),
                    effect: Effect::Delete(live.without_server_fields()),
                });
            }
        }
        for change in &mut changes {
            hide_secrets(change);
        }
        Ok(changes)
    }
}

fn preview(target: Target, prepared: Prepared) -> Preview {
    let objects = |rendered: Vec<crate::renderer::RenderedObject>| {
        rendered.into_iter().map(|one| one.object).collect()
    };
    Preview {
        target,
        definitions: objects(prepared.crds),
        objects: objects(prepared.objects),
        hooks: prepared.hooks.into_iter().map(|one| one.object).collect(),
    }
}

/// Returns the effects on the objects of a release.
async fn writes(
    cluster: &Cluster,
    preview: &Preview,
    owner: &Owner,
    adopts: bool,
) -> Result<Vec<Change>, DeployError> {
    // The deployment does not change definitions of folders `crds/` that exist.
    let definitions = preview.definitions.iter().map(|object| (object, false));
    let objects = preview.objects.iter().map(|object| (object, true));
    let effects = definitions.chain(objects).map(|(object, can_change)| {
        let mut desired = object.clone();
        owner.mark(&mut desired);
        async move {
            let key = desired.key();
            let live = live(cluster, &key).await?;
            let effect = match &live {
                Some(_) if !can_change => Effect::Unchanged,
                // The agent does not change objects of other owners.
                Some(live) if !adopts && !owner.owns(live) => Effect::Rejected(
                    "the object exists and belongs to another owner; set helm.takeOwnership to adopt it"
                        .to_owned(),
                ),
                _ => effect(cluster, desired, live).await?,
            };
            Ok::<_, DeployError>(Change { key, effect })
        }
    });
    stream::iter(effects)
        .buffered(CONCURRENCY)
        .try_collect()
        .await
}

/// Returns the effect of a write.
async fn effect(
    cluster: &Cluster,
    desired: Object,
    live: Option<Object>,
) -> Result<Effect, ClusterError> {
    let after = match dry_run(cluster, &desired).await {
        Ok(after) => after,
        // A namespace or a definition of the bundle does not exist yet.
        Err(ClusterError::UnknownKind { .. }) => desired,
        Err(error) if error.is_gone() && live.is_none() => desired,
        Err(error) => {
            return rejection(&error).map(Effect::Rejected).ok_or(error);
        }
    };
    let after = after.without_server_fields();
    Ok(match live.map(Object::without_server_fields) {
        None => Effect::Create(after),
        Some(before) if before == after => Effect::Unchanged,
        Some(before) => Effect::Update { before, after },
    })
}

/// Returns the message of the API server if it rejects the object or the caller's permissions.
fn rejection(error: &ClusterError) -> Option<String> {
    let ClusterError::Call(ApplyError::Call { source, .. } | ApplyError::Forbidden { source, .. }) =
        error
    else {
        return None;
    };
    let kube::Error::Api(status) = &**source else {
        return None;
    };
    let is_of_object = (400..500).contains(&status.code) && ![401, 408, 429].contains(&status.code);
    // The API server returns the code 500 for fields that the schema does not have.
    let is_schema = status.message.contains(SCHEMA_ERROR);
    (is_of_object || is_schema).then(|| source.to_string())
}

/// Returns an object of the cluster, if it and its kind exist.
async fn live(cluster: &Cluster, key: &ObjectKey) -> Result<Option<Object>, ClusterError> {
    match cluster.get(key).await {
        Err(ClusterError::UnknownKind { .. }) => Ok(None),
        found => found,
    }
}

/// Hides the values of a Secret. Only the names of changed values stay visible.
fn hide_secrets(change: &mut Change) {
    if change.key.kind != "Secret" || change.key.api_version != "v1" {
        return;
    }
    match &mut change.effect {
        Effect::Create(object) | Effect::Delete(object) => hide(object, None, "(hidden)"),
        Effect::Update { before, after } => {
            let old = before.clone();
            let new = after.clone();
            hide(before, Some(&new), "(hidden, current)");
            hide(after, Some(&old), "(hidden, changed)");
        }
        // The message can quote values.
        Effect::Rejected(message) => "the API server rejects the Secret".clone_into(message),
        Effect::Unchanged => {}
    }
}

fn hide(object: &mut Object, other: Option<&Object>, differing: &str) {
    // kubectl stores all values in this annotation.
    let annotations = object.0.pointer_mut("/metadata/annotations");
    if let Some(applied) = annotations.and_then(|it| it.get_mut(LAST_APPLIED)) {
        *applied = "(hidden)".into();
    }
    for field in ["data", "stringData"] {
        let Some(values) = object.0.get_mut(field).and_then(Value::as_object_mut) else {
            continue;
        };
        for (name, value) in values {
            let of_other = other.and_then(|other| other.0.get(field)?.get(name));
            let text = match of_other {
                Some(of_other) if of_other == value => "(hidden)",
                _ => differing,
            };
            *value = text.into();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn secret(data: &Value) -> Object {
        Object(
            json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "a" }, "data": data }),
        )
    }

    /// Returns the text of an effect. The debug output of an object does not contain its fields.
    fn text(change: &Change) -> String {
        match &change.effect {
            Effect::Create(object) | Effect::Delete(object) => object.0.to_string(),
            Effect::Rejected(message) => message.clone(),
            Effect::Update { .. } | Effect::Unchanged => panic!("another effect"),
        }
    }

    #[test]
    fn preview_shows_which_values_of_a_secret_change_and_no_value() {
        let (before, after) = (
            secret(&json!({ "same": "QQ==", "changed": "Qg==", "removed": "Qw==" })),
            secret(&json!({ "same": "QQ==", "changed": "RA==", "added": "RQ==" })),
        );
        let mut change = Change {
            key: before.key(),
            effect: Effect::Update { before, after },
        };
        hide_secrets(&mut change);
        let Effect::Update { before, after } = change.effect else {
            panic!("another effect");
        };
        assert_eq!(
            before.0["data"],
            json!({ "same": "(hidden)", "changed": "(hidden, current)", "removed": "(hidden, current)" })
        );
        assert_eq!(
            after.0["data"],
            json!({ "same": "(hidden)", "changed": "(hidden, changed)", "added": "(hidden, changed)" })
        );
        let mut created = Change {
            key: secret(&json!({})).key(),
            effect: Effect::Create(secret(&json!({ "a": "QQ==" }))),
        };
        hide_secrets(&mut created);
        assert!(!text(&created).contains("QQ=="));
        let mut deleted = secret(&json!({ "a": "QQ==" }));
        deleted.set_annotation(LAST_APPLIED, "{\"data\":{\"a\":\"QQ==\"}}");
        for effect in [
            Effect::Delete(deleted),
            Effect::Rejected("got QQ==".to_owned()),
        ] {
            let key = secret(&json!({})).key();
            let mut change = Change { key, effect };
            hide_secrets(&mut change);
            assert!(!text(&change).contains("QQ=="));
        }
    }
}
