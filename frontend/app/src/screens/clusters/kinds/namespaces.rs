//! The namespace filter of a list.

use drover_ui_core::kind::Kind;
use drover_ui_core::messages::t;
use drover_ui_core::namespaces::{Scope, preselected};
use drover_ui_kit::button::{Button, Weight};
use drover_ui_kit::notice::{EmptyReason, EmptyState};
use leptos::prelude::*;

use crate::screens::cluster::CurrentCluster;

/// The maximum number of namespaces with a button. Users can type other namespaces.
const BUTTONS: usize = 50;

/// The namespace filter: a selected namespace, or all namespaces.
#[derive(Clone, Copy, Debug)]
pub(super) struct Namespaces {
    /// The selected namespace; empty for no selection.
    pub(super) chosen: RwSignal<String>,
    all: RwSignal<bool>,
    kind: Kind,
}

impl Namespaces {
    /// Creates the filter for a kind.
    pub(super) fn of(kind: Kind) -> Self {
        Self {
            chosen: RwSignal::default(),
            all: RwSignal::new(false),
            kind,
        }
    }

    /// Selects the namespace of the URL. Without a namespace in the URL, selects the only namespace
    /// in which the user has a role.
    pub(super) fn read(self, named: String) {
        let in_sight = use_context::<CurrentCluster>().filter(|_| self.kind.namespaced);
        let chosen = match in_sight {
            Some(in_sight) => preselected(named, &in_sight.cluster.get_untracked().rights),
            None => named,
        };
        self.all.set(false);
        self.chosen.set(chosen);
    }

    /// Returns the namespaces of the list.
    pub(super) fn scope(self) -> Memo<Scope> {
        let cluster = expect_context::<CurrentCluster>().cluster;
        Memo::new(move |_| {
            let (chosen, all) = (self.chosen.get(), self.all.get());
            let all = all || !self.kind.namespaced;
            cluster.with(|cluster| Scope::of(&chosen, all, &cluster.rights))
        })
    }
}

/// Shows buttons for the namespaces in which the user has a role.
#[component]
pub(super) fn ChooseNamespace(
    /// The namespace filter.
    namespaces: Namespaces,
    /// The namespaces in which the user has a role.
    names: Vec<String>,
) -> impl IntoView {
    let (chosen, all) = (namespaces.chosen, namespaces.all);
    let cluster = expect_context::<CurrentCluster>().name.get_untracked();
    let advice = if names.len() > BUTTONS {
        t().kinds.more_namespaces(&cluster)
    } else {
        t().kinds.namespaces(&cluster)
    };
    let buttons = names.into_iter().take(BUTTONS).map(|name| {
        let words = name.clone();
        view! { <Button on_press=move |()| chosen.set(name.clone())>{words}</Button> }
    });
    let buttons = buttons.collect_view();
    view! {
        <div class="object-list">
            <EmptyState reason=EmptyReason::Empty title=t().kinds.choose_namespace() advice=advice>
                {buttons}
                <Button weight=Weight::Quiet on_press=move |()| all.set(true)>{t().kinds.all_namespaces()}</Button>
            </EmptyState>
        </div>
    }
}
