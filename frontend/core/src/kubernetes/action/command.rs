//! The `kubectl` commands that are equivalent to changes.

use super::change::{Change, eviction};
use super::pairs::{removed_labels, taint_arguments};
use crate::kubectl::KubectlObject;
use crate::object::Object;
use crate::shell::word;
use crate::url::segment;

impl Change {
    /// Returns the equivalent kubectl command.
    pub fn command(&self, target: &KubectlObject, object: &Object) -> String {
        let (start, thing, name) = (target.start(), target.thing(), word(&target.name));
        match self {
            Self::Scale(replicas) => format!("{start} scale {thing} --replicas {replicas}"),
            Self::Restart(_) => format!("{start} rollout restart {thing}"),
            Self::SetImage {
                container, image, ..
            } => {
                let image = word(&format!("{container}={image}"));
                format!("{start} set image {thing} {image}")
            }
            Self::RollBack(revision) => {
                let number = revision.number;
                format!("{start} rollout undo {thing} --to-revision {number}")
            }
            Self::RestoreTemplate { .. } => format!("{start} rollout undo {thing}"),
            Self::Paused(true) => format!("{start} rollout pause {thing}"),
            Self::Paused(false) => format!("{start} rollout resume {thing}"),
            Self::Suspended(suspend) => {
                let patch = word(&format!(r#"{{"spec":{{"suspend":{suspend}}}}}"#));
                format!("{start} patch {thing} --type merge --patch {patch}")
            }
            Self::Trigger(job) => {
                let from = word(&format!("cronjob/{}", target.name));
                format!("{start} create job {} --from {from}", word(job))
            }
            Self::Evict => {
                let path = format!(
                    "/api/v1/namespaces/{}/pods/{}/eviction",
                    segment(target.namespace.as_deref().unwrap_or_default()),
                    segment(&target.name)
                );
                let body = word(&eviction(target, object.uid()).to_string());
                format!("echo {body} | {start} create --raw {} -f -", word(&path))
            }
            Self::Debug {
                name: container,
                image,
                target,
            } => {
                let target = match target.as_str() {
                    "" => String::new(),
                    target => format!(" --target {}", word(target)),
                };
                format!(
                    "{start} debug {name} -it --image {} --container {}{target}",
                    word(image),
                    word(container)
                )
            }
            Self::Cordoned(true) => format!("{start} cordon {name}"),
            Self::Cordoned(false) => format!("{start} uncordon {name}"),
            Self::Taints(taints) => {
                let arguments = arguments(taint_arguments(taints, object));
                format!("{start} taint nodes {name} --overwrite{arguments}")
            }
            Self::Labels(labels) => {
                let set = labels.iter().map(|(key, value)| format!("{key}={value}"));
                let removed = removed_labels(labels, object).map(|key| format!("{key}-"));
                let arguments = arguments(set.chain(removed));
                format!("{start} label {thing} --overwrite{arguments}")
            }
            Self::Delete(cascade) => {
                format!("{start} delete {thing} --cascade {}", cascade.key())
            }
        }
    }
}

fn arguments(arguments: impl IntoIterator<Item = String>) -> String {
    let words = arguments.into_iter().map(|it| format!(" {}", word(&it)));
    words.collect()
}
