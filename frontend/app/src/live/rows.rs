//! The connection to the row service: one WebSocket for all lists of the page.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use drover_rows::protocol::{ClientMessage, HEARTBEAT_SECONDS, ListSpec, ServerMessage, ViewSpec};
use drover_ui_core::backoff::Backoff;
use drover_ui_core::list::{KnownList, SourceProblem};
use drover_ui_core::problem::{Problem, ProblemKind};
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures::future::{Either, select};
use futures::stream::{SplitSink, SplitStream};
use futures::{SinkExt as _, StreamExt as _};
use gloo_net::websocket::Message;
use gloo_net::websocket::futures::WebSocket;
use leptos::prelude::*;

use crate::clock::{chance, now, sleep};
use crate::freshness::Freshness;
use crate::network::{NetworkEvent, rest};
use crate::reflector::until_cleanup;
use crate::session::Session;

/// The path of the row service.
const PATH: &str = "/v1/rows";
/// The time without a message after which the connection is lost.
const SILENCE: Duration = Duration::from_secs(2 * HEARTBEAT_SECONDS + 10);

/// The connection to the row service, as a context of the page.
#[derive(Clone, Copy)]
pub(crate) struct RowConnection(StoredValue<Rc<Connection>, LocalStorage>);

struct Connection {
    lists: RefCell<HashMap<u32, Subscribed>>,
    next: Cell<u32>,
    /// Sends messages to the task with the WebSocket.
    outgoing: UnboundedSender<ClientMessage>,
    /// The interruption of the connection.
    lost: RwSignal<Option<Lost>>,
    session: Session,
}

#[derive(Clone, PartialEq)]
struct Lost {
    since: jiff::Timestamp,
    problem: Problem,
}

/// A list of the page.
struct Subscribed {
    spec: ListSpec,
    view: ViewSpec,
    known: RwSignal<KnownList>,
    refused: RwSignal<Option<Problem>>,
}

/// A live list.
#[derive(Clone, Copy)]
pub(crate) struct LiveList {
    /// The rows of the window and the counts.
    pub(crate) known: RwSignal<KnownList>,
    /// The reason why the server refuses the list.
    pub(crate) refused: RwSignal<Option<Problem>>,
    /// The freshness of the rows.
    pub(crate) freshness: Signal<Freshness>,
}

/// The reason why a WebSocket ended.
enum End {
    /// The connection is lost.
    Lost,
    /// The server ended the connection.
    Ended(Problem),
}

impl RowConnection {
    /// Provides the connection as a context. The page connects with its first list.
    pub(crate) fn provide() {
        let (outgoing, messages) = unbounded();
        let connection = Rc::new(Connection {
            lists: RefCell::default(),
            next: Cell::new(1),
            outgoing,
            lost: RwSignal::new(None),
            session: expect_context(),
        });
        provide_context(Self(StoredValue::new_local(Rc::clone(&connection))));
        until_cleanup(async move { connection.run(messages).await });
    }

    /// Shows a list until the reactive owner is cleaned up.
    pub(crate) fn subscribe(self, spec: ListSpec, view: Signal<ViewSpec>) -> LiveList {
        let connection = self.0.get_value();
        let (known, refused) = (RwSignal::new(KnownList::default()), RwSignal::new(None));
        let id = connection.next.replace(connection.next.get() + 1);
        let first = view.get_untracked();
        connection.send(ClientMessage::Subscribe {
            id,
            list: spec.clone(),
            view: first.clone(),
        });
        let subscribed = Subscribed {
            spec,
            view: first,
            known,
            refused,
        };
        connection.lists.borrow_mut().insert(id, subscribed);
        let changing = Rc::clone(&connection);
        Effect::new(move || changing.set_view(id, view.get()));
        let lost = connection.lost;
        let ended = StoredValue::new_local(connection);
        on_cleanup(move || {
            if let Some(connection) = ended.try_get_value() {
                connection.lists.borrow_mut().remove(&id);
                connection.send(ClientMessage::Unsubscribe { id });
            }
        });
        let freshness = Memo::new(move |_| known.with(|known| freshness(lost.get(), known)));
        LiveList {
            known,
            refused,
            freshness: freshness.into(),
        }
    }
}

/// Returns the freshness of a list: stale if the connection is lost or a source is stale.
fn freshness(lost: Option<Lost>, known: &KnownList) -> Freshness {
    if let Some(Lost { since, problem }) = lost {
        return Freshness::Stale { since, problem };
    }
    let stale = |it: SourceProblem| it.since.map(|since| (since, Problem::of_list(&it.problem)));
    match known.problems().into_iter().find_map(stale) {
        Some((since, problem)) => Freshness::Stale { since, problem },
        None if known.sources.is_empty() || known.loading().is_some() => Freshness::Connecting,
        None => Freshness::Live,
    }
}

impl Connection {
    fn send(&self, message: ClientMessage) {
        // Without a WebSocket, the page sends all lists after it has connected.
        let _ = self.outgoing.unbounded_send(message);
    }

    fn set_view(&self, id: u32, view: ViewSpec) {
        if let Some(list) = self.lists.borrow_mut().get_mut(&id)
            && list.view != view
        {
            list.view = view.clone();
            self.send(ClientMessage::View { id, view });
        }
    }

    /// Connects, and connects again after each interruption.
    async fn run(&self, mut messages: UnboundedReceiver<ClientMessage>) {
        let mut backoff = Backoff::default();
        loop {
            if self.lists.borrow().is_empty() {
                // The page connects when it shows a list.
                messages.next().await;
                continue;
            }
            let end = self.serve(&mut messages, &mut backoff).await;
            let problem = match end {
                End::Lost => Problem::offline(),
                End::Ended(problem) => problem,
            };
            self.session.handle(&problem);
            let since = self
                .lost
                .with_untracked(|lost| lost.as_ref().map(|it| it.since));
            let since = since.unwrap_or_else(now);
            let _ = self.lost.try_set(Some(Lost { since, problem }));
            rest(backoff.after_failure(chance())).await;
        }
    }

    async fn serve(
        &self,
        messages: &mut UnboundedReceiver<ClientMessage>,
        backoff: &mut Backoff,
    ) -> End {
        let Ok(socket) = WebSocket::open(&address()) else {
            return End::Lost;
        };
        let (mut sink, mut stream) = socket.split();
        // The server sends a message when the connection is open. A message to a connection that
        // cannot be opened would be an error of the browser.
        let first = async { received(&mut stream).await };
        let first = match select(Box::pin(first), Box::pin(sleep(SILENCE))).await {
            Either::Left((first, _)) => first,
            Either::Right(_) => None,
        };
        match first.map(|first| self.receive(first, backoff)) {
            None => return End::Lost,
            Some(Err(end)) => return end,
            Some(Ok(())) => {}
        }
        // The messages before the connection are part of the following subscriptions.
        while messages.try_recv().is_ok() {}
        if self.subscribe_all(&mut sink).await.is_err() {
            return End::Lost;
        }
        let mut lost = NetworkEvent::lost();
        loop {
            let received = Box::pin(received(&mut stream));
            let incoming = select(received, select(messages.next(), &mut lost));
            let silence = Box::pin(sleep(SILENCE));
            match select(incoming, silence).await {
                Either::Left((Either::Left((message, _)), _)) => {
                    let Some(message) = message else {
                        return End::Lost;
                    };
                    if let Err(end) = self.receive(message, backoff) {
                        return end;
                    }
                }
                Either::Left((Either::Right((Either::Left((message, _)), _)), _)) => {
                    let Some(message) = message else {
                        return End::Lost;
                    };
                    if send(&mut sink, &message).await.is_err() {
                        return End::Lost;
                    }
                }
                Either::Left((Either::Right((Either::Right(_), _)), _)) | Either::Right(_) => {
                    return End::Lost;
                }
            }
        }
    }

    /// Returns the messages that start all lists, and the errors of the lists.
    fn subscriptions(&self) -> (Vec<ClientMessage>, Vec<RwSignal<Option<Problem>>>) {
        let lists = self.lists.borrow();
        let message = |(id, list): (&u32, &Subscribed)| ClientMessage::Subscribe {
            id: *id,
            list: list.spec.clone(),
            view: list.view.clone(),
        };
        let refused = lists.values().map(|list| list.refused);
        (lists.iter().map(message).collect(), refused.collect())
    }

    async fn subscribe_all(&self, sink: &mut SplitSink<WebSocket, Message>) -> Result<(), ()> {
        let (all, refused) = self.subscriptions();
        for refused in refused {
            let _ = refused.try_set(None);
        }
        for message in all {
            send(sink, &message).await?;
        }
        Ok(())
    }

    fn receive(&self, message: ServerMessage, backoff: &mut Backoff) -> Result<(), End> {
        let _ = self
            .lost
            .try_maybe_update(|lost| (lost.take().is_some(), ()));
        match message {
            ServerMessage::Update(update) => {
                backoff.reset();
                let signals = |list: &Subscribed| (list.known, list.refused);
                let signals = self.lists.borrow().get(&update.id).map(signals);
                if let Some((known, refused)) = signals {
                    // The screen can be disposed before the last update.
                    let _ = known.try_update(|known| known.apply(*update));
                    let _ = refused.try_maybe_update(|it| (it.take().is_some(), ()));
                }
            }
            ServerMessage::Refused { id, message } => {
                let refused = self.lists.borrow().get(&id).map(|list| list.refused);
                if let Some(refused) = refused {
                    let problem = Problem::new(ProblemKind::Invalid, message);
                    let _ = refused.try_set(Some(problem));
                }
            }
            ServerMessage::Alive => {}
            ServerMessage::Ended(problem) => return Err(End::Ended(Problem::of_list(&problem))),
        }
        Ok(())
    }
}

/// Returns the address of the row service.
fn address() -> String {
    let host = window().location().host().unwrap_or_default();
    format!("wss://{host}{PATH}")
}

async fn send(sink: &mut SplitSink<WebSocket, Message>, message: &ClientMessage) -> Result<(), ()> {
    let text = serde_json::to_string(message).map_err(|_| ())?;
    sink.send(Message::Text(text)).await.map_err(|_| ())
}

/// Returns the next message. Returns `None` if the connection is lost.
async fn received(stream: &mut SplitStream<WebSocket>) -> Option<ServerMessage> {
    match stream.next().await?.ok()? {
        Message::Text(text) => serde_json::from_str(&text).ok(),
        Message::Bytes(_) => None,
    }
}
