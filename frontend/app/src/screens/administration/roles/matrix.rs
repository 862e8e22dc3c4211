//! The rules of a role as a matrix of checkboxes.

use drover_ui_core::messages::t;
use drover_ui_core::role::matrix::{
    ALL, Mark, RuleField, VERBS, has_field, mark, new_paths, new_rule, others, part, title,
    toggled, with_others, with_part,
};
use drover_ui_core::role::merge::merged;
use drover_ui_core::role::spec::{RoleSpec, Rules};
use drover_ui_kit::button::{Button, Weight};
use drover_ui_kit::icon::Icon;
use k8s_openapi::api::rbac::v1::PolicyRule;
use leptos::html;
use leptos::prelude::*;

use super::work::Work;

/// Shows all rule lists of a role.
#[component]
pub(super) fn Matrices(work: Work) -> impl IntoView {
    let lists = Memo::new(move |_| work.of(RoleSpec::lists));
    move || {
        // The code reads the memo, because an unread memo does not subscribe.
        let lists = lists.get().into_iter().map(|(which, heading)| {
            view! { <Matrix work=work which=which heading=heading/> }
        });
        lists.collect_view()
    }
}

/// The position of a rule in a list of rules.
#[derive(Clone, Copy)]
struct RulePosition {
    work: Work,
    which: Rules,
    index: usize,
}

impl RulePosition {
    /// Calls a function with the rule and returns the result. Returns the default value while the
    /// rule is being removed.
    fn of<T: Default>(self, of: impl Fn(&PolicyRule) -> T) -> T {
        let Self { work, which, index } = self;
        work.of(|spec| spec.rules(which).get(index).map(&of).unwrap_or_default())
    }

    fn change(self, change: impl FnOnce(&PolicyRule) -> PolicyRule) {
        let Self { work, which, index } = self;
        work.change(|spec| {
            let rules = spec.rules_mut(which);
            if let Some(rule) = rules.and_then(|rules| rules.get_mut(index)) {
                *rule = change(rule);
            }
        });
    }

    fn remove(self) {
        let Self { work, which, index } = self;
        work.change(|spec| {
            let rules = spec.rules_mut(which);
            if let Some(rules) = rules.filter(|rules| index < rules.len()) {
                rules.remove(index);
            }
        });
    }
}

#[component]
fn Matrix(work: Work, which: Rules, heading: &'static str) -> impl IntoView {
    let section = NodeRef::<html::Section>::new();
    let is_locked = work.is_held();
    let count = Memo::new(move |_| work.of(|spec| spec.rules(which).len()));
    let none = Memo::new(move |_| count.get() == 0);
    // The pressed button is removed together with its row.
    let removed = Callback::new(move |()| {
        if let Some(section) = section.get_untracked() {
            // The section can be disposed before the focus moves.
            let _ = section.focus();
        }
    });
    let fewer = Memo::new(move |_| {
        work.of(|spec| merged(spec.rules(which)).len() < spec.rules(which).len())
    });
    let rows = move || {
        let rows = (0..count.get()).map(|index| {
            let at = RulePosition { work, which, index };
            view! { <RuleRow at=at removed=removed/> }
        });
        rows.collect_view()
    };
    let table = move || {
        if none.get() {
            return view! { <p class="muted">{t().roles.no_rules()}</p> }.into_any();
        }
        let heads = [ALL].into_iter().chain(VERBS);
        let heads = heads.map(|verb| view! { <th scope="col" class="verb">{verb}</th> });
        view! {
            <div class="matrix" tabindex="0" role="region" aria-label=t().roles.rules_of(heading)>
                <fieldset class="plain" disabled=is_locked>
                <table>
                    <thead>
                        <tr>
                            <th scope="col">{t().roles.api_groups()}</th>
                            <th scope="col">{t().roles.resources_or_paths()}</th>
                            {heads.collect_view()}
                            <th scope="col">{t().roles.other_verbs()}</th>
                            <th scope="col">{t().roles.names()}</th>
                            <th scope="col"><span class="visually-hidden">{t().buttons.remove()}</span></th>
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
                </fieldset>
            </div>
        }
        .into_any()
    };
    let add = move |rule: fn() -> PolicyRule| {
        work.change(|spec| {
            if let Some(rules) = spec.rules_mut(which) {
                rules.push(rule());
            }
        });
    };
    let merge = move |()| {
        work.change(|spec| {
            if let Some(rules) = spec.rules_mut(which) {
                *rules = merged(rules);
            }
        });
    };
    let takes_paths = Memo::new(move |_| work.of(|spec| spec.takes_paths(which)));
    let buttons = move || {
        work.open.then(|| view! {
        <fieldset class="plain row" disabled=is_locked>
            <Button icon=Icon::Plus on_press=move |()| add(new_rule)>{t().roles.add_rule()}</Button>
            <Show when=move || takes_paths.get()>
                <Button icon=Icon::Plus on_press=move |()| add(new_paths)>{t().roles.add_paths()}</Button>
            </Show>
            <Show when=move || fewer.get()>
                <Button on_press=merge>{t().roles.merge_rules()}</Button>
            </Show>
        </fieldset>
    })
    };
    view! { <section class="stack" node_ref=section tabindex="-1"><h2>{heading}</h2>{table}{buttons}</section> }
}

#[component]
fn RuleRow(at: RulePosition, removed: Callback<()>) -> impl IntoView {
    let boxes = [ALL].into_iter().chain(VERBS);
    let boxes = boxes.map(|verb| view! { <td class="verb"><Verb at=at verb=verb/></td> });
    let remove = move |()| {
        at.remove();
        removed.run(());
    };
    view! {
        <tr>
            <td><NameListKind at=at part=RuleField::Groups label=t().roles.api_groups()/></td>
            <td>
                <NameListKind at=at part=RuleField::Resources label=t().labels.resources()/>
                <NameListKind at=at part=RuleField::Paths label=t().roles.paths()/>
            </td>
            {boxes.collect_view()}
            <td><Others at=at/></td>
            <td><NameListKind at=at part=RuleField::Names label=t().roles.names()/></td>
            <td>
                {at.work.open.then(|| view! {
                    <Button weight=Weight::Quiet icon=Icon::Trash on_press=remove>
                        <span class="visually-hidden">{move || t().roles.remove_rule(&at.of(title))}</span>
                    </Button>
                })}
            </td>
        </tr>
    }
}

#[component]
fn Verb(at: RulePosition, verb: &'static str) -> impl IntoView {
    let shown = Memo::new(move |_| at.of(|rule| Some(mark(rule, verb))));
    let implied = move || shown.get() == Some(Mark::Implied);
    let label = move || {
        let rule = at.of(title);
        if implied() {
            t().roles.implied_verb(verb, &rule)
        } else {
            t().roles.verb(verb, &rule)
        }
    };
    view! {
        <label class="checkbox">
            <input
                type="checkbox"
                disabled=implied
                prop:checked=move || shown.get().is_some_and(|mark| mark != Mark::Off)
                on:change=move |_| at.change(|rule| toggled(rule, verb))
            />
            <span class="visually-hidden">{label}</span>
        </label>
    }
}

/// Shows a text field for a list of names. The rule changes when the field loses the focus.
#[component]
fn NameListKind(at: RulePosition, part: RuleField, label: &'static str) -> impl IntoView {
    let shown = Memo::new(move |_| at.of(|rule| has_field(rule, part)));
    let read = Signal::derive(move || at.of(|rule| self::part(rule, part)));
    let write = move |typed: String| at.change(|rule| with_part(rule, part, &typed));
    view! { <Show when=move || shown.get()><Field at=at label=label value=read on_change=write/></Show> }
}

#[component]
fn Others(at: RulePosition) -> impl IntoView {
    let write = move |typed: String| at.change(|rule| with_others(rule, &typed));
    let read = Signal::derive(move || at.of(others));
    view! { <Field at=at label=t().roles.other_verbs() value=read on_change=write/> }
}

#[component]
fn Field(
    at: RulePosition,
    label: &'static str,
    value: Signal<String>,
    on_change: impl Fn(String) + Copy + Send + Sync + 'static,
) -> impl IntoView {
    view! {
        <input
            type="text"
            aria-label=move || t().roles.field_of_rule(label, &at.of(title))
            title=value
            autocomplete="off"
            autocapitalize="none"
            spellcheck="false"
            prop:value=value
            on:change=move |event| on_change(event_target_value(&event))
            on:keydown=move |event| {
                // Enter applies the field instead of submitting the form.
                if event.key() == "Enter" {
                    event.prevent_default();
                    on_change(event_target_value(&event));
                }
            }
        />
    }
}
