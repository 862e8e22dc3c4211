//! Admission webhook configurations and ValidatingAdmissionPolicy. The server stores these objects,
//! but does not call the webhooks or evaluate the policies.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::rbac::label_selector;
use crate::json::{default, field, items, list, make, number, text, texts};
use crate::names;
use crate::schema::Path;
use crate::schema::findings::Findings;

const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];

pub(crate) fn fill(kind: &str, value: &mut Value) {
    match kind {
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => {
            for hook in items(value, "webhooks") {
                fill_hook(hook);
                if kind.starts_with("Mutating") {
                    default(hook, "reinvocationPolicy", "Never");
                }
            }
        }
        "ValidatingAdmissionPolicy" => {
            if let Some(spec) = make(value, "spec") {
                default(spec, "failurePolicy", "Fail");
                fill_match(spec, "matchConstraints");
            }
        }
        "ValidatingAdmissionPolicyBinding" => {
            if let Some(spec) = make(value, "spec") {
                fill_match(spec, "matchResources");
            }
        }
        _ => {}
    }
}

fn fill_hook(hook: &mut Value) {
    default(hook, "failurePolicy", "Fail");
    fill_selectors(hook);
    default(hook, "timeoutSeconds", 10);
    for rule in items(hook, "rules") {
        default(rule, "scope", "*");
    }
    if let Some(service) = hook
        .get_mut("clientConfig")
        .and_then(|client| client.get_mut("service"))
    {
        default(service, "port", 443);
    }
}

fn fill_selectors(value: &mut Value) {
    default(value, "matchPolicy", "Equivalent");
    for name in ["namespaceSelector", "objectSelector"] {
        default(value, name, json!({}));
    }
}

fn fill_match(spec: &mut Value, name: &str) {
    let Some(resources) = spec.get_mut(name).filter(|resources| resources.is_object()) else {
        return;
    };
    fill_selectors(resources);
    for name in ["resourceRules", "excludeResourceRules"] {
        for rule in items(resources, name) {
            default(rule, "scope", "*");
        }
    }
}

pub(crate) fn validate(kind: &str, value: &Value, found: &mut Findings) {
    match kind {
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => {
            let under = Path::new("webhooks");
            let mut seen = HashSet::new();
            for (index, hook) in list(value, "webhooks").iter().enumerate() {
                let at = under.index(index);
                webhook(hook, &at, found);
                versions(hook, &at, found);
                let name = text(hook, "name");
                if !name.is_empty() && !seen.insert(name) {
                    found.duplicate(&at.child("name"), name);
                }
            }
        }
        "ValidatingAdmissionPolicy" => policy(field(value, "spec"), found),
        "ValidatingAdmissionPolicyBinding" => binding(field(value, "spec"), found),
        _ => {}
    }
}

fn webhook(hook: &Value, at: &Path<'_>, found: &mut Findings) {
    let name = text(hook, "name");
    let under = at.child("name");
    if name.is_empty() {
        found.required(&under, "");
    } else if let wrong @ [_, ..] = names::dns_subdomain(name).as_slice() {
        found.invalid(&under, name, wrong.join(","));
    } else if name.split('.').count() < 3 {
        let message = "should be a domain with at least three segments separated by dots";
        found.invalid(&under, name, message);
    }
    rules(hook, "rules", at, found);
    let known = |found: &mut Findings, name: &str, known: &[&str]| {
        found.maybe_one_of(&at.child(name), text(hook, name), known);
    };
    known(found, "failurePolicy", &["Fail", "Ignore"]);
    known(found, "matchPolicy", &["Equivalent", "Exact"]);
    let effects = ["None", "NoneOnDryRun"];
    if field(hook, "sideEffects").is_null() {
        let message = "must specify one of None, NoneOnDryRun";
        found.required(&at.child("sideEffects"), message);
    }
    known(found, "sideEffects", &effects);
    known(found, "reinvocationPolicy", &["IfNeeded", "Never"]);
    let seconds = number(hook, "timeoutSeconds");
    if let Some(seconds) = seconds.filter(|seconds| !(1..=30).contains(seconds)) {
        let message = "the timeout value must be between 1 and 30 seconds";
        found.invalid(&at.child("timeoutSeconds"), seconds, message);
    }
    for name in ["namespaceSelector", "objectSelector"] {
        label_selector(field(hook, name), &at.child(name), found);
    }
    client(
        field(hook, "clientConfig"),
        &at.child("clientConfig"),
        found,
    );
}

fn client(client: &Value, at: &Path<'_>, found: &mut Findings) {
    let (url, service) = (field(client, "url"), field(client, "service"));
    match (url.as_str(), service.is_null()) {
        (None, true) | (Some(_), false) => {
            found.required(at, "exactly one of url or service is required");
        }
        (Some(url), true) => {
            if !url.starts_with("https://") {
                let message =
                    format!("'https' is the only allowed URL scheme; desired format: {FORM}");
                found.invalid(&at.child("url"), url, message);
            }
        }
        (None, false) => {
            let at = at.child("service");
            for (name, message) in [
                ("name", "service name is required"),
                ("namespace", "service namespace is required"),
            ] {
                if text(service, name).is_empty() {
                    found.required(&at.child(name), message);
                }
            }
            if let Some(port) = number(service, "port").filter(|port| !(1..=65_535).contains(port))
            {
                let message = "port is not valid: must be between 1 and 65535, inclusive";
                found.invalid(&at.child("port"), port, message);
            }
        }
    }
}

const FORM: &str = "https://host[/path]";

fn rules(value: &Value, name: &str, at: &Path<'_>, found: &mut Findings) {
    let under = at.child(name);
    for (index, rule) in list(value, name).iter().enumerate() {
        let at = under.index(index);
        let operations = at.child("operations");
        if list(rule, "operations").is_empty() {
            found.required(&operations, "");
        }
        let all: Vec<&str> = texts(rule, "operations").collect();
        if all.len() > 1 && all.contains(&"*") {
            let message = "if '*' is present, must not specify other operations";
            found.invalid(&operations, field(rule, "operations").clone(), message);
        }
        for (index, operation) in all.iter().enumerate() {
            if !OPERATIONS.contains(operation) {
                found.not_supported(&operations.index(index), *operation, &OPERATIONS);
            }
        }
        for (name, called) in [
            ("apiGroups", "API groups"),
            ("apiVersions", "API versions"),
            ("resources", ""),
        ] {
            let under = at.child(name);
            let all: Vec<&str> = texts(rule, name).collect();
            if all.is_empty() {
                found.required(&under, "");
            }
            if all.len() > 1 && all.contains(&"*") && !called.is_empty() {
                let message = format!("if '*' is present, must not specify other {called}");
                found.invalid(&under, field(rule, name).clone(), message);
            }
            for (index, text) in all.iter().enumerate() {
                if text.is_empty() && name != "apiGroups" {
                    found.required(&under.index(index), "");
                }
            }
        }
        let scopes = ["*", "Cluster", "Namespaced"];
        found.maybe_one_of(&at.child("scope"), text(rule, "scope"), &scopes);
    }
}

fn versions(hook: &Value, at: &Path<'_>, found: &mut Findings) {
    let under = at.child("admissionReviewVersions");
    let all: Vec<&str> = texts(hook, "admissionReviewVersions").collect();
    if all.is_empty() {
        found.required(&under, "must specify one of v1, v1beta1");
        return;
    }
    let mut seen = HashSet::new();
    for (index, version) in all.iter().enumerate() {
        let at = under.index(index);
        if seen.insert(version) {
            found.all_invalid(&at, version, names::dns_1035_label(version));
        } else {
            found.invalid(&at, *version, "duplicate version");
        }
    }
    if !all
        .iter()
        .any(|version| ["v1", "v1beta1"].contains(version))
    {
        let shown = field(hook, "admissionReviewVersions").clone();
        found.invalid(&under, shown, "must include at least one of v1, v1beta1");
    }
}

fn policy(spec: &Value, found: &mut Findings) {
    let at = Path::new("spec");
    let known = ["Fail", "Ignore"];
    found.one_of(
        &at.child("failurePolicy"),
        text(spec, "failurePolicy"),
        &known,
    );
    let resources = field(spec, "matchConstraints");
    let under = at.child("matchConstraints");
    if resources.is_null() {
        found.required(&under, "");
    } else {
        if list(resources, "resourceRules").is_empty() {
            found.required(&under.child("resourceRules"), "");
        }
        rules(resources, "resourceRules", &under, found);
        rules(resources, "excludeResourceRules", &under, found);
    }
    if list(spec, "validations").is_empty() && list(spec, "auditAnnotations").is_empty() {
        let message = "validations or auditAnnotations must be non-empty";
        found.required(&at.child("validations"), message);
    }
    let under = at.child("validations");
    for (index, validation) in list(spec, "validations").iter().enumerate() {
        if text(validation, "expression").trim().is_empty() {
            let at = under.index(index);
            found.required(&at.child("expression"), "expression is not specified");
        }
    }
}

fn binding(spec: &Value, found: &mut Findings) {
    let at = Path::new("spec");
    let name = text(spec, "policyName");
    if name.is_empty() {
        found.required(&at.child("policyName"), "");
    } else {
        found.all_invalid(&at.child("policyName"), name, names::dns_subdomain(name));
    }
    let under = at.child("validationActions");
    if list(spec, "validationActions").is_empty() {
        found.required(&under, "");
    }
    let known = ["Audit", "Deny", "Warn"];
    for (index, action) in texts(spec, "validationActions").enumerate() {
        found.maybe_one_of(&under.index(index), action, &known);
    }
    rules(
        field(spec, "matchResources"),
        "resourceRules",
        &at.child("matchResources"),
        found,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(kind: &str, value: &Value) -> Vec<String> {
        let mut found = Findings::default();
        validate(kind, value, &mut found);
        found.0.iter().map(|one| one.path.clone()).collect()
    }

    #[test]
    fn webhook_configuration_is_defaulted_and_validated() {
        let kind = "MutatingWebhookConfiguration";
        let mut value = json!({"webhooks": [{
            "name": "a.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "clientConfig": {"service": {"name": "hook", "namespace": "hooks"}},
            "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"],
                "resources": ["pods"]}],
        }]});
        fill(kind, &mut value);
        let hook = &value["webhooks"][0];
        assert_eq!(hook["clientConfig"]["service"]["port"], 443);
        assert_eq!(hook["rules"][0]["scope"], "*");
        assert_eq!(hook["reinvocationPolicy"], "Never");
        assert_eq!(hook["timeoutSeconds"], 10);
        assert_eq!(paths(kind, &value), [""; 0]);
        let poor = json!({"webhooks": [{"name": "short", "clientConfig": {}}]});
        assert_eq!(
            paths(kind, &poor),
            [
                "webhooks[0].name",
                "webhooks[0].sideEffects",
                "webhooks[0].clientConfig",
                "webhooks[0].admissionReviewVersions"
            ]
        );
    }

    #[test]
    fn admission_policy_requires_rules_and_validations() {
        let kind = "ValidatingAdmissionPolicy";
        let mut value = json!({"spec": {"matchConstraints": {"resourceRules": [
            {"operations": ["*"], "apiGroups": ["apps"], "apiVersions": ["v1"],
             "resources": ["deployments"]}]},
            "validations": [{"expression": "true"}]}});
        fill(kind, &mut value);
        assert_eq!(
            value["spec"]["matchConstraints"]["matchPolicy"],
            "Equivalent"
        );
        assert_eq!(paths(kind, &value), [""; 0]);
        let mut empty = json!({"spec": {}});
        fill(kind, &mut empty);
        assert_eq!(
            paths(kind, &empty),
            ["spec.matchConstraints", "spec.validations"]
        );
    }
}
