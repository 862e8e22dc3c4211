//! A version in the history of an object.

use drover_api::rest::{ObjectVersion, VersionContent};
use drover_ui_core::manifest::history::{authors, change_text, version_text};
use drover_ui_core::messages::t;
use drover_ui_kit::badge::{Badge, Tone};
use drover_ui_kit::button::Button;
use drover_ui_kit::code::Code;
use jiff::Timestamp;
use leptos::prelude::*;

use crate::screens::object::diff::text_diff;
use crate::screens::object::words::Age;

/// The texts of a version.
pub(super) struct VersionTexts {
    seen: Timestamp,
    authors: String,
    /// The event of the version, such as a deletion.
    note: Option<(Tone, &'static str)>,
    changes: Vec<String>,
    is_too_large: bool,
    /// The YAML of the previous version and of the version.
    before: Option<String>,
    after: Option<String>,
}

impl VersionTexts {
    pub(super) fn new(version: &ObjectVersion, previous: Option<&ObjectVersion>) -> Self {
        let mut changes: Vec<_> = version.changes.iter().map(change_text).collect();
        if version.further_changes > 0 {
            changes.push(t().history.further(version.further_changes));
        }
        let is_recreated = previous.is_some_and(|previous| previous.uid != version.uid);
        let note = match (version.content, previous) {
            (VersionContent::Deleted, _) => Some((Tone::Warning, t().history.deleted())),
            (_, None) => Some((Tone::Neutral, t().history.first())),
            _ if is_recreated => Some((Tone::Warning, t().history.recreated())),
            _ => None,
        };
        let authors = authors(version, previous.is_none());
        Self {
            seen: version.seen,
            authors: authors.unwrap_or_else(|| t().history.unknown().to_owned()),
            note,
            changes,
            is_too_large: version.content == VersionContent::TooLarge,
            before: previous.and_then(|it| it.object.as_ref()).map(version_text),
            after: version.object.as_ref().map(version_text),
        }
    }
}

/// Shows a version.
#[component]
pub(super) fn VersionItem(
    texts: VersionTexts,
    /// Opens the editor with the version; `None` for versions to which the object cannot be reverted.
    revert: Option<Callback<()>>,
    /// The text for the missing permission to update the object.
    missing: RwSignal<Option<String>>,
    gone: RwSignal<Option<Timestamp>>,
) -> impl IntoView {
    let note = texts
        .note
        .map(|(tone, words)| view! { <Badge tone=tone words=words.to_owned()/> });
    let lines = texts.changes.into_iter();
    let lines = lines.map(|line| view! { <li class="version-change">{line}</li> });
    let lines = view! { <ul>{lines.collect_view()}</ul> };
    let too_large = texts
        .is_too_large
        .then(|| view! { <p>{t().history.too_large()}</p> });
    let revert = move || {
        let revert = revert.filter(|_| gone.get().is_none());
        revert.map(|revert| view! { <Button missing=missing on_press=revert>{t().history.revert()}</Button> })
    };
    let diff = match (texts.before, texts.after.clone()) {
        (Some(before), Some(after)) => Some(view! {
            <Toggle show=t().history.show_diff() hide=t().history.hide_diff()>
                {text_diff(&before, &after)}
            </Toggle>
        }),
        _ => None,
    };
    let object = texts.after.map(|text| {
        view! {
            <Toggle show=t().history.show_object() hide=t().history.hide_object()>
                <Code label=t().history.show_object() text=text.clone()/>
            </Toggle>
        }
    });
    view! {
        <li class="version">
            <div class="version-head">
                <span class="muted"><Age at=texts.seen/></span>
                <span class="version-author">{texts.authors}</span>
                {note}
                {revert}
            </div>
            {lines}
            {too_large}
            {diff}
            {object}
        </li>
    }
}

/// Shows content after a press of a button.
#[component]
fn Toggle(show: &'static str, hide: &'static str, children: ChildrenFn) -> impl IntoView {
    let is_open = RwSignal::new(false);
    let words = move || if is_open.get() { hide } else { show };
    view! {
        <div>
            <button
                type="button"
                class="button quiet"
                aria-expanded=move || is_open.get().to_string()
                on:click=move |_| is_open.update(|open| *open = !*open)
            >
                {words}
            </button>
            {move || is_open.get().then(|| children())}
        </div>
    }
}
