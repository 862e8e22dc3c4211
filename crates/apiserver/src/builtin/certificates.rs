//! CertificateSigningRequest. The server has no signer.

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::json::put;
use crate::json::{default, field, items, list, make, number, text};
use crate::names;
use crate::resource::WriteTarget;
use crate::schema::Path;
use crate::schema::findings::Findings;

const PEM_HEAD: &str = "-----BEGIN CERTIFICATE REQUEST-----";
/// The minimum value of `expirationSeconds`.
const MIN_SECONDS: i64 = 600;
/// The condition types that only the subresource `approval` can change.
const APPROVAL_CONDITIONS: [&str; 2] = ["Approved", "Denied"];

pub(crate) fn prepare_create(request: &mut Value) {
    put(request, "status", Some(json!({})));
}

/// Reverts all changes except changes of `status.conditions`.
pub(crate) fn only_conditions(new: &mut Value, old: &Value) {
    put(new, "spec", old.get("spec").cloned());
    let conditions = field(field(new, "status"), "conditions").clone();
    put(new, "status", old.get("status").cloned());
    if let Some(status) = make(new, "status") {
        put(status, "conditions", Some(conditions));
    }
    stamp(new, old);
}

/// Reverts changes of the conditions `Approved` and `Denied`, and sets the timestamps of changed
/// conditions.
pub(crate) fn revert_approvals(new: &mut Value, old: &Value) {
    for kind in APPROVAL_CONDITIONS {
        let kept: Vec<Value> = of_kind(old, kind).cloned().collect();
        if of_kind(new, kind).count() != kept.len() {
            continue;
        }
        let own = |condition: &&mut Value| text(condition, "type") == kind;
        let conditions = new
            .get_mut("status")
            .map(|status| items(status, "conditions"));
        let conditions = conditions.into_iter().flatten().filter(own);
        for (condition, kept) in conditions.zip(kept) {
            *condition = kept;
        }
    }
    stamp(new, old);
}

fn of_kind<'a>(request: &'a Value, kind: &'a str) -> impl Iterator<Item = &'a Value> {
    let conditions = list(field(request, "status"), "conditions").iter();
    conditions.filter(move |condition| text(condition, "type") == kind)
}

/// Sets absent timestamps of conditions.
fn stamp(new: &mut Value, old: &Value) {
    let now = crate::access::seconds_only(jiff::Timestamp::now().as_second());
    let before = list(field(old, "status"), "conditions");
    let Some(status) = new.get_mut("status") else {
        return;
    };
    for condition in items(status, "conditions") {
        default(condition, "lastUpdateTime", now.as_str());
        let same = |one: &&Value| {
            let equal = |name: &str| text(one, name) == text(condition, name);
            equal("type") && equal("status") && !text(one, "lastTransitionTime").is_empty()
        };
        let since = before
            .iter()
            .find(same)
            .map_or(now.as_str(), |one| text(one, "lastTransitionTime"));
        default(condition, "lastTransitionTime", since);
    }
}

pub(crate) fn validate(request: &Value, found: &mut Findings) {
    let at = Path::new("spec");
    let spec = field(request, "spec");
    let pem = STANDARD.decode(text(spec, "request")).unwrap_or_default();
    if !String::from_utf8_lossy(&pem).contains(PEM_HEAD) {
        let message = "PEM block type must be CERTIFICATE REQUEST";
        found.invalid(&at.child("request"), text(spec, "request"), message);
    }
    if list(spec, "usages").is_empty() {
        found.required(&at.child("usages"), "");
    }
    let signer = text(spec, "signerName");
    let under = at.child("signerName");
    match signer.split_once('/') {
        _ if signer.is_empty() => found.required(&under, ""),
        Some((domain, path)) if !path.is_empty() && domain.contains('.') => {
            found.all_invalid(&under, domain, names::dns_subdomain(domain));
        }
        _ => {
            let message = "must be a fully qualified domain and path of the form \
                        'example.com/signer-name'";
            found.invalid(&under, signer, message);
        }
    }
    let name = "expirationSeconds";
    if let Some(seconds) = number(spec, name).filter(|seconds| *seconds < MIN_SECONDS) {
        let message = "may not specify a duration less than 600 seconds (10 minutes)";
        found.invalid(&at.child(name), seconds, message);
    }
    conditions(request, found);
}

fn conditions(request: &Value, found: &mut Findings) {
    let at = Path::new("status");
    let under = at.child("conditions");
    let mut seen = HashSet::new();
    for (index, condition) in list(field(request, "status"), "conditions")
        .iter()
        .enumerate()
    {
        let at = under.index(index);
        let kind = text(condition, "type");
        if kind.is_empty() {
            found.required(&at.child("type"), "");
        }
        let only_true = ["Approved", "Denied", "Failed"].contains(&kind);
        let known: &[&str] = if only_true {
            &["True"]
        } else {
            &["False", "True", "Unknown"]
        };
        found.one_of(&at.child("status"), text(condition, "status"), known);
        let other = APPROVAL_CONDITIONS.iter().find(|other| **other != kind);
        if APPROVAL_CONDITIONS.contains(&kind) && other.is_some_and(|other| seen.contains(*other)) {
            let message = "Approved and Denied conditions are mutually exclusive";
            found.invalid(&under, kind, message);
        }
        if !seen.insert(kind) {
            found.duplicate(&at.child("type"), kind);
        }
    }
}

/// Validates a status update: only `approval` writes approval conditions.
pub(crate) fn status_update(new: &Value, old: &Value, target: WriteTarget, found: &mut Findings) {
    conditions(new, found);
    let at = Path::new("status");
    let under = at.child("conditions");
    for kind in ["Approved", "Denied", "Failed"] {
        let (now, before) = (of_kind(new, kind).count(), of_kind(old, kind).count());
        if now < before {
            let message = format!("updates may not remove a condition of type {kind:?}");
            found.forbidden(&under, message);
        } else if now > before
            && target == WriteTarget::Status
            && APPROVAL_CONDITIONS.contains(&kind)
        {
            let message = format!("updates may not add a condition of type {kind:?}");
            found.forbidden(&under, message);
        }
    }
    let certificate = |request| text(field(request, "status"), "certificate");
    if target == WriteTarget::Status
        && !certificate(old).is_empty()
        && certificate(new) != certificate(old)
    {
        let message = "updates may not modify existing certificate content";
        found.forbidden(&at.child("certificate"), message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_approval_subresource_writes_approval_conditions() {
        let old = json!({"spec": {"signerName": "a.io/s"}, "status": {"certificate": "AA=="}});
        let mut new = json!({"spec": {"signerName": "b.io/s"}, "status": {"certificate": "BB==",
            "conditions": [{"type": "Approved", "status": "True"}]}});
        let messages = |new: &Value, old: &Value, target: WriteTarget| {
            let mut found = Findings::default();
            status_update(new, old, target, &mut found);
            found
                .0
                .iter()
                .map(|one| one.detail.clone())
                .collect::<Vec<_>>()
        };
        let refused = messages(&new, &old, WriteTarget::Status);
        assert!(refused[0].contains("may not add"), "{refused:?}");
        only_conditions(&mut new, &old);
        assert_eq!(new["spec"]["signerName"], "a.io/s");
        assert_eq!(new["status"]["certificate"], "AA==");
        assert!(new["status"]["conditions"][0]["lastUpdateTime"].is_string());
        assert_eq!(messages(&new, &old, WriteTarget::Approval), [""; 0]);
        let mut reported = new.clone();
        reported["status"]["conditions"][0]["reason"] = "other".into();
        revert_approvals(&mut reported, &new);
        assert_eq!(reported, new);
        let removed = messages(&old, &new, WriteTarget::Approval);
        assert!(removed[0].contains("may not remove"), "{removed:?}");
    }
}
