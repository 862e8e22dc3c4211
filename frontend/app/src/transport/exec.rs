//! A WebSocket to a command in a container (`pods/exec`). The browser sends the session's cookie and
//! the page's origin, and the proxy checks both.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use drover_ui_core::action::transfer::{
    END_OF_STDIN, Incoming, STDIN, TransferProblem, UPLOAD_PROTOCOLS,
};
use futures::StreamExt as _;
use futures::channel::mpsc::{UnboundedReceiver, unbounded};
use futures::future::{Either, select};
use js_sys::{Array, ArrayBuffer, Uint8Array};
use leptos::prelude::window;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast as _, JsValue};
use web_sys::{BinaryType, Event, MessageEvent, WebSocket};

use crate::clock::sleep;
use crate::network::NetworkEvent;

/// The time within which the cluster must start the command.
const OPEN_TIMEOUT: Duration = Duration::from_secs(30);
/// The time without a message and without sent bytes after which the connection is lost. A program can read a slow disk.
const SILENCE: Duration = Duration::from_mins(2);
/// The number of bytes that wait in the browser before the page sends more bytes.
const MAX_BUFFERED: u32 = 1024 * 1024;
/// The maximum number of bytes in one message. Chromium splits messages above 64 KiB into frames, and
/// the API server reads each frame as a message with its own channel.
pub(crate) const PART_BYTES: u32 = 32 * 1024;
/// The interval of the checks of the waiting bytes.
const BUFFER_CHECK: Duration = Duration::from_millis(20);

/// A message of the WebSocket.
enum Message {
    Open,
    Bytes(Uint8Array),
    Closed,
}

/// A WebSocket to a command. Dropping the socket ends the command.
pub(crate) struct ExecSocket {
    socket: WebSocket,
    messages: UnboundedReceiver<Message>,
    lost: NetworkEvent,
    /// The number of bytes of the standard input that the page has given to the browser.
    sent: Rc<Cell<u64>>,
    _on_event: Closure<dyn FnMut(Event)>,
    _on_message: Closure<dyn FnMut(MessageEvent)>,
}

impl ExecSocket {
    /// Starts a command. `path` is the path of the exec request. A browser does not report the
    /// status of a refused request.
    pub(crate) async fn open(path: &str, protocols: &[&str]) -> Result<Self, TransferProblem> {
        let host = window().location().host().unwrap_or_default();
        let names: Array = protocols.iter().map(|it| JsValue::from_str(it)).collect();
        let address = format!("wss://{host}{path}");
        let socket = WebSocket::new_with_str_sequence(&address, &names)
            .map_err(|_| TransferProblem::NotOpened)?;
        let mut socket = Self::of(socket);
        match select(socket.messages.next(), Box::pin(sleep(OPEN_TIMEOUT))).await {
            Either::Left((Some(Message::Open), _)) => Ok(socket),
            _ => Err(TransferProblem::NotOpened),
        }
    }

    fn of(socket: WebSocket) -> Self {
        socket.set_binary_type(BinaryType::Arraybuffer);
        let (sender, messages) = unbounded();
        let events = sender.clone();
        let on_event = Closure::<dyn FnMut(Event)>::new(move |event: Event| {
            let message = match event.type_().as_str() {
                "open" => Message::Open,
                _ => Message::Closed,
            };
            // The receiver lives as long as the closure.
            let _ = events.unbounded_send(message);
        });
        let on_message = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
            let message = match event.data().dyn_into::<ArrayBuffer>() {
                Ok(buffer) => Message::Bytes(Uint8Array::new(&buffer)),
                // The protocol has no text messages.
                Err(_) => Message::Closed,
            };
            let _ = sender.unbounded_send(message);
        });
        let handler = Some(on_event.as_ref().unchecked_ref());
        socket.set_onopen(handler);
        socket.set_onclose(handler);
        socket.set_onerror(handler);
        socket.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
        Self {
            socket,
            messages,
            lost: NetworkEvent::lost(),
            sent: Rc::default(),
            _on_event: on_event,
            _on_message: on_message,
        }
    }

    /// Returns the next message: the channel and the content. A connection that transfers the
    /// standard input is not silent.
    pub(crate) async fn next(&mut self) -> Result<(u8, Uint8Array), TransferProblem> {
        let input = self.input();
        loop {
            let transferred = input.transferred();
            let message = select(self.messages.next(), &mut self.lost);
            let message = match select(message, Box::pin(sleep(SILENCE))).await {
                Either::Left((Either::Left((message, _)), _)) => message,
                Either::Right(_) if input.transferred() != transferred => continue,
                _ => None,
            };
            match message {
                Some(Message::Bytes(bytes)) if bytes.length() > 0 => {
                    return Ok((bytes.get_index(0), bytes.subarray(1, bytes.length())));
                }
                Some(Message::Bytes(_) | Message::Open) => {}
                Some(Message::Closed) | None => return Err(TransferProblem::Lost),
            }
        }
    }

    /// Returns the result of a command whose output `incoming` reads.
    pub(crate) async fn result(&mut self, mut incoming: Incoming) -> Result<(), TransferProblem> {
        loop {
            let (channel, message) = self.next().await?;
            if let Some(result) = incoming.read(channel, &message.to_vec()) {
                return result;
            }
        }
    }

    /// Returns a handle that sends the standard input.
    pub(crate) fn input(&self) -> ExecInput {
        ExecInput {
            socket: self.socket.clone(),
            sent: Rc::clone(&self.sent),
        }
    }
}

impl Drop for ExecSocket {
    fn drop(&mut self) {
        self.socket.set_onopen(None);
        self.socket.set_onclose(None);
        self.socket.set_onerror(None);
        self.socket.set_onmessage(None);
        // A closed socket stays closed.
        let _ = self.socket.close();
    }
}

/// Writes a text to the standard input of a script of `sh`, whose output is the size of the written
/// file. `path` is the path of the exec request.
pub(crate) async fn write(path: &str, text: &str) -> Result<(), TransferProblem> {
    let bytes = Uint8Array::from(text.as_bytes());
    let mut socket = ExecSocket::open(path, &UPLOAD_PROTOCOLS).await?;
    let (input, mut position) = (socket.input(), 0);
    while position < bytes.length() {
        let end = bytes.length().min(position + PART_BYTES);
        input.send(&bytes.subarray(position, end)).await?;
        position = end;
    }
    input.end()?;
    let size = bytes.length().into();
    socket.result(Incoming::of_upload("sh", size)).await
}

/// The standard input of a command.
pub(crate) struct ExecInput {
    socket: WebSocket,
    /// The number of bytes that the page has given to the browser.
    sent: Rc<Cell<u64>>,
}

impl ExecInput {
    /// Sends bytes. Waits while many bytes wait in the browser.
    pub(crate) async fn send(&self, bytes: &Uint8Array) -> Result<(), TransferProblem> {
        let message = Uint8Array::new_with_length(bytes.length() + 1);
        message.set_index(0, STDIN);
        message.set(bytes, 1);
        self.socket_send(&message)?;
        while self.waiting() > MAX_BUFFERED {
            sleep(BUFFER_CHECK).await;
        }
        Ok(())
    }

    /// Ends the standard input.
    pub(crate) fn end(&self) -> Result<(), TransferProblem> {
        self.socket_send(&Uint8Array::from(END_OF_STDIN.as_slice()))
    }

    /// Returns the number of bytes that the browser has not sent.
    pub(crate) fn waiting(&self) -> u32 {
        match self.socket.ready_state() {
            WebSocket::OPEN => self.socket.buffered_amount(),
            // The bytes of a closed socket would wait forever.
            _ => 0,
        }
    }

    /// Returns the number of bytes that the browser has sent.
    fn transferred(&self) -> u64 {
        self.sent.get().saturating_sub(u64::from(self.waiting()))
    }

    fn socket_send(&self, message: &Uint8Array) -> Result<(), TransferProblem> {
        self.sent.set(self.sent.get() + u64::from(message.length()));
        let sent = self.socket.send_with_array_buffer(&message.buffer());
        sent.map_err(|_| TransferProblem::Lost)
    }
}
