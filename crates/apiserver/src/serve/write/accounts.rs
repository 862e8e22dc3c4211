//! Admission of new pods for service accounts, as in kube-apiserver: checks the account, its token
//! mount and its pull secrets.

use serde_json::Value;

use crate::json::{field, list};
use crate::resource::key;
use crate::serve::exchange::Exchange;
use crate::serve::shared::{Target, object_at};
use crate::status::ApiError;

const AUTOMOUNT: &str = "automountServiceAccountToken";
/// The service account of pods that set no service account.
const DEFAULT: &str = "default";
/// The annotation of mirror pods, which kubelets create.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// Completes a new pod from its service account. Returns true if the function has temporarily
/// disabled the token mount of the pod. [`prepared`] removes this setting after preparation.
///
/// # Errors
///
/// Returns 403 if the account does not exist. A missing account `default` is allowed, because a
/// controller creates it after the namespace.
pub(crate) async fn admit(
    exchange: &Exchange,
    target: &Target,
    pod: &mut Value,
) -> Result<bool, ApiError> {
    let annotations = field(field(pod, "metadata"), "annotations");
    if !target.is("", "pods") {
        return Ok(false);
    }
    if annotations.get(MIRROR).is_some() {
        return mirrored(target, pod);
    }
    let name = match pod["spec"]["serviceAccountName"].as_str() {
        None | Some("") => DEFAULT,
        Some(name) => name,
    };
    let namespace = &target.namespace;
    let at = key("", "serviceaccounts", namespace, name);
    let account = match object_at(&exchange.shared.store, &at).await? {
        Some(account) => account,
        None if name == DEFAULT => return Ok(false),
        None => {
            return Err(target.forbidden(format_args!(
                "error looking up service account {namespace}/{name}: serviceaccount {name:?} \
                 not found"
            )));
        }
    };
    Ok(complete(pod, &account))
}

/// Reports whether the pod is a mirror pod. Rejects mirror pods with service accounts or tokens.
fn mirrored(target: &Target, pod: &mut Value) -> Result<bool, ApiError> {
    if !matches!(pod["spec"]["serviceAccountName"].as_str(), None | Some("")) {
        return Err(target.forbidden("a mirror pod may not reference service accounts"));
    }
    let spec = &mut pod["spec"];
    let unsaid = field(spec, AUTOMOUNT).is_null();
    if unsaid {
        spec[AUTOMOUNT] = false.into();
    }
    Ok(unsaid)
}

fn complete(pod: &mut Value, account: &Value) -> bool {
    let spec = &mut pod["spec"];
    let withheld = field(spec, AUTOMOUNT).is_null() && *field(account, AUTOMOUNT) == false;
    if withheld {
        spec[AUTOMOUNT] = false.into();
    }
    let secrets = list(account, "imagePullSecrets");
    if list(spec, "imagePullSecrets").is_empty() && !secrets.is_empty() {
        spec["imagePullSecrets"] = secrets.into();
    }
    withheld
}

/// Removes the setting that [`admit`] added temporarily to the pod.
pub(crate) fn prepared(pod: &mut Value, withheld: bool) {
    if withheld && let Some(spec) = pod["spec"].as_object_mut() {
        spec.remove(AUTOMOUNT);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pod_receives_image_pull_secrets_and_automount_setting_of_its_service_account() {
        let account = json!({"automountServiceAccountToken": false,
            "imagePullSecrets": [{"name": "pull"}]});
        let mut pod = json!({"spec": {}});
        assert!(complete(&mut pod, &account));
        assert_eq!(pod["spec"]["automountServiceAccountToken"], false);
        prepared(&mut pod, true);
        assert_eq!(
            pod,
            json!({"spec": {"imagePullSecrets": [{"name": "pull"}]}})
        );
        let own = json!({"spec": {"automountServiceAccountToken": true,
            "imagePullSecrets": [{"name": "own"}]}});
        let mut pod = own.clone();
        assert!(!complete(&mut pod, &account));
        assert_eq!(pod, own);
    }
}
