//! Merging of options: the options of a bundle, and the options of a target.

use drover_api::fleet::{
    BundleDeploymentOptions, ComparePatch, DownstreamResource, HelmOptions, ValuesFrom, ValuesKey,
};
use serde_json::Value;

/// Text that resets an option of the bundle.
const RESET: &str = "-";

/// Returns the options of a bundle with the options of a target.
///
/// Texts and numbers replace the bundle's. True stays true. Helm values merge deeply. Lists with keys
/// merge by key. Overlays append.
#[must_use]
pub fn merge_options(
    base: &BundleDeploymentOptions,
    custom: &BundleDeploymentOptions,
) -> BundleDeploymentOptions {
    let mut result = base.clone();
    merge_text(&mut result.default_namespace, &custom.default_namespace);
    merge_text(&mut result.target_namespace, &custom.target_namespace);
    merge_text(&mut result.service_account, &custom.service_account);
    if let Some(helm) = &custom.helm {
        merge_helm(result.helm.get_or_insert_default(), helm);
    }
    if let Some(kustomize) = &custom.kustomize {
        let dir = &mut result.kustomize.get_or_insert_default().dir;
        replace_text(dir, &kustomize.dir);
    }
    if let Some(diff) = &custom.diff {
        let patches = &mut result.diff.get_or_insert_default().compare_patches;
        merge_by_key(patches, &diff.compare_patches, patch_key);
    }
    if let Some(yaml) = &custom.yaml {
        let overlays = &mut result.yaml.get_or_insert_default().overlays;
        overlays.extend(yaml.overlays.iter().cloned());
    }
    if custom.force_sync_generation > 0 {
        result.force_sync_generation = custom.force_sync_generation;
    }
    result.keep_resources |= custom.keep_resources;
    result.delete_namespace |= custom.delete_namespace;
    result.delete_crd_resources |= custom.delete_crd_resources;
    if custom.ignore_options.is_some() {
        result.ignore_options.clone_from(&custom.ignore_options);
    }
    if custom.correct_drift.is_some() {
        result.correct_drift.clone_from(&custom.correct_drift);
    }
    merge_by_key(
        &mut result.downstream_resources,
        &custom.downstream_resources,
        resource_key,
    );
    result
}

fn merge_helm(base: &mut HelmOptions, custom: &HelmOptions) {
    match custom.timeout_seconds {
        0 => {}
        seconds => base.timeout_seconds = seconds.max(0),
    }
    match (&mut base.values, &custom.values) {
        (Some(base), Some(custom)) => merge_values(base, custom),
        (None, Some(custom)) => base.values = Some(custom.clone()),
        (_, None) => {}
    }
    base.template_values.extend(custom.template_values.clone());
    merge_by_key(&mut base.values_from, &custom.values_from, values_from_key);
    replace_text(&mut base.repo, &custom.repo);
    replace_text(&mut base.chart, &custom.chart);
    replace_text(&mut base.version, &custom.version);
    replace_text(&mut base.release_name, &custom.release_name);
    if custom.max_history > 0 {
        base.max_history = custom.max_history;
    }
    base.force |= custom.force;
    base.atomic |= custom.atomic;
    base.take_ownership |= custom.take_ownership;
    base.disable_pre_process |= custom.disable_pre_process;
    base.wait_for_jobs |= custom.wait_for_jobs;
    base.disable_dns |= custom.disable_dns;
    base.skip_schema_validation |= custom.skip_schema_validation;
}

/// Merges an overlay into values. Objects merge deeply; other values replace.
pub fn merge_values(base: &mut Value, overlay: &Value) {
    match (base, overlay) {
        (Value::Object(base), Value::Object(overlay)) => {
            for (key, value) in overlay {
                match base.get_mut(key) {
                    Some(below) => merge_values(below, value),
                    None => {
                        base.insert(key.clone(), value.clone());
                    }
                }
            }
        }
        (base, overlay) => *base = overlay.clone(),
    }
}

fn merge_text(base: &mut String, custom: &str) {
    if custom == RESET {
        base.clear();
    } else {
        replace_text(base, custom);
    }
}

fn replace_text(base: &mut String, custom: &str) {
    if !custom.is_empty() {
        custom.clone_into(base);
    }
}

/// Replaces the entries with equal keys, and appends the others. Entries without a key are appended.
/// The first of several custom entries with one key wins.
fn merge_by_key<T: Clone>(base: &mut Vec<T>, custom: &[T], key: impl Fn(&T) -> String) {
    let old: Vec<String> = base.iter().map(&key).collect();
    let mut seen: Vec<String> = Vec::new();
    for entry in custom {
        let name = key(entry);
        if name.is_empty() {
            base.push(entry.clone());
            continue;
        }
        if seen.contains(&name) {
            continue;
        }
        match old.iter().rposition(|old| *old == name) {
            Some(index) => base[index] = entry.clone(),
            None => base.push(entry.clone()),
        }
        seen.push(name);
    }
}

fn patch_key(patch: &ComparePatch) -> String {
    [
        &patch.api_version,
        &patch.kind,
        &patch.namespace,
        &patch.name,
    ]
    .map(String::as_str)
    .join("|")
}

fn resource_key(resource: &DownstreamResource) -> String {
    format!("{}|{}", resource.kind.to_lowercase(), resource.name)
}

fn values_from_key(source: &ValuesFrom) -> String {
    let key =
        |kind: &str, key: &ValuesKey| format!("{kind}|{}|{}|{}", key.namespace, key.name, key.key);
    match (&source.config_map_key_ref, &source.secret_key_ref) {
        (Some(map), _) => key("configmap", map),
        (None, Some(secret)) => key("secret", secret),
        (None, None) => String::new(),
    }
}
