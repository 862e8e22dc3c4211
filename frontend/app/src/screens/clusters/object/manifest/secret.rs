//! The values of a Secret in its manifest. The tab hides the values until the user reveals them.

use std::sync::Arc;

use drover_ui_core::action::Access;
use drover_ui_core::kubectl::KubectlObject;
use drover_ui_core::manifest::Manifest;
use drover_ui_core::messages::t;
use drover_ui_kit::button::Button;
use leptos::prelude::*;
use leptos::task::spawn_local;

use super::{ManifestState, read_manifest};
use crate::clock::sleep;
use crate::screens::object::permission::missing_right;
use crate::screens::object::secret::REVEAL_TIME;
use crate::session::Session;

/// The visibility of the values of a Secret.
#[derive(Clone, Copy)]
pub(super) struct SecretValues {
    are_shown: RwSignal<bool>,
    /// The number of the last change of the visibility, so that a timer hides only the values of its
    /// own press.
    change: StoredValue<u64>,
    session: Session,
}

impl SecretValues {
    /// Creates hidden values.
    pub(super) fn hidden() -> Self {
        Self {
            are_shown: RwSignal::new(false),
            change: StoredValue::new(0),
            session: expect_context(),
        }
    }

    fn set(self, are_shown: bool) {
        // The tab can be closed before the timer ends.
        let _ = self.change.try_update_value(|change| *change += 1);
        let _ = self.are_shown.try_set(are_shown);
    }

    /// Removes the values from a manifest while they are hidden.
    pub(super) fn visible(self, manifest: Manifest) -> Manifest {
        match self.are_shown.try_get_untracked() {
            Some(true) => manifest,
            _ => manifest.without_secret_values(),
        }
    }

    /// Shows the values of the next manifest for a minute.
    fn reveal(self, came: RwSignal<ManifestState>, ask: Callback<()>) {
        self.set(true);
        ask.run(());
        let change = self.change.get_value();
        spawn_local(async move {
            sleep(REVEAL_TIME).await;
            if self.change.try_get_value() == Some(change) {
                self.hide(came);
            }
        });
    }

    /// Removes the values from the shown manifest.
    pub(super) fn hide(self, came: RwSignal<ManifestState>) {
        self.set(false);
        let _ = came.try_update(|came| {
            if let ManifestState::Loaded { manifest, .. } = came {
                *manifest = Arc::new(manifest.without_secret_values());
            }
        });
    }

    /// Reads the manifest with its values and opens the editor. The editor keeps the values until
    /// the user closes the editor.
    pub(super) fn edit(
        self,
        named: StoredValue<KubectlObject>,
        came: RwSignal<ManifestState>,
        editing: RwSignal<Option<String>>,
    ) {
        // A timer would close the editor.
        self.hide(came);
        let path = named.with_value(KubectlObject::api_path);
        spawn_local(async move {
            match read_manifest(path).await {
                Ok(manifest) => {
                    let _ = editing.try_set(Some(manifest.text(false)));
                }
                Err(problem) => {
                    self.session.handle(&problem);
                    let _ = came.try_set(ManifestState::Refused(problem));
                }
            }
        });
    }
}

/// Shows the button that reveals or hides the values.
#[component]
pub(super) fn SecretBar(
    named: StoredValue<KubectlObject>,
    values: SecretValues,
    came: RwSignal<ManifestState>,
    ask: Callback<()>,
) -> impl IntoView {
    let session = values.session;
    let missing = named.with_value(|it| missing_right(session, it, Access::to_read(it)));
    let content = move || {
        if values.are_shown.get() {
            view! {
                <Button on_press=move |()| values.hide(came)>{t().secrets.hide_values()}</Button>
                <span class="muted">{t().secrets.values_shown()}</span>
            }
            .into_any()
        } else {
            view! {
                <Button missing=missing on_press=move |()| values.reveal(came, ask)>
                    {t().secrets.reveal_values()}
                </Button>
                <span class="muted">{t().secrets.values_hidden()}</span>
            }
            .into_any()
        }
    };
    view! { {content} }
}
