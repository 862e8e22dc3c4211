//! The service account of a new Pod, as kube-apiserver's admission looks after it: it must be
//! there, and says whether its token is mounted and what images are pulled with.

use serde_json::Value;

use crate::json::{field, list};
use crate::resource::key;
use crate::serve::exchange::Exchange;
use crate::serve::shared::{Target, object_at};
use crate::status::ApiError;

const AUTOMOUNT: &str = "automountServiceAccountToken";
/// The account of pods that name none.
const DEFAULT: &str = "default";
/// On pods that a kubelet has of its own; they are only shown.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// Completes a new Pod by its account, and says whether the account withholds its token: the pod
/// then asks for none while it is prepared.
///
/// # Errors
/// 403 if there is no such account. The default one is made in every namespace: a pod that comes a
/// moment before it is let in.
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

/// What a kubelet runs by itself has no account, and no token.
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

/// Takes back what [`admit`] set for as long as the pod was prepared.
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
    fn a_pod_has_what_its_account_says_unless_it_says_so_itself() {
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
