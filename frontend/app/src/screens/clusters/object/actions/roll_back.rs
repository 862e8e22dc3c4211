//! The form that rolls back a workload to a revision.

use drover_ui_core::action::{Change, Revision, revision_source, revisions, template_text};
use drover_ui_core::messages::t;
use drover_ui_core::problem::Problem;
use drover_ui_kit::field::Select;
use drover_ui_kit::notice::{Banner, BannerKind, Skeleton};
use leptos::prelude::*;
use leptos::task::spawn_local;
use serde_json::Value;

use super::form::{ActionForm, ChangeForm};
use crate::screens::object::diff::text_diff;
use crate::session::Session;

/// Shows the form that rolls back a workload to a revision.
#[component]
pub(super) fn RollBackForm(dialog: ActionForm) -> impl IntoView {
    let session = expect_context::<Session>();
    let loaded = RwSignal::new(None::<Result<Vec<Revision>, Problem>>);
    let source = dialog
        .named
        .with_value(|named| dialog.object.with_value(|it| revision_source(named, it)));
    spawn_local(async move {
        let answer = match source {
            Some(source) => session.get::<Value>(&source.path).await,
            None => Ok(Value::Null),
        };
        let found = answer.map(|list| {
            let kind = dialog.named.try_with_value(|named| named.kind);
            let of = |object: &_| kind.map(|kind| revisions(kind, object, &list));
            dialog
                .object
                .try_with_value(of)
                .flatten()
                .unwrap_or_default()
        });
        let _ = loaded.try_set(Some(found));
    });
    move || match loaded.get() {
        None => view! { <div class="dialog-body"><Skeleton lines=6/></div> }.into_any(),
        Some(Err(problem)) => view! {
            <div class="dialog-body"><Banner mood=BannerKind::Error>{problem.message}</Banner></div>
        }
        .into_any(),
        Some(Ok(revisions)) => view! { <Earlier dialog=dialog revisions=revisions/> }.into_any(),
    }
}

#[component]
fn Earlier(dialog: ActionForm, revisions: Vec<Revision>) -> impl IntoView {
    let earlier: Vec<_> = revisions.into_iter().filter(|it| !it.is_current).collect();
    if earlier.is_empty() {
        return view! { <div class="dialog-body"><p>{t().actions.no_revisions()}</p></div> }
            .into_any();
    }
    let options = earlier.iter().map(|revision| {
        let images = revision.images().join(", ");
        let cause = revision.cause.as_deref();
        let words = t().actions.revision_words(revision.number, &images, cause);
        (revision.number.to_string(), words)
    });
    let options: Vec<_> = options.collect();
    let number = RwSignal::new(options[0].0.clone());
    let earlier = StoredValue::new(earlier);
    let chosen = Memo::new(move |_| {
        let number = number.get();
        earlier.with_value(|earlier| {
            let mut earlier = earlier.iter();
            earlier.find(|it| it.number.to_string() == number).cloned()
        })
    });
    let change = Signal::derive(move || Some(Change::RollBack(Box::new(chosen.get()?))));
    view! {
        <ChangeForm dialog=dialog change=change>
            <Select label=t().actions.revision() options=options value=number/>
            {move || chosen.get().map(|revision| view! { <TemplateDiff dialog=dialog revision=revision/> })}
        </ChangeForm>
    }
    .into_any()
}

/// Shows the difference between the pod template of the workload and of the revision.
#[component]
fn TemplateDiff(dialog: ActionForm, revision: Revision) -> impl IntoView {
    let current = dialog.object.with_value(|object| {
        let template = object.value().pointer("/spec/template");
        template.map(template_text).unwrap_or_default()
    });
    let target = template_text(&revision.template);
    if current == target {
        return view! { <p class="muted">{t().actions.no_changes()}</p> }.into_any();
    }
    text_diff(&current, &target)
}
