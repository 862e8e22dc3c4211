//! An edit conflict of a role.

use drover_ui_core::messages::t;
use drover_ui_core::role::conflict::Change;
use drover_ui_kit::button::{Button, Weight};
use drover_ui_kit::notice::{Banner, BannerKind};
use leptos::prelude::*;

/// Shows the changes of a different user. The buttons overwrite the changes or discard the draft.
#[component]
pub(super) fn Conflict(
    /// The changes that a different user saved during the edit.
    changes: Vec<Change>,
    /// True while the role is being saved.
    busy: Signal<bool>,
    /// True if the YAML is invalid.
    unreadable: Signal<bool>,
    /// Overwrites the newer version with the user's edits.
    #[prop(into)]
    on_overwrite: Callback<()>,
    /// Discards the user's edits and loads the newer version.
    #[prop(into)]
    on_take: Callback<()>,
) -> impl IntoView {
    let rows = changes.into_iter().map(row);
    view! {
        <section class="card" aria-label=t().roles.conflict()>
            <Banner mood=BannerKind::Warning>
                {t().roles.conflict_help()}
            </Banner>
            <table class="pairs">
                <thead>
                    <tr>
                        <th scope="col">{t().roles.field()}</th>
                        <th scope="col">{t().roles.before()}</th>
                        <th scope="col">{t().roles.now()}</th>
                    </tr>
                </thead>
                <tbody>{rows.collect_view()}</tbody>
            </table>
            <div class="row">
                <Button weight=Weight::Danger busy=busy disabled=unreadable
                    on_press=move |()| on_overwrite.run(())>
                    {t().roles.overwrite()}
                </Button>
                <Button disabled=busy on_press=move |()| on_take.run(())>{t().roles.discard_mine()}</Button>
            </div>
        </section>
    }
}

fn row(change: Change) -> impl IntoView {
    let text = |text: String| match text.as_str() {
        "" => view! { <span class="muted">{t().states.not_set()}</span> }.into_any(),
        _ => view! { <pre>{text}</pre> }.into_any(),
    };
    view! {
        <tr>
            <th scope="row">{change.field}</th>
            <td>{text(change.before)}</td>
            <td>{text(change.now)}</td>
        </tr>
    }
}
