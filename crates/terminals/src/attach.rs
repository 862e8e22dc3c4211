//! The WebSocket between a browser and a terminal.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::response::Response;
use drover_api::rest::{TerminalControl, TerminalNotice};
use drover_http_edge::websocket;
use futures::{Sink, SinkExt as _, Stream, StreamExt as _};
use tokio::sync::Notify;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error as WsError, Message};

use crate::channel::Input;
use crate::session::{Connection, Session, Step};

/// Interval of the messages that show the browser that the connection works.
const ALIVE_INTERVAL: Duration = Duration::from_secs(10);
/// Time without a message from the browser, after which the connection is broken.
const SILENCE: Duration = Duration::from_secs(35);
/// Time within which the container must accept input. The browser's other messages wait.
const INPUT_TIMEOUT: Duration = Duration::from_secs(5);
/// Time limit to send a message to the browser.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);
/// Time for the browser to close the connection after the last message.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum size of a message from the browser.
const MAX_MESSAGE: usize = 16 * 1024;
/// Maximum number of columns and rows of a screen.
const MAX_SIDE: u16 = 2000;

/// Accepts a WebSocket, and connects it to a terminal.
pub(crate) fn accept(request: Request, session: Arc<Session>, received: u64) -> Response {
    let config = WebSocketConfig::default()
        .read_buffer_size(4 * 1024)
        .write_buffer_size(0)
        .max_message_size(Some(MAX_MESSAGE))
        .max_frame_size(Some(MAX_MESSAGE));
    websocket::accept(request, config, async move |socket| {
        connect(&session, session.attach(received), socket).await;
    })
}

/// Connects a WebSocket to a terminal until one of them ends.
async fn connect<S>(session: &Session, connection: Connection, socket: S)
where
    S: Stream<Item = Result<Message, WsError>> + Sink<Message, Error = WsError> + Unpin,
{
    let (mut sink, mut stream) = socket.split();
    let discarded = Notify::new();
    let ended = tokio::select! {
        sent = send(connection, &mut sink, &discarded) => sent.is_ok(),
        () = receive(session, &mut stream, &discarded) => false,
    };
    if ended && sink.close().await.is_ok() {
        let closed = async { while let Some(Ok(_)) = stream.next().await {} };
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, closed).await;
    }
}

/// Sends the output to the browser. Returns after the last message.
async fn send(
    mut connection: Connection,
    sink: &mut (impl Sink<Message, Error = WsError> + Unpin),
    discarded: &Notify,
) -> Result<(), WsError> {
    let offset = connection.position();
    send_in_time(sink, notice(&TerminalNotice::Attached { offset })).await?;
    let mut alive = tokio::time::interval(ALIVE_INTERVAL);
    loop {
        let message = tokio::select! {
            biased;
            _ = alive.tick() => notice(&TerminalNotice::Alive),
            () = discarded.notified() => notice(&TerminalNotice::InputDiscarded),
            step = connection.next() => match step {
                Step::Send(bytes) => Message::Binary(bytes),
                Step::Replaced => {
                    return send_in_time(sink, notice(&TerminalNotice::Replaced)).await;
                }
                Step::Ended(ending) => {
                    return send_in_time(sink, notice(&TerminalNotice::Ended { ending })).await;
                }
            },
        };
        send_in_time(sink, message).await?;
    }
}

/// Sends a message. A browser that does not read its messages loses its connection.
async fn send_in_time(
    sink: &mut (impl Sink<Message, Error = WsError> + Unpin),
    message: Message,
) -> Result<(), WsError> {
    let sent = tokio::time::timeout(SEND_TIMEOUT, sink.send(message)).await;
    sent.unwrap_or(Err(WsError::ConnectionClosed))
}

/// Receives input and acknowledgements until the connection ends.
async fn receive(
    session: &Session,
    stream: &mut (impl Stream<Item = Result<Message, WsError>> + Unpin),
    discarded: &Notify,
) {
    while let Ok(Some(Ok(message))) = tokio::time::timeout(SILENCE, stream.next()).await {
        let input = match message {
            Message::Binary(bytes) => Input::Bytes(bytes),
            Message::Text(text) => match serde_json::from_str(text.as_str()) {
                Ok(TerminalControl::Ack { offset }) => {
                    session.acknowledge(offset);
                    continue;
                }
                Ok(TerminalControl::Resize { cols, rows }) => Input::Resize {
                    cols: cols.clamp(1, MAX_SIDE),
                    rows: rows.clamp(1, MAX_SIDE),
                },
                Ok(TerminalControl::Alive) => continue,
                // The message is not of this protocol.
                Err(_) => return,
            },
            Message::Close(_) => return,
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => continue,
        };
        if !session.input(input, INPUT_TIMEOUT).await {
            discarded.notify_one();
        }
    }
}

fn notice(notice: &TerminalNotice) -> Message {
    // A notice consists of text and numbers, which JSON can represent.
    Message::text(serde_json::to_string(notice).unwrap_or_default())
}
