//! PersistentVolumeClaims, PersistentVolumes and StorageClasses.

use serde_json::Value;

use super::{KindFacts, joined, scalar};
use crate::kind::Kind;
use crate::messages::t;
use crate::object::overview::{Facts, ObjectState};
use crate::object::{Object, Reference, read};
use drover_rows::Severity;

/// Returns the facts of a PersistentVolumeClaim.
pub(super) fn claim(claim: &Object) -> KindFacts {
    let value = claim.value();
    let volume = read::text(value, "/spec/volumeName");
    let volume = volume.map(|name| Reference::named(Kind::VOLUMES, None, name));
    let facts = Facts::default()
        .links(t().facts.volume(), volume.into_iter().collect())
        .links(t().facts.class(), class_link(value))
        .text(
            t().facts.requested(),
            scalar(value, "/spec/resources/requests/storage"),
        )
        .text(
            t().workloads.capacity(),
            scalar(value, "/status/capacity/storage"),
        )
        .text(t().facts.access_modes(), joined(value, "/spec/accessModes"))
        .text(
            t().facts.volume_mode(),
            read::owned(value, "/spec/volumeMode"),
        )
        .text(t().facts.data_source(), data_source(value));
    let state = phase(value, |phase| match phase {
        "Bound" => (Severity::Healthy, None),
        "Lost" => (Severity::Failing, Some(t().facts.claim_lost())),
        _ => (Severity::Progressing, Some(t().facts.claim_pending())),
    });
    KindFacts::new(state, [facts.under("PersistentVolumeClaim")])
}

fn data_source(claim: &Value) -> Option<String> {
    let source = read::at(claim, "/spec/dataSource");
    let (kind, name) = (read::text(source, "/kind")?, read::text(source, "/name")?);
    Some(format!("{kind} {name}"))
}

fn class_link(value: &Value) -> Vec<Reference> {
    let class = read::text(value, "/spec/storageClassName");
    let class = class.map(|name| Reference::named(Kind::STORAGE_CLASSES, None, name));
    class.into_iter().collect()
}

/// Returns the state for `status.phase`, with the severity and the advice of the phase.
fn phase(
    value: &Value,
    of: impl Fn(&str) -> (Severity, Option<&'static str>),
) -> Option<ObjectState> {
    let phase = read::text(value, "/status/phase")?;
    let (severity, advice) = of(phase);
    let message = read::text(value, "/status/message").or(advice);
    Some(ObjectState::of(severity, phase).because(message.unwrap_or_default()))
}

/// Returns the facts of a PersistentVolume.
pub(super) fn volume(volume: &Object) -> KindFacts {
    let value = volume.value();
    let facts = Facts::default()
        .links(t().facts.claim(), claim_link(value).into_iter().collect())
        .links(t().facts.class(), class_link(value))
        .text(
            t().workloads.capacity(),
            scalar(value, "/spec/capacity/storage"),
        )
        .text(t().facts.access_modes(), joined(value, "/spec/accessModes"))
        .text(
            t().facts.volume_mode(),
            read::owned(value, "/spec/volumeMode"),
        )
        .text(
            t().facts.reclaim_policy(),
            read::owned(value, "/spec/persistentVolumeReclaimPolicy"),
        )
        .codes(t().facts.source(), source(value).into_iter().collect());
    let state = phase(value, |phase| match phase {
        "Bound" => (Severity::Healthy, None),
        "Available" => (Severity::Idle, None),
        "Failed" => (Severity::Failing, None),
        "Released" => (Severity::Degraded, Some(t().facts.volume_released())),
        _ => (Severity::Progressing, None),
    });
    KindFacts::new(state, [facts.under("PersistentVolume")])
}

/// Returns the reference to the claim of a PersistentVolume.
pub(in super::super) fn claim_link(volume: &Value) -> Option<Reference> {
    let claim = read::at(volume, "/spec/claimRef");
    let (namespace, name) = (
        read::text(claim, "/namespace")?,
        read::text(claim, "/name")?,
    );
    let link = Reference::named(Kind::VOLUME_CLAIMS, Some(namespace), name);
    Some(Reference {
        words: format!("{namespace}/{name}"),
        ..link
    })
}

/// Formats the volume of the storage system: the type, and the driver with the ID, the path or the
/// server.
fn source(volume: &Value) -> Option<String> {
    const KINDS: [&str; 6] = ["csi", "nfs", "local", "hostPath", "iscsi", "fc"];
    let (kind, source) = KINDS
        .into_iter()
        .find_map(|kind| Some((kind, volume.get("spec")?.get(kind)?)))?;
    let parts = ["/driver", "/volumeHandle", "/server", "/path", "/iqn"].into_iter();
    let parts: Vec<_> = parts.filter_map(|it| read::text(source, it)).collect();
    Some(format!("{kind} {}", parts.join(" ")))
}

/// Returns the facts of a StorageClass.
pub(super) fn class(class: &Object) -> KindFacts {
    const DEFAULT: &str = "storageclass.kubernetes.io/is-default-class";
    let value = class.value();
    let of = |pointer| read::owned(value, pointer);
    let is_default = class
        .annotations()
        .iter()
        .any(|(key, value)| key == DEFAULT && value == "true");
    let word = |is: bool| {
        if is {
            t().states.yes()
        } else {
            t().states.no()
        }
    };
    let facts = Facts::default()
        .text(t().facts.provisioner(), of("/provisioner"))
        .text(t().facts.default_class(), Some(word(is_default)))
        .text(
            t().facts.reclaim_policy(),
            of("/reclaimPolicy").or_else(|| Some("Delete".to_owned())),
        )
        .text(t().facts.binding_mode(), of("/volumeBindingMode"))
        .text(
            t().facts.expansion(),
            Some(word(read::is_true(value, "/allowVolumeExpansion"))),
        )
        .codes(
            t().facts.parameters(),
            read::assignments(value, "/parameters"),
        )
        .text(t().facts.mount_options(), joined(value, "/mountOptions"));
    KindFacts::new(None, [facts.under("StorageClass")])
}
