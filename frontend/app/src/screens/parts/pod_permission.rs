//! The check of a permission for pods, or for terminals in pods, in a namespace that the user types.

use std::time::Duration;

use drover_ui_core::action::Access;
use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::clock::sleep;
use crate::session::Session;

/// The time without typing before the page asks the cluster.
const DEBOUNCE: Duration = Duration::from_millis(300);

/// Returns whether the user has a permission for all Pods of the namespace, or for a subresource of the
/// Pods. Asks the cluster, and assumes the permission until the cluster responds: the cluster checks
/// each request.
pub(crate) fn may_on_pods(
    cluster: &str,
    namespace: Signal<String>,
    verb: &'static str,
    subresource: &'static str,
) -> RwSignal<bool> {
    let session = expect_context::<Session>();
    let (allowed, cluster) = (RwSignal::new(true), cluster.to_owned());
    Effect::new(move || {
        let (asked, cluster) = (namespace.get(), cluster.clone());
        spawn_local(async move {
            sleep(DEBOUNCE).await;
            // The form can be disposed before the response.
            let is_current = || namespace.try_get_untracked().as_ref() == Some(&asked);
            if !is_current() {
                return;
            }
            let access = Access::on_pods(verb, asked.clone(), subresource);
            let denied = session.is_denied(&cluster, &access).await == Some(true);
            if is_current() {
                allowed.try_set(!denied);
            }
        });
    });
    allowed
}
