//! Admission of Drover's own kinds.

use drover_api::group::GROUP;
use serde_json::Value;

use super::{Operation, Refusal, Write, is_servers_secret, owned};
use crate::setting::Setting;

pub(super) fn admit(write: &Write<'_>) -> Result<(), Refusal> {
    if write.operation == Operation::Delete {
        return match write.resource {
            "users" => deleted_user(write),
            _ => Ok(()),
        };
    }
    if !write.subresource.is_empty() {
        return Err(Refusal::new(format!(
            "only Drover's server can write the {subresource} of {resource}: change the spec \
             instead",
            subresource = write.subresource,
            resource = write.resource
        )));
    }
    // Status is a subresource in the definitions; this check does not depend on that.
    if write.changes("/status") {
        return Err(Refusal::new(format!(
            "only Drover's server can write the status of {resource}: change the spec instead",
            resource = write.resource
        )));
    }
    marks(write)?;
    match write.resource {
        "tokens" => credential(write, "use \"drover token create\""),
        "clusterregistrationtokens" => credential(write, "use \"drover cluster import\""),
        "users" => user(write),
        "settings" => setting(write),
        "authproviders" => provider(write),
        "savedviews" => owned::admit_view(write),
        _ => Ok(()),
    }
}

/// Rejects changes of annotations that only the server may write.
fn marks(write: &Write<'_>) -> Result<(), Refusal> {
    let prefix = format!("{GROUP}/");
    let of = |object: Option<&Value>| -> Vec<(String, Value)> {
        let annotations = object.and_then(|object| object.pointer("/metadata/annotations"));
        let annotations = annotations.and_then(Value::as_object).into_iter().flatten();
        annotations
            .filter(|(key, _)| key.starts_with(&prefix))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    };
    if of(write.object) == of(write.old) {
        return Ok(());
    }
    Err(Refusal::new(format!(
        "only Drover's server can write annotations with the prefix \"{prefix}\": use a \
         different prefix"
    )))
}

fn credential(write: &Write<'_>, advice: &str) -> Result<(), Refusal> {
    if write.operation == Operation::Create {
        return Err(Refusal::new(format!(
            "only Drover's server can create {resource}, because a user who chooses the \
             hash of a token knows the token: {advice}",
            resource = write.resource
        )));
    }
    let parts = ["/spec", "/metadata/ownerReferences", "/metadata/finalizers"];
    match parts.iter().find(|part| write.changes(part)) {
        None => Ok(()),
        Some(part) => Err(Refusal::new(format!(
            "only Drover's server can change {field} of {resource}: delete the object, and \
             {advice}",
            field = part.rsplit('/').next().unwrap_or_default(),
            resource = write.resource
        ))),
    }
}

/// Returns a boolean field of a user, or the default value in the CustomResourceDefinition.
fn flag(user: Option<&Value>, name: &str) -> bool {
    let value = user.and_then(|user| user.pointer("/spec")?.get(name));
    let left_out = user.is_some() && name == "enabled";
    value.and_then(Value::as_bool).unwrap_or(left_out)
}

fn user(write: &Write<'_>) -> Result<(), Refusal> {
    let turned = |name| flag(write.object, name) != flag(write.old, name);
    if turned("administrator") {
        return Err(Refusal::new(
            "only administrators can create administrators or change the administrator flag: \
             use \"drover user create --administrator\" or PATCH /v1/users/NAME",
        ));
    }
    let administrator = flag(write.object, "administrator");
    if administrator && turned("enabled") {
        return Err(Refusal::new(
            "only administrators can disable and enable administrators: use \"drover user \
             disable\" or \"drover user enable\"",
        ));
    }
    if administrator && write.changes("/metadata/ownerReferences") {
        return Err(Refusal::new(
            "cannot set metadata.ownerReferences of an administrator, because the deletion of an \
             owner would delete the administrator: remove metadata.ownerReferences",
        ));
    }
    let waived = flag(write.old, "mustChangePassword") && !flag(write.object, "mustChangePassword");
    if waived {
        return Err(Refusal::new(
            "cannot clear mustChangePassword: the field is cleared when the user sets a new \
             password with \"drover login\"",
        ));
    }
    Ok(())
}

fn deleted_user(write: &Write<'_>) -> Result<(), Refusal> {
    let acts = flag(write.old, "administrator") && flag(write.old, "enabled");
    let leaves_already = write.of_old("/metadata/deletionTimestamp").is_some();
    if !acts || leaves_already {
        return Ok(());
    }
    Err(Refusal::new(
        "cannot delete an administrator through the Kubernetes API: only Drover's REST API can \
         delete administrators; ask an administrator to run \"drover user delete\"",
    ))
}

fn setting(write: &Write<'_>) -> Result<(), Refusal> {
    let text = |value: Option<&Value>| {
        let text = value.and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    let desired = text(write.of("/spec/value"));
    // An invalid value of an earlier version may stay until it is changed.
    if desired.is_empty() || desired == text(write.of_old("/spec/value")) {
        return Ok(());
    }
    // The schema rejects unknown names.
    let checked = Setting::parse(write.name).map(|setting| setting.check(&desired));
    match checked {
        Some(Err(problem)) => Err(Refusal::new(format!(
            "the setting {setting:?} cannot have the value {desired:?}: {problem}",
            setting = write.name
        ))),
        _ => Ok(()),
    }
}

/// Fields of an AuthProvider that contain the name of a Secret. The server sends the Secret's
/// content to the provider.
const PROVIDERS_SECRETS: [&str; 3] = [
    "/spec/oidc/clientSecret/name",
    "/spec/github/clientSecret/name",
    "/spec/ldap/bindPassword/name",
];

fn provider(write: &Write<'_>) -> Result<(), Refusal> {
    for field in PROVIDERS_SECRETS {
        let name = write.of(field).and_then(Value::as_str);
        let own = name.filter(|name| is_servers_secret(name));
        if let Some(name) = own {
            let field = field.trim_start_matches('/').replace('/', ".");
            return Err(Refusal::new(format!(
                "{field} must not refer to the server's Secret {name:?}: use a separate Secret \
                 for the provider"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
