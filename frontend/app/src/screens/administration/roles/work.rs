//! The editor of a role, with form fields and YAML.

use drover_api::rest::RoleView;
use drover_ui_core::messages::t;
use drover_ui_core::role::Kind;
use drover_ui_core::role::draft::Draft;
use drover_ui_core::role::spec::RoleSpec;
use drover_ui_kit::button::{Button, Weight};
use drover_ui_kit::icon::Icon;
use drover_ui_kit::notice::{Banner, BannerKind};
use drover_ui_kit::picker::{Choice, Picker};
use drover_ui_kit::tabs::{Tab, Tabs};
use leptos::html;
use leptos::prelude::*;

use super::matrix::Matrices;
use super::text::AsText;
use crate::freshness::MissingBanner;
use crate::live::listing::Listing;

/// The draft of a role and the state of the editor.
#[derive(Clone, Copy)]
pub(super) struct Work {
    /// The edited draft.
    pub(super) draft: RwSignal<Draft>,
    /// True if the user can change the role.
    pub(super) open: bool,
    /// True while the role is being saved. The editor is then read-only.
    pub(super) busy: Signal<bool>,
}

impl Work {
    /// Reports whether the form fields are read-only, for example because the YAML is invalid.
    pub(super) fn is_held(self) -> Signal<bool> {
        let unreadable = move || self.draft.with(|draft| draft.problem().is_some());
        Signal::derive(move || self.is_closed() || unreadable())
    }

    /// Reports whether the form fields and the YAML are read-only.
    pub(super) fn is_closed(self) -> bool {
        !self.open || self.busy.get()
    }

    /// Sets the draft to the saved spec. If both specs are equal, the draft stays unchanged,
    /// including the comments in the YAML.
    pub(super) fn reset_to(self, written: &RoleSpec) {
        let differs = |draft: &Draft| draft.spec() != written;
        // The screen can be disposed before the response arrives.
        if self.draft.try_with_untracked(differs) == Some(true) {
            self.draft.set(Draft::of(written.clone()));
        }
    }

    /// Reports whether the draft differs from a spec or is invalid.
    pub(super) fn differs(self, from: &RoleSpec) -> bool {
        self.draft
            .with(|draft| draft.problem().is_some() || draft.spec() != from)
    }

    /// Changes the spec of the draft.
    pub(super) fn change(self, change: impl FnOnce(&mut RoleSpec)) {
        self.draft.update(|draft| draft.change(change));
    }

    /// Returns a value of the draft's spec.
    pub(super) fn of<T>(self, of: impl Fn(&RoleSpec) -> T) -> T {
        self.draft.with(|draft| of(draft.spec()))
    }
}

/// Shows the fields and the YAML as tabs.
#[component]
pub(super) fn WorkOn(work: Work) -> impl IntoView {
    let chosen = RwSignal::new("rules".to_owned());
    let tab = |key: &str, words: &str| Tab {
        key: key.to_owned(),
        words: words.to_owned(),
    };
    let tabs = vec![
        tab("rules", t().roles.rules()),
        tab("yaml", t().roles.yaml()),
    ];
    let as_text = Memo::new(move |_| chosen.with(|chosen| chosen == "yaml"));
    view! {
        <Tabs label=t().roles.views() tabs=tabs chosen=chosen on_choose=move |key| chosen.set(key)>
            {move || if as_text.get() {
                view! { <AsText work=work/> }.into_any()
            } else {
                view! { <ByFields work=work/> }.into_any()
            }}
        </Tabs>
    }
}

#[component]
fn ByFields(work: Work) -> impl IntoView {
    let unreadable = move || {
        let wrong = work.draft.with(|draft| draft.problem().is_some());
        wrong.then(|| {
            view! {
                <Banner mood=BannerKind::Warning>
                    {t().roles.yaml_invalid()}
                </Banner>
            }
        })
    };
    let is_locked = work.is_held();
    let external = work
        .draft
        .with_untracked(|draft| draft.spec().external().is_some());
    let in_hub = move || {
        let count = work.of(RoleSpec::hub_namespaces);
        let words = t().roles.hub_namespaces();
        (count > 0).then(|| view! { <p class="muted">{words}</p> })
    };
    view! {
        {unreadable}
        <fieldset class="plain stack" disabled=is_locked>
            <Line work=work label=t().labels.display_name() read=|spec| spec.display_name().to_owned()
                write=|spec, text| spec.call(text)/>
            <Line work=work label=t().labels.description() read=|spec| spec.description().to_owned()
                write=|spec, text| spec.describe(text)/>
            <Flag work=work/>
            <LinkedRoles work=work/>
            {external.then(|| view! {
                <Line work=work label=t().roles.cluster_roles()
                    read=|spec| spec.external().unwrap_or_default()
                    write=|spec, text| spec.set_external(text)/>
            })}
        </fieldset>
        <Matrices work=work/>
        {in_hub}
    }
}

/// Shows a text field. The draft changes when the field loses the focus.
#[component]
fn Line(
    work: Work,
    label: &'static str,
    read: fn(&RoleSpec) -> String,
    write: fn(&mut RoleSpec, &str),
) -> impl IntoView {
    view! {
        <div class="field">
            <label>
                {label}
                <input type="text" autocomplete="off" prop:value=move || work.of(read)
                    on:change=move |event| {
                        let text = event_target_value(&event);
                        work.change(|spec| write(spec, &text));
                    }/>
            </label>
        </div>
    }
}

#[component]
fn Flag(work: Work) -> impl IntoView {
    let words = work.draft.with_untracked(|draft| draft.spec().flag().0);
    view! {
        <label class="checkbox">
            <input
                type="checkbox"
                prop:checked=move || work.of(|spec| spec.flag().1)
                on:change=move |event| {
                    let is = event_target_checked(&event);
                    work.change(|spec| spec.set_flag(is));
                }
            />
            <span>{words}</span>
        </label>
    }
}

/// Shows the inherited roles of a RoleTemplate, or the roles that a GlobalRole grants in all
/// clusters.
#[component]
fn LinkedRoles(work: Work) -> impl IntoView {
    let heading = work
        .draft
        .with_untracked(|draft| match draft.spec().kind() {
            Kind::Template => t().roles.inherits(),
            Kind::Global => t().roles.granted_everywhere(),
        });
    let section = NodeRef::<html::Section>::new();
    // The pressed button is removed together with its row.
    let removed = Callback::new(move |()| {
        if let Some(section) = section.get_untracked() {
            // The section can be disposed before the focus moves.
            let _ = section.focus();
        }
    });
    let names = Memo::new(move |_| work.of(|spec| spec.others().to_vec()));
    let list = move || {
        let names = names.get();
        if names.is_empty() {
            return view! { <p class="muted">{t().roles.no_roles()}</p> }.into_any();
        }
        let items = names
            .into_iter()
            .map(|name| view! { <Other work=work name=name removed=removed/> });
        view! { <ul class="stack">{items.collect_view()}</ul> }.into_any()
    };
    view! {
        <section class="stack" node_ref=section tabindex="-1">
            <h2>{heading}</h2>
            {list}
            {work.open.then(|| view! { <AddRole work=work/> })}
        </section>
    }
}

/// Shows a picker that adds a role after the roles are loaded.
#[component]
fn AddRole(work: Work) -> impl IntoView {
    let roles = Listing::<RoleView>::follow(Kind::Template.path());
    let choices = Signal::derive(move || {
        let roles = roles.items().unwrap_or_default();
        let fitting = roles.iter().filter(|role| work.of(|spec| spec.takes(role)));
        let choices = fitting.map(|role| Choice {
            key: role.name.clone(),
            words: role
                .display_name
                .clone()
                .unwrap_or_else(|| role.name.clone()),
            note: role.description.clone().unwrap_or_default(),
        });
        choices.collect::<Vec<_>>()
    });
    let chosen = RwSignal::new(None::<String>);
    Effect::new(move || {
        if let Some(name) = chosen.get() {
            work.change(|spec| spec.others_mut().push(name));
            chosen.set(None);
        }
    });
    let known = Memo::new(move |_| roles.items().is_some());
    view! {
        <MissingBanner
            freshness=Signal::derive(move || roles.freshness())
            known=known
            words=t().roles.roles_missing()
        />
        <Show when=move || known.get()>
            <Picker label=t().roles.add_role() choices=choices value=chosen none=t().labels.choose_role()/>
        </Show>
    }
}

#[component]
fn Other(work: Work, name: String, removed: Callback<()>) -> impl IntoView {
    let (label, gone) = (t().roles.remove_role(&name), name.clone());
    let leave_out = move |()| {
        work.change(|spec| spec.others_mut().retain(|it| *it != gone));
        removed.run(());
    };
    // Links open in a new tab while the role is editable, so that the edits stay.
    let elsewhere = work.open;
    view! {
        <li class="row">
            <a
                href=Kind::Template.screen(&name)
                target=elsewhere.then_some("_blank")
                rel=elsewhere.then_some("noopener")
            >
                {name.clone()}
                {elsewhere.then(|| view! { <span class="visually-hidden">{t().labels.in_new_tab()}</span> })}
            </a>
            {work.open.then(|| view! {
                <Button weight=Weight::Quiet icon=Icon::Trash on_press=leave_out>
                    <span class="visually-hidden">{label}</span>
                </Button>
            })}
        </li>
    }
}
