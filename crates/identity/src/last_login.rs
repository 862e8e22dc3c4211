//! The time of a user's last login.

use drover_api::kinds::User;
use drover_hub::Hub;
use jiff::Timestamp;
use kube::ResourceExt as _;
use serde_json::json;

/// Records the time of a login. Logs an error without returning it, because the time is for display
/// only.
pub(crate) async fn record_login(hub: &Hub, user: &User) {
    let patch = json!({ "status": { "lastLoginAt": Timestamp::now() } });
    // The time is for display, so the login does not wait for the store.
    let writer = hub.writer::<User>().without_wait();
    let name = user.name_any();
    let written = writer.patch_status("record a login", &name, &patch);
    if let Err(error) = written.await {
        let error = &error as &dyn std::error::Error;
        tracing::debug!(
            error,
            "failed to write the time of a login to the user's status"
        );
    }
}
