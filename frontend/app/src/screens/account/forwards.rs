//! The port forwards of the user.

use drover_api::rest::{List, PortForwardView};
use drover_ui_core::action::forward::target_words;
use drover_ui_core::age::age;
use drover_ui_core::messages::t;
use drover_ui_core::problem::Problem;
use drover_ui_core::quantity::bytes;
use drover_ui_core::url::segment;
use drover_ui_kit::button::{Button, Weight};
use drover_ui_kit::notice::{Banner, BannerKind, EmptyReason, EmptyState, Skeleton};
use drover_ui_kit::toast::Toasts;
use jiff::Timestamp;
use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::clock::Clock;
use crate::screens::head::PageHead;
use crate::screens::title::title;
use crate::session::Session;

/// The path of the port forwards in the REST API.
pub(crate) const PATH: &str = "/v1/port-forwards";

/// The loaded port forwards; `None` before the first response.
type Loaded = RwSignal<Option<Result<Vec<PortForwardView>, Problem>>>;

/// Shows the port forwards of the user. The list is updated with each tick of the clock.
#[component]
pub(crate) fn PortForwards() -> impl IntoView {
    title(t().forwards.title());
    let (session, clock) = (expect_context::<Session>(), expect_context::<Clock>());
    let loaded: Loaded = RwSignal::new(None);
    Effect::new(move || {
        clock.now();
        load(session, loaded);
    });
    let content = move || match loaded.get() {
        None => view! { <Skeleton/> }.into_any(),
        Some(Err(problem)) => {
            view! { <Banner mood=BannerKind::Error>{problem.message}</Banner> }.into_any()
        }
        Some(Ok(forwards)) if forwards.is_empty() => view! {
            <EmptyState
                reason=EmptyReason::Empty
                title=t().forwards.empty()
                advice=t().forwards.empty_advice()
            />
        }
        .into_any(),
        Some(Ok(forwards)) => view! { <ForwardTable forwards=forwards loaded=loaded/> }.into_any(),
    };
    view! {
        <div class="page">
            <PageHead title=t().forwards.title()/>
            <p>{t().forwards.list_help()}</p>
            {content}
        </div>
    }
}

fn load(session: Session, loaded: Loaded) {
    spawn_local(async move {
        let answer = session.get::<List<PortForwardView>>(PATH).await;
        // The screen can be disposed before the response arrives.
        let _ = loaded.try_set(Some(answer.map(|list| list.items)));
    });
}

#[component]
fn ForwardTable(forwards: Vec<PortForwardView>, loaded: Loaded) -> impl IntoView {
    let heads = [
        t().forwards.target(),
        t().labels.cluster(),
        t().forwards.since(),
        t().forwards.last_use(),
        t().forwards.transferred(),
        t().forwards.actions(),
    ];
    let heads = heads.map(|head| view! { <th scope="col">{head}</th> });
    let rows = forwards
        .into_iter()
        .map(|forward| view! { <ForwardRow forward=forward loaded=loaded/> });
    view! {
        <table class="pairs" aria-label=t().forwards.title()>
            <thead><tr>{heads.into_iter().collect_view()}</tr></thead>
            <tbody>{rows.collect_view()}</tbody>
        </table>
    }
}

#[component]
fn ForwardRow(forward: PortForwardView, loaded: Loaded) -> impl IntoView {
    let (session, toasts) = (expect_context::<Session>(), expect_context::<Toasts>());
    let busy = RwSignal::new(false);
    let target = target_words(&forward);
    let (path, words) = (format!("{PATH}/{}", segment(&forward.id)), target.clone());
    let stop = move |()| {
        busy.set(true);
        let (path, words) = (path.clone(), words.clone());
        spawn_local(async move {
            match session.delete(&path).await {
                Ok(()) => toasts.say(t().forwards.stopped(&words)),
                Err(problem) => toasts.warn(problem.message),
            }
            // The screen can be disposed before the response arrives.
            let _ = busy.try_set(false);
            load(session, loaded);
        });
    };
    let name = target.clone();
    let (sent, received) = (size(forward.bytes_to_pod), size(forward.bytes_from_pod));
    view! {
        <tr>
            <th scope="row"><a href=forward.url target="_blank" rel="noopener noreferrer external">{target}</a></th>
            <td>{forward.cluster}</td>
            <td>{since(forward.created_at)}</td>
            <td>{since(forward.last_used_at)}</td>
            <td>{t().forwards.bytes(&sent, &received)}</td>
            <td>
                <Button weight=Weight::Danger busy=busy on_press=stop>
                    {t().forwards.stop()}<span class="visually-hidden">" "{name}</span>
                </Button>
            </td>
        </tr>
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "the page shows at most three digits"
)]
fn size(count: u64) -> String {
    bytes(count as f64)
}

/// Returns the time since an event, and updates it with each tick of the clock.
fn since(at: Timestamp) -> impl Fn() -> String {
    let clock = expect_context::<Clock>();
    move || age(at, clock.now())
}
