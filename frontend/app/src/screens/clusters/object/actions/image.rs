//! The form that changes the image of a container.

use drover_ui_core::action::{Change, TemplateContainer, template_containers};
use drover_ui_core::messages::t;
use drover_ui_kit::field::{Select, TextField};
use leptos::prelude::*;

use super::form::{ActionForm, ChangeForm};

/// Shows the form that changes the image of a container.
#[component]
pub(super) fn ImageForm(dialog: ActionForm) -> impl IntoView {
    let containers = StoredValue::new(dialog.object.with_value(template_containers));
    let first = containers.with_value(|containers| containers.first().cloned());
    let first = first.map_or_else(Default::default, |it| (it.name, it.image));
    let (container, image) = (RwSignal::new(first.0), RwSignal::new(first.1));
    let chosen = move || -> Option<TemplateContainer> {
        let name = container.get();
        containers.with_value(|containers| containers.iter().find(|it| it.name == name).cloned())
    };
    Effect::new(move |before: Option<Option<String>>| {
        let chosen = chosen()?;
        // The image of another container replaces the entered image.
        if before.flatten().is_some_and(|before| before != chosen.name) {
            image.set(chosen.image);
        }
        Some(chosen.name)
    });
    let change = Signal::derive(move || {
        let (chosen, image) = (chosen()?, image.with(|image| image.trim().to_owned()));
        let is_changed = !image.is_empty() && image != chosen.image;
        is_changed.then_some(Change::SetImage {
            container: chosen.name,
            init: chosen.init,
            image,
        })
    });
    let help = Signal::derive(move || {
        let current = chosen().map(|it| it.image).unwrap_or_default();
        t().actions.image_help(&current)
    });
    let names = containers.with_value(|containers| {
        let names = containers.iter().map(|it| it.name.clone());
        names.map(|name| (name.clone(), name)).collect::<Vec<_>>()
    });
    view! {
        <ChangeForm dialog=dialog change=change>
            <Select label=t().actions.container() options=names value=container/>
            <TextField label=t().actions.image() value=image help=help focused=true/>
        </ChangeForm>
    }
}
