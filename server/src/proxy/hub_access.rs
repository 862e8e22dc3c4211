//! Administrators' rights on the hub, for requests to `local`: one ClusterRoleBinding that names
//! every enabled administrator as the hub sees them.
//!
//! Observe the users in memory, decide the subjects, apply them. Whoever stops being an
//! administrator loses the right when the change is seen; the permit is gone at the same moment.

use std::time::Duration;

use drover_access::names::UserName;
use drover_api::ids::UserUid;
use drover_api::kinds::User;
use k8s_openapi::api::rbac::v1::{ClusterRoleBinding, RoleRef, Subject};
use kube::Api;
use kube::api::{ObjectMeta, Patch, PatchParams};
use tokio_util::sync::CancellationToken;

use crate::backoff::Backoff;
use crate::hub::{Hub, HubError, call};
use crate::identity::administrators::is_administrator;

/// Name of the binding, and of its field manager.
const BINDING: &str = "drover-administrators";
const FIELD_MANAGER: &str = "drover-hub-access";
/// Applied again after this long even without a change, in case somebody else changed it.
const AGAIN: Duration = Duration::from_mins(5);

/// Keeps the binding in step with the users until `stop`.
pub async fn keep_hub_access(hub: Hub, stop: CancellationToken) {
    let keeping = async {
        let mut changed = hub.stores().changed();
        let mut backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(30));
        let mut applied = None;
        let mut due = tokio::time::Instant::now();
        loop {
            changed.mark_unchanged();
            if hub.stores().health().is_trusted() {
                let wanted = decide(hub.stores().users.all().iter().map(AsRef::as_ref));
                let now = tokio::time::Instant::now();
                if applied.as_ref() != Some(&wanted) || now >= due {
                    if let Err(error) = apply(&hub, &wanted).await {
                        tracing::warn!(
                            error = &error as &dyn std::error::Error,
                            "administrators' rights on the hub could not be applied; trying again"
                        );
                        tokio::time::sleep(backoff.next_delay()).await;
                        continue;
                    }
                    backoff.reset();
                    (applied, due) = (Some(wanted), now + AGAIN);
                }
            }
            let _ = tokio::time::timeout(AGAIN, changed.changed()).await;
        }
    };
    stop.run_until_cancelled(keeping).await;
}

/// The names, on the hub, of those who may do everything there.
fn decide<'a>(users: impl Iterator<Item = &'a User>) -> Vec<String> {
    let mut names: Vec<_> = users
        .filter(|user| is_administrator(user))
        .filter_map(|user| user.metadata.uid.clone())
        .map(|uid| UserName::of(&UserUid::new(uid)).to_string())
        .collect();
    names.sort_unstable();
    names
}

async fn apply(hub: &Hub, names: &[String]) -> Result<(), HubError> {
    let subjects = names.iter().map(|name| Subject {
        api_group: Some("rbac.authorization.k8s.io".to_owned()),
        kind: "User".to_owned(),
        name: name.clone(),
        namespace: None,
    });
    let binding = ClusterRoleBinding {
        metadata: ObjectMeta {
            name: Some(BINDING.to_owned()),
            ..ObjectMeta::default()
        },
        role_ref: RoleRef {
            api_group: Some("rbac.authorization.k8s.io".to_owned()),
            kind: "ClusterRole".to_owned(),
            name: "cluster-admin".to_owned(),
        },
        subjects: Some(subjects.collect()),
    };
    let bindings: Api<ClusterRoleBinding> = Api::all(hub.client());
    let params = PatchParams::apply(FIELD_MANAGER).force();
    let patch = Patch::Apply(&binding);
    let applying = bindings.patch(BINDING, &params, &patch);
    call("apply the administrators' ClusterRoleBinding", applying).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use drover_api::kinds::UserSpec;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;

    fn user(name: &str, uid: &str, administrator: bool, enabled: bool) -> User {
        let spec = UserSpec {
            display_name: None,
            enabled,
            administrator,
            must_change_password: false,
        };
        let mut user = User::new(name, spec);
        user.metadata.uid = Some(uid.to_owned());
        user
    }

    #[test]
    fn only_enabled_administrators_have_rights_on_the_hub() {
        let mut leaving = user("eve", "5", true, true);
        leaving.metadata.deletion_timestamp = Some(Time(jiff::Timestamp::UNIX_EPOCH));
        let users = [
            user("bob", "2", true, true),
            user("ann", "1", true, true),
            user("cat", "3", false, true),
            user("dan", "4", true, false),
            leaving,
        ];
        assert_eq!(decide(users.iter()), ["drover:user:1", "drover:user:2"]);
    }
}
