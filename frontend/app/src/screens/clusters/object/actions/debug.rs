//! The form that adds an ephemeral container to a pod.

use drover_ui_core::action::Change;
use drover_ui_core::messages::t;
use drover_ui_core::object::{Role, containers};
use drover_ui_kit::field::{Select, TextField};
use leptos::prelude::*;

use super::form::{ActionForm, ChangeForm};
use crate::clock::now;

/// The suggested image, a small image with a shell.
const IMAGE: &str = "busybox:stable";

/// Shows the form that adds an ephemeral container to a pod.
#[component]
pub(super) fn DebugForm(dialog: ActionForm) -> impl IntoView {
    let mut targets: Vec<_> = dialog.object.with_value(|object| {
        let mains = containers(object).into_iter();
        let mains = mains.filter(|it| matches!(it.role, Role::Main | Role::Sidecar));
        mains.map(|it| (it.name.clone(), it.name)).collect()
    });
    let target = RwSignal::new(
        targets
            .first()
            .map(|(name, _)| name.clone())
            .unwrap_or_default(),
    );
    targets.push((String::new(), t().actions.debug_no_target().to_owned()));
    let name = RwSignal::new(format!("debugger-{:x}", now().as_second()));
    let image = RwSignal::new(IMAGE.to_owned());
    let change = Signal::derive(move || {
        let text = |text: RwSignal<String>| text.with(|text| text.trim().to_owned());
        let (name, image) = (text(name), text(image));
        let is_complete = !name.is_empty() && !image.is_empty();
        is_complete.then(|| Change::Debug {
            name,
            image,
            target: target.get(),
        })
    });
    view! {
        <ChangeForm dialog=dialog change=change>
            <p>{t().actions.debug_effect()}</p>
            <TextField label=t().actions.image() value=image focused=true/>
            <TextField label=t().actions.debug_name() value=name/>
            <Select label=t().actions.debug_target() options=targets value=target/>
        </ChangeForm>
    }
}
