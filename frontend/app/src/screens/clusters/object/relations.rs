//! The section with the related objects of an object.

use drover_ui_core::kind::Kind;
use drover_ui_core::messages::t;
use drover_ui_core::object::{
    CandidateList, Candidates, Object, RelationLine, candidates, references,
};
use drover_ui_kit::badge::Badge;
use drover_ui_kit::button::Button;
use drover_ui_kit::notice::Skeleton;
use futures::StreamExt as _;
use futures::stream::iter;
use leptos::prelude::*;
use leptos::task::spawn_local;

use super::words::Link;
use crate::fetch::Request;
use crate::latest::LatestRequest;
use crate::screens::kinds::tone_of;
use crate::served_kinds::ServedKinds;
use crate::session::Session;

/// The maximum number of concurrent requests for lists of candidates.
const CONCURRENCY: usize = 2;
/// The maximum number of shown objects.
const MAX_SHOWN: usize = 200;

/// The related objects that lists of candidates contain.
#[derive(Clone, Default, PartialEq)]
struct Found {
    lines: Vec<RelationLine>,
    /// The lists that the page could not read completely.
    notes: Vec<String>,
}

/// Shows the related objects. The page asks for lists of candidates when it opens, and when the user
/// presses the button. Live lists would need one connection each.
#[component]
pub(super) fn Relations(
    cluster: StoredValue<String>,
    kind: Kind,
    object: Signal<Object>,
) -> impl IntoView {
    let session = expect_context::<Session>();
    let named = Memo::new(move |_| object.with(|object| references(kind, object)));
    let served = expect_context::<ServedKinds>();
    // A list of a kind that the cluster does not serve would cause a request that fails.
    let lists = Memo::new(move |_| {
        let mut lists = object.with(|object| candidates(kind, object));
        lists.retain(|list| served.serves(list.kind) == Some(true));
        lists
    });
    let found = RwSignal::new(None::<Found>);
    let busy = RwSignal::new(false);
    let latest = LatestRequest::new();
    let ask = move || {
        let number = latest.begin();
        let (lists, cluster) = (lists.get_untracked(), cluster.get_value());
        busy.set(true);
        spawn_local(async move {
            let answer = read(session, &cluster, lists).await;
            // The page can be closed before the responses arrive.
            if !latest.is_latest(number) {
                return;
            }
            let _ = found.try_set(Some(answer));
            let _ = busy.try_set(false);
        });
    };
    Effect::new(move || {
        // The labels and the UID of the object select candidates.
        let has_lists = lists.with(|lists| !lists.is_empty());
        found.set(None);
        if has_lists {
            ask();
        }
    });
    let lines = Memo::new(move |_| {
        let mut lines = named.get();
        lines.extend(found.with(|found| {
            found
                .iter()
                .flat_map(|it| it.lines.clone())
                .collect::<Vec<_>>()
        }));
        lines
    });
    let notes = move || {
        let notes = found.with(|found| found.as_ref().map(|it| it.notes.clone()));
        let notes = notes.unwrap_or_default().into_iter();
        notes
            .map(|note| view! { <p class="object-message">{note}</p> })
            .collect_view()
    };
    let content = move || {
        let asks = lists.with(|lists| !lists.is_empty());
        match (lines.with(Vec::is_empty), found.with(Option::is_some)) {
            (true, false) if asks => view! { <Skeleton lines=3/> }.into_any(),
            (true, _) => view! { <p class="muted">{t().relations.none()}</p> }.into_any(),
            (false, _) => view! { <Lines lines=lines.get() cluster=cluster/> }.into_any(),
        }
    };
    let is_shown =
        Memo::new(move |_| named.with(|it| !it.is_empty()) || lists.with(|it| !it.is_empty()));
    let refresh = move || {
        lists.with(|lists| !lists.is_empty()).then(|| {
            view! {
                <div class="row">
                    <Button busy=busy on_press=move |()| ask()>{t().buttons.reload()}</Button>
                    <span class="muted">{t().relations.checked()}</span>
                </div>
            }
        })
    };
    move || {
        is_shown.get().then(|| {
            view! {
                <section class="card" aria-label=t().relations.related()>
                    <h3>{t().relations.related()}</h3>
                    {notes}
                    {content}
                    {refresh}
                </section>
            }
        })
    }
}

/// Reads the lists of candidates.
async fn read(session: Session, cluster: &str, lists: Vec<Candidates>) -> Found {
    let ask = async |list: Candidates| {
        let answer = Request::get(list.url(cluster))
            .answer::<CandidateList>()
            .await;
        if let Err(problem) = &answer {
            session.handle(problem);
        }
        list.found(answer)
    };
    let answers: Vec<_> = iter(lists).map(ask).buffered(CONCURRENCY).collect().await;
    let mut found = Found::default();
    for (lines, note) in answers {
        found.lines.extend(lines);
        found.notes.extend(note);
    }
    found
}

#[component]
fn Lines(lines: Vec<RelationLine>, cluster: StoredValue<String>) -> impl IntoView {
    let more = lines.len().saturating_sub(MAX_SHOWN);
    let rows = lines.into_iter().take(MAX_SHOWN).map(|line| {
        let state = line.object_state.map(|state| {
            view! {
                <span title=state.why><Badge tone=tone_of(state.severity) words=state.words/></span>
            }
        });
        view! {
            <tr>
                <td><Link cluster=cluster to=line.reference/></td>
                <td>{line.relation}</td>
                <td>{state}</td>
            </tr>
        }
    });
    let more = (more > 0).then(|| view! { <p class="muted">{t().object.more_related(more)}</p> });
    view! {
        <table class="pairs">
            <thead>
                <tr>
                    <th scope="col">{t().relations.object()}</th>
                    <th scope="col">{t().relations.relation()}</th>
                    <th scope="col">{t().labels.state()}</th>
                </tr>
            </thead>
            <tbody>{rows.collect_view()}</tbody>
        </table>
        {more}
    }
}
