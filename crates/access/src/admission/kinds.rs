//! Drover's own kinds.

use drover_api::group::GROUP;
use serde_json::Value;

use super::{Operation, Refusal, Write, is_servers_secret};
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
            "only Drover's server writes the {} of {}: change the spec, and it follows",
            write.subresource, write.resource
        )));
    }
    // The definition says that a status is a subresource; should it not, this says it again.
    if write.changes("/status") {
        return Err(Refusal::new(format!(
            "only Drover's server writes the status of {}: change the spec, and it follows",
            write.resource
        )));
    }
    marks(write)?;
    match write.resource {
        "tokens" => credential(write, "\"drover token create\" makes one"),
        "clusterregistrationtokens" => credential(write, "\"drover cluster import\" makes one"),
        "users" => user(write),
        "settings" => setting(write),
        "authproviders" => provider(write),
        _ => Ok(()),
    }
}

/// The server's own notes on an object.
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
        "annotations that begin with \"{prefix}\" are notes of Drover's server: use a prefix of \
         your own"
    )))
}

fn credential(write: &Write<'_>, how: &str) -> Result<(), Refusal> {
    if write.operation == Operation::Create {
        return Err(Refusal::new(format!(
            "only Drover's server makes {}, whoever writes a hash knows the secret: {how}",
            write.resource
        )));
    }
    let parts = ["/spec", "/metadata/ownerReferences", "/metadata/finalizers"];
    match parts.iter().find(|part| write.changes(part)) {
        None => Ok(()),
        Some(part) => Err(Refusal::new(format!(
            "{} of {} cannot be changed: delete it, and {how}",
            part.rsplit('/').next().unwrap_or_default(),
            write.resource
        ))),
    }
}

/// A flag of a user, as the definition fills it in where it is left out.
fn flag(user: Option<&Value>, name: &str) -> bool {
    let value = user.and_then(|user| user.pointer("/spec")?.get(name));
    let left_out = user.is_some() && name == "enabled";
    value.and_then(Value::as_bool).unwrap_or(left_out)
}

fn user(write: &Write<'_>) -> Result<(), Refusal> {
    let turned = |name| flag(write.object, name) != flag(write.old, name);
    if turned("administrator") {
        return Err(Refusal::new(
            "only administrators make and unmake administrators, with \"drover user create \
             --administrator\" or PATCH /v1/users/NAME",
        ));
    }
    let administrator = flag(write.object, "administrator");
    if administrator && turned("enabled") {
        return Err(Refusal::new(
            "only administrators disable and enable administrators, with \"drover user disable\" \
             and \"drover user enable\"",
        ));
    }
    if administrator && write.changes("/metadata/ownerReferences") {
        return Err(Refusal::new(
            "an administrator belongs to nobody, with whom Kubernetes would delete them: leave \
             ownerReferences out",
        ));
    }
    let waived = flag(write.old, "mustChangePassword") && !flag(write.object, "mustChangePassword");
    if waived {
        return Err(Refusal::new(
            "only the person can lift mustChangePassword, by setting a password of their own: \
             \"drover login\"",
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
        "only administrators delete administrators, with \"drover user delete\"",
    ))
}

fn setting(write: &Write<'_>) -> Result<(), Refusal> {
    let text = |value: Option<&Value>| {
        let text = value.and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    let wanted = text(write.of("/spec/value"));
    // One that an older server let through may stay until somebody changes it.
    if wanted.is_empty() || wanted == text(write.of_old("/spec/value")) {
        return Ok(());
    }
    // A name that is none is for the schema to refuse.
    let checked = Setting::parse(write.name).map(|setting| setting.check(&wanted));
    match checked {
        Some(Err(problem)) => Err(Refusal::new(format!(
            "the setting {:?} cannot be {wanted:?}: {problem}",
            write.name
        ))),
        _ => Ok(()),
    }
}

/// Where an AuthProvider names a Secret, whose content the server shows to whom the provider names.
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
                "{field} names {name:?}, which is the server's own Secret: put what the provider \
                 asks for into another one"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
