//! Chunks of the program, which the browser loads when the user opens one of their screens.
//!
//! The attribute `wasm_split` marks the entry function of a chunk. The build tool moves all code
//! that only this function reaches into a separate WebAssembly file.

use std::pin::Pin;
use std::time::Duration;

use drover_ui_core::messages::t;
use drover_ui_kit::button::Button;
use drover_ui_kit::notice::{EmptyReason, EmptyState, Skeleton};
use futures::FutureExt as _;
use futures::future::{Either, select};
use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos::wasm_split::SplitLoaderError;

use crate::clock::sleep;
use crate::reflector::until_cleanup;

/// Creates a screen. The router calls the function with the contexts of the frame.
pub(crate) type Screen = fn() -> AnyView;
/// The entry function of a chunk loads the chunk and returns a screen.
pub(crate) type LoadResult = Result<Screen, SplitLoaderError>;

type Loading = Pin<Box<dyn Future<Output = LoadResult>>>;

/// The time after which the page loads the other chunks. A loaded chunk opens without delay, and
/// also after an upgrade of the server, which removes the files of the chunk.
const PRELOAD_AFTER: Duration = Duration::from_secs(3);
/// The time after which a screen shows an error instead of its placeholder. A slow download
/// continues, and the user can open the screen again.
const LOAD_TIMEOUT: Duration = Duration::from_mins(1);

/// The number of screens whose chunk is being loaded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending(RwSignal<usize>);

impl Pending {
    /// Provides the number as a context.
    pub(crate) fn provide() {
        provide_context(Self(RwSignal::new(0)));
    }

    /// Reports whether the page shows a placeholder. The caller subscribes to changes.
    pub(crate) fn is_pending(self) -> bool {
        self.0.try_get() != Some(0)
    }

    fn change(self, change: fn(usize) -> usize) {
        // A sign-out disposes the frame while a chunk is loading.
        let _ = self.0.try_update(|count| *count = change(*count));
    }
}

/// The parts of the frame and of lists that a chunk contains, as a context. A context, because the
/// chunks contain modules that these parts use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LazyParts {
    /// Shows the content of the command palette.
    pub(crate) palette: fn() -> AnyView,
    /// Shows the dialogs of saved views.
    pub(crate) view_dialogs: fn() -> AnyView,
    /// Shows the terminals.
    pub(crate) dock: fn() -> AnyView,
}

/// Returns the route view of a screen in a chunk.
pub(crate) fn lazy<F>(load: fn() -> F) -> impl Fn() -> AnyView + Clone
where
    F: Future<Output = LoadResult> + 'static,
{
    let placeholder = || view! { <div class="page"><Skeleton/></div> }.into_any();
    move || show(move || Box::pin(load()), placeholder)
}

/// Shows a part of a screen that a chunk contains. The part has no placeholder.
pub(crate) fn lazy_part<F>(load: fn() -> F) -> AnyView
where
    F: Future<Output = LoadResult> + 'static,
{
    show(move || Box::pin(load()), || ().into_any())
}

fn show(
    load: impl Fn() -> Loading + Copy + Send + Sync + 'static,
    placeholder: fn() -> AnyView,
) -> AnyView {
    // A loaded chunk must not show the placeholder.
    let mut loading = load();
    if let Some(Ok(screen)) = (&mut loading).now_or_never() {
        return screen();
    }
    let pending = expect_context::<Pending>();
    let loaded = RwSignal::new(None);
    let finish = move |loading: Loading| {
        pending.change(|count| count + 1);
        spawn_local(async move {
            let result = match select(loading, Box::pin(sleep(LOAD_TIMEOUT))).await {
                Either::Left((loaded, _)) => loaded.map_err(drop),
                Either::Right(_) => Err(()),
            };
            let _ = loaded.try_set(Some(result));
            pending.change(|count| count.saturating_sub(1));
        });
    };
    finish(loading);
    let again = move |()| {
        loaded.set(None);
        finish(load());
    };
    let screen = move || match loaded.get() {
        None => placeholder(),
        Some(Ok(screen)) => screen(),
        Some(Err(())) => view! { <CannotLoad again=again/> }.into_any(),
    };
    screen.into_any()
}

#[component]
fn CannotLoad(again: impl Fn(()) + Send + Sync + 'static) -> impl IntoView {
    view! {
        <div class="page">
            <EmptyState reason=EmptyReason::Offline title=t().chunk.failed() advice=t().chunk.advice()>
                <Button on_press=again>{t().buttons.try_again()}</Button>
                <Button on_press=|()| reload()>{t().buttons.reload()}</Button>
            </EmptyState>
        </div>
    }
}

fn reload() {
    // A page that cannot reload stays as it is.
    let _ = window().location().reload();
}

/// Loads chunks after the first screen, until the reactive owner is cleaned up.
pub(crate) fn preload(chunks: impl AsyncFn() + 'static) {
    until_cleanup(async move {
        sleep(PRELOAD_AFTER).await;
        // Without a network, each screen loads its chunk when the user opens the screen.
        if window().navigator().on_line() {
            chunks().await;
        }
    });
}
