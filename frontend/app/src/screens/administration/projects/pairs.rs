//! Form fields for two quantities per resource.

use drover_ui_core::messages::t;
use drover_ui_core::project::draft::{TypedPair, input_error};
use drover_ui_kit::button::Button;
use drover_ui_kit::field::TextField;
use leptos::prelude::*;

/// Shows two fields for each listed resource, and a field that adds a resource to the list.
#[component]
pub(super) fn PairFields(
    /// The legend of the field group.
    legend: &'static str,
    /// The labels of the two quantities, such as request and limit.
    heads: [&'static str; 2],
    pairs: RwSignal<Vec<TypedPair>>,
    /// The entered name of a resource that the user did not add to the list yet.
    further: RwSignal<String>,
) -> impl IntoView {
    let resources = Memo::new(move |_| {
        pairs.with(|pairs| {
            pairs
                .iter()
                .map(|it| it.resource.clone())
                .collect::<Vec<_>>()
        })
    });
    let typed = move || further.with(|text| text.trim().to_owned());
    let new = move || {
        let typed = typed();
        !typed.is_empty() && resources.with(|known| !known.contains(&typed))
    };
    let add = move |()| {
        if untrack(new) {
            let resource = untrack(typed);
            pairs.update(|pairs| {
                pairs.push(TypedPair {
                    resource,
                    ..TypedPair::default()
                });
            });
            further.set(String::new());
        }
    };
    // Enter adds the resource instead of submitting the form.
    let enter = move |event: web_sys::KeyboardEvent| {
        if event.key() == "Enter" && !event.is_composing() {
            event.prevent_default();
            add(());
        }
    };
    let help = move || {
        let text = if typed().is_empty() {
            t().projects.resource_help()
        } else {
            t().projects.resource_pending()
        };
        text.to_owned()
    };
    let known = move || {
        let known = !typed().is_empty() && !new();
        known.then(|| t().projects.resource_duplicate().to_owned())
    };
    view! {
        <fieldset class="choices">
            <legend>{legend}</legend>
            <For each=move || resources.get() key=Clone::clone let:resource>
                <PairRow resource=resource heads=heads pairs=pairs/>
            </For>
            <div class="pair-add" on:keydown=enter>
                <TextField label=t().projects.add_resource() value=further help=Signal::derive(help)
                    error=Signal::derive(known)/>
                <Button disabled=Signal::derive(move || !new()) on_press=add>{t().buttons.add()}</Button>
            </div>
        </fieldset>
    }
}

#[component]
fn PairRow(
    resource: String,
    heads: [&'static str; 2],
    pairs: RwSignal<Vec<TypedPair>>,
) -> impl IntoView {
    let found = pairs.with_untracked(|pairs| {
        let found = pairs.iter().find(|it| it.resource == resource);
        found.cloned().unwrap_or_default()
    });
    let (first, second) = (RwSignal::new(found.first), RwSignal::new(found.second));
    let name = StoredValue::new(resource.clone());
    Effect::new(move || {
        let (first, second) = (first.get(), second.get());
        pairs.maybe_update(|pairs| {
            let found = pairs
                .iter_mut()
                .find(|it| name.with_value(|name| it.resource == *name));
            let Some(pair) = found else { return false };
            let typed = TypedPair {
                resource: pair.resource.clone(),
                first,
                second,
            };
            let changed = *pair != typed;
            *pair = typed;
            changed
        });
    });
    let wrong =
        |value: RwSignal<String>| Signal::derive(move || value.with(|value| input_error(value)));
    let label = |head: &str| t().projects.amount_of(&resource, head);
    view! {
        <div class="pair-fields">
            <TextField label=label(heads[0]) value=first error=wrong(first)/>
            <TextField label=label(heads[1]) value=second error=wrong(second)/>
        </div>
    }
}
