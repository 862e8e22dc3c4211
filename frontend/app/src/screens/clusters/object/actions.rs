//! The actions of the object page: one button, and a menu with the other actions.

mod confirm;
mod debug;
mod delete;
mod drain;
mod form;
mod forward;
mod image;
mod pairs;
mod permission;
mod roll_back;
mod scale;
mod transfer;

use drover_ui_core::action::{Access, Action, available, main_action};
use drover_ui_core::kubectl::KubectlObject;
use drover_ui_core::messages::t;
use drover_ui_core::object::Object;
use drover_ui_kit::button::{Button, Weight};
use drover_ui_kit::icon::Icon;
use drover_ui_kit::menu::Item;
use leptos::prelude::*;

use crate::palette::{PageAction, PageActions};
use crate::screens::access::path;
use crate::screens::head::ActionsMenu;
use confirm::{ConfirmForm, TriggerForm};
use debug::DebugForm;
use delete::DeleteDialog;
use drain::DrainDialog;
use form::ActionDialog;
use forward::ForwardDialog;
use image::ImageForm;
use pairs::{LabelsForm, TaintsForm};
use permission::Permissions;
use roll_back::RollBackForm;
use scale::ScaleForm;
use transfer::TransferDialog;

/// The object of an action.
#[derive(Clone, Copy)]
struct ActionTarget {
    named: StoredValue<KubectlObject>,
    object: Signal<Object>,
}

/// An action, and its permission if the user does not have the permission.
type Offer = (Action, Option<Access>);

/// Shows the actions of an object.
#[component]
pub(super) fn ObjectActions(
    named: StoredValue<KubectlObject>,
    object: Signal<Object>,
) -> impl IntoView {
    let kind = named.with_value(|named| named.kind);
    let actions = Memo::new(move |_| object.with(|object| available(kind, object)));
    let permissions = Permissions::follow(named, actions);
    let chosen = RwSignal::new(None::<Action>);
    let target = ActionTarget { named, object };
    let offers = Memo::new(move |_| permissions.offers(&actions.get()));
    expect_context::<PageActions>().offer(move || {
        let offers = offers.get().unwrap_or_default().into_iter();
        let permitted = offers.filter(|(_, missing)| missing.is_none());
        permitted
            .map(|(action, _)| palette_action(action, named, chosen))
            .collect()
    });
    view! {
        <span class="object-actions row">
            {move || offers.get().map(|offers| view! { <Offers target=target offers=offers chosen=chosen/> })}
        </span>
        {move || chosen.get().map(|action| view! { <OneAction action=action target=target/> })}
    }
}

/// Returns the entry of the palette that opens the dialog of an action.
fn palette_action(
    action: Action,
    named: StoredValue<KubectlObject>,
    chosen: RwSignal<Option<Action>>,
) -> PageAction {
    let title = named.with_value(|named| {
        let verb = action.words().trim_end_matches('…');
        t().actions.title(verb, named.kind.name, &named.name)
    });
    PageAction {
        icon: icon(action),
        title: format!("{title}…"),
        run: Callback::new(move |()| chosen.set(Some(action))),
    }
}

#[component]
fn Offers(
    target: ActionTarget,
    offers: Vec<Offer>,
    chosen: RwSignal<Option<Action>>,
) -> impl IntoView {
    let KubectlObject {
        kind,
        name,
        cluster,
        ..
    } = target.named.get_value();
    let actions: Vec<_> = offers.iter().map(|(action, _)| *action).collect();
    let main = main_action(kind, &actions);
    // A button has no space for the explanation of a missing permission.
    let (main, others): (Vec<_>, Vec<_>) = offers
        .into_iter()
        .partition(|(action, missing)| Some(*action) == main && missing.is_none());
    let main = main.into_iter().map(|(action, _)| {
        view! {
            <Button weight=Weight::Primary on_press=move |()| chosen.set(Some(action))>{action.words()}</Button>
        }
    });
    let items: Vec<_> = others
        .into_iter()
        .map(|(action, missing)| {
            let choose = move || chosen.set(Some(action));
            let why = missing
                .as_ref()
                .map(|access| path(&access.question(&cluster)));
            let item = Item::action(icon(action), action.words(), choose)
                .missing(missing.map(|access| access.missing()))
                .why(why);
            match action {
                Action::Delete => item.danger(),
                _ => item,
            }
        })
        .collect();
    let of = format!("{} {name}", kind.name);
    view! { {main.collect_view()}<ActionsMenu of=of items=items/> }
}

const fn icon(action: Action) -> Icon {
    match action {
        Action::Scale | Action::SetImage => Icon::Settings,
        Action::Restart | Action::RollBack | Action::Trigger => Icon::Clock,
        Action::Pause | Action::Suspend | Action::Cordon => Icon::Lock,
        Action::Resume | Action::Unsuspend | Action::Uncordon => Icon::Check,
        Action::Evict | Action::Drain => Icon::SignOut,
        Action::Debug => Icon::Terminal,
        Action::Forward => Icon::Globe,
        Action::Download | Action::Upload => Icon::Copy,
        Action::Taints | Action::Labels => Icon::Tag,
        Action::Delete => Icon::Trash,
    }
}

/// Shows the dialog of an action.
#[component]
fn OneAction(action: Action, target: ActionTarget) -> impl IntoView {
    let open = RwSignal::new(true);
    if action == Action::Delete {
        return view! { <DeleteDialog target=target open=open/> }.into_any();
    }
    if action == Action::Drain {
        return view! { <DrainDialog target=target open=open/> }.into_any();
    }
    if action == Action::Forward {
        return view! { <ForwardDialog target=target open=open/> }.into_any();
    }
    if matches!(action, Action::Download | Action::Upload) {
        return view! { <TransferDialog action=action target=target open=open/> }.into_any();
    }
    view! {
        <ActionDialog action=action target=target open=open let:dialog>
            {match action {
                Action::Scale => view! { <ScaleForm dialog=dialog/> }.into_any(),
                Action::SetImage => view! { <ImageForm dialog=dialog/> }.into_any(),
                Action::RollBack => view! { <RollBackForm dialog=dialog/> }.into_any(),
                Action::Trigger => view! { <TriggerForm dialog=dialog/> }.into_any(),
                Action::Debug => view! { <DebugForm dialog=dialog/> }.into_any(),
                Action::Taints => view! { <TaintsForm dialog=dialog/> }.into_any(),
                Action::Labels => view! { <LabelsForm dialog=dialog/> }.into_any(),
                _ => view! { <ConfirmForm dialog=dialog/> }.into_any(),
            }}
        </ActionDialog>
    }
    .into_any()
}
