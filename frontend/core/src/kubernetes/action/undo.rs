//! The change that undoes a change.

use std::collections::BTreeMap;

use super::Change;
use super::pairs::{taints_of_text, taints_text};
use super::template::template_containers;
use crate::object::{Object, read};

impl Change {
    /// Returns the change that restores the object. `object` is the state before the change.
    /// Returns `None` if the change cannot be undone.
    pub fn undo(&self, object: &Object) -> Option<Self> {
        let value = object.value();
        match self {
            Self::Scale(_) => {
                // The default of Kubernetes is one replica.
                let replicas = read::number(value, "/spec/replicas").unwrap_or(1);
                u32::try_from(replicas).ok().map(Self::Scale)
            }
            Self::SetImage {
                container, init, ..
            } => Some(Self::SetImage {
                container: container.clone(),
                init: *init,
                image: image_of(object, container, *init)?,
            }),
            Self::RollBack(_) => Some(Self::RestoreTemplate {
                template: Box::new(value.pointer("/spec/template")?.clone()),
                annotations: Box::new(read::at(value, "/metadata/annotations").clone()),
            }),
            Self::Paused(paused) => Some(Self::Paused(!paused)),
            Self::Suspended(suspended) => Some(Self::Suspended(!suspended)),
            Self::Cordoned(cordoned) => Some(Self::Cordoned(!cordoned)),
            Self::Labels(_) => {
                let labels: BTreeMap<_, _> = object.labels().into_iter().collect();
                Some(Self::Labels(labels))
            }
            Self::Taints(_) => {
                let taints = taints_of_text(&taints_text(object), object).ok()?;
                Some(Self::Taints(taints))
            }
            Self::RestoreTemplate { .. }
            | Self::Restart(_)
            | Self::Trigger(_)
            | Self::Evict
            | Self::Debug { .. }
            | Self::Delete(_) => None,
        }
    }
}

fn image_of(object: &Object, container: &str, init: bool) -> Option<String> {
    let mut containers = template_containers(object).into_iter();
    let found = containers.find(|it| it.name == container && it.init == init)?;
    Some(found.image)
}
