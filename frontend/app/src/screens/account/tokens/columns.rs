//! The columns of the list of tokens.

use std::cmp::Ordering;

use drover_api::rest::TokenView;
use drover_ui_core::messages::t;
use drover_ui_core::token::{End, end, purpose, purpose_in_full, relative};
use drover_ui_kit::badge::{Badge, Tone};
use drover_ui_kit::button::{Button, Weight};
use drover_ui_kit::icon::Icon;
use drover_ui_kit::table::{Column, Row, Sorting};
use leptos::prelude::*;

use super::delete::TokenDeletion;
use crate::clock::{Clock, in_full};
use crate::screens::cells::{time, time_or_never, two};
use drover_ui_core::cluster::screen as cluster_screen;

/// The default order: by expiry, earliest first.
pub(super) const BY_DEFAULT: Sorting = Sorting {
    column: "expires",
    descending: false,
};

/// A row of the list of tokens.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TokenRow {
    pub(super) token: TokenView,
    /// True if the token belongs to the session of this browser.
    pub(super) here: bool,
}

impl Row for TokenRow {
    fn key(&self) -> String {
        self.token.id.clone()
    }

    fn name(&self) -> String {
        let description = self.token.description.as_deref();
        format!("{} {}", description.unwrap_or("token"), self.token.id)
    }
}

/// Returns the columns. Only lists with tokens of several users have a user column.
pub(super) fn columns(everybodys: bool) -> Vec<Column<TokenRow>> {
    let all = [
        Column::new("description", t().tokens.token(), "col-token", description).by(by_description),
        Column::new("user", t().labels.user(), "col-user", user).by(by_user),
        Column::new("purpose", t().tokens.purpose(), "col-purpose", purpose_cell).by(by_purpose),
        Column::new("cluster", t().labels.scope(), "col-scope", cluster).by(by_cluster),
        Column::new("expires", t().labels.expires(), "col-expires", ends).by(by_end),
        Column::new("used", t().tokens.last_used(), "col-time", used).by(by_use),
        Column::new("made", t().labels.created(), "col-time", made).by(by_birth),
        Column::new("actions", t().buttons.delete(), "col-action", actions),
    ];
    let shown = all.into_iter().filter(|it| everybodys || it.key != "user");
    shown.collect()
}

fn by_description(a: &TokenRow, b: &TokenRow) -> Ordering {
    let text = |row: &TokenRow| row.token.description.as_ref().map(|it| it.to_lowercase());
    text(a).cmp(&text(b))
}

fn by_user(a: &TokenRow, b: &TokenRow) -> Ordering {
    a.token.username.cmp(&b.token.username)
}

fn by_purpose(a: &TokenRow, b: &TokenRow) -> Ordering {
    purpose(a.token.purpose).cmp(purpose(b.token.purpose))
}

fn by_cluster(a: &TokenRow, b: &TokenRow) -> Ordering {
    let name = |row: &TokenRow| row.token.cluster.as_ref().map(|it| it.name.clone());
    name(a).cmp(&name(b))
}

fn by_end(a: &TokenRow, b: &TokenRow) -> Ordering {
    a.token.expires_at.cmp(&b.token.expires_at)
}

/// Sorts by last use, latest first. Unused tokens are last.
fn by_use(a: &TokenRow, b: &TokenRow) -> Ordering {
    b.token.last_used_at.cmp(&a.token.last_used_at)
}

/// Sorts by creation time, newest first.
fn by_birth(a: &TokenRow, b: &TokenRow) -> Ordering {
    b.token.created_at.cmp(&a.token.created_at)
}

fn description(row: &TokenRow) -> AnyView {
    let text = row.token.description.clone();
    let text = text.unwrap_or_else(|| purpose_in_full(row.token.purpose).to_owned());
    let here = row
        .here
        .then(|| view! { <Badge tone=Tone::Busy words=t().tokens.this_session().to_owned()/> });
    view! {
        <div class="two-lines">
            <span class="with-badge"><span class="truncate" title=text.clone()>{text.clone()}</span>{here}</span>
            <code class="muted truncate">{row.token.id.clone()}</code>
        </div>
    }
    .into_any()
}

fn user(row: &TokenRow) -> AnyView {
    view! { <span class="truncate">{row.token.username.clone()}</span> }.into_any()
}

fn purpose_cell(row: &TokenRow) -> AnyView {
    let (words, hint) = (
        purpose(row.token.purpose),
        purpose_in_full(row.token.purpose),
    );
    view! { <span class="truncate" title=hint>{words}</span> }.into_any()
}

fn cluster(row: &TokenRow) -> AnyView {
    match &row.token.cluster {
        Some(scope) => {
            let (path, name) = (cluster_screen(&scope.name), scope.name.clone());
            view! { <a class="truncate" href=path>{name}</a> }.into_any()
        }
        None => view! { <span class="muted truncate">{t().tokens.everywhere()}</span> }.into_any(),
    }
}

fn ends(row: &TokenRow) -> AnyView {
    let (clock, token) = (expect_context::<Clock>(), row.token.clone());
    let at = token.expires_at;
    let state = Memo::new(move |_| {
        let now = clock.now();
        let words = relative(at, now);
        match end(&token, now) {
            End::Past => (Some(Tone::Bad), t().tokens.expired(&words)),
            End::Soon => (Some(Tone::Warning), t().tokens.expires_soon(&words)),
            End::Far => (None, words),
        }
    });
    let first = move || match state.get() {
        (Some(tone), words) => view! { <Badge tone=tone words=words/> }.into_any(),
        (None, words) => view! { <span>{words}</span> }.into_any(),
    };
    two(first, &in_full(at).to_string())
}

fn used(row: &TokenRow) -> AnyView {
    time_or_never(row.token.last_used_at)
}

fn made(row: &TokenRow) -> AnyView {
    time(row.token.created_at)
}

fn actions(row: &TokenRow) -> AnyView {
    let (ending, row) = (expect_context::<TokenDeletion>(), row.clone());
    let label = t().tokens.delete_named(&row.name());
    view! {
        <Button weight=Weight::Quiet icon=Icon::Trash on_press=move |()| ending.ask(vec![row.clone()])>
            <span class="visually-hidden">{label}</span>
        </Button>
    }
    .into_any()
}
