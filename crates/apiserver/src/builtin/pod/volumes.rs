//! Defaults and validation of pod volumes.

use serde_json::{Value, json};

use crate::json::put;
use crate::json::{default, field, items, list, text};
use crate::names::dns_label;
use crate::schema::Path;
use crate::schema::findings::Findings;

/// Sets defaults of a volume.
pub(crate) fn fill(volume: &mut Value) {
    let Some(map) = volume.as_object() else {
        return;
    };
    if map.keys().all(|name| name == "name") {
        put(volume, "emptyDir", Some(json!({})));
        return;
    }
    for name in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(source) = volume.get_mut(name) {
            default(source, "defaultMode", 0o644);
        }
    }
    if let Some(path) = volume.get_mut("hostPath")
        && field(path, "type").is_null()
    {
        put(path, "type", Some("".into()));
    }
    if let Some(source) = volume.get_mut("downwardAPI") {
        fill_items(source);
    }
    if let Some(projected) = volume.get_mut("projected") {
        for source in items(projected, "sources") {
            if let Some(token) = source.get_mut("serviceAccountToken") {
                default(token, "expirationSeconds", 3_600);
            }
            if let Some(downward) = source.get_mut("downwardAPI") {
                fill_items(downward);
            }
        }
    }
    if let Some(claim) = volume
        .get_mut("ephemeral")
        .and_then(|ephemeral| ephemeral.get_mut("volumeClaimTemplate"))
        .and_then(|claim| claim.get_mut("spec"))
    {
        default(claim, "volumeMode", "Filesystem");
    }
}

fn fill_items(source: &mut Value) {
    for item in items(source, "items") {
        if let Some(reference) = item.get_mut("fieldRef") {
            default(reference, "apiVersion", "v1");
        }
    }
}

/// Validates all volumes. Returns the names that containers may mount.
pub(crate) fn validate<'a>(spec: &'a Value, at: &Path<'_>, found: &mut Findings) -> Vec<&'a str> {
    let mut known: Vec<&str> = Vec::new();
    let under = at.child("volumes");
    for (index, volume) in list(spec, "volumes").iter().enumerate() {
        let at = under.index(index);
        let before = found.0.len();
        source(volume, &at, found);
        let name = text(volume, "name");
        if name.is_empty() {
            found.required(&at.child("name"), "");
        } else {
            found.all_invalid(&at.child("name"), name, dns_label(name));
        }
        if known.contains(&name) {
            found.duplicate(&at.child("name"), name);
        }
        if found.0.len() == before {
            known.push(name);
        }
    }
    known
}

fn source(volume: &Value, at: &Path<'_>, found: &mut Findings) {
    let sources: Vec<(&String, &Value)> = volume
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, _)| *name != "name")
        .collect();
    for (name, source) in &sources {
        needed(name, source, &at.child(name), found);
    }
    if let [_, rest @ ..] = sources.as_slice() {
        for (name, _) in rest {
            found.forbidden(&at.child(name), "may not specify more than 1 volume type");
        }
    } else {
        found.required(at, "must specify a volume type");
    }
}

/// Requires the mandatory fields of a volume source.
fn needed(name: &str, source: &Value, at: &Path<'_>, found: &mut Findings) {
    let field_name = match name {
        "secret" => "secretName",
        "persistentVolumeClaim" => "claimName",
        "configMap" => "name",
        "hostPath" => "path",
        _ => return,
    };
    let value = text(source, field_name);
    if value.is_empty() {
        found.required(&at.child(field_name), "");
    }
    if name == "hostPath" && value.split('/').any(|part| part == "..") {
        found.invalid(&at.child("path"), value, "must not contain '..'");
    }
    let mode = field(source, "defaultMode").as_i64();
    if let Some(mode) = mode.filter(|mode| !(0..=0o777).contains(mode)) {
        let message = "must be a number between 0 and 0777 (octal), both inclusive";
        found.invalid(&at.child("defaultMode"), mode, message);
    }
}
