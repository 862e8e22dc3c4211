//! Validation of affinity, topology spread and security contexts.

use std::collections::HashSet;

use serde_json::Value;

use super::super::metadata;
use crate::json::{field, flag, list, number, object, text, texts};
use crate::names;
use crate::schema::Path;
use crate::schema::findings::Findings;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

pub(crate) fn validate(spec: &Value, at: &Path<'_>, found: &mut Findings) {
    let affinity = field(spec, "affinity");
    let under = at.child("affinity");
    node(
        field(affinity, "nodeAffinity"),
        &under.child("nodeAffinity"),
        found,
    );
    for name in ["podAffinity", "podAntiAffinity"] {
        pods(field(affinity, name), &under.child(name), found);
    }
    let under = at.child("topologySpreadConstraints");
    for (index, one) in list(spec, "topologySpreadConstraints").iter().enumerate() {
        spread(one, &under.index(index), found);
    }
    let context = field(spec, "securityContext");
    let under = at.child("securityContext");
    ids(
        context,
        &["runAsUser", "runAsGroup", "fsGroup"],
        &under,
        found,
    );
    let groups = under.child("supplementalGroups");
    for (index, id) in list(context, "supplementalGroups").iter().enumerate() {
        id_in_range(id.as_i64(), &groups.index(index), found);
    }
    sysctls(context, &under.child("sysctls"), found);
}

const MAX_SYSCTL_LENGTH: usize = 253;

fn sysctls(context: &Value, under: &Path<'_>, found: &mut Findings) {
    let mut seen = HashSet::new();
    for (index, one) in list(context, "sysctls").iter().enumerate() {
        let at = under.index(index);
        let at = at.child("name");
        let name = text(one, "name");
        if name.is_empty() {
            found.required(&at, "");
        } else if !is_sysctl(name) {
            let message = format!(
                "must have at most {MAX_SYSCTL_LENGTH} characters and match regex \
                 ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
            );
            found.invalid(&at, name, message);
        } else if seen.contains(name) {
            found.duplicate(&at, name);
        }
        seen.insert(name);
    }
}

fn is_sysctl(name: &str) -> bool {
    let is_end = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.len() <= MAX_SYSCTL_LENGTH
        && name.split(['.', '/']).all(|part| {
            let bytes = part.as_bytes();
            bytes.first().is_some_and(is_end)
                && bytes.last().is_some_and(is_end)
                && bytes
                    .iter()
                    .all(|byte| is_end(byte) || matches!(byte, b'-' | b'_'))
        })
}

/// Formats a security context as Go prints it.
fn shown(context: &Value) -> String {
    const MEMBERS: [(&str, &str); 12] = [
        ("Capabilities", "capabilities"),
        ("Privileged", "privileged"),
        ("SELinuxOptions", "seLinuxOptions"),
        ("WindowsOptions", "windowsOptions"),
        ("RunAsUser", "runAsUser"),
        ("RunAsGroup", "runAsGroup"),
        ("RunAsNonRoot", "runAsNonRoot"),
        ("ReadOnlyRootFilesystem", "readOnlyRootFilesystem"),
        ("AllowPrivilegeEscalation", "allowPrivilegeEscalation"),
        ("ProcMount", "procMount"),
        ("SeccompProfile", "seccompProfile"),
        ("AppArmorProfile", "appArmorProfile"),
    ];
    let members = MEMBERS.map(|(go, name)| match (name, field(context, name)) {
        ("capabilities", set) if set.is_object() => format!(
            "{go:?}:{{\"Add\":{},\"Drop\":{}}}",
            field(set, "add"),
            field(set, "drop")
        ),
        (_, set) => format!("{go:?}:{set}"),
    });
    format!("{{{}}}", members.join(","))
}

/// Validates the security context of a container.
pub(crate) fn container(one: &Value, at: &Path<'_>, found: &mut Findings) {
    let context = field(one, "securityContext");
    let under = at.child("securityContext");
    ids(context, &["runAsUser", "runAsGroup"], &under, found);
    if field(context, "allowPrivilegeEscalation") == false {
        let message = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
        if flag(context, "privileged") {
            found.invalid_shown(&under, &shown(context), message);
        }
        let added = list(field(context, "capabilities"), "add");
        if added.iter().any(|name| name == "CAP_SYS_ADMIN") {
            let message = "cannot set `allowPrivilegeEscalation` to false and \
                        `capabilities.Add` CAP_SYS_ADMIN";
            found.invalid_shown(&under, &shown(context), message);
        }
    }
}

fn ids(context: &Value, names: &[&str], at: &Path<'_>, found: &mut Findings) {
    for name in names {
        id_in_range(number(context, name), &at.child(name), found);
    }
}

fn id_in_range(id: Option<i64>, at: &Path<'_>, found: &mut Findings) {
    if let Some(id) = id.filter(|id| !(0..=i64::from(i32::MAX)).contains(id)) {
        found.invalid(at, id, "must be between 0 and 2147483647, inclusive");
    }
}

fn node(affinity: &Value, at: &Path<'_>, found: &mut Findings) {
    let required = field(affinity, REQUIRED);
    if required.is_object() {
        let under = at.child(REQUIRED);
        let under = under.child("nodeSelectorTerms");
        let terms = list(required, "nodeSelectorTerms");
        if terms.is_empty() {
            found.required(&under, "must have at least one node selector term");
        }
        for (index, one) in terms.iter().enumerate() {
            term(one, &under.index(index), found);
        }
    }
    let under = at.child(PREFERRED);
    for (index, one) in list(affinity, PREFERRED).iter().enumerate() {
        let at = under.index(index);
        weight(one, &at, found);
        term(field(one, "preference"), &at.child("preference"), found);
    }
}

fn weight(preferred: &Value, at: &Path<'_>, found: &mut Findings) {
    let weight = number(preferred, "weight").unwrap_or_default();
    if !(1..=100).contains(&weight) {
        found.invalid(&at.child("weight"), weight, "must be in the range 1-100");
    }
}

/// Validates a term of a node selector.
fn term(term: &Value, at: &Path<'_>, found: &mut Findings) {
    let under = at.child("matchExpressions");
    for (index, one) in list(term, "matchExpressions").iter().enumerate() {
        let at = under.index(index);
        let (key, values) = (text(one, "key"), list(one, "values").len());
        match text(one, "operator") {
            "In" | "NotIn" if values == 0 => {
                let message = "must be specified when `operator` is 'In' or 'NotIn'";
                found.required(&at.child("values"), message);
            }
            "Exists" | "DoesNotExist" if values > 0 => {
                let message = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                found.forbidden(&at.child("values"), message);
            }
            "Gt" | "Lt" if values != 1 => {
                let message = "must be specified single value when `operator` is 'Lt' or 'Gt'";
                found.required(&at.child("values"), message);
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
            other => found.invalid(
                &at.child("operator"),
                other,
                "not a valid selector operator",
            ),
        }
        found.all_invalid(&at.child("key"), key, names::qualified_name(key));
    }
}

fn pods(affinity: &Value, at: &Path<'_>, found: &mut Findings) {
    let under = at.child(REQUIRED);
    for (index, one) in list(affinity, REQUIRED).iter().enumerate() {
        pod_term(one, &under.index(index), found);
    }
    let under = at.child(PREFERRED);
    for (index, one) in list(affinity, PREFERRED).iter().enumerate() {
        let at = under.index(index);
        weight(one, &at, found);
        let term = field(one, "podAffinityTerm");
        pod_term(term, &at.child("podAffinityTerm"), found);
    }
}

fn pod_term(term: &Value, at: &Path<'_>, found: &mut Findings) {
    let selector = at.child("labelSelector");
    let labels = object(field(term, "labelSelector"), "matchLabels");
    metadata::labels(labels, &selector.child("matchLabels"), found);
    let namespaces = at.child("namespaces");
    for (index, name) in texts(term, "namespaces").enumerate() {
        found.all_invalid(&namespaces.index(index), name, names::dns_label(name));
    }
    let (key, under) = (text(term, "topologyKey"), at.child("topologyKey"));
    if key.is_empty() {
        found.required(&under, "can not be empty");
    }
    found.all_invalid(&under, key, names::qualified_name(key));
}

fn spread(one: &Value, at: &Path<'_>, found: &mut Findings) {
    let skew = number(one, "maxSkew").unwrap_or_default();
    if skew <= 0 {
        found.invalid(&at.child("maxSkew"), skew, "must be greater than zero");
    }
    let (key, under) = (text(one, "topologyKey"), at.child("topologyKey"));
    if key.is_empty() {
        found.required(&under, "can not be empty");
    } else {
        found.all_invalid(&under, key, names::qualified_name(key));
    }
    let known = ["DoNotSchedule", "ScheduleAnyway"];
    let name = "whenUnsatisfiable";
    found.one_of(&at.child(name), text(one, name), &known);
}
