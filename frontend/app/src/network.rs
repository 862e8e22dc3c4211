//! Network events of the browser. They only trigger a retry: a server may be reachable while the
//! browser reports to be offline, and the reverse.

use std::cell::Cell;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::channel::oneshot;
use futures::future::select;
use leptos::ev::{self, EventDescriptor};
use leptos::leptos_dom::helpers::WindowListenerHandle;
use leptos::prelude::*;
use wasm_bindgen::JsCast;

use crate::clock::sleep;

/// A future that completes with a network event. Dropping it removes the listener.
pub(crate) struct Told {
    told: oneshot::Receiver<()>,
    listening: Option<WindowListenerHandle>,
}

impl Told {
    /// Completes when the network is lost.
    pub(crate) fn lost() -> Self {
        Self::of(ev::offline)
    }

    /// Completes when the network is back.
    fn back() -> Self {
        Self::of(ev::online)
    }

    fn of<E: EventDescriptor + 'static>(event: E) -> Self
    where
        E::EventType: JsCast,
    {
        let (tell, told) = oneshot::channel();
        let tell = Cell::new(Some(tell));
        let listening = window_event_listener(event, move |_| {
            if let Some(tell) = tell.take() {
                // The receiver may be dropped.
                let _ = tell.send(());
            }
        });
        Self {
            told,
            listening: Some(listening),
        }
    }
}

impl Future for Told {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.told).poll(context).map(|_| ())
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        if let Some(listening) = self.listening.take() {
            listening.remove();
        }
    }
}

/// Sleeps for a duration, or until the network is lost or back.
pub(crate) async fn rest(duration: Duration) {
    let told = select(Told::lost(), Told::back());
    select(Box::pin(sleep(duration)), told).await;
}
