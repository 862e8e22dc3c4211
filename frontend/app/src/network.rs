//! What the browser says about its network. It is a reason to look again, and never believed: a
//! server may be reached without a network, and not be reached with one.

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

/// Ready when the browser has told; dropped, it listens no more.
pub(crate) struct Told {
    told: oneshot::Receiver<()>,
    listening: Option<WindowListenerHandle>,
}

impl Told {
    /// The network is lost.
    pub(crate) fn lost() -> Self {
        Self::of(ev::offline)
    }

    /// The network is back.
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
                // Who asked may be gone.
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

/// Waits, until it is time to look again: so long, or until the network is lost or back.
pub(crate) async fn rest(duration: Duration) {
    let told = select(Told::lost(), Told::back());
    select(Box::pin(sleep(duration)), told).await;
}
