//! Online and offline events of the browser. The events only trigger a retry, because a browser can
//! report that it is offline although the server is reachable.

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

/// A future that completes with a network event. Dropping the future removes the listener.
pub(crate) struct NetworkEvent {
    told: oneshot::Receiver<()>,
    listening: Option<WindowListenerHandle>,
}

impl NetworkEvent {
    /// Completes when the browser goes offline.
    pub(crate) fn lost() -> Self {
        Self::of(ev::offline)
    }

    /// Completes when the browser goes online.
    fn back() -> Self {
        Self::of(ev::online)
    }

    fn of<E: EventDescriptor + 'static>(event: E) -> Self
    where
        E::EventType: JsCast,
    {
        let (tell, result) = oneshot::channel();
        let tell = Cell::new(Some(tell));
        let listening = window_event_listener(event, move |_| {
            if let Some(tell) = tell.take() {
                // The receiver can be dropped before the event.
                let _ = tell.send(());
            }
        });
        Self {
            told: result,
            listening: Some(listening),
        }
    }
}

impl Future for NetworkEvent {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.told).poll(context).map(|_| ())
    }
}

impl Drop for NetworkEvent {
    fn drop(&mut self) {
        if let Some(listening) = self.listening.take() {
            listening.remove();
        }
    }
}

/// Sleeps for a duration. Returns early if the browser goes offline or online.
pub(crate) async fn rest(duration: Duration) {
    let event = select(NetworkEvent::lost(), NetworkEvent::back());
    select(Box::pin(sleep(duration)), event).await;
}
