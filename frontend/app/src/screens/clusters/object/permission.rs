//! The check of one permission on the object of the page.

use drover_ui_core::action::Access;
use drover_ui_core::kubectl::KubectlObject;
use leptos::prelude::*;

use crate::reflector::until_cleanup;
use crate::session::Session;

/// Returns the text for a permission that the user does not have. The text is `None` until the
/// cluster denies the permission.
pub(super) fn missing_right(
    session: Session,
    named: &KubectlObject,
    access: Access,
) -> RwSignal<Option<String>> {
    let (missing, cluster) = (RwSignal::new(None), named.cluster.clone());
    until_cleanup(async move {
        if session.is_denied(&cluster, &access).await == Some(true) {
            let _ = missing.try_set(Some(access.missing()));
        }
    });
    missing
}
