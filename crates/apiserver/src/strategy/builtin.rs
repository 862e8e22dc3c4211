//! Defaults, preparation and validation of built-in kinds, dispatched by group and kind.

use serde_json::{Value, json};

use crate::builtin::{
    admission, apps, autoscaling, batch, certificates, core, discovery, networking, pod, policy,
    rbac, service, storage,
};
use crate::json::{default, field, make, number, put, set_generation};
use crate::names;
use crate::resource::Resource;
use crate::resource::WriteTarget;
use crate::schema::findings::Findings;

fn group_kind(resource: &Resource) -> (&str, &str) {
    (&resource.group_version.group, &resource.kind)
}

/// Converts fields that the schema does not describe: moves `stringData` of a Secret into `data`.
pub(super) fn read(resource: &Resource, value: &mut Value) {
    if group_kind(resource) == ("", "Secret") {
        core::read_secret(value);
    }
}

/// Sets missing fields to the default values of a built-in kind.
pub(super) fn fill(resource: &Resource, value: &mut Value) {
    match group_kind(resource) {
        ("", "Secret") => default(value, "type", "Opaque"),
        ("", "Namespace") => core::fill_namespace(value),
        ("", "Node") => core::fill_node(value),
        ("", "Endpoints") => discovery::fill_endpoints(value),
        ("", "Pod") => pod::fill(value),
        ("", "Service") => service::fill(value),
        ("", "PersistentVolume") => storage::fill_volume(value),
        ("", "PersistentVolumeClaim") => storage::fill_claim(value),
        ("", "LimitRange") => policy::fill_limits(value),
        ("admissionregistration.k8s.io", kind) => admission::fill(kind, value),
        ("apps", kind) => apps::fill(kind, value),
        ("autoscaling", _) => autoscaling::fill(&resource.group_version.version, value),
        ("networking.k8s.io", kind) => networking::fill(kind, value),
        ("scheduling.k8s.io", _) => default(value, "preemptionPolicy", "PreemptLowerPriority"),
        ("storage.k8s.io", _) => storage::fill_class(value),
        ("batch", kind) => batch::fill(kind, value),
        ("rbac.authorization.k8s.io", _) => rbac::fill(value),
        ("discovery.k8s.io", _) => discovery::fill(value),
        ("apiextensions.k8s.io", _) => fill_crd(value),
        _ => {}
    }
}

fn fill_crd(crd: &mut Value) {
    let Some(spec) = make(crd, "spec") else {
        return;
    };
    if let Some(names) = make(spec, "names") {
        let kind = crate::json::text(names, "kind").to_owned();
        default(names, "singular", kind.to_lowercase());
        if !kind.is_empty() {
            default(names, "listKind", format!("{kind}List"));
        }
    }
    default(spec, "conversion", json!({"strategy": "None"}));
    store_version(crd);
}

/// Adds the storage version to `status.storedVersions`.
fn store_version(crd: &mut Value) {
    let Some(version) = crate::crd::storage_version(crd).map(str::to_owned) else {
        return;
    };
    let Some(status) = make(crd, "status") else {
        return;
    };
    let mut stored = crate::json::list(status, "storedVersions").to_vec();
    if !stored.iter().any(|stored| *stored == version) {
        stored.push(version.into());
        put(status, "storedVersions", Some(stored.into()));
    }
}

/// Prepares a new object; see [`Resource::prepare_create`].
pub(super) fn prepare_create(resource: &Resource, value: &mut Value) {
    match group_kind(resource) {
        ("", "Pod") => pod::prepare_create(value),
        ("", "Namespace") => core::prepare_namespace(value),
        ("", "Service") => {
            put(value, "status", None);
            service::assign(value, &|_| false);
        }
        ("", "PersistentVolume" | "PersistentVolumeClaim") => {
            put(value, "status", Some(json!({"phase": "Pending"})));
        }
        ("batch", "Job") => {
            batch::generate_selector(value);
            put(value, "status", None);
        }
        ("apps", "DaemonSet") => {
            apps::set_template_generation(value, 1);
            put(value, "status", None);
        }
        ("certificates.k8s.io", _) => certificates::prepare_create(value),
        ("apps", "Deployment" | "StatefulSet" | "ReplicaSet")
        | ("batch", "CronJob")
        | ("", "ResourceQuota")
        | ("autoscaling" | "policy", _)
        | ("networking.k8s.io", "Ingress")
        | ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => {
            put(value, "status", None);
        }
        ("rbac.authorization.k8s.io", _) => rbac::prepare(value),
        ("apiextensions.k8s.io", _) => {
            put(value, "status", None);
            store_version(value);
        }
        _ => {}
    }
    if counts_generation(resource) {
        set_generation(value, 1);
    }
}

fn counts_generation(resource: &Resource) -> bool {
    match group_kind(resource) {
        ("", kind) => kind == "Pod",
        ("apps", kind) => kind != "ControllerRevision",
        (
            "admissionregistration.k8s.io"
            | "apiextensions.k8s.io"
            | "batch"
            | "discovery.k8s.io"
            | "networking.k8s.io"
            | "policy"
            | "scheduling.k8s.io",
            _,
        ) => true,
        _ => false,
    }
}

/// Prepares a changed object; see [`Resource::prepare_update`].
pub(super) fn prepare_update(
    resource: &Resource,
    new: &mut Value,
    old: &Value,
    target: WriteTarget,
) {
    let keep = |new: &mut Value, name: &str| put(new, name, old.get(name).cloned());
    match target {
        WriteTarget::Object => {
            if resource.status {
                keep(new, "status");
            }
        }
        WriteTarget::Status => {
            keep(new, "spec");
            match group_kind(resource) {
                ("apps", "Deployment") => keep_metadata(new, old, "labels"),
                ("certificates.k8s.io", _) => certificates::revert_approvals(new, old),
                ("", "Pod") => {
                    keep_metadata(new, old, "ownerReferences");
                    pod::keep_quality(new, old);
                }
                _ => {}
            }
        }
        WriteTarget::Finalize => keep(new, "status"),
        WriteTarget::EphemeralContainers => pod::only_ephemeral(new, old),
        WriteTarget::Resize => pod::only_resources(new, old),
        WriteTarget::Approval => certificates::only_conditions(new, old),
    }
    if target == WriteTarget::Object {
        match group_kind(resource) {
            ("", "Namespace") | ("certificates.k8s.io", _) => keep(new, "spec"),
            ("", "Secret") if matches!(field(new, "type").as_str(), None | Some("")) => {
                keep(new, "type");
            }
            ("", "Service") => service::carry(new, old),
            ("apps", "DaemonSet") => apps::carry_template_generation(new, old),
            ("rbac.authorization.k8s.io", _) => rbac::prepare(new),
            ("apiextensions.k8s.io", _) => store_version(new),
            _ => {}
        }
    }
    if counts_generation(resource) && target != WriteTarget::Finalize {
        let before = number(field(old, "metadata"), "generation").unwrap_or_default();
        let changed = target != WriteTarget::Status && has_changed(resource, new, old);
        let now = if changed { before + 1 } else { before };
        if now > 0 {
            set_generation(new, now);
        }
    }
}

fn keep_metadata(new: &mut Value, old: &Value, name: &str) {
    let before = field(field(old, "metadata"), name).clone();
    if let Some(metadata) = make(new, "metadata") {
        put(metadata, name, Some(before));
    }
}

/// Reports whether the update increments `metadata.generation`.
fn has_changed(resource: &Resource, new: &Value, old: &Value) -> bool {
    let metadata =
        |name: &str| field(field(new, "metadata"), name) != field(field(old, "metadata"), name);
    match group_kind(resource) {
        ("apps", "Deployment") => {
            field(new, "spec") != field(old, "spec") || metadata("annotations")
        }
        // These have no spec.
        (_, "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration") => {
            field(new, "webhooks") != field(old, "webhooks")
        }
        ("discovery.k8s.io", _) => {
            let body = |value: &Value| {
                let mut value = value.clone();
                put(&mut value, "metadata", None);
                value
            };
            body(new) != body(old) || metadata("labels")
        }
        _ => field(new, "spec") != field(old, "spec"),
    }
}

/// Returns the validation rule for `metadata.name`.
pub(super) fn name_check(resource: &Resource) -> names::NameCheck {
    match group_kind(resource) {
        ("", "Namespace" | "Service") | ("apps", "StatefulSet") => names::dns_label,
        // Clients choose names of Events; only events.k8s.io validates them further.
        ("rbac.authorization.k8s.io", _) | ("", "Event") => names::path_segment,
        _ => names::dns_subdomain,
    }
}

/// Validates a new object without its metadata.
pub(super) fn validate(resource: &Resource, value: &Value, found: &mut Findings) {
    match group_kind(resource) {
        ("", "Secret") => core::secret(value, found),
        ("", "ConfigMap") => core::config_map(value, found),
        ("", "Event") => core::event(value, "reportingComponent", found),
        ("events.k8s.io", "Event") => core::new_event(value, found),
        ("", "Node") => core::node(value, found),
        ("", "Pod") => pod::validation::pod(value, found),
        ("", "Service") => service::validate(value, found),
        ("", "PersistentVolume") => storage::volume(value, found),
        ("", "PersistentVolumeClaim") => storage::claim(value, found),
        ("", "Endpoints") => discovery::endpoints(value, found),
        ("apps", kind) => apps::validate(kind, value, found),
        ("batch", kind) => batch::validate(kind, value, found),
        ("rbac.authorization.k8s.io", kind) => rbac::validate(kind, value, found),
        ("coordination.k8s.io", _) => core::lease(value, found),
        ("", "ResourceQuota") => policy::quota(value, found),
        ("", "LimitRange") => policy::limits(value, found),
        ("admissionregistration.k8s.io", kind) => admission::validate(kind, value, found),
        ("autoscaling", _) => {
            autoscaling::validate(&resource.group_version.version, value, None, found);
        }
        ("certificates.k8s.io", _) => certificates::validate(value, found),
        ("networking.k8s.io", kind) => networking::validate_new(kind, value, found),
        ("policy", _) => policy::budget(value, found),
        ("scheduling.k8s.io", _) => policy::priority(value, found),
        ("storage.k8s.io", _) => storage::class(value, found),
        ("discovery.k8s.io", _) => discovery::validate(value, found),
        ("apiextensions.k8s.io", _) => {
            let metadata = field(value, "metadata");
            crd_name(metadata, field(value, "spec"), found);
            crate::crd::validate(value, found);
        }
        _ => {}
    }
}

fn crd_name(metadata: &Value, spec: &Value, found: &mut Findings) {
    use crate::json::text;
    let at = crate::schema::Path::new("metadata");
    let name = text(metadata, "name");
    let desired = format!(
        "{}.{}",
        text(field(spec, "names"), "plural"),
        text(spec, "group")
    );
    if !name.is_empty() && name != desired {
        let message = "must be spec.names.plural+\".\"+spec.group";
        found.invalid(&at.child("name"), name, message);
    }
}

/// Validates a changed object without its metadata.
pub(super) fn validate_update(
    resource: &Resource,
    new: &Value,
    old: &Value,
    target: WriteTarget,
    found: &mut Findings,
) {
    if target == WriteTarget::Status {
        if resource.group_version.group == "apps" {
            apps::status(new, found);
        }
        match group_kind(resource) {
            ("", "Node") => core::node_status(new, found),
            ("autoscaling", _) => autoscaling::status(new, found),
            ("certificates.k8s.io", _) => certificates::status_update(new, old, target, found),
            ("policy", _) => policy::budget_status(new, found),
            _ => {}
        }
        return;
    }
    if target == WriteTarget::Approval {
        certificates::status_update(new, old, target, found);
        return;
    }
    match group_kind(resource) {
        ("", "Secret") => {
            core::secret_update(new, old, found);
            core::secret(new, found);
        }
        ("", "ConfigMap") => {
            core::config_map_update(new, old, found);
            core::config_map(new, found);
        }
        ("", "Namespace") => {
            if target == WriteTarget::Finalize {
                core::finalizers(new, found);
            }
        }
        ("", "Pod") if target == WriteTarget::EphemeralContainers => {
            pod::change::ephemeral(new, old, found);
        }
        ("", "Pod") if target == WriteTarget::Resize => pod::resize::validate(new, old, found),
        ("", "Pod") => pod::change::update(new, old, found),
        ("", "Service") => {
            service::update(new, old, found);
            service::validate(new, found);
        }
        ("", "Node") => core::node_update(new, old, found),
        ("", "PersistentVolumeClaim") => storage::claim_update(new, old, found),
        ("", "ResourceQuota") => policy::quota_update(new, old, found),
        ("apps", kind) => apps::validate_update(kind, new, old, found),
        ("autoscaling", _) => {
            let version = &resource.group_version.version;
            autoscaling::validate(version, new, Some(old), found);
        }
        ("networking.k8s.io", kind) => networking::update(kind, new, old, found),
        ("scheduling.k8s.io", _) => policy::priority_update(new, old, found),
        ("storage.k8s.io", _) => storage::class_update(new, old, found),
        ("batch", kind) => batch::validate_update(kind, new, old, found),
        ("rbac.authorization.k8s.io", kind) => {
            rbac::validate(kind, new, found);
            rbac::update(new, old, found);
        }
        ("discovery.k8s.io", _) => discovery::update(new, old, found),
        ("apiextensions.k8s.io", _) => crate::crd::validate_update(new, old, found),
        ("events.k8s.io", "Event") => core::new_event_update(new, old, found),
        _ => validate(resource, new, found),
    }
}
