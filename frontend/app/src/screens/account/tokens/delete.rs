//! The dialog that deletes tokens and shows the progress.

use drover_api::rest::TokenView;
use drover_ui_core::messages::t;
use drover_ui_core::problem::Problem;
use drover_ui_core::selection::Selection;
use drover_ui_core::shell;
use drover_ui_core::token::ending;
use drover_ui_core::url::segment;
use drover_ui_kit::code::Code;
use drover_ui_kit::confirm::Confirm;
use drover_ui_kit::notice::{Banner, BannerKind};
use drover_ui_kit::table::Row as _;
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;
use leptos::task::spawn_local;

use super::columns::TokenRow;
use crate::live::listing::Listing;
use crate::screens::batch::{Batch, BatchProgress};
use crate::session::Session;
use crate::session::sign_out;

/// The maximum number of tokens that the dialog lists by name. The dialog shows only the number of
/// the remaining tokens.
const MAX_NAMES: usize = 6;

/// The tokens to delete, and the state of the dialog.
#[derive(Clone, Copy, Debug)]
pub(super) struct TokenDeletion {
    open: RwSignal<bool>,
    rows: RwSignal<Vec<TokenRow>>,
}

impl TokenDeletion {
    /// Provides the state of the dialog as a context.
    pub(super) fn provide() -> Self {
        let ending = Self {
            open: RwSignal::new(false),
            rows: RwSignal::new(Vec::new()),
        };
        provide_context(ending);
        ending
    }

    /// Opens the dialog for these tokens.
    pub(super) fn ask(self, rows: Vec<TokenRow>) {
        self.rows.set(rows);
        self.open.set(true);
    }
}

/// Shows the dialog that deletes tokens.
#[component]
pub(super) fn DeleteTokens(
    ending: TokenDeletion,
    listing: Listing<TokenView>,
    selection: RwSignal<Selection>,
) -> impl IntoView {
    let TokenDeletion { open, rows } = ending;
    move || {
        // Each opening of the dialog starts with new progress.
        rows.track();
        view! { <Question open=open rows=rows listing=listing selection=selection/> }
    }
}

#[component]
fn Question(
    open: RwSignal<bool>,
    rows: RwSignal<Vec<TokenRow>>,
    listing: Listing<TokenView>,
    selection: RwSignal<Selection>,
) -> impl IntoView {
    let (session, toasts) = (expect_context::<Session>(), expect_context::<Toasts>());
    let batch = Batch::new();
    let here = rows.with_untracked(|rows| rows.iter().any(|row| row.here));
    let go = move || {
        let mut remaining = rows.get_untracked();
        // The token of the current session is deleted last.
        remaining.retain(|row| row.here || batch.wants(&row.name()));
        let count = remaining.len();
        remaining.retain(|row| !row.here);
        spawn_local(async move {
            let delete = async |row: TokenRow| delete(session, &row).await;
            let good = batch.run(remaining, TokenRow::name, delete).await;
            listing.again();
            if good && here {
                sign_out(session, toasts, false);
            } else if good {
                toasts.say(deleted(count));
                // The screen and its signals can be disposed before the deletion ends.
                let _ = open.try_set(false);
                let _ = selection.try_update(Selection::clear);
            }
        });
    };
    let title = rows.with_untracked(|rows| question(rows.len()));
    view! {
        <Confirm
            open=open
            title=title
            verb=if here { t().tokens.delete_and_sign_out() } else { t().buttons.delete() }
            busy=Signal::derive(move || batch.is_running())
            on_confirm=move |()| go()
        >
            <p>
                {t().tokens.delete_effect()}
            </p>
            {move || rows.with(|rows| named(rows))}
            {here.then(|| view! {
                <Banner mood=BannerKind::Warning>{t().tokens.delete_own()}</Banner>
            })}
            <BatchProgress batch=batch on_retry=move |()| go()/>
            <Code label=t().labels.command() text=rows.with_untracked(|rows| command(rows))/>
        </Confirm>
    }
}

async fn delete(session: Session, row: &TokenRow) -> Result<(), Problem> {
    session
        .delete(&format!("/v1/tokens/{}", segment(&row.token.id)))
        .await
}

fn question(count: usize) -> String {
    t().tokens.delete_title(count)
}

fn deleted(count: usize) -> String {
    t().tokens.deleted(count)
}

fn named(rows: &[TokenRow]) -> AnyView {
    let more = rows.len().saturating_sub(MAX_NAMES);
    let items = rows.iter().take(MAX_NAMES).map(|row| {
        let (name, consequence) = (row.name(), ending(row.token.purpose));
        view! { <li><b>{name}</b>" "<span class="muted">{consequence}</span></li> }
    });
    view! {
        <ul class="failures">
            {items.collect_view()}
            {(more > 0).then(|| view! { <li class="muted">{t().tokens.more(more)}</li> })}
        </ul>
    }
    .into_any()
}

fn command(rows: &[TokenRow]) -> String {
    let lines = rows
        .iter()
        .map(|row| format!("drover token delete {}", shell::word(&row.token.id)));
    lines.collect::<Vec<_>>().join("\n")
}
